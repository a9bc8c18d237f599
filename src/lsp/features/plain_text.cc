#include "lsp/features/plain_text.h"

#include <algorithm>
#include <cctype>

namespace tessera::lsp {

namespace {

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

/// Whether the star at `at` begins emphasis; `end` is then the one that ends it.
bool is_emphasis(std::string_view line, size_t at, size_t& end) {
  bool begins = at + 1 < line.size() && !is_space(line[at + 1]) && line[at + 1] != '*';
  bool is_free = at == 0 || is_space(line[at - 1]) || line[at - 1] == '(';
  end = line.find('*', at + 1);
  return begins && is_free && end != std::string_view::npos && !is_space(line[end - 1]);
}

/// Whether the bracket at `at` begins a link, whose text ends at `end` and all of it at `after`.
bool is_link(std::string_view line, size_t at, size_t& end, size_t& after) {
  end = line.find("](", at);
  after = end == std::string_view::npos ? end : line.find(')', end);
  bool is_whole = after != std::string_view::npos;
  bool is_one = is_whole && line.substr(at + 1, end - at - 1).find('[') == std::string_view::npos;
  after = is_one ? after + 1 : after;
  return is_one;
}

void put_line(std::string_view line, std::string& out) {
  for (size_t i = 0; i < line.size();) {
    size_t end = line.find('`', i + 1), after = 0;
    if (line[i] == '`' && end != std::string_view::npos) {
      out += line.substr(i + 1, end - i - 1);
      i = end + 1;
    } else if (line[i] == '*' && is_emphasis(line, i, end)) {
      put_line(line.substr(i + 1, end - i - 1), out);
      i = end + 1;
    } else if (line[i] == '[' && is_link(line, i, end, after)) {
      put_line(line.substr(i + 1, end - i - 1), out);
      i = after;
    } else {
      out += line[i++];
    }
  }
}

}  // namespace

std::string plain_text(std::string_view markdown) {
  std::string out;
  bool in_code = false;
  while (!markdown.empty()) {
    size_t end = std::min(markdown.find('\n'), markdown.size());
    std::string_view line = markdown.substr(0, end);
    bool has_end = end < markdown.size();
    markdown.remove_prefix(has_end ? end + 1 : end);
    if (line.starts_with("```")) {
      in_code = !in_code;
      continue;
    }
    in_code ? void(out += line) : put_line(line, out);
    if (has_end) out += '\n';
  }
  while (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

}  // namespace tessera::lsp
