#include "codegen/ptx/assembler.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "runtime/format/cuda_image.h"
#include "support/file.h"

namespace tessera::codegen {

namespace {

/// Runs a program with its output and messages going to a file; its exit status, or -1 and why there is none.
int run_program(const std::vector<std::string>& command, const std::string& log, std::string& problem) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  int failed = posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  if (!failed && waitpid(child, &status, 0) != child) failed = errno;
  if (failed) {
    problem = std::strerror(failed);
  } else if (WIFSIGNALED(status)) {
    problem = std::string("it was ended: ") + strsignal(WTERMSIG(status));
  }
  return failed || !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

/// "ptxas 13.0.88" of what it says of itself.
std::string name_of(const std::string& version) {
  size_t at = version.rfind(", V");
  if (at == std::string::npos) return "ptxas";
  return "ptxas " + version.substr(at + 3, version.find_first_of("\n ", at + 3) - at - 3);
}

/// An assembly as the bytes of an entry of a cache: the number of bytes of the messages, these, and the image.
std::string packed(const Assembly& assembly) {
  uint64_t size = assembly.messages.size();
  std::string bytes(reinterpret_cast<const char*>(&size), sizeof size);
  return bytes + assembly.messages + assembly.image;
}

/// Whether all kernels of the text are in the image and the messages: ptxas does not tell of a full disk.
bool is_complete(const Assembly& assembly, std::string_view ptx) {
  format::Result<std::vector<format::CubinPart>> parts = format::cubin_parts(assembly.image);
  if (!parts || parts->size() != 1 || parts->front().object.size() != assembly.image.size()) return false;
  const std::vector<std::string_view>& functions = parts->front().functions;
  constexpr std::string_view word = ".visible .entry ";
  for (size_t at = ptx.find(word); at != ptx.npos; at = ptx.find(word, at)) {
    at += word.size();
    std::string_view name = ptx.substr(at, ptx.find('(', at) - at);
    if (std::ranges::find(functions, name) == functions.end()) return false;
    if (assembly.messages.find(fmt::format("entry function '{}'", name)) == std::string::npos) return false;
  }
  return true;
}

/// Whether the file is a program itself, and no script.
bool is_program(const std::string& path) {
  char begin[4] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof begin);
  return std::memcmp(begin, ELFMAG, SELFMAG) == 0;
}

std::optional<Assembly> unpacked(const std::string& bytes) {
  uint64_t size = 0;
  if (bytes.size() < sizeof size) return std::nullopt;
  std::memcpy(&size, bytes.data(), sizeof size);
  if (size > bytes.size() - sizeof size) return std::nullopt;
  return Assembly{.messages = bytes.substr(sizeof size, size), .image = bytes.substr(sizeof size + size)};
}

}  // namespace

std::string without_places(std::string_view ptx) {
  std::string out;
  out.reserve(ptx.size());
  for (size_t at = 0; at < ptx.size();) {
    size_t end = std::min(ptx.find('\n', at), ptx.size() - 1) + 1;
    std::string_view line = ptx.substr(at, end - at);
    if (!line.starts_with("\t.loc\t") && !line.starts_with(".file\t")) out += line;
    at = end;
  }
  return out;
}

std::string find_ptxas() {
  std::vector<std::string> folders;
  if (const char* path = std::getenv("PATH")) {
    std::istringstream stream(path);
    for (std::string folder; std::getline(stream, folder, ':');) folders.push_back(folder);
  }
  if (const char* home = std::getenv("CUDA_HOME")) folders.push_back(std::string(home) + "/bin");
  folders.push_back("/usr/local/cuda/bin");
  for (const std::string& folder : folders) {
    std::string candidate = folder + "/ptxas";
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

Assembler::Assembler(const Machine& machine, bool line_info, const Cache* cache)
    : path_(find_ptxas()), options_{"-v", "--gpu-name", machine.gpu.ptx_target}, line_info_(line_info), cache_(cache) {
  // Lines of the source bring the whole text of the PTX along.
  options_.emplace_back(line_info ? "--generate-line-info" : "--suppress-debug-info");
  if (path_.empty()) return;
  version_ = read_version();
  name_ = name_of(version_);
}

const TemporaryFolder& Assembler::folder() const {
  std::call_once(is_made_, [&] { folder_.emplace("ptxas"); });
  return *folder_;
}

/// Asking takes as long as a small kernel does: the answer is kept while the file is the same. A script may call
/// another program each time.
std::string Assembler::read_version() const {
  struct stat info {};
  std::string key, version, problem;
  if (cache_ && is_program(path_) && ::stat(path_.c_str(), &info) == 0) {
    key = fmt::format("version of {} {} {} {}", path_, info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
    if (std::optional<std::string> known = cache_->find(key)) return *known;
  }
  if (!folder().problem().empty()) return {};
  std::string log = folder().file("version");
  if (run_program({path_, "--version"}, log, problem) != 0 || !read_file(log, version, problem)) return {};
  if (!key.empty() && name_of(version) != "ptxas") cache_->keep(key, version);
  return version;
}

Assembly Assembler::assemble(std::string_view ptx) const {
  std::string text = line_info_ ? std::string(ptx) : without_places(ptx);
  if (!cache_ || version_.empty()) return run(text);
  std::string key = fmt::format("{}\n{}\n{}", version_, fmt::join(options_, " "), text);
  if (std::optional<std::string> kept = cache_->find(key)) {
    std::optional<Assembly> assembly = unpacked(*kept);
    if (assembly && is_complete(*assembly, text)) return std::move(*assembly);
  }
  Assembly assembly = run(text);
  if (assembly.fault == Assembly::Fault::None) cache_->keep(key, packed(assembly));
  return assembly;
}

Assembly Assembler::run(const std::string& ptx) const {
  static std::atomic<unsigned> runs = 0;
  if (!folder().problem().empty()) return {.fault = Assembly::Fault::NoPlace, .problem = folder().problem()};
  std::string stem = folder().file(fmt::format("kernel-{}", runs++));
  std::string source = stem + ".ptx", object = stem + ".cubin", log = stem + ".log";
  Assembly out;
  auto no_place = [&] {
    out.fault = Assembly::Fault::NoPlace;
    return out;
  };
  if (!write_file(source, ptx, out.problem)) return no_place();
  std::vector<std::string> command = {path_};
  command.insert(command.end(), options_.begin(), options_.end());
  command.insert(command.end(), {source, "-o", object});
  int status = run_program(command, log, out.problem);
  if (status == -1) {
    out.fault = Assembly::Fault::CannotRun;
    return out;
  }
  std::string problem;
  if (!read_file(log, out.messages, problem)) out.messages.clear();
  if (status != 0 && out.messages.empty()) {
    out.fault = Assembly::Fault::CannotRun;
    out.problem = fmt::format("it ended with status {} and said nothing", status);
    return out;
  }
  if (status != 0) {
    out.fault = Assembly::Fault::Refused;
    out.problem = out.messages.substr(0, out.messages.find('\n'));
    // The file is gone when this is read.
    for (size_t at; (at = out.problem.find(source)) != std::string::npos;) {
      out.problem.replace(at, source.size(), "kernels.ptx");
    }
    return out;
  }
  if (!read_file(object, out.image, problem)) out.image.clear();
  if (!is_complete(out, ptx)) {
    out.problem = "ptxas reported no error, but what it wrote is not complete";
    return no_place();
  }
  for (const std::string& file : {source, object, log}) ::unlink(file.c_str());
  return out;
}

}  // namespace tessera::codegen
