// Checks that the layouts of an op's tiles agree.

#include <algorithm>
#include <map>
#include <tuple>

#include "ir/layout/reduction.h"
#include "ir/layout/register_map.h"
#include "ir/layout/scan.h"
#include "ir/layout/text.h"
#include "ir/tile/axes.h"
#include "ir/tile/ops.h"
#include "ir/tile/verify.h"

namespace tessera::tile {

namespace {

class LayoutVerifier {
 public:
  explicit LayoutVerifier(OpVerifier& verifier) : verifier_(verifier) {}

  void check(Op* op) {
    if (verifier_.failed()) return;
    if (std::optional<std::vector<int>> axes = axes_in_result(op)) return check_elements(op, *axes);
    if (op->is(info(OpKind::Reduce))) return check_reduction(op);
    if (op->is(info(OpKind::Scan))) return check_scan(op);
  }

 private:
  template <typename... Args>
  void error(Op* op, fmt::format_string<Args...> format, Args&&... args) {
    if (verifier_.failed()) return;
    verifier_.of(op).error(format, std::forward<Args>(args)...);
    verifier_.fail();
  }

  /// Null where a tile has no layout, or there is no tile.
  const layout::Layout* layout_of(Value* tile) {
    if (!tile || tile->type()->layout.empty()) return nullptr;
    auto [known, fresh] = layouts_.try_emplace(tile->type()->layout);
    if (fresh) known->second = layout::parse_layout(tile->type()->layout);
    return known->second ? &*known->second : nullptr;
  }

  void check_elements(Op* op, const std::vector<int>& axes) {
    Value* source = op->is(info(OpKind::Gather)) ? op->in(in::Gather::rows) : op->operand(0);
    const layout::Layout *from = layout_of(source), *to = layout_of(op->result());
    if (!from || !to) return;
    layout::Point start{};
    if (op->is(info(OpKind::Slice))) std::ranges::copy(op->attr(attr::Slice::offsets), start.begin());
    Elements elements{source->type()->layout, op->result()->type()->layout, axes, start};
    auto [known, fresh] = agree_.try_emplace(elements, false);
    if (fresh) known->second = layout::register_map(*from, *to, axes, start).has_value();
    if (known->second) return;
    error(op, "threads hold other elements of {} than of {}", source->type()->text,
          op->result()->type()->text);
  }

  void expect(Op* op, Value* tile, const layout::Layout& expected) {
    const layout::Layout* layout = layout_of(tile);
    if (!layout || *layout == expected) return;
    error(op, "{} has another layout than {}", tile->type()->text, layout::print(expected));
  }

  void check_reduction(Op* op) {
    const layout::Layout* from = layout_of(op->in(in::Reduce::a));
    if (!from) return;
    expect(op, op->result(),
           layout::plan_reduction(*from, int(op->attr(attr::Reduce::axis)),
                                  op->attr(attr::Reduce::keep))
               .result);
  }

  void check_scan(Op* op) {
    const layout::Layout* from = layout_of(op->in(in::Scan::a));
    if (!from) return;
    std::optional<layout::Scan> plan = layout::plan_scan(*from, int(op->attr(attr::Scan::axis)));
    if (!plan) return error(op, "no scan runs along the axis of {}", op->operand(0)->type()->text);
    expect(op, op->in(in::Scan::before), plan->total);
    expect(op, op->result(0), *from);
    expect(op, op->result(1), plan->total);
  }

  /// A tile of the second layout that is made of one of the first, axis by axis, from an offset on.
  using Elements = std::tuple<std::string_view, std::string_view, std::vector<int>, layout::Point>;

  OpVerifier& verifier_;
  std::map<Elements, bool> agree_;  ///< many ops are alike, and all registers of a layout are many
  std::map<std::string_view, std::optional<layout::Layout>> layouts_;
};

}  // namespace

void verify_layouts(Op* kernel, OpVerifier& verifier) {
  LayoutVerifier layouts(verifier);
  walk(kernel, [&](Op* op) { layouts.check(op); });
  if (!verifier.failed()) verify_kernel_properties(kernel, verifier);
}

}  // namespace tessera::tile
