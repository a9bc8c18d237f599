#include "codegen/ptx/ptxas.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <set>
#include <sstream>

#include "support/check.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"
#include "support/temporary.h"

namespace tessera::codegen {

namespace {

/// Runs a program with its output and messages going to a file; its exit status, or -1 and why there is none.
int run(const std::vector<std::string>& command, const std::string& log, std::string& problem) {
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

/// The number right before `unit`, or 0.
int64_t number_before(const std::string& line, std::string_view unit) {
  size_t end = line.find(unit);
  if (end == std::string::npos) return 0;
  size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  int64_t value = 0;
  std::from_chars(line.data() + begin, line.data() + end, value);
  return value;
}

/// The name in single quotes after "function", or nothing.
std::string function_in(const std::string& line) {
  size_t begin = line.find("function '");
  if (begin != std::string::npos) begin = line.find('\'', begin);
  size_t end = begin == std::string::npos ? begin : line.find('\'', begin + 1);
  return end == std::string::npos ? std::string() : line.substr(begin + 1, end - begin - 1);
}

/// Messages numbered C75xx and C76xx are about wgmma and setmaxnreg.
bool is_loss(const std::string& line) {
  return line.find("(C75") != std::string::npos || line.find("(C76") != std::string::npos ||
         line.find("setmaxnreg") != std::string::npos || line.find("Potential Performance Loss") != std::string::npos;
}

std::string version_of(const std::string& ptxas, const TemporaryFolder& directory) {
  std::string text, problem;
  if (run({ptxas, "--version"}, directory.file("version"), problem) != 0) return "ptxas";
  if (!read_file(directory.file("version"), text, problem)) return "ptxas";
  size_t at = text.rfind(", V");
  return at == std::string::npos ? "ptxas" : "ptxas " + text.substr(at + 3, text.find_first_of("\n ", at + 3) - at - 3);
}

}  // namespace

namespace {

/// The kernel of that name, made where it is new, as the last one.
KernelResources& take(std::vector<KernelResources>& kernels, const std::string& name) {
  auto known = std::ranges::find(kernels, name, &KernelResources::name);
  if (known == kernels.end()) return kernels.emplace_back(KernelResources{.name = name});
  std::rotate(known, known + 1, kernels.end());
  return kernels.back();
}

std::string code_of(const std::vector<std::string>& names, const Machine& machine) {
  return fmt::format("this is '{}' of the code for {}", fmt::join(names, "', '"), machine.name);
}

}  // namespace

std::vector<KernelResources> read_ptxas_messages(const std::string& messages) {
  std::vector<KernelResources> kernels;
  std::istringstream stream(messages);
  for (std::string line; std::getline(stream, line);) {
    if (line.find("Compiling entry function") != std::string::npos) {
      take(kernels, function_in(line));
    } else if (is_loss(line)) {
      size_t begin = line.find(": ");
      std::string loss = begin == std::string::npos ? line : line.substr(begin + 2);
      // One that names no kernel is about the one at hand.
      std::string name = function_in(line);
      if (name.empty() && kernels.empty()) name = "(not named)";
      KernelResources& of = name.empty() ? kernels.back() : take(kernels, name);
      of.losses.push_back(loss);
    } else if (!kernels.empty()) {
      KernelResources& kernel = kernels.back();
      if (line.find("bytes stack frame") != std::string::npos) {
        kernel.stack_bytes = number_before(line, " bytes stack frame");
        kernel.spill_bytes = number_before(line, " bytes spill stores") + number_before(line, " bytes spill loads");
      } else if (line.find(" registers") != std::string::npos) {
        kernel.registers = number_before(line, " registers");
        kernel.barriers = number_before(line, " barriers");
      }
    }
  }
  return kernels;
}

namespace {

/// Kernels of one source that do not fit, which one diagnostic reports.
struct Spilling {
  const KernelSource* source;
  int64_t spill_bytes = 0, stack_bytes = 0;  ///< of the worst
  std::vector<std::string> names;
};

bool is_error(const KernelSource& source) { return source.own && !source.last_resort; }

void report(const Spilling& kernels, const Machine& machine, DiagnosticEngine& diagnostics) {
  const KernelSource& source = *kernels.source;
  auto kind = source.last_resort ? diag::last_resort_spills
              : source.own       ? diag::kernel_spills
                                 : diag::schedule_spills;
  auto message = diagnostics.report(kind, source.loc, source.name, kernels.spill_bytes, kernels.stack_bytes);
  if (source.call.known() && source.call != source.loc) message.label(source.call, "it is for this call");
  message.note(Loc(), code_of(kernels.names, machine));
  message.help(source.last_resort
                   ? "a 'where' clause with facts about the sizes, such as N % 8 == 0, can make it unnecessary"
               : source.own
                   ? "use smaller blocks or more warps, or state facts about the sizes in the entry's signature, such "
                     "as `where D <= 128`"
                   : "its results are correct, but it is slower than it could be; long computations of each "
                     "element are faster in a kernel of their own");
}

}  // namespace

Status check_resources(const std::vector<KernelResources>& kernels, const KernelSources& sources,
                       const Machine& machine, DiagnosticEngine& diagnostics) {
  bool ok = true;
  std::deque<KernelSource> unknown;
  std::vector<Spilling> spilling;
  for (const KernelResources& kernel : kernels) {
    auto known = sources.find(kernel.name);
    const KernelSource& source =
        known == sources.end() ? unknown.emplace_back(KernelSource{.name = kernel.name}) : known->second;
    for (const std::string& loss : kernel.losses) {
      diagnostics.report(diag::assembler_loss, source.loc, source.name, loss)
          .note(Loc(), code_of({kernel.name}, machine));
    }
    bool local = kernel.stack_bytes || kernel.spill_bytes;
    ok = ok && kernel.losses.empty() && !(local && is_error(source));
    if (!local) continue;
    auto is_same = [&](const Spilling& each) {
      const KernelSource& other = *each.source;
      return other.name == source.name && other.loc == source.loc && other.call == source.call &&
             other.last_resort == source.last_resort && other.own == source.own;
    };
    auto same = std::ranges::find_if(spilling, is_same);
    if (same == spilling.end()) same = spilling.insert(same, {.source = &source});
    same->spill_bytes = std::max(same->spill_bytes, kernel.spill_bytes);
    same->stack_bytes = std::max(same->stack_bytes, kernel.stack_bytes);
    same->names.push_back(kernel.name);
  }
  auto is_reported = [&](const Spilling& each) {
    return each.source->last_resort && std::ranges::any_of(spilling, [&](const Spilling& other) {
             return !other.source->last_resort && other.source->name == each.source->name &&
                    other.source->loc == each.source->loc;
           });
  };
  for (const Spilling& each : spilling) {
    if (!is_reported(each)) report(each, machine, diagnostics);
  }
  return ok ? success : Status(failure);
}

std::vector<Loc> calls_to_halve(const std::vector<KernelResources>& kernels, const KernelSources& sources) {
  std::vector<Loc> calls;
  for (const KernelResources& kernel : kernels) {
    auto source = sources.find(kernel.name);
    if (source == sources.end() || source->second.own || source->second.last_resort) continue;
    if (kernel.stack_bytes + kernel.spill_bytes > few_spill_bytes) calls.push_back(source->second.call);
  }
  return calls;
}

namespace {

template <typename T>
T read_at(const std::string& bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

std::string describe_cubin(const Cubin& cubin) {
  std::string out = fmt::format("{}, {} bytes\n", cubin.assembler, cubin.bytes.size());
  for (const KernelResources& kernel : cubin.kernels) {
    out += fmt::format("kernel {}: {} registers, {} barriers, {} bytes of stack, {} bytes of spills\n", kernel.name,
                       kernel.registers, kernel.barriers, kernel.stack_bytes, kernel.spill_bytes);
  }
  auto header = read_at<Elf64_Ehdr>(cubin.bytes, 0);
  auto section = [&](size_t i) {
    return read_at<Elf64_Shdr>(cubin.bytes, size_t(header.e_shoff) + i * sizeof(Elf64_Shdr));
  };
  size_t names = size_t(section(header.e_shstrndx).sh_offset);
  for (size_t i = 1; i < header.e_shnum; ++i) {
    size_t at = names + section(i).sh_name;
    if (at >= cubin.bytes.size()) continue;
    out += fmt::format("section {}: {} bytes\n", cubin.bytes.c_str() + at, uint64_t(section(i).sh_size));
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

namespace {

/// Lets kernels that spill share a multiprocessor with one block fewer, and those that did so already, which are
/// `relaxed_before`, with none; false if none shared it.
bool relax_spilling(const std::vector<KernelResources>& kernels, std::set<std::string>& relaxed_before,
                    std::string& ptx) {
  constexpr std::string_view directive = ".minnctapersm ";
  bool relaxed = false;
  for (const KernelResources& kernel : kernels) {
    if (!kernel.stack_bytes && !kernel.spill_bytes) continue;
    size_t entry = ptx.find(".entry " + kernel.name + "(");
    size_t at = entry == std::string::npos ? entry : ptx.find(directive, entry);
    if (at == std::string::npos || at > ptx.find('{', entry)) continue;
    at += directive.size();
    std::string_view blocks(ptx.data() + at, ptx.find('\n', at) - at);
    if (blocks == "1") continue;
    bool is_first = relaxed_before.insert(kernel.name).second;
    ptx.replace(at, blocks.size(), is_first ? std::to_string(std::stoi(std::string(blocks)) - 1) : "1");
    relaxed = true;
  }
  return relaxed;
}

}  // namespace

Result<Cubin> assemble_ptx(std::string& ptx, const Machine& machine, const KernelSources& sources,
                           DiagnosticEngine& diagnostics, bool line_info) {
  Result<Cubin> cubin = assemble_unchecked(ptx, machine, diagnostics, line_info);
  if (cubin && check_resources(cubin->kernels, sources, machine, diagnostics).failed()) return failure;
  return cubin;
}

Result<Cubin> assemble_unchecked(std::string& ptx, const Machine& machine, DiagnosticEngine& diagnostics,
                                 bool line_info) {
  std::string ptxas = find_ptxas();
  if (ptxas.empty()) {
    diagnostics.report(diag::no_ptxas, Loc())
        .help("install CUDA's compiler or set CUDA_HOME; a bundle without --cubin holds PTX for the driver to compile");
    return failure;
  }
  TemporaryFolder directory("ptxas");
  auto no_place = [&](const std::string& problem) {
    diagnostics.report(diag::no_temporary_files, Loc(), "code for " + machine.name, problem)
        .help("set TMPDIR to a folder that can be written");
    return failure;
  };
  if (!directory.problem().empty()) return no_place(directory.problem());
  std::string source = directory.file("kernels.ptx"), object = directory.file("kernels.cubin"), problem, messages;
  Cubin cubin{{}, version_of(ptxas, directory), {}};
  std::vector<std::string> command = {ptxas, "-v", "--gpu-name", machine.gpu.ptx_target, source, "-o", object};
  // Lines of the source bring the whole text of the PTX along.
  command.emplace_back(line_info ? "--generate-line-info" : "--suppress-debug-info");
  std::set<std::string> relaxed;
  do {
    if (!write_file(source, ptx, problem)) return no_place(problem);
    int status = run(command, directory.file("log"), problem);
    if (status == -1) {
      diagnostics.report(diag::cannot_run, Loc(), ptxas, problem);
      return failure;
    }
    if (!read_file(directory.file("log"), messages, problem)) messages.clear();
    if (status != 0) {
      std::string first = messages.substr(0, messages.find('\n'));
      // The file is gone when this is read.
      for (size_t at; (at = first.find(source)) != std::string::npos;) first.replace(at, source.size(), "kernels.ptx");
      diagnostics.report(diag::assembler_refused, Loc(), machine.name, first)
          .help("this is a bug in Tessera; --dump=ptx shows the code, for its report");
      return failure;
    }
    cubin.kernels = read_ptxas_messages(messages);
  } while (relax_spilling(cubin.kernels, relaxed, ptx));
  if (!read_file(object, cubin.bytes, problem)) return no_place(problem);
  return cubin;
}

}  // namespace tessera::codegen
