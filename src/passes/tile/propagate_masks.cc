// Gives every reduction, scan and product the limit of the axis it combines.
//
// Past a tensor's edge a load gives its fill value, and what is computed from that means nothing:
// it may not take part in a reduction, whatever the fill. The limit of a reduction is that of the
// loads it is computed from, on the loads' axis that belongs to the reduced one (tile_axes.h);
// where several loads differ it is the least. Where values run along that axis twice, as in a product
// of a square with itself, it cannot be told whose limit is meant: all loads have to have the same. A
// tile.within limits what no load does, and goes. A
// limit that was computed inside a loop which the reduction follows is computed again from what it
// was made of.

#include <algorithm>
#include <map>
#include <set>

#include "ir/core/rematerialise.h"
#include "ir/tile/build.h"
#include "passes/pass.h"
#include "passes/tile/tile_axes.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

using tile::kind_of;
using tile::OpKind;
namespace in = tile::in;

class MaskPropagation {
 public:
  MaskPropagation(Op* kernel, PassContext& context)
      : kernel_(kernel), context_(context), axes_(kernel), builder_(*kernel->module()) {}

  Status run() {
    std::vector<Op*> combining;
    walk(kernel_, [&](Op* op) {
      for (unsigned i = 0; i < op->result_count(); ++i) note_repeated(op->result(i));
      bool combines = op->is(tile::info(OpKind::Reduce)) || op->is(tile::info(OpKind::Scan));
      combines |= op->is(tile::info(OpKind::Scatter));
      if (combines || op->is(tile::info(OpKind::Dot))) combining.push_back(op);
    });
    for (Op* op : combining) {
      bool scatters = op->is(tile::info(OpKind::Scatter));
      if ((scatters ? limit_scatter(op) : limit(op)).failed()) return failure;
    }
    drop_limited();
    return success;
  }

 private:
  static unsigned limit_slot(Op* op) {
    if (op->is(tile::info(OpKind::Dot))) return in::Dot::limit;
    return op->is(tile::info(OpKind::Scan)) ? unsigned(in::Scan::limit) : unsigned(in::Reduce::limit);
  }

  void drop_limited() {
    std::vector<Op*> limited;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Within))) limited.push_back(op);
    });
    for (Op* op : limited) {
      op->result()->replace_all_uses(op->in(in::Within::a));
      op->erase();
    }
  }

  Status limit(Op* op) {
    bool multiplies = op->is(tile::info(OpKind::Dot));
    unsigned slot = limit_slot(op);
    if (op->slot_size(slot)) return success;
    size_t position = multiplies ? 1 : size_t(op->int_attr("axis"));
    axis_ = axes_.of(op->operand(0), position);
    if (axis_ < 0) return success;
    std::vector<Value*> computed_from{op->operand(0)};
    if (multiplies) computed_from.push_back(op->in(in::Dot::b));
    Result<Value*> least = least_limit(op, computed_from);
    if (!least) return failure;
    if (*least) op->set_slot(slot, std::vector<Value*>{*least});
    return success;
  }

  void note_repeated(Value* value) {
    if (!value->type()->is(TypeKind::Tile)) return;
    std::vector<int> axes = axes_.of(value);
    std::sort(axes.begin(), axes.end());
    for (size_t i = 1; i < axes.size(); ++i) {
      if (axes[i] >= 0 && axes[i] == axes[i - 1]) repeated_.insert(axes[i]);
    }
  }

  /// What lies past an edge goes nowhere.
  Status limit_scatter(Op* op) {
    if (op->slot_size(in::Scatter::limits)) return success;
    Value* stored = op->in(in::Scatter::value);
    std::vector<Value*> computed_from = op->ins(in::Scatter::index), limits;
    computed_from.push_back(stored);
    bool limited = false;
    for (size_t i = 0; i < stored->type()->rank(); ++i) {
      axis_ = axes_.of(stored, i);
      Value* limit = nullptr;
      if (axis_ >= 0) {
        Result<Value*> least = least_limit(op, computed_from);
        if (!least) return failure;
        limit = *least;
      }
      limited |= limit != nullptr;
      builder_.set_before(op);
      limits.push_back(limit ? limit : tile::dim(builder_, stored->type()->dims[i]));
    }
    if (limited) op->set_slot(in::Scatter::limits, limits);
    return success;
  }

  /// The least of the limits along the axis of what the tiles are computed from; null where there is none.
  Result<Value*> least_limit(Op* op, const std::vector<Value*>& computed_from) {
    seen_.clear();
    found_.clear();
    has_whole_ = false;
    for (Value* value : computed_from) visit(value);
    if (repeated_.contains(axis_) && found_.size() + has_whole_ > 1) {
      context_.diagnostics.report(diag::unsupported_tile_split, op->loc(), std::string(op->name()),
                                  "what it combines runs along one axis twice, with different limits");
      return failure;
    }
    builder_.set_before(op);
    builder_.set_loc(op->loc());
    Value* least = nullptr;
    for (Value* value : found_) {
      copies_.clear();
      Value* here = available_before(value, op, copies_);
      if (!here) {
        context_.diagnostics.report(diag::unsupported_tile_split, op->loc(),
                                    std::string(op->name()),
                                    "how far its axis reaches is known only inside of a loop");
        return failure;
      }
      least = least ? tile::min(builder_, least, here) : here;
    }
    return least;
  }

  /// Collects the limits along the axis of all loads that `value` is computed from.
  void visit(Value* value) {
    if (!value->type()->is(TypeKind::Tile) || !seen_.insert(value).second) return;
    std::vector<int> axes = axes_.of(value);
    if (std::find(axes.begin(), axes.end(), axis_) == axes.end()) return;
    Op* op = value->def();
    if (!op) {
      Op* loop = value->block()->parent_op();
      if (value->index() == 0) return;
      visit(loop->in(in::For::inits, value->index() - 1));
      return visit(loop->region()->front()->back()->operand(value->index() - 1));
    }
    if (op->is(tile::info(OpKind::For)))
      return visit(op->region()->front()->back()->operand(value->index()));
    if (op->is(tile::info(OpKind::If))) {
      for (unsigned r = 0; r < 2; ++r) visit(op->region(r)->front()->back()->operand(value->index()));
      return;
    }
    if (op->is(tile::info(OpKind::Load))) return collect(op, in::Load::limits);
    if (op->is(tile::info(OpKind::Gather))) collect(op, in::Gather::limits);
    if (op->is(tile::info(OpKind::Within))) collect(op, in::Within::limits);
    for (unsigned i = 0; i < op->operand_count(); ++i) visit(op->operand(i));
  }

  void collect(Op* op, unsigned slot) {
    for (size_t i = 0; i < op->result()->type()->rank(); ++i) {
      if (axes_.of(op->result(), i) != axis_) continue;
      Value* limit = tile_limit(op, slot, i, op->result()->type()->dims[i]);
      has_whole_ |= !limit;
      if (limit && std::find(found_.begin(), found_.end(), limit) == found_.end())
        found_.push_back(limit);
    }
  }

  Op* kernel_;
  PassContext& context_;
  TileAxes axes_;
  Builder builder_;
  int axis_ = -1;
  std::set<int> repeated_;  ///< axes along which a value runs twice
  std::set<Value*> seen_;
  std::vector<Value*> found_;
  bool has_whole_ = false;  ///< a load has all of the axis
  std::map<Value*, Value*> copies_;
};

}  // namespace

Status propagate_masks(Module& module, PassContext& context) {
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    separate_axes(kernel);
    if (MaskPropagation(kernel, context).run().failed()) return failure;
  }
  return success;
}

}  // namespace tessera
