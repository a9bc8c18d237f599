// Makes a computed right factor of a dot the left one (GPU).
//
//   d = dot(x, w, c)   becomes   d = transpose(dot(transpose(w), transpose(x), transpose(c)))
//
// where w is computed, element by element, of narrower elements that are loaded: weights of 8 or 4 bits. The matrix
// unit reads a left factor from the registers in which it is computed. A right one is stored to shared memory first,
// which takes more of its bandwidth than all else, and every thread waits for it. Sums that a loop carries are carried
// transposed.

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "ir/tile/build.h"
#include "ir/tile/mma_layouts.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/pass.h"
#include "passes/tile/common/window_loads.h"
#include "passes/tile/gpu/operand_loads.h"
#include "passes/tile/gpu/operand_paths.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

const std::vector<int64_t> swapped{1, 0};

Type transposed(Context& context, Type tile) {
  TSR_CHECK(tile->layout.empty(), "a tile has a layout before its factors are swapped");
  return context.tile({tile->dims[1], tile->dims[0]}, tile->dtype);
}

/// The load from global memory that gives the value, also through a reshape that leaves out axes of one element; null
/// where another op does, and where it loads windows.
Op* load_of(Value* value) {
  Op* def = value->def();
  if (def && def->is(tile::info(OpKind::Reshape))) {
    const std::vector<Dim>&from = def->operand(0)->type()->dims, &to = value->type()->dims;
    bool ends = from.size() > to.size() && std::equal(to.rbegin(), to.rend(), from.rbegin());
    bool are_one = ends && std::all_of(from.begin(), from.end() - std::ptrdiff_t(to.size()),
                                       [](Dim dim) { return dim->is_constant(1); });
    def = are_one ? def->operand(0)->def() : nullptr;
  }
  Op* load = def && def->is(tile::info(OpKind::Load)) ? global_load_of(def->result()) : nullptr;
  return load && !windows_of(load->in(in::Load::memory)) ? load : nullptr;
}

class FactorSwap {
 public:
  FactorSwap(Op* kernel, const Machine& machine)
      : kernel_(kernel), machine_(machine), builder_(*kernel->module()), loads_(kernel) {}

  void run() {
    std::vector<Op*> dots, loops;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(OpKind::Dot))) dots.push_back(op);
      if (op->is(tile::info(OpKind::For))) loops.push_back(op);
    });
    // Sums along the same axes lie in one layout, so that all dots of a kernel are swapped, or none.
    bool all = std::ranges::all_of(dots, [&](Op* dot) { return is_wanted(dot); });
    if (dots.empty() || !all) return;
    for (Op* dot : dots) {
      for (unsigned slot : {unsigned(in::Dot::a), unsigned(in::Dot::b)}) flatten_loads(dot->in(slot));
      swap(dot);
    }
    for (Op* loop : loops | std::views::reverse) carry_transposed(loop);
    drop_unused();
  }

 private:
  /// Calls `other(use)` where the value, or what is computed of it element by element, is read otherwise.
  template <typename F>
  static void for_other_uses(Value* start, F&& other) {
    std::set<Value*> seen;
    std::vector<Value*> open{start};
    while (!open.empty()) {
      Value* value = open.back();
      open.pop_back();
      if (!seen.insert(value).second) continue;
      for (Use* use = value->first_use(); use; use = use->next()) {
        Op* op = use->owner();
        bool passes_on = op->info().elementwise != ElementwiseKind::None || op->is(tile::info(OpKind::Reshape));
        passes_on ? open.push_back(op->result()) : other(use);
      }
    }
  }

  static bool is_operand(Use* use, unsigned slot) {
    return use->owner()->is(tile::info(OpKind::Dot)) && use->index() == use->owner()->slot_begin(slot);
  }

  /// Whether right factors of dots are all that is computed of the value. What else reads it would load it again.
  static bool makes_right_factors(Value* value) {
    bool all = true;
    for_other_uses(value, [&](Use* use) { all &= is_operand(use, in::Dot::b); });
    return all;
  }

  /// Whether a factor of another dot is computed of the sums element by element: it is in their registers.
  static bool makes_factor(Value* sums) {
    bool any = false;
    for_other_uses(sums, [&](Use* use) { any |= is_operand(use, in::Dot::a) || is_operand(use, in::Dot::b); });
    return any;
  }

  /// Whether a unit of the machine computes the dot with the factors swapped, and reads the left one from registers.
  bool has_instruction(Op* dot) const {
    Type a = dot->in(in::Dot::a)->type(), sum = dot->result()->type();
    std::optional<int64_t> m = sum->dims[0]->constant(), n = sum->dims[1]->constant(), k = a->dims[1]->constant();
    int64_t warps = gpu_schedule(kernel_, machine_).compute_warps;
    return m && n && k && std::ranges::any_of(mma_instructions(), [&](const MmaInstruction& each) {
      return each.factors == a->dtype && each.sum == sum->dtype && each.has(machine_) && tile::reads_registers(each) &&
             *k % each.k == 0 && tile::sum_layout(each, *n, *m, warps);
    });
  }

  bool is_wanted(Op* dot) const {
    Value *right = dot->in(in::Dot::b), *sum = dot->in(in::Dot::c);
    Op* load = narrow_load_of(right, load_of);
    bool is_sole = sum->first_use() && !sum->first_use()->next();
    return load && load->block() == dot->block() && makes_right_factors(load->result()) &&
           load_of(dot->in(in::Dot::a)) && is_sole && !makes_factor(dot->result()) && has_instruction(dot);
  }

  Value* transpose(Value* value) {
    return builder_.value(tile::info(OpKind::Transpose), {{value}}, transposed(builder_.context(), value->type()),
                          {attr::Transpose::perm(builder_.context(), swapped)});
  }
  Value* transposed_sum(Value* value) {
    if (made_.contains(value->def())) {
      dead_.insert(value->def());
      return value->def()->operand(0);
    }
    Value* made = transpose(value);
    made_.insert(made->def());
    return made;
  }

  /// Loads that the factor is computed of lose axes of one element.
  void flatten_loads(Value* factor) {
    std::set<Value*> seen;
    std::vector<Value*> open{factor};
    while (!open.empty()) {
      Value* value = open.back();
      open.pop_back();
      Op* def = value->def();
      if (!seen.insert(value).second || def->is(tile::info(OpKind::Full))) continue;
      if (load_of(value)) {
        seen.insert(loads_.normalise(value));
      } else {
        for (unsigned i = 0; i < def->operand_count(); ++i) open.push_back(def->operand(i));
      }
    }
  }

  /// The value with its axes swapped, computed where the value is.
  Value* turned(Value* value) {
    auto [it, is_new] = turned_.try_emplace(value);
    if (!is_new) return it->second;
    Op* def = value->def();
    std::vector<Value*> operands;
    bool is_full = def->is(tile::info(OpKind::Full));
    if (!is_full && !load_of(value)) {
      for (unsigned i = 0; i < def->operand_count(); ++i) operands.push_back(turned(def->operand(i)));
    }
    builder_.set_after(def);
    builder_.set_loc(def->loc());
    Type type = transposed(builder_.context(), value->type());
    Value* made = nullptr;
    if (is_full) {
      made = tile::full(builder_, type, def->attr(attr::Full::value));
    } else if (operands.empty()) {
      made = loads_.normalise(transpose(value));
    } else {
      std::vector<OpAttr> attributes(def->attributes().begin(), def->attributes().end());
      std::vector<std::vector<Value*>> slots;
      for (Value* operand : operands) slots.push_back({operand});
      made = builder_.value(&def->info(), slots, type, std::move(attributes));
    }
    made->set_name(value->name());
    dead_.insert(def);
    return turned_[value] = made;
  }

  void swap(Op* dot) {
    Value *left = turned(dot->in(in::Dot::b)), *right = turned(dot->in(in::Dot::a));
    builder_.set_before(dot);
    builder_.set_loc(dot->loc());
    Value *sum = transposed_sum(dot->in(in::Dot::c)), *limit = dot->in(in::Dot::limit);
    std::vector<Value*> limits;
    if (limit) limits.push_back(limit);
    Value* made = builder_.value(tile::info(OpKind::Dot), {{left}, {right}, {sum}, limits}, sum->type());
    made->set_name(dot->result()->name());
    dot->result()->replace_all_uses(transposed_sum(made));
    dot->erase();
  }

  /// The transposes of sums that read the value; nothing where something else does.
  std::vector<Op*> transposes_of(Value* value) const {
    std::vector<Op*> found;
    for (Use* use = value->first_use(); use; use = use->next()) {
      if (!made_.contains(use->owner())) return {};
      found.push_back(use->owner());
    }
    return found;
  }

  void carry_transposed(Op* loop) {
    Block* body = loop->region()->front();
    Op* yield = body->terminator();
    for (unsigned i = 0; i < loop->result_count(); ++i) {
      Value *carried = body->arg(i + 1), *result = loop->result(i);
      std::vector<Op*> readers = transposes_of(carried);
      Op* left = yield->operand(i)->def();
      if (readers.empty() || !made_.contains(left) || std::ranges::count(readers, left) > 0) continue;
      unsigned slot = loop->slot_begin(in::For::inits) + i;
      builder_.set_before(loop);
      builder_.set_loc(loop->loc());
      Value* init = loop->operand(slot);
      Op* def = init->def();
      bool is_full = def && def->is(tile::info(OpKind::Full));
      loop->set_operand(slot, is_full ? tile::full(builder_, transposed(builder_.context(), init->type()),
                                                   def->attr(attr::Full::value))
                                      : transposed_sum(init));
      Type type = loop->operand(slot)->type();
      carried->set_type(type);
      for (Op* reader : readers) {
        reader->result()->replace_all_uses(carried);
        made_.erase(reader);
        dead_.erase(reader);
        reader->erase();
      }
      yield->set_operand(i, left->operand(0));
      dead_.insert(left);
      result->set_type(type);
      builder_.set_after(loop);
      Value* after = transposed_sum(result);
      result->replace_all_uses(after);
      after->def()->set_operand(0, result);
    }
  }

  /// What only the old factors read; ops that read others stand behind these.
  void drop_unused() {
    bool dropped = true;
    while (std::exchange(dropped, false)) {
      std::erase_if(dead_, [&](Op* op) {
        bool is_unused = op->result()->unused();
        if (is_unused) op->erase();
        return dropped |= is_unused, is_unused;
      });
    }
  }

  Op* kernel_;
  const Machine& machine_;
  Builder builder_;
  OperandLoads loads_;
  std::map<Value*, Value*> turned_;
  std::set<Op*> made_;  ///< transposes of sums
  std::set<Op*> dead_;
};

}  // namespace

Status swap_factors(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "swap_factors needs a machine");
  for (Op* op : *module.body()) {
    if (op->is(tile::info(OpKind::Kernel))) FactorSwap(op, *context.machine).run();
  }
  return success;
}

}  // namespace tessera
