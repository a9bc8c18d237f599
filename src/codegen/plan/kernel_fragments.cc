// Reads from the code which fragments a kernel's matrix instructions multiply.

#include "codegen/plan/kernel_fragments.h"

#include <array>

#include "ir/target/ops.h"

namespace tessera::codegen {

namespace {

using target::OpKind;
using target::attr::Wgmma;

struct Fragment {
  std::array<int64_t, 3> extents = {0, 0, 0};  ///< m, n, k
  DType dtype = DType::F32;

  int64_t work() const { return extents[0] * extents[1] * extents[2]; }
};

Fragment fragment_of(Op* op) {
  switch (target::kind_of(op)) {
    case OpKind::Wgmma:
      return {{op->attr(Wgmma::m), op->attr(Wgmma::n), op->attr(Wgmma::k)}, op->attr(Wgmma::dtype)};
    case OpKind::MmaSync: return {{16, 8, 16}, op->operand(0)->type()->dtype};
    case OpKind::DotBf16: return {{1, 16, 2}, DType::BF16};
    case OpKind::TileDotBf16: return {{16, 16, 32}, DType::BF16};
    default: return {};
  }
}

}  // namespace

format::KernelFragments kernel_fragments(Op* kernel) {
  Fragment largest;
  walk(kernel, [&](Op* op) {
    Fragment fragment = fragment_of(op);
    if (fragment.work() > largest.work()) largest = fragment;
  });
  if (!largest.work()) return {};
  const auto& [m, n, k] = largest.extents;
  return {std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k),
          std::string(to_string(largest.dtype)), std::string(to_string(DType::F32))};
}

}  // namespace tessera::codegen
