#include "codegen/llvm/link_kernels.h"

#include <llvm/Object/ELF.h>
#include <llvm/Support/Endian.h>

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/format/kernel_image.h"
#include "support/check.h"

namespace tessera::codegen {

namespace {

using Elf = llvm::object::ELF64LE;
using ElfFile = llvm::object::ELFFile<Elf>;

/// What LLVM reads of its own output.
template <typename T>
T readable(llvm::Expected<T> value) {
  TSR_CHECK(bool(value), "LLVM gave no readable object: " + llvm::toString(value.takeError()));
  return std::move(*value);
}

/// A place in the image: an offset in its code or in its constants.
struct Place {
  bool in_code = false;
  uint64_t offset = 0;
};

/// Where a section of an object has gone.
struct PlacedSection {
  bool is_there = false;
  Place start;
  uint64_t piece_bytes = 0;        ///< of a section whose constants are merged, one by one; else 0
  std::vector<uint64_t> pieces{};  ///< and where each of them is

  Place at(uint64_t offset) const {
    if (piece_bytes == 0) return {start.in_code, start.offset + offset};
    TSR_CHECK(offset / piece_bytes < pieces.size(), "an object refers to what lies behind its constants");
    return {false, pieces[offset / piece_bytes] + offset % piece_bytes};
  }
};

class Linker {
 public:
  void add(const std::string& object) {
    Object& added = objects_.emplace_back(readable(ElfFile::create(object)));
    for (const Elf::Shdr& section : readable(added.file.sections())) added.placed.push_back(place(added.file, section));
  }

  std::string link() {
    code_at_ = format::KernelImage::image_code_at(constants_.size());
    for (const Object& object : objects_) {
      for (const Elf::Shdr& section : readable(object.file.sections())) {
        if (section.sh_type == llvm::ELF::SHT_SYMTAB) add_symbols(object, section);
        if (section.sh_type == llvm::ELF::SHT_RELA) relocate(object, section);
        TSR_CHECK(section.sh_type != llvm::ELF::SHT_REL, "an object has relocations of another kind");
      }
    }
    std::ranges::sort(symbols_, {}, &format::ImageSymbol::name);
    format::Result<std::string> image = format::write_kernel_image({constants_, code_, symbols_});
    TSR_CHECK(bool(image), "the kernels make no image: " + image.error().text);
    return std::move(*image);
  }

 private:
  struct Object {
    ElfFile file;
    std::vector<PlacedSection> placed{};

    explicit Object(ElfFile read) : file(std::move(read)) {}
  };

  /// Appends bytes at a multiple of `alignment` and returns where.
  static uint64_t append(std::string& to, std::string_view bytes, uint64_t alignment, char filler) {
    TSR_CHECK(alignment <= format::image_alignment, "a section has a greater alignment than images have");
    alignment = std::max<uint64_t>(alignment, 1);
    to.resize((to.size() + alignment - 1) / alignment * alignment, filler);
    to += bytes;
    return to.size() - bytes.size();
  }

  PlacedSection place(const ElfFile& file, const Elf::Shdr& section) {
    using namespace llvm::ELF;
    bool is_data = (section.sh_flags & SHF_ALLOC) && section.sh_type != SHT_NOTE && section.sh_size > 0;
    if (!is_data) return {};
    std::string name = readable(file.getSectionName(section)).str();
    TSR_CHECK(section.sh_type == SHT_PROGBITS && !(section.sh_flags & (SHF_WRITE | SHF_TLS)),
              "kernels have neither data to write nor tables of their own, as in the section " + name);
    llvm::ArrayRef<uint8_t> content = readable(file.getSectionContents(section));
    std::string_view bytes(reinterpret_cast<const char*>(content.data()), content.size());
    PlacedSection placed{.is_there = true};
    if (section.sh_flags & SHF_EXECINSTR) {
      constexpr char trap = '\xcc';
      placed.start = {true, append(code_, bytes, section.sh_addralign, trap)};
    } else if ((section.sh_flags & SHF_MERGE) && !(section.sh_flags & SHF_STRINGS)) {
      placed.piece_bytes = section.sh_entsize;
      TSR_CHECK(placed.piece_bytes > 0 && bytes.size() % placed.piece_bytes == 0, "constants have no size: " + name);
      for (size_t at = 0; at < bytes.size(); at += placed.piece_bytes) {
        placed.pieces.push_back(merged(bytes.substr(at, placed.piece_bytes), section.sh_addralign));
      }
    } else {
      placed.start = {false, append(constants_, bytes, section.sh_addralign, '\0')};
    }
    return placed;
  }

  uint64_t merged(std::string_view constant, uint64_t alignment) {
    auto [known, is_new] = merged_.try_emplace({alignment, std::string(constant)});
    if (is_new) known->second = append(constants_, constant, alignment, '\0');
    return known->second;
  }

  void add_symbols(const Object& object, const Elf::Shdr& table) {
    llvm::StringRef names = readable(object.file.getStringTableForSymtab(table));
    for (const Elf::Sym& symbol : readable(object.file.symbols(&table)).drop_front()) {
      std::string name = readable(symbol.getName(names)).str();
      TSR_CHECK(symbol.st_shndx != llvm::ELF::SHN_UNDEF, "a kernel calls " + name + ", and kernels import nothing");
      if (symbol.getBinding() != llvm::ELF::STB_GLOBAL) continue;
      Place place = place_of(object, symbol, name);
      TSR_CHECK(place.in_code && symbol.getType() == llvm::ELF::STT_FUNC, "the symbol " + name + " is not a function");
      symbols_.push_back({name, place.offset, symbol.st_size});
    }
  }

  static Place place_of(const Object& object, const Elf::Sym& symbol, const std::string& name) {
    bool is_placed = symbol.st_shndx < object.placed.size() && object.placed[symbol.st_shndx].is_there;
    TSR_CHECK(is_placed, "the symbol '" + name + "' lies outside code and constants");
    const PlacedSection& section = object.placed[symbol.st_shndx];
    return section.at(symbol.st_value);
  }

  /// LLVM refers to the section of merged constants as a whole only where nothing is added to a constant's place, which
  /// is the addend then (shouldRelocateWithSymbol in its ELFObjectWriter).
  static Place piece_at(const PlacedSection& section, int64_t addend) {
    bool is_one = addend >= 0 && uint64_t(addend) % section.piece_bytes == 0;
    TSR_CHECK(is_one, "a kernel refers to a part of merged constants without a name");
    return section.at(uint64_t(addend));
  }

  uint64_t address(const Place& place) const {
    return place.offset + (place.in_code ? code_at_ : format::image_constants_at);
  }

  /// Writes distances, which are the same wherever the image is.
  void relocate(const Object& object, const Elf::Shdr& table) {
    const PlacedSection& section = object.placed.at(table.sh_info);
    if (!section.is_there) return;
    TSR_CHECK(section.piece_bytes == 0, "merged constants refer to something");
    const Elf::Shdr* symbols = readable(object.file.getSection(table.sh_link));
    llvm::StringRef names = readable(object.file.getStringTableForSymtab(*symbols));
    for (const Elf::Rela& rela : readable(object.file.relas(table))) {
      uint32_t type = rela.getType(false);
      TSR_CHECK(type == llvm::ELF::R_X86_64_PC32 || type == llvm::ELF::R_X86_64_PLT32,
                "a kernel refers to something by more than a distance");
      const Elf::Sym* symbol = readable(object.file.getRelocationSymbol(rela, symbols));
      TSR_CHECK(symbol, "a relocation has no symbol");
      Place from = section.at(rela.r_offset);
      bool is_section = symbol->getType() == llvm::ELF::STT_SECTION;
      bool is_piece = is_section && object.placed.at(symbol->st_shndx).piece_bytes > 0;
      Place to = is_piece ? piece_at(object.placed[symbol->st_shndx], rela.r_addend)
                          : place_of(object, *symbol, readable(symbol->getName(names)).str());
      int64_t beside = is_piece ? 0 : rela.r_addend;
      int64_t distance = int64_t(address(to)) + beside - int64_t(address(from));
      std::string& bytes = from.in_code ? code_ : constants_;
      bool fits = from.offset + 4 <= bytes.size() && distance == int32_t(distance);
      TSR_CHECK(fits, "a distance in the code of kernels is too great");
      llvm::support::endian::write32le(bytes.data() + from.offset, uint32_t(distance));
    }
  }

  std::vector<Object> objects_;
  std::string code_;
  std::string constants_;
  std::map<std::pair<uint64_t, std::string>, uint64_t> merged_;  ///< by alignment and bytes
  std::vector<format::ImageSymbol> symbols_;
  uint64_t code_at_ = 0;
};

}  // namespace

std::string link_kernels(std::span<const std::string> objects) {
  Linker linker;
  for (const std::string& object : objects) linker.add(object);
  return linker.link();
}

}  // namespace tessera::codegen
