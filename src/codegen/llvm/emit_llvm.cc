#include "codegen/llvm/emit_llvm.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

#include <chrono>

#include "codegen/llvm/link_elf.h"
#include "codegen/llvm/translate.h"
#include "support/check.h"

namespace tessera::codegen {

namespace {

constexpr char triple[] = "x86_64-unknown-linux-gnu";

class Stopwatch {
 public:
  /// Milliseconds since the last call or construction.
  double lap() {
    auto now = std::chrono::steady_clock::now();
    double ms = std::chrono::duration<double, std::milli>(now - start_).count();
    start_ = now;
    return ms;
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Machine& machine) {
  static const bool ready = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  TSR_CHECK(ready, "LLVM's x86 target could not be set up");
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  TSR_CHECK(target, "LLVM has no x86-64 target: " + error);
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  options.EmulatedTLS = false;
  std::unique_ptr<llvm::TargetMachine> made(
      target->createTargetMachine(triple, machine.llvm_cpu, machine.llvm_features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default));
  TSR_CHECK(made, "LLVM made no target machine for " + machine.name);
  return made;
}

/// What pays at this level: common addresses and constants, and what loops need not repeat.
void optimise(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);

  llvm::FunctionPassManager passes;
  passes.addPass(llvm::EarlyCSEPass(false));
  passes.addPass(llvm::InstCombinePass(llvm::InstCombineOptions().setMaxIterations(1)));
  passes.addPass(llvm::createFunctionToLoopPassAdaptor(llvm::LICMPass(llvm::LICMOptions()), true));
  passes.addPass(llvm::EarlyCSEPass(false));
  passes.addPass(llvm::ADCEPass());
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) passes.run(function, functions);
  }
}

/// A module on its way to machine code.
struct Lowered {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<llvm::Module> module;
  CodegenTimings timings;

  Lowered(std::span<Module* const> modules, const Machine& machine) {
    Stopwatch watch;
    target = make_target_machine(machine);
    module = translate(modules, machine, context);
    module->setTargetTriple(triple);
    module->setDataLayout(target->createDataLayout());
    module->setPICLevel(llvm::PICLevel::BigPIC);
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    TSR_CHECK(!llvm::verifyModule(*module, &stream), "the LLVM module is malformed: " + stream.str());
    timings.translate = watch.lap();
    optimise(*module, *target);
    timings.optimise = watch.lap();
  }

  std::string emit(llvm::CodeGenFileType kind) {
    llvm::SmallString<0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    bool refused = target->addPassesToEmitFile(passes, stream, nullptr, kind, true);
    TSR_CHECK(!refused, "LLVM's x86 target emits no such file");
    passes.run(*module);
    return std::string(bytes.str());
  }
};

}  // namespace

KernelObject compile_kernels(std::span<Module* const> modules, const Machine& machine) {
  Lowered lowered(modules, machine);
  Stopwatch watch;
  std::string object = lowered.emit(llvm::CodeGenFileType::ObjectFile);
  lowered.timings.assemble = watch.lap();
  KernelObject linked;
  linked.elf = link_shared_object(object, linked.problem);
  lowered.timings.link = watch.lap();
  linked.timings = lowered.timings;
  return linked;
}

std::string print_llvm(std::span<Module* const> modules, const Machine& machine) {
  Lowered lowered(modules, machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  lowered.module->print(stream, nullptr);
  return stream.str();
}

std::string print_assembly(std::span<Module* const> modules, const Machine& machine) {
  return Lowered(modules, machine).emit(llvm::CodeGenFileType::AssemblyFile);
}

}  // namespace tessera::codegen
