#include "codegen/ptx/ptxas.h"

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <iterator>
#include <set>
#include <sstream>

#include "codegen/ptx/assembler.h"
#include "ir/target/distinct_kernels.h"
#include "runtime/format/cuda_image.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"
#include "support/hash.h"
#include "support/parallel.h"

namespace tessera::codegen {

namespace {

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

void add_twins(std::vector<KernelResources>& kernels, std::span<Module* const> modules) {
  for (const auto& [twin, code] : target::twin_names(modules)) {
    auto known = std::ranges::find(kernels, format::cuda_symbol(code), &KernelResources::name);
    if (known == kernels.end()) continue;
    KernelResources resources = *known;
    resources.name = format::cuda_symbol(twin);
    kernels.push_back(std::move(resources));
  }
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
T read_at(std::string_view bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

void describe_sections(std::string_view object, std::string& out) {
  auto header = read_at<Elf64_Ehdr>(object, 0);
  auto section = [&](size_t i) { return read_at<Elf64_Shdr>(object, size_t(header.e_shoff) + i * sizeof(Elf64_Shdr)); };
  size_t names = size_t(section(header.e_shstrndx).sh_offset);
  for (size_t i = 1; i < header.e_shnum; ++i) {
    size_t at = names + section(i).sh_name;
    if (at >= object.size()) continue;
    std::string_view name = object.substr(at, object.find('\0', at) - at);
    out += fmt::format("section {}: {} bytes\n", name, uint64_t(section(i).sh_size));
  }
}

}  // namespace

std::string describe_cubin(const Cubin& cubin) {
  std::string out = fmt::format("{}, {} bytes\n", cubin.assembler, cubin.bytes.size());
  for (const KernelResources& kernel : cubin.kernels) {
    out += fmt::format("kernel {}: {} registers, {} barriers, {} bytes of stack, {} bytes of spills\n", kernel.name,
                       kernel.registers, kernel.barriers, kernel.stack_bytes, kernel.spill_bytes);
  }
  format::Result<std::vector<format::CubinPart>> parts = format::cubin_parts(cubin.bytes);
  TSR_CHECK(bool(parts), "ptxas wrote no cubin");
  for (const format::CubinPart& part : *parts) describe_sections(part.object, out);
  return out;
}

namespace {

/// PTX of a module: what stands before its kernels, and groups of kernels, which know nothing of each other.
struct PtxGroups {
  std::string head;
  std::vector<std::vector<std::string>> groups;  ///< at least one, which has an empty kernel where there is none

  explicit PtxGroups(const std::string& ptx) {
    constexpr std::string_view begin = "\n.visible .entry ";
    size_t at = std::min(ptx.find(begin), ptx.size()), size = 0;
    head = ptx.substr(0, at);
    groups.emplace_back();
    do {
      size_t end = std::min(ptx.find(begin, at + 1), ptx.size());
      std::string kernel = ptx.substr(at, end - at);
      size += kernel.size();
      bool is_last = ends_group(kernel, size);
      groups.back().push_back(std::move(kernel));
      at = end;
      if (!is_last || at == ptx.size()) continue;
      groups.emplace_back();
      size = 0;
    } while (at < ptx.size());
  }

  /// A group has work for some tenths of a second, of which starting ptxas is a small part. Some kernels end theirs
  /// whatever is before them, so that where one kernel changes, groups are soon what they were.
  static bool ends_group(std::string_view kernel, size_t size) {
    constexpr size_t enough = size_t(16) << 10, one_in = 8;
    return size >= enough || hash64(without_places(kernel)) % one_in == 0;
  }

  std::string whole() const {
    std::string text = head;
    for (const std::vector<std::string>& group : groups) {
      for (const std::string& kernel : group) text += kernel;
    }
    return text;
  }
};

/// Lets a kernel share a multiprocessor with one block fewer, and one that does so already, as it `was_relaxed`, with
/// none; false if it shares none.
bool relax(std::string& ptx, bool was_relaxed) {
  constexpr std::string_view directive = ".minnctapersm ";
  size_t at = ptx.find(directive);
  if (at == std::string::npos || at > ptx.find('{')) return false;
  at += directive.size();
  std::string_view blocks(ptx.data() + at, ptx.find('\n', at) - at);
  if (blocks == "1") return false;
  ptx.replace(at, blocks.size(), was_relaxed ? "1" : std::to_string(std::stoi(std::string(blocks)) - 1));
  return true;
}

/// Whether the kernel has too few registers: it spills, or waits for each wgmma before the next.
bool lacks_registers(const KernelResources& kernel) {
  return kernel.stack_bytes || kernel.spill_bytes || std::ranges::any_of(kernel.losses, [](const std::string& loss) {
           return loss.find("insufficient register resources") != std::string::npos;
         });
}

struct AssembledGroup {
  Assembly code;
  std::vector<KernelResources> resources;
};

AssembledGroup assemble_group(const Assembler& assembler, const std::string& head, std::vector<std::string>& kernels) {
  std::set<std::string> relaxed;
  for (;;) {
    std::string text = head;
    for (const std::string& kernel : kernels) text += kernel;
    AssembledGroup made{assembler.assemble(text), {}};
    made.resources = read_ptxas_messages(made.code.messages);
    bool again = false;
    for (const KernelResources& each : made.resources) {
      if (!lacks_registers(each)) continue;
      auto kernel = std::ranges::find_if(kernels, [&](const std::string& ptx) {
        return ptx.find(".entry " + each.name + "(") != std::string::npos;
      });
      if (kernel == kernels.end() || !relax(*kernel, relaxed.contains(each.name))) continue;
      relaxed.insert(each.name);
      again = true;
    }
    if (!again) return made;
  }
}

void report(const Assembly& code, const Assembler& assembler, const Machine& machine, DiagnosticEngine& diagnostics) {
  switch (code.fault) {
    case Assembly::Fault::None: return;
    case Assembly::Fault::NoPlace:
      diagnostics.report(diag::no_temporary_files, Loc(), "code for " + machine.name, code.problem)
          .help("set TMPDIR to a folder that can be written");
      return;
    case Assembly::Fault::CannotRun:
      diagnostics.report(diag::cannot_run, Loc(), assembler.path(), code.problem);
      return;
    case Assembly::Fault::Refused:
      diagnostics.report(diag::assembler_refused, Loc(), machine.name, code.problem)
          .help("this is a bug in Tessera; --dump=ptx shows the code, for its report");
  }
}

}  // namespace

Result<Cubin> assemble_ptx(std::string& ptx, const Machine& machine, const KernelSources& sources,
                           DiagnosticEngine& diagnostics, const AssembleOptions& options) {
  Result<Cubin> cubin = assemble_unchecked(ptx, machine, diagnostics, options);
  if (cubin && check_resources(cubin->kernels, sources, machine, diagnostics).failed()) return failure;
  return cubin;
}

Result<Cubin> assemble_unchecked(std::string& ptx, const Machine& machine, DiagnosticEngine& diagnostics,
                                 const AssembleOptions& options) {
  Assembler assembler(machine, options.line_info, options.cache);
  if (assembler.path().empty()) {
    diagnostics.report(diag::no_ptxas, Loc())
        .help("install CUDA's compiler or set CUDA_HOME; a bundle without --cubin holds PTX for the driver to compile");
    return failure;
  }
  PtxGroups text(ptx);
  std::vector<AssembledGroup> made(text.groups.size());
  parallel_for(made.size(), [&](size_t i) {
    made[i] = assemble_group(assembler, text.head, text.groups[i]);
    if (options.on_group) options.on_group(made.size());
  });
  ptx = text.whole();
  Cubin cubin{{}, assembler.name(), {}};
  for (AssembledGroup& group : made) {
    report(group.code, assembler, machine, diagnostics);
    if (group.code.fault != Assembly::Fault::None) return failure;
    format::append_cubin_object(cubin.bytes, group.code.image);
    std::ranges::move(group.resources, std::back_inserter(cubin.kernels));
  }
  return cubin;
}

}  // namespace tessera::codegen
