#pragma once
// Places in the sources as LLVM carries them along, so that assembly can say with `.loc` what each instruction is for.

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <unordered_map>

#include "ir/core/module.h"

namespace tessera::codegen {

class DebugPlaces {
 public:
  explicit DebugPlaces(llvm::Module& module);

  /// Must be called before `of` for the ops of the function.
  void begin(llvm::Function& function, Op* op);
  /// Nothing where the op's place is not known.
  llvm::DebugLoc of(Op* op);
  /// Ends the module; nothing is added any more.
  void finish() { builder_.finalize(); }

 private:
  llvm::DIFile* file(Op* op);
  llvm::DIScope* scope(Op* op);

  llvm::LLVMContext& context_;
  llvm::DIBuilder builder_;
  llvm::DISubprogram* function_ = nullptr;
  FileId function_file_ = 0;
  std::unordered_map<FileId, llvm::DIFile*> files_;
  std::unordered_map<FileId, llvm::DIScope*> scopes_;  ///< of other files, within the function
};

/// Gives an instruction that lost its place, as it was moved out of a loop or merged with an equal one, that of its
/// first user which has one: what it is for.
void place_by_use(llvm::Module& module);

}  // namespace tessera::codegen
