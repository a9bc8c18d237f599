#include "unit/passes/tile_fixture.h"

namespace tessera {

bool run_fragments(TileTest& split, std::vector<TensorValue>& tensors, const DimValues& dims,
                   const char*) {
  split.run_kernel(tensors, dims);
  return true;
}

double allowed_difference(DType, double bound) {
  return bound;
}

}  // namespace tessera
