// Code of a CPU target: the reader takes one form and nothing beside it.

#include "runtime/format/kernel_image.h"

#include <elf.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>

#include "runtime/cpu/kernel_code.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

/// Which bytes of an image may be others: any in constants and code; where symbols and their names
/// are, some.
class Contents {
 public:
  explicit Contents(const std::string& bytes) : bytes_(bytes) {
    auto image = read_kernel_image(bytes);
    REQUIRE(image);
    constants_ = image->constants;
    code_ = image->code;
    Elf64_Ehdr header;
    std::memcpy(&header, bytes.data(), sizeof header);
    Elf64_Shdr sections[6];
    std::memcpy(sections, bytes.data() + header.e_shoff, sizeof sections);
    symbols_ = std::string_view(bytes).substr(sections[3].sh_offset, sections[3].sh_size);
    names_ = std::string_view(bytes).substr(sections[4].sh_offset, sections[4].sh_size);
  }
  bool has(size_t at) const { return within(constants_, at) || within(code_, at); }
  bool may_have(size_t at) const {
    size_t of_symbol = (size_t(bytes_.data() + at - symbols_.data())) % sizeof(Elf64_Sym);
    bool is_extent = within(symbols_, at) && of_symbol >= offsetof(Elf64_Sym, st_value);
    return has(at) || is_extent || within(names_, at);
  }

 private:
  bool within(std::string_view part, size_t at) const {
    const char* byte = bytes_.data() + at;
    return byte >= part.data() && byte < part.data() + part.size();
  }

  const std::string& bytes_;
  std::string_view constants_;
  std::string_view code_;
  std::string_view symbols_;
  std::string_view names_;
};

/// Accepted bytes are what the writer gives for them, and symbols are in the code.
bool is_accepted(const std::string& bytes) {
  auto image = read_kernel_image(bytes);
  if (!image) return false;
  REQUIRE(*write_kernel_image(*image) == bytes);
  bool inside = std::ranges::all_of(image->symbols, [&](const ImageSymbol& symbol) {
    return symbol.offset < image->code.size() && symbol.size <= image->code.size() - symbol.offset;
  });
  REQUIRE(inside);
  return true;
}

template <typename T>
void put_at(std::string& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Writes each value that tends to matter to each field of `T` at a multiple of `unit`, one at a time.
template <typename T>
void try_fields(const std::string& bytes, const Contents& contents, size_t unit) {
  uint64_t size = bytes.size();
  const uint64_t values[] = {0,        1,           2,          3,        4,       6,
                             7,        24,          64,         4095,     4096,    8192,
                             size - 1, size,        size + 1,   1u << 31, -1u,     uint64_t(1) << 32,
                             10,       uint64_t(1) << 40, uint64_t(1) << 63, uint64_t(-1), uint64_t(-64), 0x6ffffef5};
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += unit) {
    for (uint64_t value : values) {
      std::string changed = bytes;
      put_at(changed, at, T(value));
      if (changed == bytes) continue;
      if (!is_accepted(changed)) continue;
      for (size_t i = 0; i < sizeof(T); ++i) {
        INFO("byte " << at + i << " of " << value);
        REQUIRE((changed[at + i] == bytes[at + i] || contents.may_have(at + i)));
      }
    }
  }
}

}  // namespace

TEST_CASE("an image is read back", "[runtime][image]") {
  std::string constants(100, 'c'), code(50, '\x90');
  KernelImage image{constants, code, {{"a", 0, 10}, {"b", 10, 40}, {"twin", 10, 40}}};
  auto bytes = write_kernel_image(image);
  REQUIRE(bytes);
  auto read = read_kernel_image(*bytes);
  REQUIRE(read);
  CHECK(read->constants == constants);
  CHECK(read->code == code);
  CHECK(read->symbols == image.symbols);
  CHECK(read->code_at() == 4096);
  CHECK(read->find("b")->offset == 10);
  CHECK(read->find("c") == nullptr);
  CHECK(is_accepted(*write_kernel_image({"", "", {}})));
}

TEST_CASE("symbols of an image are in order, printable and inside the code", "[runtime][image]") {
  std::string code(50, '\x90');
  auto refusal = [&](std::vector<ImageSymbol> symbols) {
    auto bytes = write_kernel_image({"", code, std::move(symbols)});
    return bytes ? "" : bytes.error().text;
  };
  CHECK(refusal({{"b", 0, 1}, {"a", 0, 1}}) == "the symbol 'a' is out of order or there twice");
  CHECK(refusal({{"a", 0, 1}, {"a", 1, 1}}) == "the symbol 'a' is out of order or there twice");
  CHECK(refusal({{"a", 50, 1}}) == "the symbol 'a' lies outside the code");
  CHECK(refusal({{"a", 0, 51}}) == "the symbol 'a' lies outside the code");
  CHECK(refusal({{"a", 0, 0}}) == "the symbol 'a' lies outside the code");
  CHECK(refusal({{"a", 1, uint64_t(-1)}}) == "the symbol 'a' lies outside the code");
  CHECK(refusal({{"\x1b[31m", 0, 1}}) == "a symbol's name is empty, too long or not printable");
  CHECK(refusal({{"", 0, 1}}) == "a symbol's name is empty, too long or not printable");
}

TEST_CASE("reading an image ends at the first symbol that is none", "[runtime][image]") {
  std::string code(50, '\x90');
  std::string bytes = *write_kernel_image({"", code, {{"a", 0, 10}, {"b", 0, 10}, {"c", 0, 10}}});
  size_t symbols = 4096 + 56;  // behind the code
  put_at(bytes, bytes.find(std::string_view("\0a\0b\0c\0", 7)) + 3, 'A');
  put_at(bytes, symbols + 3 * sizeof(Elf64_Sym), uint32_t(-1));
  auto read = read_kernel_image(bytes);
  REQUIRE_FALSE(read);
  CHECK(read.error().text == "the symbol 'A' is out of order or there twice");
  bytes = *write_kernel_image({"", code, {{"a", 0, 10}, {"b", 0, 10}, {"c", 0, 10}}});
  put_at(bytes, symbols + 2 * sizeof(Elf64_Sym), uint32_t(1));  // a's name again
  put_at(bytes, symbols + 3 * sizeof(Elf64_Sym) + offsetof(Elf64_Sym, st_size), uint64_t(-1));
  read = read_kernel_image(bytes);
  REQUIRE_FALSE(read);
  CHECK(read.error().text == "it is not in the one form that tesserac writes; compile the source again");
}

TEST_CASE("nothing but contents of an image may be other bytes", "[runtime][image]") {
  std::string bytes = sample_object();
  Contents contents(bytes);
  size_t content_bytes = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    for (int bit : {1, 2, 0x10, 0x80, 0xff}) {
      changed[i] = char(bytes[i] ^ bit);
      INFO("byte " << i);
      bool accepted = is_accepted(changed);
      REQUIRE((accepted ? contents.may_have(i) : !contents.has(i)));
    }
    content_bytes += contents.has(i);
  }
  CHECK(content_bytes > 0);
  for (size_t size = 0; size < bytes.size(); ++size) REQUIRE_FALSE(is_accepted(bytes.substr(0, size)));
  for (size_t more : {1, 8, 64, 4096}) REQUIRE_FALSE(is_accepted(bytes + std::string(more, '\0')));
}

TEST_CASE("no field of an image has another value", "[runtime][image]") {
  std::string bytes = sample_object();
  Contents contents(bytes);
  try_fields<uint16_t>(bytes, contents, 2);
  try_fields<uint32_t>(bytes, contents, 4);
  try_fields<uint64_t>(bytes, contents, 8);
}

TEST_CASE("what a dynamic loader would act on is refused", "[runtime][image]") {
  std::string bytes = sample_object();
  constexpr size_t segments = sizeof(Elf64_Ehdr);
  for (uint32_t type : {PT_DYNAMIC, PT_INTERP, PT_TLS, PT_NOTE, PT_GNU_RELRO, PT_GNU_STACK}) {
    for (size_t segment : {0, 1}) {
      std::string changed = bytes;
      put_at(changed, segments + segment * sizeof(Elf64_Phdr), type);
      CHECK_FALSE(is_accepted(changed));
    }
    // One more, in the bytes before the constants.
    std::string more = bytes;
    put_at(more, offsetof(Elf64_Ehdr, e_phnum), uint16_t(3));
    put_at(more, segments + 2 * sizeof(Elf64_Phdr), type);
    CHECK_FALSE(is_accepted(more));
  }
  std::ifstream library(TESSERA_LIBRARY, std::ios::binary);
  std::string shared{std::istreambuf_iterator<char>(library), {}};
  REQUIRE(!shared.empty());
  CHECK_FALSE(is_accepted(shared));
  std::unique_ptr<tessera::runtime::Code> code;
  CHECK(tessera::runtime::load_kernel_code(shared, code).text ==
        "the bundle's CPU code cannot be loaded: it is not in the one form that tesserac writes; compile the source "
        "again");
  CHECK(code == nullptr);
}

TEST_CASE("code is mapped to be executed, and never to be written", "[runtime][image]") {
  // What may be done with the memory there.
  auto permissions = [](const void* at) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      char* rest = nullptr;
      uintptr_t begin = std::strtoull(line.c_str(), &rest, 16);
      uintptr_t end = std::strtoull(rest + 1, &rest, 16);
      if (uintptr_t(at) >= begin && uintptr_t(at) < end) return std::string(rest + 1, 4);
    }
    return std::string("none");
  };
  size_t constants_bytes = 0;
  std::unique_ptr<tessera::runtime::Code> code;
  {
    std::string bytes = sample_object();
    constants_bytes = read_kernel_image(bytes)->code_at();
    REQUIRE_FALSE(tessera::runtime::load_kernel_code(bytes, code).failed());
  }
  void* kernel = nullptr;
  KernelMeta meta = sample_kernel("add_one");
  REQUIRE_FALSE(code->find(meta, &kernel).failed());
  CHECK(permissions(kernel) == "r-xp");
  const char* page = static_cast<char*>(kernel) - uintptr_t(kernel) % 4096;
  REQUIRE(constants_bytes == 4096);
  while (permissions(page) == "r-xp") page -= 4096;
  CHECK(permissions(page) == "r--p");
  const float x = 3;
  float y = 0;
  const void* buffers[] = {&x, &y};
  const int64_t one = 1;
  using Kernel = void (*)(const void**, const int64_t*, int64_t, int64_t, void*);
  reinterpret_cast<Kernel>(kernel)(buffers, &one, 0, 1, nullptr);
  CHECK(y == 4);
  meta.name = "absent";
  CHECK(code->find(meta, &kernel).text == "the bundle's CPU code has no kernel 'absent'");
  code.reset();
  CHECK(permissions(kernel) == "none");
}

TEST_CASE("code is loaded where no file may be written", "[runtime][image]") {
  pid_t child = ::fork();
  if (child == 0) {
    rlimit none = {0, 0};
    std::unique_ptr<tessera::runtime::Code> code;
    bool is_loaded = ::setrlimit(RLIMIT_FSIZE, &none) == 0 &&
                     !tessera::runtime::load_kernel_code(sample_object(), code).failed();
    ::_exit(is_loaded ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
