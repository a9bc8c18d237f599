#include "codegen/ptx/emit_ptx.h"

#include <fmt/format.h>

#include "codegen/ptx/coalesce.h"
#include "codegen/ptx/emitter.h"
#include "codegen/ptx/print_code.h"
#include "support/check.h"

namespace tessera::codegen {

namespace {

/// The version that has all instructions of the table: tensor maps, elect and register reallocation came with 8.0.
constexpr std::string_view ptx_version = "8.3";

std::string parameters(Op* func) {
  size_t buffers = func->attr("params")->elements.size(), dims = func->attr("dims")->elements.size();
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

/// What bounds the launch. Without a bound on registers the assembler cannot tell how many a thread starts with, which
/// it must to reallocate them.
std::string directives(Op* func) {
  std::string out = fmt::format(".maxntid {}, 1, 1\n", func->int_attr("threads"));
  Attr bound = func->attr("registers");
  out += bound ? fmt::format(".maxnreg {}\n", bound->integer) : ".minnctapersm 1\n";
  if (Attr cluster = func->attr("cluster")) {
    int64_t blocks = 1;
    for (Attr extent : cluster->elements) blocks *= extent->integer;
    if (blocks > 1) out += fmt::format(".reqnctapercluster {}, 1, 1\n", blocks);
  }
  return out;
}

}  // namespace

Result<std::string> emit_ptx(std::span<Module* const> modules, const Machine& machine, DiagnosticEngine& diagnostics) {
  TSR_CHECK(machine.is_gpu(), "there is no PTX for " + machine.name);
  ptx::FileTable files;
  std::string bodies;
  bool ok = true;
  for (Module* module : modules) {
    for (Op* func : *module->body()) {
      if (!func->is(target::info(target::OpKind::Func)) || func->region()->empty()) continue;
      TSR_CHECK(func->has_attr("threads"), "a kernel for a CPU has no PTX");
      ptx::Code code = ptx::Emitter(func, machine).run();
      std::vector<uint32_t> registers = ptx::coalesce(code);
      if (ptx::check_accumulators(code, registers, diagnostics).failed()) ok = false;
      bodies += fmt::format("\n.visible .entry {}({})\n{}{{\n{}}}\n", ptx::ptx_name(symbol_name(func)),
                            parameters(func), directives(func), ptx::print_code(code, registers, files));
    }
  }
  if (!ok) return failure;
  std::string out = fmt::format(".version {}\n.target {}\n.address_size 64\n\n", ptx_version, machine.gpu.ptx_target);
  if (!modules.empty()) {
    for (size_t i = 0; i < files.files().size(); ++i) {
      out += fmt::format(".file\t{} \"{}\"\n", i + 1, modules[0]->sources().ir_name(files.files()[i]));
    }
  }
  return out + ".extern .shared .align 1024 .b8 tessera_shared[];\n" + bodies;
}

}  // namespace tessera::codegen
