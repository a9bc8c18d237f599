#include "support/assembly.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace tessera {

namespace {

/// Words of a line, up to its comment.
std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  size_t at = 0;
  while ((at = line.find_first_not_of(" \t,", at)) != std::string_view::npos && line[at] != '#') {
    size_t end = line[at] == '"' ? line.find('"', at + 1) : line.find_first_of(" \t,", at);
    if (line[at] == '"' && end != std::string_view::npos) ++end;
    words.push_back(line.substr(at, end - at));
    if (end == std::string_view::npos) break;
    at = end;
  }
  return words;
}

uint32_t number(std::string_view text) {
  uint32_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string_view unquoted(std::string_view text) {
  bool is_quoted = text.size() >= 2 && text.front() == '"' && text.back() == '"';
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

bool is_for_debuggers(std::string_view word) {
  return word.starts_with(".cfi_") || word.starts_with(".Ltmp") || word.starts_with(".Lfunc_begin");
}

class Splitter {
 public:
  Assembly run(std::string_view text) {
    while (!text.empty()) {
      size_t end = std::min(text.find('\n'), text.size());
      read(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(made_);
  }

 private:
  void read(std::string_view line) {
    if (line.starts_with("\t.") || line.starts_with(".")) {
      std::vector<std::string_view> words = words_of(line);
      if (words[0] == ".file") return read_file(words);
      if (words[0] == ".loc") return read_place(words);
      if (words[0] == ".set" && words.size() == 3) return share(words[1], words[2]);
      if (is_for_debuggers(words[0])) return;
      if (words[0] == ".visible" && words.size() > 2) return open(words[2].substr(0, words[2].find('(')), line);
      if (words[0] == ".size" && words.size() > 1) return close(line, unquoted(words[1]));
    }
    add(line);
    if (is_ptx_ && line == "}") end_function();
  }

  void read_file(const std::vector<std::string_view>& words) {
    if (words.size() < 3) return;
    std::string name(unquoted(words[2]));
    if (words.size() > 3 && words[3][0] == '"') {  // a folder and a name in it
      name += (name.empty() ? "" : "/") + std::string(unquoted(words[3]));
    }
    auto known = std::find(made_.files.begin(), made_.files.end(), name);
    numbers_[number(words[1])] = uint32_t(known - made_.files.begin()) + 1;
    if (known == made_.files.end()) made_.files.push_back(std::move(name));
  }

  void read_place(const std::vector<std::string_view>& words) {
    if (words.size() < 4) return;
    auto file = numbers_.find(number(words[1]));
    place_ = file == numbers_.end() ? AssemblyLine()
                                    : AssemblyLine{{}, file->second, number(words[2]), number(words[3])};
  }

  void add(std::string_view line) {
    lines_.push_back(place_);
    lines_.back().text = line;
  }

  /// A kernel of PTX begins; what stood before it is of no function.
  void open(std::string_view name, std::string_view line) {
    lines_.clear();
    is_ptx_ = true;
    name_ = name;
    place_ = {};
    add(line);
  }

  /// A function of assembly ends.
  void close(std::string_view line, std::string_view name) {
    add(line);
    name_ = name;
    end_function();
  }

  void end_function() {
    made_.functions.push_back({name_, {}, std::exchange(lines_, {})});
    place_ = {};
  }

  void share(std::string_view name, std::string_view with) {
    made_.functions.push_back({unquoted(name), unquoted(with), {}});
  }

  Assembly made_;
  std::map<uint32_t, uint32_t> numbers_;  ///< of `.file`, to those of made_.files
  std::vector<AssemblyLine> lines_;
  AssemblyLine place_;
  std::string_view name_;
  bool is_ptx_ = false;
};

}  // namespace

Assembly split_assembly(std::string_view text) { return Splitter().run(text); }

}  // namespace tessera
