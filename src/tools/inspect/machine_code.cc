#include "tools/inspect/machine_code.h"

#include <algorithm>
#include <map>

#include "ir/target/distinct_kernels.h"
#include "runtime/format/cuda_image.h"
#include "support/assembly.h"

namespace tessera::inspect {

std::vector<CodeRecord::Kernel> split_code(std::string_view text, std::span<Module* const> modules,
                                           const SourceManager& sources, LinePool& pool) {
  std::map<std::string, std::string_view> names;  // of kernels, as PTX spells them
  std::map<std::string_view, FileId> files;
  for (Module* module : modules) {
    for (Op* function : *module->body()) {
      std::string_view name = function->info().has(Function) ? symbol_name(function) : "";
      names[format::cuda_symbol(name)] = name;
      walk(function, [&](Op* op) {
        if (op->loc().known()) files[sources.ir_name(op->loc().file)] = op->loc().file;
      });
    }
  }
  Assembly assembly = split_assembly(text);
  auto place = [&](const AssemblyLine& line) {
    auto file = line.file == 0 ? files.end() : files.find(assembly.files[line.file - 1]);
    return file == files.end() ? 0 : pool.place({file->second, line.line, line.column, 0});
  };
  std::vector<CodeRecord::Kernel> kernels;
  for (const AssemblyFunction& function : assembly.functions) {
    auto known = names.find(std::string(format::cuda_symbol(function.name)));
    std::string_view name = known == names.end() ? function.name : known->second;
    CodeRecord::Kernel& kernel = kernels.emplace_back();
    kernel.name = name;
    kernel.same_as = function.same_as;
    for (const AssemblyLine& line : function.lines) kernel.lines.push_back({pool.text(line.text), place(line)});
  }
  for (const auto& [twin, code] : target::twin_names(modules)) {
    bool is_there = std::ranges::find(kernels, twin, &CodeRecord::Kernel::name) != kernels.end();
    if (!is_there) kernels.push_back({.name = twin, .same_as = code});
  }
  return kernels;
}

}  // namespace tessera::inspect
