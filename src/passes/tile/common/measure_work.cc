// What one launch of a kernel computes and moves, as expressions of its dims.
//
// Work is counted where a program is still written in tiles. An op computes as many elements as its
// tile has, once for each program and each iteration of the loops around it. Where a tile axis is
// cut into blocks, blocks and programs together are the axis of the memory that it is loaded from
// or stored to: that extent stands for both, so that elements past an edge are not counted.
//
// Where a loop's trip count grows or falls with the numbers of programs, as in causal attention,
// the mean of the first and the last program's counts for all; where it does neither, as in parts of
// a sum, the greatest one of the first, the middle and the last program.
//
// Bytes are those that have to move at all: every element of a parameter that is reached counts once,
// however many programs reach it. Caches make that so, and a roofline asks for it.

#include <cmath>
#include <map>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/text/work.h"
#include "ir/tile/build.h"
#include "passes/analysis/program_work.h"
#include "passes/pass.h"
#include "passes/tile/common/tile_axes.h"
#include "support/check.h"

namespace tessera {

namespace {

using tile::kind_of;
using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

/// What repeats a piece of a program: a grid axis (no op), or a loop.
using Repeat = std::pair<Op*, int64_t>;

/// A linear form over the indices that repeat: offset = sum(coefficient * index) + what is constant.
using Linear = std::map<Repeat, Dim>;

/// The whole of a program axis, and what cuts it into tiles.
struct Whole {
  Dim extent = nullptr;
  std::set<Repeat> cut_by;
};

/// An access at places that a tile has the numbers of: each element of a tile is one of the memory.
struct NumberedAccess {
  Op* op;
  Value* memory;
  Value* tile;
  bool writes;
};

class WorkMeter {
 public:
  explicit WorkMeter(Op* kernel)
      : kernel_(kernel),
        context_(kernel->module()->context()),
        table_(context_.dims()),
        axes_(kernel),
        wholes_(axes_.count()) {}

  Work run() {
    for (Dim extent : kernel_->attr(attr::Kernel::grid)) grid_.push_back(extent);
    walk(kernel_, [&](Op* op) { read_access(op); });
    walk(kernel_, [&](Op* op) { count(op); });
    Work work{.infinite = is_infinite_, .reads = moved(false), .writes = moved(true)};
    if (is_known_) {
      work.flops = flops_;
      work.dot_flops = dot_flops_;
      work.dot_dtype = dot_dtype_;
      work.at_most = is_bound_;
    }
    return work;
  }

 private:
  Dim constant(int64_t value) { return table_.constant(value); }

  // Offsets.

  /// The number as a dim where it depends on nothing that repeats; else null.
  Dim fixed(Value* value) {
    if (std::optional<int64_t> known = tile::known_index(value)) return constant(*known);
    Op* def = value->def();
    return def && def->is(tile::info(OpKind::Dim)) ? def->attr(attr::Dim::value) : nullptr;
  }

  /// False for an index that is not linear in what repeats.
  bool add_linear(Value* value, Dim factor, Linear& form) {
    if (fixed(value)) return true;
    auto add = [&](Repeat repeat) {
      auto [it, is_new] = form.emplace(repeat, factor);
      if (!is_new) it->second = table_.add(it->second, factor);
      return true;
    };
    Op* def = value->def();
    if (!def) {
      Op* loop = value->block()->parent_op();
      return loop->is(tile::info(OpKind::For)) && value->index() == 0 && add({loop, 0});
    }
    if (def->is(tile::info(OpKind::ProgramId)))
      return add({nullptr, def->attr(attr::ProgramId::axis)});
    switch (def->info().elementwise) {
      case ElementwiseKind::Add:
        return add_linear(def->operand(0), factor, form) &&
               add_linear(def->operand(1), factor, form);
      case ElementwiseKind::Sub:
        return add_linear(def->operand(0), factor, form) &&
               add_linear(def->operand(1), table_.sub(constant(0), factor), form);
      case ElementwiseKind::Mul:
        if (Dim by = fixed(def->operand(1)))
          return add_linear(def->operand(0), table_.mul(factor, by), form);
        if (Dim by = fixed(def->operand(0)))
          return add_linear(def->operand(1), table_.mul(factor, by), form);
        return false;
      default:
        return false;
    }
  }

  /// Records the axes of memory that a tile's axes stand for, from its access to memory.
  void read_access(Value* tile, Value* memory, const std::vector<Value*>& offsets) {
    size_t lead = offsets.size() - tile->type()->rank();
    for (size_t i = 0; i < tile->type()->rank(); ++i) {
      int axis = axes_.of(tile, i);
      if (axis < 0) continue;
      Whole& whole = wholes_[size_t(axis)];
      Dim reached = memory->type()->dims[lead + i], extent = tile->type()->dims[i];
      Linear form;
      bool is_linear = add_linear(offsets[lead + i], constant(1), form);
      if (is_linear && form.empty()) reached = table_.min(reached, extent);
      std::set<Repeat> cut_by = is_linear ? cuts(form, extent) : std::set<Repeat>();
      if (is_linear && cut_by.size() != form.size()) continue;  // tiles overlap
      bool says_more = !whole.extent || cut_by.size() > whole.cut_by.size();
      if (is_linear && says_more) whole = {reached, cut_by};
    }
  }

  /// The repeats by which neighbouring tiles follow each other without a gap.
  std::set<Repeat> cuts(Linear form, Dim extent) {
    std::set<Repeat> cut_by;
    for (bool found = true; found && !form.empty();) {
      found = false;
      for (auto it = form.begin(); it != form.end(); ++it) {
        if (it->second != extent || (it->first.first && varies(it->first.first))) continue;
        cut_by.insert(it->first);
        extent = table_.mul(extent, times(it->first));
        form.erase(it);
        found = true;
        break;
      }
    }
    return cut_by;
  }

  void read_access(Op* op) {
    switch (kind_of(op)) {
      case OpKind::Load:
        read_access(op->result(), op->in(in::Load::memory), op->ins(in::Load::offsets));
        break;
      case OpKind::Store:
        read_access(op->in(in::Store::value), op->in(in::Store::memory), op->ins(in::Store::offsets));
        break;
      case OpKind::Gather:
        return numbered_.push_back({op, op->in(in::Gather::table), op->result(), false});
      case OpKind::Take:
        return numbered_.push_back({op, op->in(in::Take::memory), op->result(), false});
      case OpKind::Scatter: {
        Value *memory = op->in(in::Scatter::memory), *value = op->in(in::Scatter::value);
        numbered_.push_back({op, memory, value, true});
        if (op->attr(attr::Scatter::add)) numbered_.push_back({op, memory, value, false});
        return;
      }
      case OpKind::CopyAsync:
      case OpKind::StoreAsync: break;
      default:
        if (op->ins(ValueClass::ReadMemory).empty() && op->ins(ValueClass::WrittenMemory).empty()) return;
        TSR_UNREACHABLE("nothing says which part of memory it reaches: " + std::string(op->name()));
    }
    // Of what an op reaches in other ways all may move.
    for (Value* memory : op->ins(ValueClass::ReadMemory)) touch(memory, false);
    for (Value* memory : op->ins(ValueClass::WrittenMemory)) touch(memory, true);
  }

  // Repetition.

  /// The greatest value of an index, or null. `least` asks for the least one.
  Dim bound(Value* value, bool least) {
    auto [it, is_new] = bounds_.try_emplace({value, least});
    return is_new ? it->second = computed_bound(value, least) : it->second;
  }

  Dim computed_bound(Value* value, bool least) {
    if (Dim known = fixed(value)) return known;
    Op* def = value->def();
    if (!def) return least ? constant(0) : nullptr;
    if (def->is(tile::info(OpKind::ProgramId))) {
      Dim extent = grid_[size_t(def->attr(attr::ProgramId::axis))];
      return least ? constant(0) : table_.sub(extent, constant(1));
    }
    ElementwiseKind kind = def->info().elementwise;
    if (def->operand_count() != 2 || kind == ElementwiseKind::Mod) return nullptr;
    bool falls = kind == ElementwiseKind::Sub || kind == ElementwiseKind::FloorDiv;  // as the second operand grows
    Dim a = bound(def->operand(0), least), b = bound(def->operand(1), least != falls);
    if (a && b) return arithmetic(kind, a, b);
    return kind == ElementwiseKind::Min && !least ? (a ? a : b) : nullptr;
  }

  /// Null for an op that dims do not have.
  Dim arithmetic(ElementwiseKind kind, Dim a, Dim b) {
    switch (kind) {
      case ElementwiseKind::Add: return table_.add(a, b);
      case ElementwiseKind::Sub: return table_.sub(a, b);
      case ElementwiseKind::Mul: return table_.mul(a, b);
      case ElementwiseKind::Min: return table_.min(a, b);
      case ElementwiseKind::Max: return table_.max(a, b);
      case ElementwiseKind::FloorDiv: return table_.floordiv(a, b);
      case ElementwiseKind::Mod: return table_.mod(a, b);
      default: return nullptr;
    }
  }

  enum class Place : uint8_t { First, Middle, Last };

  /// The index in the program at that place of each axis; null where it depends on more than that.
  Dim in_program(Value* value, Place place) {
    auto [it, is_new] = placed_.try_emplace({value, place});
    return is_new ? it->second = computed_in_program(value, place) : it->second;
  }

  Dim computed_in_program(Value* value, Place place) {
    if (Dim known = fixed(value)) return known;
    Op* def = value->def();
    if (!def) return nullptr;
    if (def->is(tile::info(OpKind::ProgramId))) {
      Dim extent = grid_[size_t(def->attr(attr::ProgramId::axis))];
      Dim last = table_.sub(extent, constant(1));
      if (place == Place::Middle) return table_.floordiv(last, constant(2));
      return place == Place::Last ? last : constant(0);
    }
    if (def->operand_count() != 2) return nullptr;
    Dim a = in_program(def->operand(0), place), b = in_program(def->operand(1), place);
    return a && b ? arithmetic(def->info().elementwise, a, b) : nullptr;
  }

  /// Null where another loop or data decides.
  Dim times_in_program(Op* loop, Dim step, Place place) {
    Dim lo = in_program(loop->in(in::For::lo), place), hi = in_program(loop->in(in::For::hi), place);
    return lo && hi ? table_.ceildiv(table_.max(table_.sub(hi, lo), constant(0)), step) : nullptr;
  }

  /// The trip count of a typical program; null where another loop or data decides.
  Dim typical_times(Op* loop, Dim step) {
    Dim first = times_in_program(loop, step, Place::First), last = times_in_program(loop, step, Place::Last);
    if (!first || !last) return nullptr;
    for (size_t axis = 0; axis < grid_.size(); ++axis) {
      if (trips_along(loop, int64_t(axis)) != Trend::Unknown) continue;
      return table_.max(table_.max(first, last), times_in_program(loop, step, Place::Middle));
    }
    return table_.ceildiv(table_.add(first, last), constant(2));
  }

  /// Whether programs run the loop differently often, as far as their numbers say.
  bool varies(Op* loop) {
    Dim step = fixed(loop->in(in::For::step));
    bool is_fixed = fixed(loop->in(in::For::lo)) && fixed(loop->in(in::For::hi));
    return step && !is_fixed && typical_times(loop, step);
  }

  /// How often the op runs: for a loop its trip count, or the greatest one. 1 after noting that it is unknown.
  Dim times(Repeat repeat) {
    auto [loop, axis] = repeat;
    if (!loop) return grid_[size_t(axis)];
    Value *lo = loop->in(in::For::lo), *hi = loop->in(in::For::hi), *by = loop->in(in::For::step);
    Dim step = fixed(by);
    if (varies(loop)) return typical_times(loop, step);
    Dim first = bound(lo, true), end = bound(hi, false);
    if (!first || !end || !step) {
      is_known_ = false;
      return constant(1);
    }
    is_bound_ |= !fixed(lo) || !fixed(hi);
    return table_.ceildiv(table_.sub(end, first), step);
  }

  /// Elements of tiles with these program axes, over all programs and the iterations around `op`.
  Dim total(Op* op, const std::set<int>& axes) {
    std::set<Repeat> left;
    for (size_t i = 0; i < grid_.size(); ++i) left.insert({nullptr, int64_t(i)});
    for (Op* at = op->parent(); at != kernel_; at = at->parent()) {
      if (at->is(tile::info(OpKind::For))) left.insert({at, 0});
      is_bound_ |= at->is(tile::info(OpKind::If));
    }
    Dim elements = constant(1);
    for (int axis : axes) {
      const Whole& whole = wholes_[size_t(axis)];
      elements = table_.mul(elements, whole.extent ? whole.extent : axes_.extent(axis));
      for (const Repeat& repeat : whole.cut_by) left.erase(repeat);
    }
    for (const Repeat& repeat : left) elements = table_.mul(elements, times(repeat));
    return elements;
  }

  std::set<int> axes_of(std::initializer_list<Value*> tiles) {
    std::set<int> all;
    for (Value* tile : tiles) {
      for (int axis : axes_.of(tile)) all.insert(axis);
    }
    all.erase(-1);
    return all;
  }

  // Counting.

  static int64_t operations(ElementwiseKind kind) {
    if (kind == ElementwiseKind::Fma) return 2;
    ElementwiseClass cls = elementwise_info(kind).cls;
    return cls == ElementwiseClass::Arithmetic || cls == ElementwiseClass::Real ? 1 : 0;
  }

  void add(Dim& sum, Op* op, const std::set<int>& axes, int64_t each) {
    sum = table_.add(sum, table_.mul(total(op, axes), constant(each)));
  }

  void count(Op* op) {
    bool is_constant = op->is(tile::info(OpKind::Full)) || op->is(tile::info(OpKind::Constant));
    if (is_constant && op->attr(common::Constant::value)->is(AttrKind::Float)) {
      is_infinite_ |= std::isinf(op->attr(common::Constant::value)->number);
    }
    if (op->info().elementwise != ElementwiseKind::None) {
      Type type = op->result()->type();
      int64_t each = operations(op->info().elementwise);
      bool counts = type->is(TypeKind::Tile) && is_float(type->dtype) && each;
      if (counts) add(flops_, op, axes_of({op->result()}), each);
    } else if (kind_of(op) == OpKind::Reduce) {
      if (is_float(op->result()->type()->dtype)) add(flops_, op, axes_of({op->operand(0)}), 1);
    } else if (kind_of(op) == OpKind::Dot) {
      Value* a = op->in(in::Dot::a);
      std::set<int> axes = axes_of({a, op->in(in::Dot::b)});
      add(flops_, op, axes, 2);
      add(dot_flops_, op, axes, 2);
      if (!dot_dtype_) dot_dtype_ = factor_dtype(a);
    }
  }

  /// The dtype in which a factor is stored, before it was widened.
  static DType factor_dtype(Value* factor) {
    Op* def = factor->def();
    bool widened = def && def->info().elementwise == ElementwiseKind::Cast;
    return (widened ? def->operand(0) : factor)->type()->dtype;
  }

  /// The parameter that a window is on; null for a program's own memory.
  static Value* parameter_of(Value* memory) {
    while (memory->def() && memory->def()->is(tile::info(OpKind::View))) memory = memory->def()->operand(0);
    return memory->def() ? nullptr : memory;
  }

  void touch(Value* memory, bool writes) {
    if (Value* parameter = parameter_of(memory)) windows_[{parameter->index(), writes}].insert(memory->type());
  }

  /// Elements of a window: those along axes of stride 0 are the same.
  Dim window_elements(Type window) {
    Dim elements = constant(1);
    for (size_t i = 0; i < window->rank(); ++i) {
      bool repeats = window->is(TypeKind::View) && window->strides[i]->is_constant(0);
      if (!repeats) elements = table_.mul(elements, window->dims[i]);
    }
    return elements;
  }

  Dim moved(bool writes) {
    Block* body = kernel_->region()->front();
    std::map<unsigned, Dim> elements;
    for (const auto& [key, windows] : windows_) {
      if (key.second != writes) continue;
      Dim& sum = elements.try_emplace(key.first, constant(0)).first->second;
      for (Type window : windows) sum = table_.add(sum, window_elements(window));
    }
    for (const NumberedAccess& access : numbered_) {
      Value* parameter = parameter_of(access.memory);
      if (access.writes != writes || !parameter) continue;
      Dim& sum = elements.try_emplace(parameter->index(), constant(0)).first->second;
      sum = table_.add(sum, total(access.op, axes_of({access.tile})));
    }
    Dim bytes = constant(0);
    for (const auto& [parameter, count] : elements) {
      Type type = body->arg(parameter)->type();
      Dim most = element_count(table_, type->dims);
      Dim each = constant(byte_size(type->dtype));
      bytes = table_.add(bytes, table_.mul(table_.min(count, most), each));
    }
    return bytes;
  }

  Op* kernel_;
  Context& context_;
  DimTable& table_;
  TileAxes axes_;
  std::vector<Dim> grid_;
  std::vector<Whole> wholes_;  ///< by program axis
  std::vector<NumberedAccess> numbered_;
  std::map<std::pair<unsigned, bool>, std::set<Type>> windows_;  ///< of parameters, by whether written
  Dim flops_ = constant(0);
  Dim dot_flops_ = constant(0);
  std::optional<DType> dot_dtype_;
  std::map<std::pair<Value*, Place>, Dim> placed_;
  std::map<std::pair<Value*, bool>, Dim> bounds_;  ///< least and greatest values of indices
  bool is_known_ = true;
  bool is_infinite_ = false;
  bool is_bound_ = false;
};

}  // namespace

Status measure_work(Module& module, PassContext&) {
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    Work work = WorkMeter(kernel).run();
    bool overflows = work.reads->overflow || work.writes->overflow || (work.flops && work.flops->overflow);
    if (!overflows) kernel->set_node(attr::Kernel::work, work_attr(module.context(), work));
  }
  return success;
}

}  // namespace tessera
