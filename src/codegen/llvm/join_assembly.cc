#include "codegen/llvm/join_assembly.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tessera::codegen {

namespace {

constexpr std::string_view label = ".L";

/// Calls `visit` for each line, with its end.
template <typename Visit>
void each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    size_t size = std::min(text.find('\n'), text.size() - 1) + 1;
    visit(text.substr(0, size));
    text.remove_prefix(size);
  }
}

/// The digits that follow `directive` at the line's start: the number of a file. Empty for other lines.
std::string_view file_number(std::string_view line, std::string_view directive) {
  if (!line.starts_with(directive)) return {};
  line.remove_prefix(directive.size());
  return line.substr(0, std::min(line.find_first_not_of("0123456789"), line.size()));
}

int number_of(std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

int largest_file_number(std::string_view text) {
  int largest = 0;
  each_line(text, [&](std::string_view line) {
    largest = std::max(largest, number_of(file_number(line, "\t.file\t")));
  });
  return largest;
}

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '$'; }

/// Appends the line with other private labels; texts in quotes stay.
void append_relabelled(std::string& text, std::string_view line, std::string_view other_label) {
  bool is_quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    bool is_escaped = i > 0 && line[i - 1] == '\\';
    if (line[i] == '"' && !(is_quoted && is_escaped)) is_quoted = !is_quoted;
    bool begins = !is_quoted && line.substr(i).starts_with(label) && (i == 0 || !is_of_name(line[i - 1]));
    if (!begins) {
      text += line[i];
      continue;
    }
    text += other_label;
    i += label.size() - 1;
  }
}

}  // namespace

void append_assembly(std::string& text, std::string_view more) {
  int part = 2;
  auto other_label = [&] { return ".Lpart" + std::to_string(part) + "_"; };
  while (text.find(other_label()) != text.npos) ++part;
  int files = largest_file_number(text);
  each_line(more, [&](std::string_view line) {
    for (std::string_view directive : {"\t.file\t", "\t.loc\t"}) {
      std::string_view digits = file_number(line, directive);
      if (digits.empty()) continue;
      text += directive;
      text += std::to_string(number_of(digits) + files);
      line.remove_prefix(directive.size() + digits.size());
      break;
    }
    append_relabelled(text, line, other_label());
  });
}

}  // namespace tessera::codegen
