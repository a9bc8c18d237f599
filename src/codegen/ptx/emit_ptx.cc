#include "codegen/ptx/emit_ptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "codegen/ptx/coalesce.h"
#include "codegen/ptx/emitter.h"
#include "codegen/ptx/order.h"
#include "codegen/ptx/print_code.h"
#include "ir/core/kernel_size.h"
#include "ir/host/ops.h"
#include "ir/target/distinct_kernels.h"
#include "runtime/format/cuda_image.h"
#include "support/check.h"
#include "support/percent.h"

namespace tessera::codegen {

namespace {

using target::attr::Func;

/// The version that has all instructions of the table: tensor maps, elect and register reallocation came with 8.0,
/// mma.sync of floats of 8 bits with 8.4, which older drivers do not read.
std::string_view ptx_version(std::span<Module* const> modules) {
  bool has_f8 = false;
  for (Module* module : modules) {
    for (Op* func : *module->body()) {
      walk(func, [&](Op* op) {
        if (!op->is(target::info(target::OpKind::MmaSync))) return;
        DType dtype = op->operand(0)->type()->dtype;
        has_f8 |= is_float(dtype) && byte_size(dtype) == 1;
      });
    }
  }
  return has_f8 ? "8.4" : "8.3";
}

std::string parameters(Op* func) {
  size_t buffers = func->attr(Func::params).size() + func->has(Func::checks);
  size_t dims = func->attr(Func::dims).size();
  std::string out;
  for (unsigned i = 0; i < func->region()->front()->arg_count(); ++i) {
    std::string name = ptx::parameter_name(symbol_name(func), i);
    std::string form = i < buffers          ? fmt::format(".param .u64 {}", name)
                       : i < buffers + dims ? fmt::format(".param .u32 {}", name)
                                            : fmt::format(".param .align 64 .b8 {}[128]", name);
    out += fmt::format("{}\n\t{}", i ? "," : "", form);
  }
  return out;
}

/// The number of registers of a thread beyond which higher occupancy gains less than fewer
/// instructions, and the registers needed besides values live across blocks.
constexpr int64_t enough_registers = 64, registers_within_block = 20;
/// By how many registers a kernel may seem to need too many before it is assembled.
constexpr int64_t few_registers = 16;

/// The most registers of a thread where roles take registers from each other, else 0.
int64_t reallocated_registers(Op* func) {
  int64_t most = 0;
  walk(func, [&](Op* op) {
    if (!op->is(target::info(target::OpKind::SetMaxRegisters))) return;
    most = std::max(most, op->attr(target::attr::SetMaxRegisters::count));
  });
  return most;
}

/// How many registers a thread of the kernel may have.
int64_t registers_of_thread(Op* func, const Machine& machine) {
  if (int64_t most = reallocated_registers(func)) return most;
  if (std::optional<int64_t> bound = func->attr(Func::registers)) return *bound;
  int64_t together = machine.gpu.registers / func->required(Func::threads) / 8 * 8;
  return std::min<int64_t>(machine.gpu.registers_per_thread, together);
}

/// Blocks that one multiprocessor shall have registers for: loads of some run while others compute.
int64_t blocks_together(Op* func, int64_t needed, const Machine& machine) {
  if (reallocated_registers(func)) return 1;
  int64_t each = std::min(std::max(enough_registers, (needed + 7) / 8 * 8), registers_of_thread(func, machine));
  int64_t blocks = machine.gpu.registers / (func->required(Func::threads) * each);
  // With a few registers less there may be room for a third more. Where those are missing, the assembler gets them back
  // with one block fewer (ptxas.cc).
  int64_t most = machine.gpu.registers / (func->required(Func::threads) * enough_registers);
  bool is_worth_it = most == blocks + 1 && 3 * most >= 4 * blocks;
  if (each <= enough_registers + few_registers && is_worth_it) blocks = most;
  int64_t shared = func->attr(Func::shared).value_or(0);
  if (shared > 0) blocks = std::min(blocks, machine.gpu.shared_per_block / shared);
  return std::clamp<int64_t>(blocks, 1, machine.gpu.blocks);
}

/// The bounds of the launch. Without a bound on registers the assembler does not know how many a
/// thread starts with, which it must to reallocate them.
std::string directives(Op* func, int64_t needed, const Machine& machine) {
  std::string out = fmt::format(".maxntid {}, 1, 1\n", func->required(Func::threads));
  std::optional<int64_t> bound = func->attr(Func::registers);
  out += bound ? fmt::format(".maxnreg {}\n", *bound)
               : fmt::format(".minnctapersm {}\n", blocks_together(func, needed, machine));
  int64_t blocks = 1;
  for (int64_t extent : func->attr(Func::cluster)) blocks *= extent;
  if (blocks > 1) out += fmt::format(".reqnctapercluster {}, 1, 1\n", blocks);
  return out;
}

/// Kernels that some launch lets write over an operand.
std::set<std::string_view> writing_over(std::span<Module* const> modules) {
  std::set<std::string_view> names;
  for (Module* module : modules) {
    for (Op* function : *module->body()) {
      walk(function, [&](Op* op) {
        if (!op->is(host::info(host::OpKind::Launch)) || op->slot_size(host::in::Launch::over) == 0) return;
        for (Op* kernel : host::choices(op)) names.insert(symbol_name(kernel));
      });
    }
  }
  return names;
}

}  // namespace

KernelSources kernel_sources(std::span<Module* const> modules) {
  KernelSources sources;
  for (Module* module : modules) {
    for (Op* function : *module->body()) {
      if (function->is(target::info(target::OpKind::Func))) {
        KernelSource& source = sources[format::cuda_symbol(symbol_name(function))];
        source.loc = function->loc();
        source.own = function->attr(Func::own);
        source.name = kernel_name(function);
      }
      walk(function, [&](Op* op) {
        if (!op->is(host::info(host::OpKind::Launch))) return;
        for (Op* kernel : host::choices(op)) sources[format::cuda_symbol(symbol_name(kernel))].call = op->loc();
        if (!op->has(host::attr::Launch::variants)) return;
        sources[format::cuda_symbol(op->attr(host::attr::Launch::kernel))].last_resort = true;
      });
    }
  }
  return sources;
}

Result<std::string> emit_ptx(std::span<Module* const> modules, const Machine& machine, DiagnosticEngine& diagnostics) {
  TSR_CHECK(machine.is_gpu(), "there is no PTX for " + machine.name);
  ptx::FileTable files;
  std::string bodies;
  bool ok = true;
  std::set<std::string_view> in_place = writing_over(modules);
  auto is_in_place = [&](Op* kernel) { return in_place.contains(symbol_name(kernel)); };
  for (const target::DistinctKernel& kernel : target::distinct_kernels(modules)) {
    Op* func = kernel.function;
    TSR_CHECK(func->has(Func::threads), "a kernel for a CPU has no PTX");
    ptx::Code code = ptx::Emitter(func, machine).run();
    int64_t most = registers_of_thread(func, machine) - registers_within_block;
    bool writes_over = is_in_place(func) || std::ranges::any_of(kernel.twins, is_in_place);
    int64_t held = ptx::order_for_registers(code, most, writes_over);
    int64_t needed = std::max(held, ptx::live_registers(code)) + registers_within_block;
    std::vector<uint32_t> registers = ptx::coalesce(code);
    if (ptx::check_accumulators(code, registers, diagnostics).failed()) ok = false;
    std::string name = format::cuda_symbol(symbol_name(func));
    bodies += fmt::format("\n.visible .entry {}({})\n{}{{\n{}}}\n", name, parameters(func),
                          directives(func, needed, machine), ptx::print_code(code, registers, files));
    for (Op* twin : kernel.twins) {
      bodies += fmt::format("// {} has the code of {}\n", format::cuda_symbol(symbol_name(twin)), name);
    }
  }
  if (!ok) return failure;
  std::string out = fmt::format(".version {}\n.target {}\n.address_size 64\n\n", ptx_version(modules),
                                machine.gpu.ptx_target);
  if (!modules.empty()) {
    for (size_t i = 0; i < files.files().size(); ++i) {
      // ptxas takes printable ASCII between the quotes, and no escapes.
      std::string name = percent_encoded(modules[0]->sources().ir_name(files.files()[i]));
      out += fmt::format(".file\t{} \"{}\"\n", i + 1, name);
    }
  }
  return out + ".extern .shared .align 1024 .b8 tessera_shared[];\n" + bodies;
}

}  // namespace tessera::codegen
