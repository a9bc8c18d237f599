// Kernels import nothing, so the loader has nothing to look up and no code runs before a kernel is
// called. This reads the same tables as the dynamic loader (program headers, dynamic section), not
// the section headers, which it ignores; every offset is checked against the image first.

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/cpu/elf_code.h"

namespace tessera::runtime {

namespace {

class ElfChecker {
 public:
  explicit ElfChecker(std::string_view image) : image_(image) {}

  Status check() {
    if (!read(0, header_)) return refuse("it is too short");
    if (std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return refuse("it is no ELF file");
    bool fits = header_.e_ident[EI_CLASS] == ELFCLASS64 &&
                header_.e_ident[EI_DATA] == ELFDATA2LSB && header_.e_machine == EM_X86_64 &&
                header_.e_type == ET_DYN && header_.e_phentsize == sizeof(Elf64_Phdr);
    if (!fits) return refuse("it is no shared object for x86-64");
    if (Status status = read_segments(); status.failed()) return status;
    if (Status status = read_dynamic(); status.failed()) return status;
    return check_symbols();
  }

 private:
  static Status refuse(std::string_view why) {
    return fail(TSR_EIMAGE, "the bundle's CPU code cannot be loaded: ", why);
  }

  template <typename T>
  bool read(uint64_t offset, T& out) const {
    if (offset > image_.size() || sizeof(T) > image_.size() - offset) return false;
    std::memcpy(&out, image_.data() + offset, sizeof(T));
    return true;
  }

  Status read_segments() {
    for (uint64_t i = 0; i < header_.e_phnum; ++i) {
      Elf64_Phdr segment;
      if (header_.e_phoff > image_.size() || !read(header_.e_phoff + i * sizeof segment, segment)) {
        return refuse("its program headers lie outside it");
      }
      if (segment.p_offset > image_.size() || segment.p_filesz > image_.size() - segment.p_offset ||
          segment.p_vaddr > UINT64_MAX / 2 || segment.p_memsz > (uint64_t(1) << 40) ||
          segment.p_filesz > segment.p_memsz) {
        return refuse("a segment lies outside it");
      }
      if (segment.p_type == PT_INTERP) return refuse("it asks for an interpreter");
      if (segment.p_type == PT_TLS) return refuse("it has thread-local data");
      if (segment.p_type == PT_LOAD) loads_.push_back(segment);
      if (segment.p_type == PT_DYNAMIC) dynamic_ = segment;
    }
    if (dynamic_.p_type != PT_DYNAMIC) return refuse("it has no dynamic section");
    return ok();
  }

  Status read_dynamic() {
    for (uint64_t at = 0;; at += sizeof(Elf64_Dyn)) {
      Elf64_Dyn item;
      if (at + sizeof item > dynamic_.p_filesz || !read(dynamic_.p_offset + at, item)) {
        return refuse("its dynamic section has no end");
      }
      switch (item.d_tag) {
        case DT_NULL:
          return ok();
        case DT_NEEDED:
          return refuse("it needs another library");
        case DT_INIT:
        case DT_FINI:
        case DT_INIT_ARRAY:
        case DT_FINI_ARRAY:
        case DT_PREINIT_ARRAY:
          return refuse("it runs code when it is loaded");
        case DT_RPATH:
        case DT_RUNPATH:
        case DT_AUDIT:
        case DT_DEPAUDIT:
        case DT_AUXILIARY:
        case DT_FILTER:
          return refuse("it names other libraries");
        case DT_SYMTAB:
          symbols_ = item.d_un.d_ptr;
          break;
        case DT_HASH:
          hash_ = item.d_un.d_ptr;
          break;
        case DT_GNU_HASH:
          gnu_hash_ = item.d_un.d_ptr;
          break;
        default:
          break;
      }
    }
  }

  /// Where in the image an address of the loaded object comes from; the image's size if nowhere.
  uint64_t offset_of(uint64_t address) const {
    for (const Elf64_Phdr& load : loads_) {
      if (address >= load.p_vaddr && address - load.p_vaddr < load.p_filesz) {
        return load.p_offset + (address - load.p_vaddr);
      }
    }
    return image_.size();
  }

  /// The number of dynamic symbols: DT_HASH says it; a GNU hash table ends after the last chain.
  bool count_symbols(uint64_t& count) const {
    if (hash_ != 0) {
      uint32_t chains = 0;
      count = 0;
      bool has_count = read(offset_of(hash_) + 4, chains);
      count = chains;
      return has_count;
    }
    uint32_t head[4];
    uint64_t at = offset_of(gnu_hash_);
    if (gnu_hash_ == 0 || !read(at, head)) return false;
    uint64_t buckets = at + sizeof head + uint64_t(head[2]) * 8;
    uint64_t chains = buckets + uint64_t(head[0]) * 4;
    uint32_t last = 0;
    for (uint64_t i = 0; i < head[0]; ++i) {
      uint32_t bucket = 0;
      if (!read(buckets + i * 4, bucket)) return false;
      last = std::max(last, bucket);
    }
    count = head[1];
    if (last < head[1]) return true;
    for (uint64_t i = last;; ++i) {
      uint32_t chain = 0;
      if (!read(chains + (i - head[1]) * 4, chain)) return false;
      count = i + 1;
      if (chain & 1) return true;
    }
  }

  /// A GNU hash table lists only defined symbols after the undefined ones, so both are read from
  /// the symbol table itself.
  Status check_symbols() const {
    uint64_t count = 0;
    if (symbols_ == 0 || !count_symbols(count)) return refuse("its symbol table cannot be read");
    for (uint64_t i = 1; i < count; ++i) {
      Elf64_Sym symbol;
      if (!read(offset_of(symbols_) + i * sizeof symbol, symbol)) {
        return refuse("its symbols lie outside it");
      }
      if (symbol.st_shndx == SHN_UNDEF) return refuse("it imports a symbol");
      if (ELF64_ST_TYPE(symbol.st_info) == STT_GNU_IFUNC) {
        return refuse("it runs code when it is loaded");
      }
    }
    return ok();
  }

  std::string_view image_;
  Elf64_Ehdr header_{};
  Elf64_Phdr dynamic_{};
  std::vector<Elf64_Phdr> loads_;
  uint64_t symbols_ = 0;
  uint64_t hash_ = 0;
  uint64_t gnu_hash_ = 0;
};

}  // namespace

Status check_elf(std::string_view image) {
  return ElfChecker(image).check();
}

}  // namespace tessera::runtime
