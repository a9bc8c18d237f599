#include "runtime/format/cuda_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/format/text.h"

namespace tessera::format {

namespace {

constexpr uint16_t cuda_machine = 190;

/// PTX has no dots in names; the compiler writes '$' for them.
std::string symbol_of(const KernelMeta& kernel) {
  std::string symbol = kernel.name;
  std::replace(symbol.begin(), symbol.end(), '.', '$');
  return symbol;
}

Outcome check_names(const std::set<std::string, std::less<>>& there, const std::vector<KernelMeta>& kernels) {
  for (const KernelMeta& kernel : kernels) {
    if (!there.contains(symbol_of(kernel))) return error("it has no kernel ", in_quotes(kernel.name));
  }
  return {};
}

bool is_name_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$';
}

/// The names behind `.entry`.
std::set<std::string, std::less<>> entries_of(std::string_view text) {
  constexpr std::string_view word = ".entry ";
  std::set<std::string, std::less<>> names;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at)) {
    at += word.size();
    size_t end = at;
    while (end < text.size() && is_name_letter(text[end])) ++end;
    names.emplace(text.substr(at, end - at));
  }
  return names;
}

class CubinReader {
 public:
  explicit CubinReader(std::string_view image) : image_(image) {}

  /// The names of the symbol tables' functions; false where the file is no cubin.
  bool read(std::set<std::string, std::less<>>& functions) {
    Elf64_Ehdr header;
    if (!take(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != cuda_machine ||
        header.e_shentsize != sizeof(Elf64_Shdr)) {
      return false;
    }
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section, names;
      if (!take(header.e_shoff + i * sizeof section, section)) return false;
      if (section.sh_type != SHT_SYMTAB) continue;
      if (section.sh_link >= header.e_shnum || !take(header.e_shoff + section.sh_link * sizeof names, names) ||
          !has(names.sh_offset, names.sh_size) ||
          !read_symbols(section, image_.substr(names.sh_offset, names.sh_size), functions)) {
        return false;
      }
    }
    return true;
  }

 private:
  bool has(uint64_t at, uint64_t size) const { return at <= image_.size() && size <= image_.size() - at; }

  template <typename T>
  bool take(uint64_t at, T& out) const {
    if (!has(at, sizeof(T))) return false;
    std::memcpy(&out, image_.data() + at, sizeof(T));
    return true;
  }

  bool read_symbols(const Elf64_Shdr& table, std::string_view names,
                    std::set<std::string, std::less<>>& functions) const {
    if (!has(table.sh_offset, table.sh_size)) return false;
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!take(table.sh_offset + at, symbol) || symbol.st_name >= names.size()) return false;
      std::string_view name = names.substr(symbol.st_name, 256);
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC) functions.emplace(name.substr(0, name.find('\0')));
    }
    return true;
  }

  std::string_view image_;
};

}  // namespace

Outcome check_ptx(std::string_view text, const std::vector<KernelMeta>& kernels) {
  bool begins = text.starts_with("//") || text.starts_with(".version");
  if (!begins || text.find(".version") == text.npos || text.find('\0') != text.npos) return error("it is no PTX");
  return check_names(entries_of(text), kernels);
}

Outcome check_cubin(std::string_view image, const std::vector<KernelMeta>& kernels) {
  std::set<std::string, std::less<>> functions;
  if (!CubinReader(image).read(functions)) return error("it is no cubin");
  return check_names(functions, kernels);
}

}  // namespace tessera::format
