#include "support/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstring>

namespace tessera {

namespace {

size_t aligned(size_t size) { return (size + 3) / 4 * 4; }

/// The build ID among the notes of a segment.
std::string build_id_in(const char* notes, size_t size) {
  constexpr char owner[] = "GNU";
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof header);
    size_t name = aligned(header.n_namesz), whole = sizeof header + name + aligned(header.n_descsz);
    if (whole > size) break;
    const char* text = notes + sizeof header;
    bool is_id = header.n_type == NT_GNU_BUILD_ID && header.n_namesz == sizeof owner;
    if (is_id && std::memcmp(text, owner, sizeof owner) == 0) {
      std::string digits;
      for (size_t i = 0; i < header.n_descsz; ++i) {
        constexpr char hex[] = "0123456789abcdef";
        unsigned char byte = static_cast<unsigned char>(text[name + i]);
        digits += {hex[byte >> 4], hex[byte & 15]};
      }
      return digits;
    }
    notes += whole;
    size -= whole;
  }
  return {};
}

/// Looks at the program alone, which comes first.
int look(dl_phdr_info* object, size_t, void* found) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const char* notes = reinterpret_cast<const char*>(object->dlpi_addr + segment.p_vaddr);
    std::string id = build_id_in(notes, segment.p_memsz);
    if (!id.empty()) *static_cast<std::string*>(found) = id;
  }
  return 1;
}

}  // namespace

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(look, &id);
  return id;
}

}  // namespace tessera
