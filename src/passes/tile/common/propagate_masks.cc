// Gives every dot and every op along an axis the limit of the axis whose elements it combines or moves.
//
// Past a tensor's edge a load gives its fill value. Values computed from it are meaningless and may
// not take part in a reduction, whatever the fill. The limit of a reduction is that of the loads it
// is computed from, along the axis of theirs that its own axis is made of (tile_axes.h); where
// several loads differ it is the least. A tile.within adds a limit that no load has, or takes the
// place of those of loads, and is removed. A limit that was computed inside a loop before the
// reduction is rematerialised.

#include <algorithm>
#include <map>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/core/rematerialise.h"
#include "ir/tile/build.h"
#include "passes/pass.h"
#include "passes/tile/common/tile_axes.h"
#include "support/diagnostic_rows.h"

namespace tessera {

namespace {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

/// How a loop combines tiles, of a kind of reduction.
std::string in_loop(std::string_view kind) {
  if (kind == "sum") return ": s = s + tile.sum(v, axis=1)";
  if (kind == "prod") return ": s = s * tile.prod(v, axis=1)";
  if (kind == "max") return ": s = tile.maximum(s, tile.max(v, axis=1))";
  if (kind == "min") return ": s = tile.minimum(s, tile.min(v, axis=1))";
  return {};
}

class MaskPropagation {
 public:
  MaskPropagation(Op* kernel, PassContext& context)
      : kernel_(kernel), context_(context), builder_(*kernel->module()) {}

  Status run() {
    std::vector<Op*> combining;
    walk(kernel_, [&](Op* op) {
      note_sources(op);
      bool combines = common::is_along_axis(op) || op->is(tile::info(OpKind::Scatter));
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
  using TileAxis = std::pair<Value*, size_t>;

  void note_sources(Op* op) {
    if (op->is(tile::info(OpKind::Scatter))) return;  // its values do not depend on its coordinates
    for (const AxisLink& link : axis_links(op)) {
      sources_[{link.to, link.place}].emplace_back(op->operand(link.operand), link.axis);
    }
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
    unsigned slot = op->slot_count() - 1;
    if (op->slot_size(slot)) return success;
    size_t axis = multiplies ? 1 : size_t(op->attr(common::Along::axis));
    std::vector<TileAxis> combined{{op->operand(0), axis}};
    if (multiplies) combined.emplace_back(op->in(in::Dot::b), 0);
    Result<Value*> least = least_limit(op, combined);
    if (!least) return failure;
    if (*least) op->set_slot(slot, std::vector<Value*>{*least});
    return success;
  }

  /// Elements past an edge are not stored.
  Status limit_scatter(Op* op) {
    if (op->slot_size(in::Scatter::limits)) return success;
    Value* stored = op->in(in::Scatter::value);
    std::vector<Value*> tiles = op->ins(in::Scatter::index), limits;
    tiles.push_back(stored);
    bool limited = false;
    for (size_t i = 0; i < stored->type()->rank(); ++i) {
      std::vector<TileAxis> scattered;
      for (Value* value : tiles) scattered.emplace_back(value, i);
      Result<Value*> least = least_limit(op, scattered);
      if (!least) return failure;
      Value* limit = *least;
      limited |= limit != nullptr;
      builder_.set_before(op);
      limits.push_back(limit ? limit : tile::dim(builder_, stored->type()->dims[i]));
    }
    if (limited) op->set_slot(in::Scatter::limits, limits);
    return success;
  }

  /// The least limit among the axes that these are made of; null where there is none.
  Result<Value*> least_limit(Op* op, const std::vector<TileAxis>& combined) {
    seen_.clear();
    found_.clear();
    for (const auto& [value, axis] : combined) visit(value, axis);
    builder_.set_before(op);
    builder_.set_loc(op->loc());
    Value* least = nullptr;
    for (Value* value : found_) {
      copies_.clear();
      Value* here = available_before(value, op, copies_);
      if (!here) {
        bool reduces = op->is(tile::info(OpKind::Reduce));
        std::string kind(reduces ? op->attr(attr::Reduce::kind) : std::string_view());
        std::string name = reduces ? "tile." + kind : std::string(op->name());
        context_.diagnostics.report(diag::unsupported_tile_split, op->loc(), name,
                                    "how far its axis reaches is known only inside of a loop")
            .help("combine the elements of each tile there" + in_loop(kind));
        return failure;
      }
      least = least ? tile::min(builder_, least, here) : here;
    }
    return least;
  }

  /// Collects the limits of all loads that an axis of a tile is made of.
  void visit(Value* tile, size_t axis) {
    if (!tile->def()) tile = tile->block()->parent_op()->result(tile->index() - 1);  // what a loop carries
    if (tile->type()->dims[axis]->is_constant(1) || !seen_.insert({tile, axis}).second) return;
    Op* op = tile->def();
    if (op->is(tile::info(OpKind::Load))) collect(op, in::Load::limits, axis);
    if (op->is(tile::info(OpKind::Gather))) collect(op, in::Gather::limits, axis);
    if (op->is(tile::info(OpKind::Within))) {
      collect(op, in::Within::limits, axis);
      std::vector<int64_t> filled = op->attr(attr::Within::filled).vector();
      if (std::ranges::find(filled, int64_t(axis)) != filled.end()) return;
    }
    for (auto [from, i] : sources_[{tile, axis}]) visit(from, i);
  }

  void collect(Op* op, unsigned slot, size_t axis) {
    Value* limit = tile_limit(op, slot, axis, op->result()->type()->dims[axis]);
    if (limit && std::find(found_.begin(), found_.end(), limit) == found_.end()) found_.push_back(limit);
  }

  Op* kernel_;
  PassContext& context_;
  Builder builder_;
  std::map<TileAxis, std::vector<TileAxis>> sources_;  ///< the axes that an axis is made of; not of what loops carry
  std::set<TileAxis> seen_;
  std::vector<Value*> found_;
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
