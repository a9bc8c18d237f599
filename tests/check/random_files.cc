#include "check/random_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "check/random.h"

namespace tessera::check {

namespace {

/// What stands behind the names of a file: "m.x" and what a constant of that is. A name of a module has an empty value.
using Meanings = std::map<std::string, std::string>;

struct File {
  std::string path, dotted;
  Meanings meanings;
};

constexpr size_t most_meanings = 150;

bool is_below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '.';
}

std::string first_part(const std::string& path) { return path.substr(0, path.find('.')); }

class FilesWriter {
 public:
  explicit FilesWriter(uint64_t seed) : random_(seed) {}

  RandomFiles write() {
    // Files may be where other files have folders.
    for (const char* dotted : {"one", "pack", "pack.two", "pack.deep.three", "four", "main"}) {
      if (random_.one_in(5) && dotted != std::string_view("main")) continue;
      std::string path = dotted;
      std::replace(path.begin(), path.end(), '.', '/');
      files_.push_back({path + ".tsr", dotted, {}});
      write_file(files_.back());
    }
    write_uses(files_.back());
    for (size_t i = 0; i < files_.size(); ++i) out_.texts[files_[i].path] = texts_[i];
    return std::move(out_);
  }

 private:
  void write_file(File& file) {
    text_.clear();
    taken_.clear();
    paths_.clear();
    for (size_t i = 0, n = random_.pick(3); i < n; ++i) declare(file);
    for (size_t i = 0, n = files_.size() > 1 ? 1 + random_.pick(4) : 0; i < n; ++i) import(file);
    if (random_.one_in(2)) import_language(file);
    for (size_t i = 0, n = 1 + random_.pick(3); i < n; ++i) declare(file);
    add_paths(file);
    if (random_.one_in(2)) rename_module(file);
    limit(file);
    texts_.push_back(text_);
  }

  /// A name of few, which the file does not have yet; empty when it has it.
  std::string fresh_name() {
    std::string name(random_.of<std::string_view>({"a", "b", "c", "d", "e", "one", "pack", "exp", "nn", "tile"}));
    bool is_path = std::any_of(paths_.begin(), paths_.end(),
                               [&](const std::string& path) { return first_part(path) == name; });
    return is_path || !taken_.insert(name).second ? std::string() : name;
  }

  void declare(File& file) {
    std::string name = fresh_name();
    if (name.empty()) return;
    std::string value = std::to_string(++last_value_);
    bool is_function = random_.one_in(3);
    text_ += is_function ? fmt::format("def {}():\n    return {}\n", name, value)
                         : fmt::format("const {} = {}\n", name, value);
    file.meanings[is_function ? name + "()" : name] = value;
  }

  void import(File& file) {
    const File& from = files_[random_.pick(files_.size() - 1)];
    size_t form = random_.pick(5);
    if (form == 0) return import_path(from);
    if (form == 1) return import_as(file, from);
    import_name(file, from);
  }

  /// `import a.b`; several of them give their first name one meaning.
  void import_path(const File& from) {
    bool is_taken = taken_.contains(first_part(from.dotted)) || paths_.contains(from.dotted);
    if (is_taken) return;
    text_ += fmt::format("import {}\n", from.dotted);
    paths_.insert(from.dotted);
  }

  void import_as(File& file, const File& from) {
    std::string name = fresh_name();
    if (name.empty()) return;
    text_ += fmt::format("import {} as {}\n", from.dotted, name);
    add_below(file, name, from.meanings, "");
  }

  void import_name(File& file, const File& from) {
    std::vector<std::string> names;
    for (const auto& [path, value] : from.meanings) {
      std::string first = first_part(path);
      if (first.ends_with("()")) first.resize(first.size() - 2);
      if (names.empty() || names.back() != first) names.push_back(first);
    }
    if (names.empty()) return;
    std::string imported = names[random_.pick(names.size())], name = fresh_name();
    if (name.empty()) return;
    std::string alias = name == imported ? "" : " as " + name;
    text_ += fmt::format("from {} import {}{}\n", from.dotted, imported, alias);
    add_below(file, name, from.meanings, imported);
  }

  /// What the language and its library have.
  void import_language(File& file) {
    std::string name = fresh_name();
    if (name.empty()) return;
    switch (random_.pick(6)) {
      case 0:
        text_ += fmt::format("from tessera import nn as {}\n", name);
        file.meanings[name + ".silu"] = "silu";
        return;
      case 1:
        text_ += fmt::format("import tessera.nn as {}\n", name);
        file.meanings[name + ".silu"] = "silu";
        return;
      case 2:
        text_ += fmt::format("from tessera import tile as {}\n", name);
        file.meanings[name + ".load"] = "load";
        return;
      case 3:
        text_ += fmt::format("from tessera.tile import store as {}\n", name);
        file.meanings[name] = "store";
        return;
      case 4:
        text_ += "import tessera.nn\n";
        file.meanings["tessera.nn.silu"] = "silu";
        return;
      default:
        text_ += fmt::format("from tessera.ops import sqrt as {}\n", name);
        file.meanings[name] = "sqrt";
    }
  }

  /// Gives `name` the meanings that another file has below one of its names, or all of them.
  static void add_below(File& file, const std::string& name, const Meanings& meanings, const std::string& below) {
    for (const auto& [path, value] : meanings) {
      if (below.empty()) {
        file.meanings[name + "." + path] = value;
      } else if (path == below || path == below + "()" || is_below(path, below)) {
        file.meanings[name + path.substr(below.size())] = value;
      }
    }
  }

  /// What imports of paths give: a file's names, but for those that lead to files below it.
  void add_paths(File& file) {
    for (const std::string& path : paths_) {
      auto has_path = [&](const File& each) { return each.dotted == path; };
      const File& from = *std::find_if(files_.begin(), files_.end(), has_path);
      for (const auto& [inner, value] : from.meanings) {
        std::string first = path + "." + first_part(inner);
        if (first.ends_with("()")) first.resize(first.size() - 2);
        bool is_hidden = std::any_of(paths_.begin(), paths_.end(), [&](const std::string& other) {
          return other == first || is_below(other, first);
        });
        if (!is_hidden) file.meanings[path + "." + inner] = value;
      }
    }
  }

  /// A constant that is a module.
  void rename_module(File& file) {
    std::vector<std::string> modules;
    for (const auto& [path, value] : file.meanings) {
      if (path.find('.') != std::string::npos) modules.push_back(path.substr(0, path.rfind('.')));
    }
    std::string name = modules.empty() ? std::string() : fresh_name();
    if (name.empty()) return;
    const std::string& module = modules[random_.pick(modules.size())];
    text_ += fmt::format("const {} = {}\n", name, module);
    Meanings meanings = file.meanings;
    add_below(file, name, meanings, module);
  }

  void limit(File& file) {
    while (file.meanings.size() > most_meanings) {
      file.meanings.erase(std::next(file.meanings.begin(), ptrdiff_t(random_.pick(file.meanings.size()))));
    }
  }

  void write_uses(const File& main) {
    std::string body = "\ndef use():\n";
    auto add = [&](const std::string& written, const std::string& value) {
      std::string name = fmt::format("v{}", out_.values.size());
      texts_.back() += fmt::format("const {} = {}\n", name, written);
      body += fmt::format("    u = {}\n", name);
      out_.values[name] = value;
    };
    for (size_t i = 0; i < 12 && !main.meanings.empty(); ++i) {
      auto [path, value] = *std::next(main.meanings.begin(), ptrdiff_t(random_.pick(main.meanings.size())));
      add(path, value);
      size_t dot = path.rfind('.');
      if (random_.one_in(4) && dot != std::string::npos) add(path.substr(0, dot) + ".absent", "");
    }
    if (!taken_.contains("exp")) add("exp", "exp");
    if (!taken_.contains("nn")) add("tessera.nn.gelu", "gelu");
    texts_.back() += body + "    return 1\n\n@jit\ndef f(x: Tensor[4, f32]) -> Tensor[4, f32]:\n";
    texts_.back() += "    return x * float(use())\n";
  }

  Random random_;
  std::vector<File> files_;
  std::vector<std::string> texts_;
  std::string text_;
  std::set<std::string> taken_, paths_;  ///< names of the file so far, and imports of paths
  int last_value_ = 100;
  RandomFiles out_;
};

}  // namespace

RandomFiles random_files(uint64_t seed) { return FilesWriter(seed).write(); }

}  // namespace tessera::check
