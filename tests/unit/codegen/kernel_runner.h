#pragma once
// Compiles kernels from IR text and runs them in this process.

#include <memory>
#include <string>
#include <vector>

#include "codegen/llvm/emit_llvm.h"
#include "ir/core/context.h"
#include "ir/core/module.h"
#include "runtime/format/kernel_image.h"
#include "support/diagnostic.h"

namespace tessera::test {

using KernelFunction = void (*)(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                                void* scratch);

/// Machines that this host can run.
std::vector<const Machine*> runnable_machines();

/// The code of kernels, callable while this lives.
class LoadedObject {
 public:
  explicit LoadedObject(const std::string& image);
  ~LoadedObject();
  LoadedObject(const LoadedObject&) = delete;
  LoadedObject& operator=(const LoadedObject&) = delete;
  KernelFunction find(const std::string& name) const;

 private:
  format::KernelImage contents_;
  std::string image_;
  char* memory_ = nullptr;
};

/// One module of level tile or target, lowered for a machine.
class LoweredModule {
 public:
  LoweredModule(const std::string& text, const Machine& machine);
  /// What was reported; empty when all went well.
  std::string messages() const;
  Module& module() { return *module_; }
  const Machine& machine() const { return *machine_; }
  std::string assembly();
  codegen::KernelObject object();
  /// Loads the object when first asked, and finds a kernel.
  KernelFunction kernel(const std::string& symbol);

 private:
  Context context_;
  SourceManager sources_;
  DiagnosticEngine diagnostics_{sources_};
  const Machine* machine_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<LoadedObject> loaded_;
};

}  // namespace tessera::test
