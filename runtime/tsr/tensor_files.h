#pragma once
// Reading inputs from files or numbers, and writing outputs.

#include <string>
#include <vector>

#include "runtime/files/file.h"
#include "runtime/tsr/session.h"
#include "support/file.h"

namespace tessera::tool {

/// NAME=VALUE of the command line.
struct Assignment {
  std::string name;
  std::string value;
};

/// Splits "name=value"; says what is wrong with `option` otherwise.
int split_assignment(const std::string& text, const std::string& option, Assignment& out);

/// Whether the path ends as those do that tensors can be written to: .npy, .safetensors.
bool is_tensor_file(const std::string& path);

/// Says so where the path is no name of a .safetensors file, which is all that the option writes.
int require_safetensors(const std::string& option, const std::string& path);

/// Whether the dtype is one of integers of at least 8 bits.
bool is_integer(format::Dtype dtype);
/// The bits of a number for a rank-0 tensor; false when it does not fit or the dtype takes none.
bool encode_number(const std::string& text, format::Dtype dtype, std::string& bytes);

/// Reads the input from an .npy file, from the tensor of its name in a .safetensors file, or, for
/// rank 0, from a number. A donated input is one that the entry may write.
int read_input(Session& session, const Assignment& from, const tsr_tensor_info_t& info,
               bool is_donated, OwnedTensor*& tensor);

/// Writes a tensor aside, in the form that the path's ending names.
int write_output(const Session& session, PendingFiles& files, const Assignment& to,
                 const OwnedTensor& tensor);

}  // namespace tessera::tool
