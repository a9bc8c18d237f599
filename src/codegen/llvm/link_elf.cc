#include "codegen/llvm/link_elf.h"

#include <lld/Common/Driver.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>

#include "support/check.h"
#include "support/file.h"

LLD_HAS_DRIVER(elf)

namespace tessera::codegen {

namespace {

/// A directory for the linker's files, which writes its output beside the path it is given and renames.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::error_code error = llvm::sys::fs::createUniqueDirectory("tessera-link", path_);
    if (error) problem_ = error.message();
  }
  ~TemporaryDirectory() {
    if (problem_.empty()) llvm::sys::fs::remove_directories(path_);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  /// Why there is none; empty when there is one.
  const std::string& problem() const { return problem_; }
  std::string file(std::string_view name) const { return std::string(path_.str()) + "/" + std::string(name); }

 private:
  llvm::SmallString<64> path_;
  std::string problem_;
};

/// Kernels call nothing; a symbol here is an operation that a pass left for a library.
void check_imports(std::string_view object) {
  auto buffer = llvm::MemoryBuffer::getMemBuffer(llvm::StringRef(object.data(), object.size()), "kernels", false);
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer->getMemBufferRef());
  TSR_CHECK(bool(file), "LLVM gave no readable object");
  for (const llvm::object::ELFSymbolRef symbol : (*file)->symbols()) {
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    TSR_CHECK(bool(flags) && bool(name), "LLVM gave no readable object");
    bool undefined = *flags & llvm::object::SymbolRef::SF_Undefined;
    TSR_CHECK(!undefined || name->empty(), "a kernel calls " + name->str() + ", and kernels import nothing");
  }
}

}  // namespace

std::string link_shared_object(std::span<const std::string> objects, std::string& problem) {
  for (const std::string& object : objects) check_imports(object);
  // The linker keeps its state in globals.
  static std::mutex linker_mutex;
  std::scoped_lock lock(linker_mutex);
  TemporaryDirectory directory;
  problem = directory.problem();
  if (!problem.empty()) return {};
  std::string out_path = directory.file("kernels.so");
  std::vector<std::string> in_paths;
  for (const std::string& object : objects) {
    in_paths.push_back(directory.file("kernels." + std::to_string(in_paths.size()) + ".o"));
    if (!write_file(in_paths.back(), object, problem)) return {};
  }
  std::vector<const char*> arguments = {"ld.lld", "-shared", "--build-id=none", "--threads=1", "--hash-style=gnu",
                                        "-s", "--no-undefined", "-z", "noexecstack", "-z", "separate-code",
                                        "-soname", "kernels.so", "-o", out_path.c_str()};
  for (const std::string& path : in_paths) arguments.push_back(path.c_str());
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  const lld::DriverDef drivers[] = {{lld::Gnu, &lld::elf::link}};
  lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  TSR_CHECK(result.retCode == 0, "the linker refused a kernel object: " + stream.str());
  std::string elf;
  return read_file(out_path, elf, problem) ? elf : std::string();
}

}  // namespace tessera::codegen
