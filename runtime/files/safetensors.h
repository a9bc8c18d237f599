#pragma once
// The safetensors format: a JSON header, then the tensors' bytes without holes or overlaps.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/dtype.h"
#include "runtime/files/result.h"

namespace tessera::format {

/// A dense row-major tensor over bytes that somebody else owns.
struct TensorView {
  std::string name;
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  std::string_view bytes;
};

class SafetensorsView {
 public:
  /// Reads and checks untrusted bytes: the header's size and form, names, dtypes, extents, and that
  /// the tensors cover the data exactly, each at a multiple of its element's size. Keys are there once.
  /// Metadata are checked and passed over; safetensors_metadata reads them.
  static Result<SafetensorsView> open(std::string_view bytes);

  /// In order of name.
  const std::vector<TensorView>& tensors() const { return tensors_; }
  /// The tensor of that name, or null.
  const TensorView* find(std::string_view name) const;

 private:
  std::vector<TensorView> tensors_;
};

/// The texts by key that the header of untrusted bytes has beside its tensors; none where it has no metadata.
Result<std::map<std::string, std::string>> safetensors_metadata(std::string_view bytes);

/// The file's bytes: tensors in order of descending element size, then name, and data that starts
/// at a multiple of 64. Fails for i4, which the format does not have, for a name that is there
/// twice, and for bytes that do not fit the shape. tf32 is written as F32.
Result<std::string> write_safetensors(std::vector<TensorView> tensors,
                                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tessera::format
