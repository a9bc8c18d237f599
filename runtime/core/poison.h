#pragma once
// Patterns that stand for "never written", and what is found in tensors of floats.

#include <cstdint>
#include <string_view>

#include "runtime/files/dtype.h"

namespace tessera::runtime {

/// Repeated over memory that nothing has written. Of a float dtype it is a signalling NaN, which no
/// arithmetic gives (of f8e4m3 the negative NaN); of others bytes that stand out.
struct Poison {
  uint64_t pattern;
  size_t width;  ///< bytes
};
Poison poison_of(format::Dtype dtype);

/// Elements of one kind in a tensor.
struct Found {
  int64_t count = 0;
  int64_t first = -1;  ///< element, in row-major order
  void add(int64_t element) {
    if (count++ == 0) first = element;
  }
};

struct FloatScan {
  Found nan;       ///< without the poison
  Found infinite;
  Found poison;
  Found outside;   ///< not in [low, high], with infinities and NaN; without the poison
};

bool is_float(format::Dtype dtype);
/// Looks at every element; `bytes` is memory of the host.
FloatScan scan_floats(format::Dtype dtype, std::string_view bytes, double low, double high);

}  // namespace tessera::runtime
