#include "passes/tile/cpu/fragment_stages.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "passes/tile/cpu/fragment_pairs.h"
#include "support/check.h"

namespace tessera {

using tile::kind_of;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// An alloc, or a view of one.
bool is_alloc(Value* memory) {
  if (memory->def() && memory->def()->is(tile::info(OpKind::View))) memory = memory->def()->operand(0);
  return memory->def() && memory->def()->is(tile::info(OpKind::Alloc));
}

}  // namespace

bool is_private_load(Op* op) { return op->is(tile::info(OpKind::Load)) && is_alloc(op->in(in::Load::memory)); }

bool is_private_store(Op* op) { return op->is(tile::info(OpKind::Store)) && is_alloc(op->in(in::Store::memory)); }

bool is_fragment_root(Op* op, const TileAxes& axes) {
  if (op->region_count() || !op->ins(ValueClass::WrittenMemory).empty()) return true;
  if (op->is(tile::info(OpKind::Dot)) || is_private_load(op)) return true;
  return common::is_along_axis(op) && axes.of(op->operand(0), size_t(op->attr(common::Along::axis))) >= 0;
}

namespace {

bool is_scan(Op* op) { return op->is(tile::info(OpKind::Scan)); }
bool combines(Op* op) { return is_scan(op) || op->is(tile::info(OpKind::Reduce)); }
/// The result that a loop over the axis leaves.
Value* left_by(Op* op) { return op->result(is_scan(op) ? 1 : 0); }
bool scatters(Op* op) { return op->is(tile::info(OpKind::Scatter)); }
bool writes(Op* op) { return scatters(op) || op->is(tile::info(OpKind::Store)); }
Value* written_by(Op* op) { return op->in(scatters(op) ? unsigned(in::Scatter::value) : unsigned(in::Store::value)); }

bool is_readable(Value* value, const TileAxes& axes, std::set<Value*>& seen) {
  Op* def = value->def();
  if (!seen.insert(value).second) return true;
  if (!def) {
    return !value->type()->is(TypeKind::Tile) && value->block()->parent_op()->info().has(Function);
  }
  if (def->region_count() || is_fragment_root(def, axes)) return false;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    if (!is_readable(def->operand(i), axes, seen)) return false;
  }
  return true;
}

int combined_axis(const TileAxes& axes, Op* op) {
  return axes.of(op->operand(0), size_t(op->attr(common::Along::axis)));
}

int contracted_axis(const TileAxes& axes, Op* dot) {
  return axes.of(dot->in(in::Dot::a), 1);
}

/// Rows that are transposed at once where they are stored as columns.
constexpr int64_t stored_rows = 8;

bool stores_along(Op* store, int axis, const TileAxes& axes) {
  Value* value = store->in(in::Store::value);
  Type memory = store->in(in::Store::memory)->type();
  for (size_t i = 0; i < value->type()->rank(); ++i) {
    if (axes.of(value, i) == axis) return is_contiguous_along(memory, value->type(), i);
  }
  return false;
}

/// Calls `visit` for the values that `root` is computed from.
template <typename F>
void for_each_input(Op* op, F&& visit) {
  for (unsigned i = 0; i < op->operand_count(); ++i) visit(op->operand(i));
}

/// True if the value is computed from the final result of one of these ops, known when its loop has
/// ended.
bool depends_on(Value* value, const std::set<Op*>& ops, std::set<Value*>& seen) {
  Op* def = value->def();
  if (!def || !seen.insert(value).second) return false;
  if (ops.contains(def)) {
    if (!is_scan(def) || value == left_by(def)) return true;
  }
  bool found = false;
  for_each_input(def, [&](Value* input) { found = found || depends_on(input, ops, seen); });
  return found;
}

}  // namespace

namespace {

/// True if `op`, or what is in its regions, reads the value without another root in between.
bool reads(Op* op, Value* wanted, const TileAxes& axes, std::set<Value*>& seen) {
  auto comes_from = [&](auto& self, Value* value) -> bool {
    if (value == wanted) return true;
    Op* def = value->def();
    if (!def || !seen.insert(value).second || is_fragment_root(def, axes)) return false;
    bool found = false;
    for_each_input(def, [&](Value* input) { found = found || self(self, input); });
    return found;
  };
  bool found = false;
  auto visit = [&](Op* reader) {
    for_each_input(reader, [&](Value* input) { found = found || comes_from(comes_from, input); });
  };
  visit(op);
  walk(op, visit);
  return found;
}

}  // namespace

bool is_readable(Value* value, const TileAxes& axes) {
  std::set<Value*> seen;
  return is_readable(value, axes, seen);
}

Value* FragmentStages::domain_on(Op* op, int axis) const {
  const TileAxes& axes = emitter_.axes();
  if (combines(op) && axis == combined_axis(axes, op))
    return is_scan(op) ? op->in(in::Scan::limit) : op->in(in::Reduce::limit);
  if (kind_of(op) == OpKind::Dot) return read_up_to(op, axis);
  if (!writes(op)) return nullptr;
  Value* value = written_by(op);
  unsigned limits = scatters(op) ? unsigned(in::Scatter::limits) : unsigned(in::Store::limits);
  for (size_t i = 0; i < value->type()->rank(); ++i) {
    if (axes.of(value, i) == axis) return tile_limit(op, limits, i, value->type()->dims[i]);
  }
  return nullptr;
}

/// The limit along an axis of the ops that combine elements later in the block, where they share
/// one: elements past it are not needed.
Value* FragmentStages::read_up_to(Op* op, int axis) const {
  const TileAxes& axes = emitter_.axes();
  std::set<Value*> limits;
  for (Op* later = op->next(); later; later = later->next()) {
    if (combines(later) && combined_axis(axes, later) == axis)
      limits.insert(is_scan(later) ? later->in(in::Scan::limit) : later->in(in::Reduce::limit));
    if (kind_of(later) == OpKind::Dot && contracted_axis(axes, later) == axis)
      limits.insert(later->in(in::Dot::limit));
  }
  return limits.size() == 1 ? *limits.begin() : nullptr;
}

FragmentStages::Root FragmentStages::root(Op* op) {
  Root root{op, {}};
  OpKind kind = kind_of(op);
  if (kind == OpKind::For || kind == OpKind::If) return root;
  root.unbound = emitter_.unbound(writes(op) ? written_by(op) : left_by(op));
  if (writes(op) && root.unbound.size() == 1) root.axis = root.unbound[0];
  if (combines(op) && root.unbound.empty()) root.axis = combined_axis(emitter_.axes(), op);
  if (root.axis >= 0) root.domain = domain_on(op, root.axis);
  return root;
}

/// Whether one scans from the end and the other to it: a loop has one direction.
bool FragmentStages::goes_against(const Stage& stage, const Root& root) {
  return is_scan(root.op) && std::ranges::any_of(stage.roots, [&](const Root& member) {
           return is_scan(member.op) &&
                  member.op->attr(attr::Scan::reverse) != root.op->attr(attr::Scan::reverse);
         });
}

bool FragmentStages::joins(const Stage& stage, const Root& root) {
  if (root.axis < 0 || stage.roots[0].axis != root.axis || stage.roots[0].domain != root.domain)
    return false;
  if (goes_against(stage, root)) return false;
  std::set<Op*> members;
  for (const Root& member : stage.roots) members.insert(member.op);
  std::set<Value*> seen;
  bool depends = false;
  for_each_input(root.op,
                 [&](Value* input) { depends = depends || depends_on(input, members, seen); });
  return !depends;
}

std::vector<FragmentStages::Stage> FragmentStages::plan(Block* old) {
  std::vector<Stage> stages;
  for (Op* op : *old) {
    if (!is_fragment_root(op, emitter_.axes())) continue;
    if (op->result_count() && emitter_.is_in_panels(op->result())) continue;
    Root next = root(op);
    if (!stages.empty() && joins(stages.back(), next)) {
      stages.back().roots.push_back(std::move(next));
    } else {
      stages.push_back({{std::move(next)}, {}});
    }
  }
  choose_kept(stages);
  keep_scans(stages);
  return stages;
}

void FragmentStages::find_expensive(Value* value, Block* block, std::set<Value*>& expensive,
                               std::set<Value*>& seen) {
  Op* def = value->def();
  if (!def || def->block() != block || !seen.insert(value).second) return;
  if (is_fragment_root(def, emitter_.axes())) return;
  // Their results are cheaper to load from memory than to compute again.
  if (is_transcendental(def->info().elementwise)) expensive.insert(value);
  for_each_input(def, [&](Value* input) { find_expensive(input, block, expensive, seen); });
}

/// A value is kept for the fragments of one loop: all its other axes are bound, and the axis is
/// longer than a fragment (a single fragment stays in registers). Where the columns of fragments
/// are another axis already, the loop steps by one element, and all its fragments would have to be
/// kept.
bool FragmentStages::can_keep(Value* value, const Root& root) {
  int column = emitter_.column();
  if (!shape_.keeps) return false;
  if (column >= 0 && emitter_.is_bound(column) && column != root.axis) return false;
  std::vector<int> unbound = emitter_.unbound(value);
  if (unbound != std::vector<int>{root.axis}) return false;
  std::optional<int64_t> extent = emitter_.axes().extent(root.axis)->constant();
  return root.domain || !extent || *extent > width_of(root.axis);
}

void FragmentStages::choose_kept(std::vector<Stage>& stages) {
  std::vector<std::set<Value*>> used(stages.size());
  for (size_t s = 0; s < stages.size(); ++s) {
    std::set<Value*> seen;
    for (const Root& root : stages[s].roots) {
      if (root.axis < 0) continue;
      for_each_input(root.op,
                     [&](Value* input) { find_expensive(input, root.op->block(), used[s], seen); });
    }
  }
  std::set<Value*> done;
  for (size_t s = 0; s < stages.size(); ++s) {
    std::vector<Value*> expensive(used[s].begin(), used[s].end());
    std::sort(expensive.begin(), expensive.end(), [](Value* a, Value* b) { return a->id() < b->id(); });
    for (Value* value : expensive) {
      if (!can_keep(value, stages[s].roots[0]) || !done.insert(value).second) continue;
      for (size_t later = s + 1; later < stages.size(); ++later) {
        bool same = stages[later].roots[0].axis == stages[s].roots[0].axis &&
                    stages[later].roots[0].domain == stages[s].roots[0].domain;
        if (!same || !used[later].contains(value)) continue;
        stages[s].kept.push_back(value);
        break;
      }
    }
  }
  keep_operands(stages, used);
}

/// A dot reads its operands once for each fragment of the sum, so an expensive op in an operand
/// would be computed again and again. The last stage before the dot that runs along the dot's k and
/// computes the expensive value anyway keeps the whole operand; or only the expensive value, where
/// the rest of the operand needs the stage's final result.
void FragmentStages::keep_operands(std::vector<Stage>& stages,
                                   const std::vector<std::set<Value*>>& used) {
  for (size_t later = 1; later < stages.size(); ++later) {
    Op* dot = stages[later].roots[0].op;
    if (kind_of(dot) != OpKind::Dot) continue;
    int k = contracted_axis(emitter_.axes(), dot);
    for (Value* operand : {dot->in(in::Dot::a), dot->in(in::Dot::b)}) {
      std::set<Value*> expensive, seen;
      find_expensive(operand, dot->block(), expensive, seen);
      for (size_t s = later; s-- > 0 && !expensive.empty();) {
        const Root& root = stages[s].roots[0];
        bool same = root.axis >= 0 && root.axis == k && root.domain == dot->in(in::Dot::limit);
        bool computes = std::any_of(expensive.begin(), expensive.end(),
                                    [&](Value* value) { return used[s].contains(value); });
        if (!same || !computes) continue;
        std::vector<Value*> kept = {operand};
        if (waits_for(operand, stages, s, later)) kept = {expensive.begin(), expensive.end()};
        std::erase_if(kept, [&](Value* value) {
          return waits_for(value, stages, s, later) || !can_keep_operand(value, root);
        });
        if (kept.empty()) continue;
        std::ranges::sort(kept, {}, [](Value* value) { return value->id(); });
        for (Value* value : kept) {
          if (std::ranges::count(stages[s].kept, value) == 0) stages[s].kept.push_back(value);
        }
        break;
      }
    }
  }
}

/// Whether a value is computed from the final result of one of the stages from `first` up to
/// `last`.
bool FragmentStages::waits_for(Value* value, const std::vector<Stage>& stages, size_t first, size_t last) {
  std::set<Op*> ops;
  for (size_t s = first; s < last; ++s) {
    for (const Root& root : stages[s].roots) ops.insert(root.op);
  }
  std::set<Value*> seen;
  return depends_on(value, ops, seen);
}

/// Elements of scratch memory that an operand of a dot may take.
constexpr int64_t max_kept_elements = 16384;

bool FragmentStages::can_keep_operand(Value* value, const Root& root) {
  if (!shape_.keeps || emitter_.unbound(value) != std::vector<int>{root.axis}) return false;
  int column = emitter_.column();
  bool spans = column < 0 || !emitter_.is_bound(column) || column == root.axis;
  if (spans) return true;
  std::optional<int64_t> extent = emitter_.axes().extent(root.axis)->constant();
  return extent && *extent * emitter_.binding(column).extent <= max_kept_elements;
}

/// The result of a scan exists fragment by fragment inside of its loop. Later stages find it in
/// scratch memory, or scan again where there is none; a single fragment stays known. The last scans
/// come first, as they may read others.
void FragmentStages::keep_scans(std::vector<Stage>& stages) {
  for (size_t s = stages.size(); s-- > 0;) {
    for (size_t r = stages[s].roots.size(); r-- > 0;) {
      const Root scan = stages[s].roots[r];
      if (!is_scan(scan.op) || scan.axis < 0) continue;
      bool kept = shape_.keeps && is_left(scan.op);
      for (size_t later = s + 1; later < stages.size(); ++later) {
        Stage& reader = stages[later];
        if (!reads_elsewhere(reader, scan)) continue;
        bool again = !shape_.keeps && reader.roots[0].axis == scan.axis && reader.roots[0].domain == scan.domain &&
                     !goes_against(reader, scan);
        if (again) reader.roots.insert(reader.roots.begin(), scan);
        kept |= !again;
      }
      if (kept) stages[s].kept.push_back(scan.op->result(0));
    }
  }
}

/// Whether the block's results are computed from the scan's result element by element.
bool FragmentStages::is_left(Op* scan) const {
  Op* last = scan->block()->terminator();
  std::set<Value*> seen;
  return last && reads(last, scan->result(0), emitter_.axes(), seen);
}

bool FragmentStages::reads_elsewhere(const Stage& stage, const Root& scan) const {
  std::optional<int64_t> extent = emitter_.axes().extent(scan.axis)->constant();
  int column = emitter_.column();
  bool spans = column < 0 || !emitter_.is_bound(column) || column == scan.axis;
  bool single = spans && extent && !scan.domain && *extent <= width_of(scan.axis);
  const Root& first = stage.roots[0];
  if (single && first.axis == scan.axis && !first.domain) return false;
  std::set<Value*> seen;
  return std::any_of(stage.roots.begin(), stage.roots.end(), [&](const Root& root) {
    return reads(root.op, scan.op->result(0), emitter_.axes(), seen);
  });
}

int64_t FragmentStages::width_of(int axis) const {
  std::optional<int64_t> extent = emitter_.axes().extent(axis)->constant();
  int64_t width = std::max(shape_.lanes, shape_.width / shape_.rows / shape_.lanes * shape_.lanes);
  if (!extent) return width;
  return std::clamp((*extent + shape_.lanes - 1) / shape_.lanes * shape_.lanes, shape_.lanes,
                    width);
}

void FragmentStages::block(Block* old) {
  auto kept = emitter_.kept();
  write_stages(old);
  emitter_.set_kept(std::move(kept));
}

void FragmentStages::write_stages(Block* old) {
  for (const Stage& stage : plan(old)) {
    if (emitter_.failed()) return;
    if (BackToBackDot* made = back_to_back_dot(stage.roots[0].op)) made->fill();
    write(stage);
  }
}

void FragmentStages::write(const Stage& stage) {
  const Root& first = stage.roots[0];
  emitter_.builder().set_loc(first.op->loc());
  if (first.axis >= 0) return write_shared_loop(stage);
  if (kind_of(first.op) == OpKind::For) return write_loop(first);
  if (kind_of(first.op) == OpKind::If) return write_branch(first);
  if (!first.unbound.empty()) return write_nested(first);
  if (kind_of(first.op) == OpKind::Dot) return write_dot(first);
  if (kind_of(first.op) == OpKind::Load) return emitter_.remember(first.op->result(), emitter_.load_here(first.op));
  write_out(first.op);
}

void FragmentStages::write_out(Op* op) {
  if (scatters(op)) return emitter_.scatter(op);
  TSR_CHECK(op->is(tile::info(OpKind::Store)), "no fragments of " + std::string(op->name()));
  FragmentMemory memory = emitter_.memory_of(op, in::Store::memory, in::Store::offsets,
                                             in::Store::limits, op->in(in::Store::value));
  emitter_.store(emitter_.demand(op->in(in::Store::value)), memory);
}

Value* FragmentStages::reduce(const Root& root, Value* before) {
  Value* element = emitter_.demand(root.op->in(in::Reduce::a));
  Value* after = tile::elementwise(
      emitter_.builder(), tile::reduction_op(root.op->attr(attr::Reduce::kind)), {before, element});
  Value* rest = emitter_.binding(root.axis).rest;
  if (!rest) return after;
  std::vector<Value*> limits;
  for (Dim extent : after->type()->dims) limits.push_back(emitter_.index(*extent->constant()));
  limits[root.axis == emitter_.row() ? 0 : 1] = rest;
  return tile::merge(emitter_.builder(), after, before, limits);
}

/// The fragment of a scan, known from here on to its readers in this iteration; returns the value
/// before the next fragment.
Value* FragmentStages::scan(const Root& root, Value* before) {
  Op* op = root.op;
  Value* element = emitter_.demand(op->in(in::Scan::a));
  Builder& builder = emitter_.builder();
  std::string_view kind = op->attr(attr::Scan::kind);
  if (emitter_.column() != root.axis) {
    Value* after = tile::elementwise(builder, tile::reduction_op(kind), {before, element});
    Value* result = after;
    if (op->attr(attr::Scan::exclusive)) {
      Attr none = tile::reduction_identity(emitter_.context(), kind, element->type()->dtype);
      Value* nothing = tile::full(builder, element->type(), none);
      result = tile::elementwise(builder, tile::reduction_op(kind), {before, nothing});
    }
    emitter_.remember(op->result(0), result);
    return after;
  }
  std::vector<Value*> limit;
  if (Value* rest = emitter_.binding(root.axis).rest) limit.push_back(rest);
  std::vector<OpAttr> attributes(op->attributes().begin(), op->attributes().end());
  for (OpAttr& attribute : attributes) {
    if (attribute.name == attr::Scan::axis.name) attribute.value = emitter_.context().integer(1);
  }
  Op* made = builder.op(tile::info(OpKind::Scan), {{element}, {before}, limit}, {element->type(), before->type()},
                        std::move(attributes));
  emitter_.remember(op->result(0), made->result(0));
  return made->result(1);
}

/// One iteration of a stage: does its stores, returns the accumulators.
FragmentEmitter::Values FragmentStages::combine(const Stage& stage,
                                                const FragmentEmitter::Values& carried) {
  FragmentEmitter::Values next;
  for (const Root& root : stage.roots) {
    Builder* b = &emitter_.builder();
    b->set_loc(root.op->loc());
    if (writes(root.op)) {
      write_out(root.op);
      continue;
    }
    Value* before = carried[next.size()];
    next.push_back(is_scan(root.op) ? scan(root, before) : reduce(root, before));
  }
  for (Value* value : stage.kept) emitter_.store(emitter_.demand(value), keep(value, stage));
  return next;
}

FragmentMemory FragmentStages::keep(Value* value, const Stage& stage) {
  std::vector<int> axes = stage.around;
  axes.push_back(stage.roots[0].axis);
  return scratch_for(value, axes);
}

/// The value that combining no elements gives. Where the rows or columns of fragments are the axis, a reduction keeps
/// as many partial results.
Value* FragmentStages::start(const Root& root, int64_t width) {
  Type type = emitter_.fragment_type(left_by(root.op));
  std::vector<Dim> extents = type->dims;
  bool lies_in_fragments = root.axis == emitter_.row() || root.axis == emitter_.column();
  if (lies_in_fragments && !is_scan(root.op)) {
    extents[root.axis == emitter_.row() ? 0 : 1] = emitter_.context().dims().constant(width);
    type = emitter_.context().tile(extents, type->dtype);
  }
  std::string_view kind = root.op->attr(common::Along::kind);
  Attr none = tile::reduction_identity(emitter_.context(), kind, type->dtype);
  // Before the first element -0 changes nothing.
  if (is_scan(root.op) && kind == "sum" && is_float(type->dtype)) none = emitter_.context().number(-0.0);
  return tile::full(emitter_.builder(), type, none);
}

/// Rows of the fragments in the loop of a stage along an axis, while the columns at hand are of another.
int64_t FragmentStages::rows_along(const Stage& stage) {
  if (emitter_.row() >= 0 || !stage.kept.empty()) return 1;
  auto all = [&](auto fits) { return std::ranges::all_of(stage.roots, fits); };
  // Stores of values along the axis write several rows, which are transposed in registers.
  bool transposes = may_choose_rows() && all([&](const Root& root) {
    return kind_of(root.op) == OpKind::Store && stores_along(root.op, root.axis, emitter_.axes());
  });
  if (transposes) return stored_rows;
  return all([](const Root& root) { return !is_scan(root.op); }) ? shape_.steps : 1;
}

void FragmentStages::write_shared_loop(const Stage& stage) {
  int axis = stage.roots[0].axis, row = emitter_.row(), column = emitter_.column();
  bool spans = column < 0 || !emitter_.is_bound(column) || column == axis;
  int64_t width = spans ? width_of(axis) : rows_along(stage);
  if (spans) {
    emitter_.set_shape(row, axis);
  } else if (width > 1) {
    emitter_.set_shape(axis, column);
  }
  FragmentEmitter::Values inits;
  std::vector<const Root*> combining;
  bool reverse = false;
  for (const Root& root : stage.roots) {
    if (!combines(root.op)) continue;
    combining.push_back(&root);
    reverse |= is_scan(root.op) && root.op->attr(attr::Scan::reverse);
    inits.push_back(start(root, width));
  }
  auto iterate = [&](const FragmentEmitter::Values& carried) { return combine(stage, carried); };
  Value* domain = stage.roots[0].domain;
  FragmentEmitter::Values last =
      reverse ? emitter_.reverse_loop(axis, width, domain, inits, iterate)
              : emitter_.loop(axis, width, domain, TailKind::Limited, inits, iterate);
  emitter_.set_shape(row, column);
  for (size_t i = 0; i < combining.size(); ++i) {
    Op* op = combining[i]->op;
    Value* result = last[i];
    if (!is_scan(op))
      result = tile::reduce_keep(emitter_.builder(), result, op->attr(common::Along::kind), spans ? 1 : 0);
    emitter_.remember(left_by(op), result);
  }
  for (Value* value : stage.kept) emitter_.keep_in(value, keep(value, stage));
}

/// A root whose result runs along axes that are not bound: loops over them, with the result in
/// scratch memory.
void FragmentStages::write_nested(const Root& root) {
  int row = emitter_.row(), column = emitter_.column();
  std::vector<int> axes = root.unbound;
  if (kind_of(root.op) == OpKind::Store && (column < 0 || !emitter_.is_bound(column))) {
    // Columns are those of the memory, as far as it has any here.
    auto found = std::ranges::find_if(axes, [&](int axis) { return stores_along(root.op, axis, emitter_.axes()); });
    if (found != axes.end()) std::rotate(found, found + 1, axes.end());
  }
  bool reduces = combines(root.op);
  bool rows = kind_of(root.op) == OpKind::Dot && may_choose_rows();
  if (rows) {
    // All of it is kept, whatever the rows of its fragments.
    scratch_for(root.op->result(), root.unbound);
    emitter_.set_shape(axes.back(), column);
  }
  if ((column < 0 || !emitter_.is_bound(column)) && !reduces) {
    emitter_.set_shape(row, axes.back());
  } else if (reduces && (column < 0 || !emitter_.is_bound(column))) {
    emitter_.set_shape(row, combined_axis(emitter_.axes(), root.op));
  }
  write_nested(root, axes, 0);
  emitter_.set_shape(row, column);
  if (writes(root.op)) return;
  Value* left = left_by(root.op);
  emitter_.keep_in(left, scratch_for(left, root.unbound));
  if (is_scan(root.op)) emitter_.keep_in(root.op->result(0), keep(root.op->result(0), alone(root.op, root.unbound)));
}

/// A root for itself in loops over `around`, which leaves all it gives in scratch memory.
FragmentStages::Stage FragmentStages::alone(Op* op, const std::vector<int>& around) {
  Stage stage{{root(op)}};
  if (!is_scan(op)) return stage;
  stage.roots[0].axis = combined_axis(emitter_.axes(), op);
  stage.kept = {op->result(0)};
  stage.around = around;
  return stage;
}

void FragmentStages::write_nested(const Root& root_op, const std::vector<int>& axes, size_t depth) {
  if (depth == axes.size()) {
    Op* op = root_op.op;
    BackToBackDot* made = back_to_back_dot(op);
    if (made && made->is_matrix()) return write_matrix(op, made, root_op.unbound);
    write(alone(op, root_op.unbound));
    if (!writes(op) && !emitter_.failed()) {
      emitter_.store(emitter_.demand(left_by(op)), scratch_for(left_by(op), root_op.unbound));
    }
    return;
  }
  int axis = axes[depth];
  int64_t width = axis == emitter_.column() ? width_of(axis) : axis == emitter_.row() ? rows_of(root_op.op) : 1;
  emitter_.loop(axis, width, domain_on(root_op.op, axis), TailKind::Limited, {},
                [&](const FragmentEmitter::Values&) {
                  write_nested(root_op, axes, depth + 1);
                  return FragmentEmitter::Values{};
                });
}

/// The dims are the axes in `unbound`, then rows and columns. What loops bind already has the
/// fragment at hand alone: rows always, columns where the value runs along the column axis.
/// Elsewhere the last of `unbound` has the columns, whole vectors of them.
FragmentMemory FragmentStages::scratch_for(Value* value, const std::vector<int>& unbound) {
  auto [it, inserted] = scratch_.try_emplace({value, unbound});
  FragmentMemory& memory = it->second;
  if (!inserted) return memory;
  DimTable& dims = emitter_.context().dims();
  std::vector<Dim> extents;
  auto add = [&](int axis, Dim extent, bool local) {
    memory.axes.push_back(axis);
    memory.local.push_back(local);
    extents.push_back(extent);
  };
  auto whole = [&](int axis) { add(axis, emitter_.axes().extent(axis), false); };
  int row = emitter_.row(), column = emitter_.column();
  bool has_rows = runs_along(value, row);
  bool has_columns = runs_along(value, column) && emitter_.is_bound(column) &&
                     std::find(unbound.begin(), unbound.end(), column) == unbound.end();
  std::for_each(unbound.begin(), unbound.end() - 1, whole);
  if (has_columns) whole(unbound.back());
  add(has_rows ? row : -1, dims.constant(has_rows ? shape_.rows : 1), true);
  if (has_columns) {
    add(column, dims.constant(emitter_.binding(column).extent), true);
  } else {
    Dim lanes = dims.constant(shape_.lanes);
    Dim vectors = dims.ceildiv(emitter_.axes().extent(unbound.back()), lanes);
    add(unbound.back(), dims.mul(vectors, lanes), false);
  }
  Dim elements = dims.constant(1);
  for (Dim extent : extents) elements = dims.mul(elements, extent);
  DType dtype = value->type()->dtype;
  memory.memory = emitter_.scratch(elements, dtype);
  memory.type = emitter_.context().contiguous_view(extents, dtype, MemorySpace::Scratch);
  memory.offsets.assign(memory.axes.size(), nullptr);
  memory.limits.assign(memory.axes.size(), nullptr);
  return memory;
}

bool FragmentStages::runs_along(Value* value, int axis) const {
  std::vector<int> all = emitter_.axes().of(value);
  return axis >= 0 && std::find(all.begin(), all.end(), axis) != all.end();
}

BackToBackDot* FragmentStages::back_to_back_dot(Op* dot) const {
  auto found = back_to_back_.find(dot);
  return found == back_to_back_.end() ? nullptr : found->second;
}

int64_t FragmentStages::rows_of(Op* op) const {
  BackToBackDot* made = back_to_back_dot(op);
  return made ? made->rows_at_once() : shape_.rows;
}

void FragmentStages::write_matrix(Op* dot, BackToBackDot* made, const std::vector<int>& unbound) {
  made->multiply([&](Value* value, Value* added) {
    Builder& builder = emitter_.builder();
    builder.set_loc(dot->loc());
    if (added) value = tile::elementwise(builder, ElementwiseKind::Add, {added, value});
    emitter_.store(value, scratch_for(dot->result(), unbound));
  });
}

void FragmentStages::write_dot(const Root& root) {
  Op* op = root.op;
  if (BackToBackDot* made = back_to_back_dot(op)) {
    Value* from = emitter_.demand(op->in(in::Dot::c));
    return emitter_.remember(op->result(), made->add_to(from));
  }
  Value* result = op->result();
  Type type = emitter_.fragment_type(result);
  int k = emitter_.axes().of(op->in(in::Dot::a), 1);
  auto step = [&](const FragmentEmitter::Values& carried) {
    Value* a = emitter_.demand(op->in(in::Dot::a));
    Value* b = emitter_.demand(op->in(in::Dot::b));
    Builder& builder = emitter_.builder();
    builder.set_loc(op->loc());
    a = tile::broadcast(builder, tile::cast(builder, a, type->dtype), type->dims);
    b = tile::broadcast(builder, tile::cast(builder, b, type->dtype), type->dims);
    if (is_float(type->dtype)) {
      return FragmentEmitter::Values{
          tile::elementwise(builder, ElementwiseKind::Fma, {a, b, carried[0]})};
    }
    Value* product = tile::elementwise(builder, ElementwiseKind::Mul, {a, b});
    return FragmentEmitter::Values{
        tile::elementwise(builder, ElementwiseKind::Add, {carried[0], product})};
  };
  FragmentEmitter::Values sum{emitter_.demand(op->in(in::Dot::c))};
  if (k < 0) {
    sum = step(sum);
  } else {
    unrolls_ = true;
    sum =
        emitter_.contraction_loop(k, shape_.run, shape_.unroll, op->in(in::Dot::limit), sum, step);
  }
  emitter_.remember(result, sum[0]);
}

}  // namespace tessera
