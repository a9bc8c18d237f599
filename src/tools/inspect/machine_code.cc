#include "tools/inspect/machine_code.h"

#include <charconv>
#include <map>
#include <set>

#include "codegen/ptx/emitter.h"

namespace tessera::inspect {

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

class CodeSplitter {
 public:
  CodeSplitter(std::span<Module* const> modules, const SourceManager& sources, LinePool& pool) : pool_(pool) {
    for (Module* module : modules) {
      for (Op* function : *module->body()) {
        std::string_view name = function->info().has(Function) ? symbol_name(function) : "";
        names_[codegen::ptx::ptx_name(name)] = name;
        walk(function, [&](Op* op) {
          if (op->loc().known()) files_by_name_[sources.ir_name(op->loc().file)] = op->loc().file;
        });
      }
    }
  }

  std::vector<CodeRecord::Kernel> run(std::string_view text) {
    while (!text.empty()) {
      size_t end = std::min(text.find('\n'), text.size());
      read(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(kernels_);
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
      if (words[0] == ".size") return close(line, unquoted(words[1]));
    }
    add(line);
    if (is_ptx_ && line == "}") end_kernel();
  }

  void read_file(const std::vector<std::string_view>& words) {
    if (words.size() < 3) return;
    std::string name(unquoted(words[2]));
    if (words.size() > 3 && words[3][0] == '"') {  // a folder and a name in it
      name += (name.empty() ? "" : "/") + std::string(unquoted(words[3]));
    }
    auto file = files_by_name_.find(name);
    if (file != files_by_name_.end()) files_[number(words[1])] = file->second;
  }

  void read_place(const std::vector<std::string_view>& words) {
    if (words.size() < 4) return;
    auto file = files_.find(number(words[1]));
    place_ = file == files_.end() ? 0 : pool_.place({file->second, number(words[2]), number(words[3]), 0});
  }

  void add(std::string_view line) { lines_.push_back({pool_.text(line), place_}); }

  /// A kernel of PTX begins; what stood before it is of no kernel.
  void open(std::string_view name, std::string_view line) {
    lines_.clear();
    is_ptx_ = true;
    name_ = name;
    place_ = 0;
    add(line);
  }

  /// A function of assembly ends.
  void close(std::string_view line, std::string_view name) {
    add(line);
    name_ = name;
    end_kernel();
  }

  void end_kernel() {
    auto known = names_.find(std::string(codegen::ptx::ptx_name(name_)));
    std::string_view name = known == names_.end() ? name_ : known->second;
    kernels_.push_back({std::string(name), {}, std::move(lines_)});
    lines_.clear();
    place_ = 0;
  }

  void share(std::string_view name, std::string_view with) {
    kernels_.push_back({std::string(unquoted(name)), std::string(unquoted(with)), {}});
  }

  LinePool& pool_;
  std::map<std::string, std::string_view> names_;  ///< of kernels, as PTX spells them
  std::map<std::string_view, FileId> files_by_name_;
  std::map<uint32_t, FileId> files_;
  std::vector<CodeRecord::Kernel> kernels_;
  std::vector<Line> lines_;
  std::string_view name_;
  uint32_t place_ = 0;
  bool is_ptx_ = false;
};

}  // namespace

std::vector<CodeRecord::Kernel> split_code(std::string_view text, std::span<Module* const> modules,
                                           const SourceManager& sources, LinePool& pool) {
  return CodeSplitter(modules, sources, pool).run(text);
}

}  // namespace tessera::inspect
