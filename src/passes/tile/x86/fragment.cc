#include "passes/tile/x86/fragment.h"

namespace tessera {

std::vector<int64_t> FragmentShape::row_index(int64_t row) const {
  std::vector<int64_t> index(extents.empty() ? 0 : extents.size() - 1);
  for (size_t i = index.size(); i-- > 0;) {
    index[i] = row % extents[i];
    row /= extents[i];
  }
  return index;
}

int64_t FragmentShape::row_of(const std::vector<int64_t>& index) const {
  int64_t row = 0;
  for (size_t i = 0; i + 1 < extents.size(); ++i) row = row * extents[i] + index[i];
  return row;
}

Type part_type(Context& context, DType dtype, int64_t lanes) {
  return lanes == 1 ? context.scalar(dtype) : context.reg(dtype, lanes);
}

}  // namespace tessera
