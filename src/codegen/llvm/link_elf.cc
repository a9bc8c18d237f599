#include "codegen/llvm/link_elf.h"

#include <lld/Common/Driver.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <mutex>

#include "support/check.h"
#include "support/file.h"
#include "support/out_of_memory.h"

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
  std::string path() const { return std::string(path_.str()); }
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

/// What the linker says of files that it could not open or write; empty where it says something else.
std::string problem_of_files(std::string_view messages) {
  for (std::string_view cause : {"cannot open", "failed to open", "failed to write"}) {
    size_t at = messages.find(cause);
    if (at != std::string_view::npos) return std::string(messages.substr(at, messages.find('\n', at) - at));
  }
  return {};
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
  RemovedOnExit removed(directory.path());
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
  // What the linker calls fatal would end the process; this way it comes back here.
  llvm::CrashRecoveryContext::Enable();
  lld::Result result = lld::lldMain(arguments, stream, stream, drivers);
  llvm::CrashRecoveryContext::Disable();
  if (result.retCode != 0) {
    problem = problem_of_files(stream.str());
    TSR_CHECK(!problem.empty(), "the linker refused a kernel object: " + stream.str());
    return {};
  }
  std::string elf;
  return read_file(out_path, elf, problem) ? elf : std::string();
}

}  // namespace tessera::codegen
