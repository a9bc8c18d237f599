#pragma once
// NumPy's .npy format, versions 1 and 2.
//
// bf16 has no NumPy dtype: it is stored as `<V2`, two raw bytes an element, which is what the
// ml_dtypes package writes (read it there with `.view(ml_dtypes.bfloat16)`), and `<V2` and `|V2`
// are read as bf16. f8 and i4 have no code of their own and are errors; safetensors holds f8.

#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/dtype.h"
#include "runtime/files/result.h"

namespace tessera::format {

struct NpyView {
  Dtype dtype = Dtype::F32;
  std::vector<int64_t> shape;
  std::string_view bytes;  ///< row-major, of the bytes that were read
};

/// Reads and checks untrusted bytes. Fortran order and big-endian data are errors that say so.
Result<NpyView> read_npy(std::string_view bytes);

/// The bytes of a version 1 file, its data at a multiple of 64.
Result<std::string> write_npy(const NpyView& array);

}  // namespace tessera::format
