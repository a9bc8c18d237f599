// Reads from the code which fragments a kernel's matrix instructions multiply.

#include "codegen/plan/kernel_fragments.h"

#include <array>

#include "ir/numbers/mma.h"
#include "ir/target/ops.h"
#include "support/check.h"

namespace tessera::codegen {

namespace {

using target::OpKind;
using target::attr::Wgmma;

struct Fragment {
  std::array<int64_t, 3> extents = {0, 0, 0};  ///< m, n, k
  DType dtype = DType::F32;
  DType sum = DType::F32;

  int64_t work() const { return extents[0] * extents[1] * extents[2]; }
};

/// The fragment of the unit's instruction for factors of that dtype, with its own n where `n` is 0.
Fragment fragment_of(MmaUnit unit, DType factors, int64_t n = 0) {
  const MmaInstruction* row = find_mma(unit, factors);
  return row ? Fragment{{row->m, n ? n : row->n, row->k}, factors, row->sum} : Fragment{};
}

Fragment fragment_of(Op* op) {
  switch (target::kind_of(op)) {
    case OpKind::Wgmma:
      return fragment_of(MmaUnit::Wgmma, op->attr(Wgmma::dtype), op->attr(Wgmma::n));
    case OpKind::MmaSync: return fragment_of(MmaUnit::MmaSync, op->operand(0)->type()->dtype);
    case OpKind::DotBf16: return fragment_of(MmaUnit::Pairs, DType::BF16);
    case OpKind::TileDotBf16: return fragment_of(MmaUnit::Amx, DType::BF16);
    // No instruction of a unit that multiplies matrices.
#define ELEMENTWISE(Name, ...) case OpKind::Name:
#include "ir/numbers/elementwise.def"
#undef ELEMENTWISE
    case OpKind::Func: case OpKind::Return: case OpKind::Branch: case OpKind::CondBranch: case OpKind::Constant:
    case OpKind::Splat: case OpKind::Iota: case OpKind::Mask: case OpKind::Extract: case OpKind::Insert:
    case OpKind::Shuffle: case OpKind::Concat: case OpKind::Bitcast: case OpKind::Offset: case OpKind::Load:
    case OpKind::LoadMasked: case OpKind::Gather: case OpKind::Store: case OpKind::StoreMasked:
    case OpKind::AtomicAdd: case OpKind::ThreadId: case OpKind::CtaId: case OpKind::CtaCount:
    case OpKind::ClusterRank: case OpKind::SharedBase: case OpKind::Undefined: case OpKind::ShuffleXor:
    case OpKind::ShuffleIndex: case OpKind::Elect: case OpKind::Barrier: case OpKind::BarrierArrive:
    case OpKind::NumberedBarrier: case OpKind::NumberedBarrierArrive:
    case OpKind::WarpSync: case OpKind::ClusterArrive: case OpKind::ClusterWait: case OpKind::MapShared:
    case OpKind::MbarrierInit: case OpKind::MbarrierExpect: case OpKind::MbarrierArrive: case OpKind::MbarrierWait:
    case OpKind::FenceMbarrierInit: case OpKind::FenceAsync: case OpKind::LaunchDependents:
    case OpKind::WaitPrerequisites: case OpKind::TmaLoad: case OpKind::TmaStore:
    case OpKind::BulkCommit: case OpKind::BulkWait: case OpKind::PrefetchDescriptor: case OpKind::CpAsync:
    case OpKind::CpAsyncCommit: case OpKind::CpAsyncWait: case OpKind::MatrixDescriptor: case OpKind::WgmmaFence:
    case OpKind::WgmmaCommit: case OpKind::WgmmaWait: case OpKind::Ldmatrix: case OpKind::Stmatrix:
    case OpKind::ReduceAdd:
    case OpKind::SetMaxRegisters: case OpKind::FmaClamped: case OpKind::ApproxExp2: case OpKind::ApproxLog2:
    case OpKind::ApproxReciprocal: case OpKind::ApproxRsqrt: case OpKind::ApproxSqrt: case OpKind::ApproxTanh:
    case OpKind::Prefetch: case OpKind::TileConfig: case OpKind::TileRelease: case OpKind::TileZero:
    case OpKind::TileLoad: case OpKind::TileStore:
      return {};
  }
  TSR_UNREACHABLE("an op of no kind: " + std::string(op->name()));
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
          std::string(to_string(largest.dtype)), std::string(to_string(largest.sum))};
}

}  // namespace tessera::codegen
