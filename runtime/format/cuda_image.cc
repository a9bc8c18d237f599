#include "runtime/format/cuda_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "runtime/files/text.h"

namespace tessera::format {

namespace {

constexpr uint16_t cuda_machine = 190;

/// PTX has no dots in names; the compiler writes '$' for them.
std::string symbol_of(const KernelMeta& kernel) {
  std::string symbol = kernel.name;
  std::replace(symbol.begin(), symbol.end(), '.', '$');
  return symbol;
}

/// The kernels that were not found yet.
class Missing {
 public:
  explicit Missing(const std::vector<KernelMeta>& kernels) {
    for (const KernelMeta& kernel : kernels) names_.emplace(symbol_of(kernel), &kernel);
  }

  void find(std::string_view symbol) {
    if (auto found = names_.find(symbol); found != names_.end()) names_.erase(found);
  }
  Outcome check() const {
    if (names_.empty()) return {};
    return error("it has no kernel ", in_quotes(names_.begin()->second->name));
  }

 private:
  std::map<std::string, const KernelMeta*, std::less<>> names_;
};

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/// Finds the names behind `.entry`.
void find_entries(std::string_view text, Missing& missing) {
  constexpr std::string_view word = ".entry ";
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at)) {
    at += word.size();
    size_t end = at;
    while (end < text.size() && is_name_letter(text[end])) ++end;
    missing.find(text.substr(at, end - at));
  }
}

class CubinReader {
 public:
  explicit CubinReader(std::string_view image) : image_(image) {}

  /// Finds the functions of the symbol table; false where the file is no cubin.
  bool read(Missing& missing) const {
    Elf64_Ehdr header;
    if (!take(image_, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != cuda_machine ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
      return false;
    }
    std::string_view sections, table, names;
    if (!slice(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr), sections)) return false;
    std::optional<Elf64_Shdr> symbols;
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      if (!take(sections, i, section)) return false;
      if (section.sh_type != SHT_SYMTAB) continue;
      if (symbols) return false;  // there is one in what ptxas writes
      symbols = section;
    }
    Elf64_Shdr strings;
    return symbols && take(sections, symbols->sh_link, strings) && strings.sh_type == SHT_STRTAB &&
           slice(symbols->sh_offset, symbols->sh_size, table) && slice(strings.sh_offset, strings.sh_size, names) &&
           read_symbols(table, names, missing);
  }

 private:
  /// Bytes of the image; no sum of what it says is made, which could wrap around.
  bool slice(uint64_t at, uint64_t size, std::string_view& out) const {
    if (at > image_.size() || size > image_.size() - at) return false;
    out = image_.substr(at, size);
    return true;
  }

  /// The record of that number.
  template <typename T>
  static bool take(std::string_view records, uint64_t number, T& out) {
    if (number >= records.size() / sizeof(T)) return false;
    std::memcpy(&out, records.data() + number * sizeof(T), sizeof(T));
    return true;
  }

  static bool read_symbols(std::string_view table, std::string_view names, Missing& missing) {
    for (uint64_t i = 0; i < table.size() / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      if (!take(table, i, symbol) || symbol.st_name >= names.size()) return false;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      std::string_view name = names.substr(symbol.st_name, 256);
      missing.find(name.substr(0, name.find('\0')));
    }
    return true;
  }

  std::string_view image_;
};

}  // namespace

Outcome check_ptx(std::string_view text, const std::vector<KernelMeta>& kernels) {
  bool begins = text.starts_with("//") || text.starts_with(".version");
  if (!begins || text.find(".version") == text.npos || text.find('\0') != text.npos) return error("it is not PTX");
  Missing missing(kernels);
  find_entries(text, missing);
  return missing.check();
}

Outcome check_cubin(std::string_view image, const std::vector<KernelMeta>& kernels) {
  Missing missing(kernels);
  if (!CubinReader(image).read(missing)) return error("it is not a cubin");
  return missing.check();
}

}  // namespace tessera::format
