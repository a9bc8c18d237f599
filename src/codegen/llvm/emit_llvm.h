#pragma once
// Machine code for CPUs: kernels at target level become one image per machine, by LLVM.
//
// The path is short on purpose. One target op is one LLVM instruction or intrinsic; optimisations
// happen in our IR, and LLVM does selection, allocation and scheduling. Objects are position
// independent, export their kernels and import nothing: a kernel that would call a library is a bug
// of the passes before. Equal input gives equal bytes.

#include <span>
#include <string>
#include <vector>

#include "codegen/llvm/translate.h"
#include "ir/core/module.h"
#include "ir/numbers/machine.h"
#include "support/cache.h"

namespace tessera::codegen {

/// Milliseconds spent in each stage, of all parts together.
struct CodegenTimings {
  double translate = 0;
  double optimise = 0;
  double assemble = 0;
  double link = 0;
};

/// The code of the kernels of some modules.
struct KernelObject {
  std::string image;  ///< runtime/format/kernel_image.h
  CodegenTimings timings;
};

/// Compiles all kernels of modules of level target, already legalised for `machine`, into one object. The symbol of a
/// kernel is its name; kernels that are the same but for their names are compiled once, the others are aliases. Kernels
/// of one name must not be given twice. The modules and their context are only read, and outlive this.
///
/// The kernels are cut into parts of about equal size, each compiled on its own; where the cuts are depends on
/// the kernels alone.
class KernelCompiler {
 public:
  /// What LLVM makes of a part is kept in a cache, where there is one.
  KernelCompiler(std::span<Module* const> modules, const Machine& machine, const Cache* cache = nullptr);

  size_t part_count() const { return ends_.size(); }
  /// Compiles one part. Different parts may be compiled in parallel, also those of several compilers.
  void compile_part(size_t part);
  /// Links the parts when all are compiled.
  KernelObject link();

 private:
  std::span<const target::DistinctKernel> kernels_of(size_t part) const;

  const Machine& machine_;
  const Cache* cache_;
  std::vector<target::DistinctKernel> kernels_;
  std::vector<size_t> ends_;  ///< of parts, in kernels_
  std::vector<std::string> objects_;
  std::vector<CodegenTimings> timings_;
};

/// The whole of it, part after part.
KernelObject compile_kernels(std::span<Module* const> modules, const Machine& machine);

/// The text of the LLVM module after optimisation.
std::string print_llvm(std::span<Module* const> modules, const Machine& machine);
/// The assembly text of the object; with places, `.loc` says what each instruction is for.
std::string print_assembly(std::span<Module* const> modules, const Machine& machine, Places places = Places::Dropped);

}  // namespace tessera::codegen
