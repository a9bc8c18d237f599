#pragma once
// Reads from a kernel's body, before it is run: where its axes are declared, which extents it uses,
// and which parameters it reads as "this program's tile".

#include <set>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"

namespace tessera::frontend {

class Session;
struct Function;

/// `tile.load(x, rows=t.m, cols=t.d)`: the last two dimensions of x are the axes m and d.
struct TiedLoad {
  std::string_view parameter;
  std::string_view rows;  ///< empty when not given
  std::string_view cols;
  bool by_index = false;  ///< its rows are those of a tile that the body picks
};

/// `tile.range_n(shape, t.n)`: the last but one of the dimensions `shape` is the axis n.
struct TiedRange {
  const ast::Expr* shape;
  std::string_view axis;
};

struct KernelScan {
  const ast::Call* context = nullptr;      ///< the first `tile.context(…)`
  std::set<std::string_view> axes_used;    ///< names after the dot of the context's variable
  std::set<std::string_view> whole_loads;  ///< parameters loaded or stored without an index
  std::vector<TiedLoad> tied_loads;        ///< in order
  std::vector<TiedRange> tied_ranges;
  std::set<std::string_view> looped;       ///< axes whose tiles a loop counts
  bool scatters = false;  ///< elements go to computed places
  bool uses_tiles = false;  ///< something of `tile` is mentioned

  /// The expression of an axis's extent; null when the context does not name it.
  const ast::Expr* extent(std::string_view axis) const;
};

KernelScan scan_kernel(const Session& session, const Function& kernel);

/// Calls of `dropout_in_kernel` in a kernel that name no seed: they draw by that of the kernel's call.
std::vector<const ast::Call*> draws_by_call(const Session& session, const Function& kernel);
/// The probability that such a call gives; null when it gives none.
const ast::Expr* probability_of(const ast::Call& draw);

}  // namespace tessera::frontend
