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

/// The kernels that were not found yet.
class Missing {
 public:
  explicit Missing(const std::vector<KernelMeta>& kernels) {
    for (const KernelMeta& kernel : kernels) names_.emplace(cuda_symbol(kernel.code_name()), &kernel);
  }

  void find(std::string_view symbol) {
    if (auto found = names_.find(symbol); found != names_.end()) names_.erase(found);
  }
  Outcome check() const {
    if (names_.empty()) return {};
    return error("it has no kernel ", in_quotes(names_.begin()->second->code_name()));
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

/// One ELF object, for which `image` begins.
class CubinObject {
 public:
  explicit CubinObject(std::string_view image) : image_(image) {}

  /// Reads headers; false where the object is no cubin. What lies behind it in the image is left out then.
  bool open() {
    if (!take(image_, 0, header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0 ||
        header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_machine != cuda_machine ||
        header_.e_shentsize != sizeof(Elf64_Shdr)) {
      return false;
    }
    uint64_t size = sizeof header_;
    std::string_view segments;
    if (!slice(header_.e_shoff, header_.e_shnum * sizeof(Elf64_Shdr), sections_) ||
        !slice(header_.e_phoff, header_.e_phnum * sizeof(Elf64_Phdr), segments)) {
      return false;
    }
    size = std::max({size, end_of(sections_), end_of(segments)});
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      Elf64_Shdr section;
      std::string_view content;
      if (!take(sections_, i, section)) return false;
      if (section.sh_type == SHT_NOBITS || section.sh_type == SHT_NULL) continue;
      if (!slice(section.sh_offset, section.sh_size, content)) return false;
      size = std::max(size, end_of(content));
    }
    image_ = image_.substr(0, size);
    return true;
  }

  std::string_view bytes() const { return image_; }

  /// The functions of the symbol table; nothing where there is not one such table.
  std::optional<std::vector<std::string_view>> functions() const {
    std::string_view table, names;
    std::optional<Elf64_Shdr> symbols;
    for (uint64_t i = 0; i < header_.e_shnum; ++i) {
      Elf64_Shdr section;
      if (!take(sections_, i, section)) return std::nullopt;
      if (section.sh_type != SHT_SYMTAB) continue;
      if (symbols) return std::nullopt;
      symbols = section;
    }
    Elf64_Shdr strings;
    std::vector<std::string_view> functions;
    bool ok = symbols && take(sections_, symbols->sh_link, strings) && strings.sh_type == SHT_STRTAB &&
              slice(symbols->sh_offset, symbols->sh_size, table) && slice(strings.sh_offset, strings.sh_size, names) &&
              read_symbols(table, names, functions);
    if (!ok) return std::nullopt;
    return functions;
  }

 private:
  /// Bytes of the image; no sum of what it says is made, which could wrap around.
  bool slice(uint64_t at, uint64_t size, std::string_view& out) const {
    if (at > image_.size() || size > image_.size() - at) return false;
    out = image_.substr(at, size);
    return true;
  }

  uint64_t end_of(std::string_view slice) const { return uint64_t(slice.data() + slice.size() - image_.data()); }

  /// The record of that number.
  template <typename T>
  static bool take(std::string_view records, uint64_t number, T& out) {
    if (number >= records.size() / sizeof(T)) return false;
    std::memcpy(&out, records.data() + number * sizeof(T), sizeof(T));
    return true;
  }

  static bool read_symbols(std::string_view table, std::string_view names, std::vector<std::string_view>& functions) {
    for (uint64_t i = 0; i < table.size() / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      if (!take(table, i, symbol) || symbol.st_name >= names.size()) return false;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      std::string_view name = names.substr(symbol.st_name, 256);
      functions.push_back(name.substr(0, name.find('\0')));
    }
    return true;
  }

  std::string_view image_;
  Elf64_Ehdr header_{};
  std::string_view sections_;
};

constexpr size_t object_alignment = 8;

size_t aligned(size_t size) { return (size + object_alignment - 1) / object_alignment * object_alignment; }

}  // namespace

std::string cuda_symbol(std::string_view kernel) {
  std::string symbol(kernel);
  std::replace(symbol.begin(), symbol.end(), '.', '$');
  return symbol;
}

Outcome check_ptx(std::string_view text, const std::vector<KernelMeta>& kernels) {
  bool begins = text.starts_with("//") || text.starts_with(".version");
  if (!begins || text.find(".version") == text.npos || text.find('\0') != text.npos) return error("it is not PTX");
  Missing missing(kernels);
  find_entries(text, missing);
  return missing.check();
}

Result<std::vector<CubinPart>> cubin_parts(std::string_view file) {
  std::vector<CubinPart> parts;
  for (size_t at = 0; at < file.size() || parts.empty();) {
    CubinObject object(file.substr(std::min(at, file.size())));
    if (!object.open()) return error("it is not a cubin");
    std::optional<std::vector<std::string_view>> functions = object.functions();
    if (!functions) return error("it is not a cubin");
    parts.push_back({object.bytes(), std::move(*functions)});
    at = aligned(at + object.bytes().size());
  }
  return parts;
}

void append_cubin_object(std::string& file, std::string_view object) {
  file.resize(aligned(file.size()), '\0');
  file += object;
}

Outcome check_cubin(std::string_view file, const std::vector<KernelMeta>& kernels) {
  Result<std::vector<CubinPart>> parts = cubin_parts(file);
  if (!parts) return parts.error();
  Missing missing(kernels);
  for (const CubinPart& part : *parts) {
    for (std::string_view function : part.functions) missing.find(function);
  }
  return missing.check();
}

}  // namespace tessera::format
