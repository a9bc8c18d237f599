#include "unit/codegen/kernel_runner.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

#include "ir/core/parser.h"
#include "ir/core/printer.h"
#include "ir/core/verifier.h"
#include "ir/host/ops.h"
#include "ir/target/ops.h"
#include "ir/tile/ops.h"
#include "passes/pass.h"

namespace tessera::test {

std::vector<const Machine*> runnable_machines() {
  std::vector<const Machine*> machines;
  if (__builtin_cpu_supports("x86-64-v3")) machines.push_back(find_machine("cpu:x86-64-v3"));
  if (__builtin_cpu_supports("x86-64-v4")) machines.push_back(find_machine("cpu:x86-64-v4"));
  return machines;
}

LoadedObject::LoadedObject(const std::string& elf) {
  int fd = memfd_create("kernels.so", MFD_CLOEXEC);
  if (fd < 0 || write(fd, elf.data(), elf.size()) != ssize_t(elf.size())) throw std::runtime_error("memfd");
  handle_ = dlopen(("/proc/self/fd/" + std::to_string(fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(fd);
  if (!handle_) throw std::runtime_error(dlerror());
}

LoadedObject::~LoadedObject() { dlclose(handle_); }

KernelFunction LoadedObject::find(const std::string& symbol) const {
  void* address = dlsym(handle_, symbol.c_str());
  if (!address) throw std::runtime_error(dlerror());
  return reinterpret_cast<KernelFunction>(address);
}

LoweredModule::LoweredModule(const std::string& text, const Machine& machine) : machine_(&machine) {
  tile::register_ops(context_);
  target::register_ops(context_);
  host::register_ops(context_);
  auto modules = parse_modules(context_, sources_.add("test.tir", text), diagnostics_);
  if (!modules) return;
  module_ = std::move(modules->front());
  PassContext passes{diagnostics_, machine_, nullptr, "", {}};
  using Pass = Status (*)(Module&, PassContext&);
  std::vector<Pass> pipeline;
  if (module_->level() == Level::Tile) pipeline.push_back(tile_to_x86);
  pipeline.push_back(expand_math);
  pipeline.push_back(legalize_casts);
  pipeline.push_back(sink_to_uses);
  for (Pass pass : pipeline) {
    if (pass(*module_, passes).failed()) return;
    if (verify(*module_, diagnostics_).failed()) return;
  }
}

std::string LoweredModule::messages() const { return render_all(diagnostics_, {}); }

std::string LoweredModule::assembly() {
  Module* modules[] = {module_.get()};
  return codegen::print_assembly(modules, *machine_);
}

codegen::KernelObject LoweredModule::object() {
  Module* modules[] = {module_.get()};
  return codegen::compile_kernels(modules, *machine_);
}

KernelFunction LoweredModule::kernel(const std::string& symbol) {
  if (!messages().empty()) throw std::runtime_error(messages());
  if (!loaded_) {
    codegen::KernelObject made = object();
    if (!made.problem.empty()) throw std::runtime_error(made.problem);
    loaded_ = std::make_unique<LoadedObject>(made.elf);
  }
  return loaded_->find(symbol);
}

}  // namespace tessera::test
