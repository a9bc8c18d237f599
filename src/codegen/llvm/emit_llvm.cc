#include "codegen/llvm/emit_llvm.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Analysis/TargetTransformInfo.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "codegen/llvm/debug_places.h"
#include "codegen/llvm/join_assembly.h"
#include "codegen/llvm/link_kernels.h"
#include "ir/core/kernel_size.h"
#include "support/build_id.h"
#include "support/check.h"
#include "support/out_of_memory.h"

namespace tessera::codegen {

using target::DistinctKernel;

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
    // Some of LLVM's containers do not ask operator new.
    llvm::install_bad_alloc_error_handler([](void*, const char*, bool) { end_for_memory(); });
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

/// Chooses between floats of 16 bits as between integers. LLVM takes a choice by a comparison for a maximum, and has
/// only a library's for floats that the processor cannot compare.
void choose_halves_as_bits(llvm::Module& module) {
  std::vector<llvm::SelectInst*> choices;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* choice = llvm::dyn_cast<llvm::SelectInst>(&instruction);
      if (choice && choice->getType()->getScalarType()->is16bitFPTy()) choices.push_back(choice);
    }
  }
  for (llvm::SelectInst* choice : choices) {
    llvm::IRBuilder<> builder(choice);
    llvm::Type* bits = choice->getType()->getWithNewType(builder.getInt16Ty());
    llvm::Value* yes = builder.CreateBitCast(choice->getTrueValue(), bits);
    llvm::Value* no = builder.CreateBitCast(choice->getFalseValue(), bits);
    llvm::Value* chosen = builder.CreateSelect(choice->getCondition(), yes, no);
    choice->replaceAllUsesWith(builder.CreateBitCast(chosen, choice->getType()));
    choice->eraseFromParent();
  }
}

/// Allocating the registers of such a kernel well takes minutes.
bool is_large(const DistinctKernel& kernel) { return op_count(kernel.function) > most_optimised_ops; }

/// A module that is being compiled to machine code.
struct Lowered {
  llvm::LLVMContext context;
  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<llvm::Module> module;
  CodegenTimings timings;

  Lowered(std::span<const DistinctKernel> kernels, const Machine& machine, Places places = Places::Dropped) {
    Stopwatch watch;
    target = make_target_machine(machine);
    if (std::any_of(kernels.begin(), kernels.end(), is_large)) target->setOptLevel(llvm::CodeGenOptLevel::None);
    module = translate(kernels, machine, context, places);
    module->setTargetTriple(triple);
    module->setDataLayout(target->createDataLayout());
    module->setPICLevel(llvm::PICLevel::BigPIC);
    std::string problem;
    llvm::raw_string_ostream stream(problem);
    TSR_CHECK(!llvm::verifyModule(*module, &stream), "the LLVM module is malformed: " + stream.str());
    timings.translate = watch.lap();
    optimise(*module, *target);
    choose_halves_as_bits(*module);
    if (places == Places::Kept) place_by_use(*module);
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

/// Texts of kernels in a part, in bytes; smaller parts would spend more time in setting LLVM up than they save.
constexpr size_t part_size = 100'000;

/// Where the parts of `kernels` end: each reaches part_size, but for the last and one before a large kernel. There is
/// one even of no kernels.
std::vector<size_t> cut_into_parts(std::span<const DistinctKernel> kernels) {
  std::vector<size_t> ends;
  size_t size = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    size += kernels[i].text.size();
    bool before_large = i + 1 < kernels.size() && is_large(kernels[i + 1]);
    if (size < part_size && i + 1 < kernels.size() && !before_large) continue;
    ends.push_back(i + 1);
    size = 0;
  }
  if (ends.empty()) ends.push_back(0);
  return ends;
}

/// What the code of these kernels depends on: this compiler, LLVM, the machine, names and texts. Empty where the
/// compiler cannot tell which one it is.
std::string key_of(std::span<const DistinctKernel> kernels, const Machine& machine) {
  static const std::string compiler = build_id();
  if (compiler.empty()) return {};
  std::string key = fmt::format("object {} {} {} {} {}\n", compiler, LLVM_VERSION_STRING, machine.name,
                                machine.llvm_cpu, machine.llvm_features);
  for (const DistinctKernel& kernel : kernels) {
    key += symbol_name(kernel.function);
    for (Op* twin : kernel.twins) key += fmt::format(" {}", symbol_name(twin));
    key += fmt::format("\n{}\n", kernel.text);
  }
  return key;
}

}  // namespace

KernelCompiler::KernelCompiler(std::span<Module* const> modules, const Machine& machine, const Cache* cache)
    : machine_(machine), cache_(cache), kernels_(target::distinct_kernels(modules)), ends_(cut_into_parts(kernels_)),
      objects_(ends_.size()), timings_(ends_.size()) {}

std::span<const DistinctKernel> KernelCompiler::kernels_of(size_t part) const {
  size_t begin = part == 0 ? 0 : ends_[part - 1];
  return std::span(kernels_).subspan(begin, ends_[part] - begin);
}

void KernelCompiler::compile_part(size_t part) {
  std::span<const DistinctKernel> kernels = kernels_of(part);
  std::string key = cache_ ? key_of(kernels, machine_) : std::string();
  if (!key.empty()) {
    if (std::optional<std::string> kept = cache_->find(key)) {
      objects_[part] = std::move(*kept);
      return;
    }
  }
  Lowered lowered(kernels, machine_);
  Stopwatch watch;
  objects_[part] = lowered.emit(llvm::CodeGenFileType::ObjectFile);
  timings_[part] = lowered.timings;
  timings_[part].assemble = watch.lap();
  if (!key.empty()) cache_->keep(key, objects_[part]);
}

KernelObject KernelCompiler::link() {
  KernelObject linked;
  Stopwatch watch;
  linked.image = link_kernels(objects_);
  linked.timings.link = watch.lap();
  for (const CodegenTimings& part : timings_) {
    linked.timings.translate += part.translate;
    linked.timings.optimise += part.optimise;
    linked.timings.assemble += part.assemble;
  }
  return linked;
}

KernelObject compile_kernels(std::span<Module* const> modules, const Machine& machine) {
  KernelCompiler compiler(modules, machine);
  for (size_t i = 0; i < compiler.part_count(); ++i) compiler.compile_part(i);
  return compiler.link();
}

std::string print_llvm(std::span<Module* const> modules, const Machine& machine) {
  Lowered lowered(target::distinct_kernels(modules), machine);
  std::string text;
  llvm::raw_string_ostream stream(text);
  lowered.module->print(stream, nullptr);
  return stream.str();
}

std::string print_assembly(std::span<Module* const> modules, const Machine& machine, Places places) {
  // As in objects, large kernels stand apart: the others are optimised. The text is of the code that is shipped.
  std::vector<DistinctKernel> kernels = target::distinct_kernels(modules);
  auto large = std::stable_partition(kernels.begin(), kernels.end(), [](const auto& each) { return !is_large(each); });
  std::string text;
  if (large != kernels.begin() || kernels.empty()) {
    text = Lowered({kernels.begin(), large}, machine, places).emit(llvm::CodeGenFileType::AssemblyFile);
  }
  if (large != kernels.end()) {
    append_assembly(text, Lowered({large, kernels.end()}, machine, places).emit(llvm::CodeGenFileType::AssemblyFile));
  }
  return text;
}

}  // namespace tessera::codegen
