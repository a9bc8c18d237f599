#include "unit/codegen/kernel_runner.h"

#include <sys/mman.h>

#include <cstring>
#include <stdexcept>

#include "ir/host/ops.h"
#include "ir/target/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/verifier.h"
#include "ir/tile/ops.h"
#include "passes/pass.h"

namespace tessera::test {

std::vector<const Machine*> runnable_machines() {
  std::vector<const Machine*> machines;
  if (__builtin_cpu_supports("x86-64-v3")) machines.push_back(find_machine("cpu:x86-64-v3"));
  if (__builtin_cpu_supports("x86-64-v4")) machines.push_back(find_machine("cpu:x86-64-v4"));
  return machines;
}

LoadedObject::LoadedObject(const std::string& image) : image_(image) {
  format::Result<format::KernelImage> read = format::read_kernel_image(image_);
  if (!read) throw std::runtime_error(read.error().text);
  contents_ = std::move(*read);
  void* memory = mmap(nullptr, image_.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("mmap");
  memory_ = static_cast<char*>(memory);
  std::memcpy(memory_, image_.data(), image_.size());
  mprotect(memory_, image_.size(), PROT_READ | PROT_EXEC);
}

LoadedObject::~LoadedObject() { munmap(memory_, image_.size()); }

KernelFunction LoadedObject::find(const std::string& name) const {
  const format::ImageSymbol* symbol = contents_.find(name);
  if (!symbol) throw std::runtime_error("there is no kernel " + name);
  return reinterpret_cast<KernelFunction>(memory_ + contents_.code_at() + symbol->offset);
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
    loaded_ = std::make_unique<LoadedObject>(object().image);
  }
  return loaded_->find(symbol);
}

}  // namespace tessera::test
