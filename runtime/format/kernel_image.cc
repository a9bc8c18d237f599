// Offsets in the file are addresses: header and program headers, constants, code from the next page
// on, symbols, their names, the sections' names, section headers.

#include "runtime/format/kernel_image.h"

#include <elf.h>

#include <algorithm>
#include <cstddef>

#include "runtime/files/bytes.h"
#include "runtime/files/text.h"

namespace tessera::format {

namespace {

constexpr uint64_t max_image_bytes = uint64_t(1) << 31;  // what relative addresses reach
constexpr size_t section_count = 6;
constexpr std::string_view section_names("\0.rodata\0.text\0.symtab\0.strtab\0.shstrtab\0", 41);
static_assert(image_constants_at >= sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr));

uint64_t rounded(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/// Where the parts of an image are; all follows from the sizes.
struct Layout {
  uint64_t code_at, code_end, symbols_at, names_at, section_names_at, sections_at, size;

  Layout(uint64_t constants, uint64_t code, uint64_t symbols, uint64_t names)
      : code_at(KernelImage::image_code_at(constants)),
        code_end(code_at + code),
        symbols_at(rounded(code_end, 8)),
        names_at(symbols_at + (symbols + 1) * sizeof(Elf64_Sym)),
        section_names_at(names_at + names),
        sections_at(rounded(section_names_at + section_names.size(), 8)),
        size(sections_at + section_count * sizeof(Elf64_Shdr)) {}
};

class ImageWriter {
 public:
  explicit ImageWriter(const KernelImage& image)
      : image_(image), names_(1, '\0'), layout_(0, 0, 0, 0) {
    for (const ImageSymbol& symbol : image.symbols) names_ += symbol.name + '\0';
    layout_ = Layout(image.constants.size(), image.code.size(), image.symbols.size(), names_.size());
  }

  std::string write() {
    out_.reserve(layout_.size);
    put_header();
    put_segment(PF_R, 0, image_constants_at + image_.constants.size());
    put_segment(PF_R | PF_X, layout_.code_at, image_.code.size());
    put_at(image_constants_at, image_.constants);
    put_at(layout_.code_at, image_.code);
    put_symbols();
    put_at(layout_.names_at, names_);
    put_at(layout_.section_names_at, section_names);
    put_sections();
    return std::move(out_);
  }

 private:
  void put_at(uint64_t offset, std::string_view bytes) {
    out_.resize(offset);
    out_ += bytes;
  }

  void put_header() {
    out_ += std::string_view(ELFMAG, SELFMAG);
    for (int value : {ELFCLASS64, ELFDATA2LSB, EV_CURRENT}) put_u8(out_, uint8_t(value));
    out_.resize(EI_NIDENT);
    put_u16(out_, ET_DYN);
    put_u16(out_, EM_X86_64);
    put_u32(out_, EV_CURRENT);
    put_u64(out_, 0);  // no entry point
    put_u64(out_, sizeof(Elf64_Ehdr));
    put_u64(out_, layout_.sections_at);
    put_u32(out_, 0);
    for (size_t value : {sizeof(Elf64_Ehdr), sizeof(Elf64_Phdr), size_t(2), sizeof(Elf64_Shdr),
                         section_count, section_count - 1}) {
      put_u16(out_, uint16_t(value));
    }
  }

  void put_segment(uint32_t flags, uint64_t at, uint64_t bytes) {
    put_u32(out_, PT_LOAD);
    put_u32(out_, flags);
    for (uint64_t value : {at, at, at, bytes, bytes, image_page_bytes}) put_u64(out_, value);
  }

  void put_symbols() {
    out_.resize(layout_.symbols_at + sizeof(Elf64_Sym));  // the first one is empty
    uint32_t name = 1;
    for (const ImageSymbol& symbol : image_.symbols) {
      put_u32(out_, name);
      put_u8(out_, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC));
      put_u8(out_, STV_DEFAULT);
      put_u16(out_, 2);  // .text
      put_u64(out_, layout_.code_at + symbol.offset);
      put_u64(out_, symbol.size);
      name += uint32_t(symbol.name.size() + 1);
    }
  }

  void put_section(std::string_view name, uint32_t type, uint64_t flags, uint64_t at, uint64_t bytes,
                   uint64_t alignment) {
    bool is_symbols = type == SHT_SYMTAB;
    put_u32(out_, uint32_t(section_names.find(name)));
    put_u32(out_, type);
    put_u64(out_, flags);
    put_u64(out_, flags ? at : 0);
    put_u64(out_, at);
    put_u64(out_, bytes);
    put_u32(out_, is_symbols ? 4 : 0);  // .strtab has its names
    put_u32(out_, is_symbols ? 1 : 0);  // the first global one
    put_u64(out_, alignment);
    put_u64(out_, is_symbols ? sizeof(Elf64_Sym) : 0);
  }

  void put_sections() {
    out_.resize(layout_.sections_at + sizeof(Elf64_Shdr));  // the first one is empty
    put_section(".rodata", SHT_PROGBITS, SHF_ALLOC, image_constants_at, image_.constants.size(),
                image_alignment);
    put_section(".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, layout_.code_at,
                image_.code.size(), image_alignment);
    put_section(".symtab", SHT_SYMTAB, 0, layout_.symbols_at, layout_.names_at - layout_.symbols_at, 8);
    put_section(".strtab", SHT_STRTAB, 0, layout_.names_at, names_.size(), 1);
    put_section(".shstrtab", SHT_STRTAB, 0, layout_.section_names_at, section_names.size(), 1);
  }

  const KernelImage& image_;
  std::string names_;
  Layout layout_;
  std::string out_;
};

/// `last` is the symbol before, or null.
Outcome check_symbol(const ImageSymbol& symbol, const ImageSymbol* last, size_t code_size) {
  if (!is_printable_name(symbol.name)) return error("a symbol's name is empty, too long or not printable");
  if (last && last->name >= symbol.name) {
    return error("the symbol ", in_quotes(symbol.name), " is out of order or there twice");
  }
  if (symbol.size == 0 || symbol.offset > code_size || symbol.size > code_size - symbol.offset) {
    return error("the symbol ", in_quotes(symbol.name), " lies outside the code");
  }
  return {};
}

/// Takes the contents from where the one form has them. Whether the rest is that form, the
/// comparison with what the writer gives says.
class ImageReader {
 public:
  explicit ImageReader(std::string_view bytes) : bytes_(bytes) {}

  Result<KernelImage> read() {
    if (bytes_.size() > max_image_bytes) return error("it exceeds 2 GiB");
    if (bytes_.size() < image_page_bytes + section_count * sizeof(Elf64_Shdr)) return error("it is too short");
    if (!bytes_.starts_with(std::string_view(ELFMAG, SELFMAG))) return error("it is not an ELF file");
    KernelImage image;
    if (!take_segments(image)) return not_the_form();
    if (Outcome taken = take_symbols(image); !taken) return taken.error();
    if (ImageWriter(image).write() != bytes_) return not_the_form();
    return image;
  }

 private:
  static Error not_the_form() {
    return error("it is not in the one form that tesserac writes; compile the source again");
  }

  bool slice(uint64_t at, uint64_t size, std::string_view& out) const {
    if (at > bytes_.size() || size > bytes_.size() - at) return false;
    out = bytes_.substr(at, size);
    return true;
  }

  uint64_t number(uint64_t at) const { return ByteReader(bytes_.substr(at)).u64(); }

  bool take_segments(KernelImage& image) const {
    constexpr uint64_t file_size_at = offsetof(Elf64_Phdr, p_filesz);
    uint64_t constants_end = number(sizeof(Elf64_Ehdr) + file_size_at);
    uint64_t code_size = number(sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + file_size_at);
    return constants_end >= image_constants_at &&
           slice(image_constants_at, constants_end - image_constants_at, image.constants) &&
           slice(image.code_at(), code_size, image.code);
  }

  /// Names lie one behind the other, in order; where one does not, nothing more is read.
  Outcome take_symbols(KernelImage& image) const {
    uint64_t sections_at = bytes_.size() - section_count * sizeof(Elf64_Shdr);
    uint64_t symbols_size = number(sections_at + 3 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size));
    uint64_t names_size = number(sections_at + 4 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size));
    uint64_t symbols_at = rounded(image.code_at() + image.code.size(), 8);
    std::string_view table, names;
    if (symbols_size < sizeof(Elf64_Sym) || !slice(symbols_at, symbols_size, table) ||
        !slice(symbols_at + symbols_size, names_size, names)) {
      return not_the_form();
    }
    ByteReader in(table);
    in.raw(sizeof(Elf64_Sym));
    for (uint64_t name_at = 1; in.remaining() > 0; name_at += image.symbols.back().name.size() + 1) {
      uint32_t name = in.u32();
      in.raw(offsetof(Elf64_Sym, st_value) - sizeof name);
      uint64_t value = in.u64(), size = in.u64();
      if (in.failed() || name != name_at || name >= names.size() || value < image.code_at()) return not_the_form();
      std::string_view text = names.substr(name, 256);  // one more than a name may have
      ImageSymbol symbol{std::string(text.substr(0, text.find('\0'))), value - image.code_at(), size};
      const ImageSymbol* last = image.symbols.empty() ? nullptr : &image.symbols.back();
      if (Outcome checked = check_symbol(symbol, last, image.code.size()); !checked) return checked;
      image.symbols.push_back(std::move(symbol));
    }
    return {};
  }

  std::string_view bytes_;
};

}  // namespace

uint64_t KernelImage::image_code_at(uint64_t constants_bytes) {
  return rounded(image_constants_at + constants_bytes, image_page_bytes);
}

const ImageSymbol* KernelImage::find(std::string_view name) const {
  auto at = std::lower_bound(symbols.begin(), symbols.end(), name,
                             [](const ImageSymbol& symbol, std::string_view key) { return symbol.name < key; });
  return at != symbols.end() && at->name == name ? &*at : nullptr;
}

Result<std::string> write_kernel_image(const KernelImage& image) {
  const ImageSymbol* last = nullptr;
  for (const ImageSymbol& symbol : image.symbols) {
    if (Outcome checked = check_symbol(symbol, last, image.code.size()); !checked) return checked.error();
    last = &symbol;
  }
  if (image.constants.size() + image.code.size() > max_image_bytes / 2) return error("it exceeds 1 GiB");
  return ImageWriter(image).write();
}

Result<KernelImage> read_kernel_image(std::string_view bytes) {
  return ImageReader(bytes).read();
}

}  // namespace tessera::format
