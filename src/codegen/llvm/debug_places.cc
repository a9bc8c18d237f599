#include "codegen/llvm/debug_places.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/Instruction.h>

namespace tessera::codegen {

namespace {

bool is_placed(const llvm::Instruction& instruction) {
  const llvm::DebugLoc& place = instruction.getDebugLoc();
  return place && place.getLine() != 0;
}

}  // namespace

DebugPlaces::DebugPlaces(llvm::Module& module) : context_(module.getContext()), builder_(module) {
  // Version 4 has no checksums of files and counts them from 1.
  module.addModuleFlag(llvm::Module::Warning, "Dwarf Version", 4);
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  builder_.createCompileUnit(llvm::dwarf::DW_LANG_C, builder_.createFile("kernels", ""), "tesserac", true, "", 0, "",
                             llvm::DICompileUnit::DebugDirectivesOnly);
}

void DebugPlaces::begin(llvm::Function& function, Op* op) {
  scopes_.clear();
  function_file_ = op->loc().file;
  llvm::DISubroutineType* type = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
  function_ = builder_.createFunction(file(op), function.getName(), "", file(op), op->loc().line, type, op->loc().line,
                                      llvm::DINode::FlagZero, llvm::DISubprogram::SPFlagDefinition);
  function.setSubprogram(function_);
}

llvm::DebugLoc DebugPlaces::of(Op* op) {
  Loc loc = op->loc();
  if (!loc.known()) return {};
  return llvm::DILocation::get(context_, loc.line, loc.column, scope(op));
}

llvm::DIFile* DebugPlaces::file(Op* op) {
  auto [it, is_new] = files_.try_emplace(op->loc().file);
  if (is_new) {
    std::string_view name = op->loc().known() ? op->module()->sources().ir_name(op->loc().file) : "unknown";
    it->second = builder_.createFile(llvm::StringRef(name.data(), name.size()), "");
  }
  return it->second;
}

llvm::DIScope* DebugPlaces::scope(Op* op) {
  if (op->loc().file == function_file_) return function_;
  auto [it, is_new] = scopes_.try_emplace(op->loc().file);
  if (is_new) it->second = builder_.createLexicalBlockFile(function_, file(op));
  return it->second;
}

void place_by_use(llvm::Module& module) {
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : llvm::reverse(function)) {  // users come before what they use, but for loops
      for (llvm::Instruction& instruction : llvm::reverse(block)) {
        if (is_placed(instruction)) continue;
        for (llvm::User* user : instruction.users()) {
          auto* reader = llvm::dyn_cast<llvm::Instruction>(user);
          if (!reader || !is_placed(*reader)) continue;
          instruction.setDebugLoc(reader->getDebugLoc());
          break;
        }
      }
    }
  }
}

}  // namespace tessera::codegen
