#pragma once
// The text of a kernel's body from its instructions and their registers.

#include "codegen/ptx/code.h"
#include "support/source.h"

namespace tessera::codegen::ptx {

/// Numbers of source files in the order of their first use, for .file and .loc.
class FileTable {
 public:
  /// From 1.
  size_t number_of(FileId file);
  const std::vector<FileId>& files() const { return files_; }

 private:
  std::vector<FileId> files_;
};

/// Register declarations and instructions. Blocks stand so that most branches fall through.
std::string print_code(const Code& code, const std::vector<uint32_t>& registers, FileTable& files);

}  // namespace tessera::codegen::ptx
