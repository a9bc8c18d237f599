// Splits a kernel between warps that load and warps that compute (GPU).
//
// Each side of the channels gets a role. The loading side fills channels and computes all that this
// depends on: addresses, indices, the loops around. The computing side has every other effect and
// its dependences. Both compute the scalars that both need. Only channels pass data between the
// roles, so nothing else has to be synchronised.
//
// Roles get the registers that the schedule says. A block has the registers it was launched with;
// if the sum over its warpgroups exceeded them, the warps that ask for more would wait for ever.

#include <fmt/format.h>

#include <map>
#include <set>

#include "ir/core/kernel_size.h"
#include "ir/schedule/schedule_keys.h"
#include "passes/analysis/gpu_schedule.h"
#include "passes/pass.h"
#include "passes/tile/pipeline/builders.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

bool fills_channel(Op* op) {
  if (op->is(tile::info(OpKind::ChannelAcquire))) return true;
  return op->is(tile::info(OpKind::CopyAsync)) && op->in(in::CopyAsync::barrier);
}

/// The part of a kernel that one role does: its own effects and all values that they depend on.
class RoleSlice {
 public:
  RoleSlice(Op* kernel, bool loads) : kernel_(kernel) {
    walk(kernel, [&](Op* op) {
      if (has_effect(op) && fills_channel(op) == loads) need(op);
    });
  }

  /// Clones the ops of a block that the role needs to where the builder stands; values of ops that
  /// stay are used as they are.
  void clone(Block* from, Builder& builder, std::map<Value*, Value*>& values) {
    for (Op* op : *from) {
      if (!needed_.contains(op) || stays(op)) continue;
      if (op->is(tile::info(OpKind::For))) {
        clone_loop(op, builder, values);
      } else if (op->is(tile::info(OpKind::If))) {
        clone_branch(op, builder, values);
      } else if (!op->is_terminator()) {
        TSR_CHECK(op->region_count() == 0,
                  "specialise_roles clones loops and branches, not " + std::string(op->name()));
        builder.insert(builder.module().clone(op, values));
      }
    }
  }

  /// Memory and channels belong to all roles.
  static bool stays(Op* op) {
    OpKind kind = tile::kind_of(op);
    return kind == OpKind::AllocShared || kind == OpKind::Channel || kind == OpKind::View || kind == OpKind::Return;
  }

 private:
  static bool has_effect(Op* op) {
    return !stays(op) && op->info().effects & uint32_t(Writes) && op->region_count() == 0;
  }

  void need(Op* op) {
    if (!needed_.insert(op).second) return;
    if (Op* parent = op->parent(); parent != kernel_) need(parent);
    if (op->is_terminator()) return;  // which values a loop hands on is decided one by one
    bool loop = op->is(tile::info(OpKind::For));
    unsigned count = loop ? op->slot_begin(in::For::inits) : op->operand_count();
    for (unsigned i = 0; i < count; ++i) need(op->operand(i));
  }

  void need(Value* value) {
    if (Op* def = value->def()) {
      need(def);
      if (def->region_count() > 0) carry(def, value->index());
      return;
    }
    Op* loop = value->block()->parent_op();
    if (loop != kernel_ && value->index() > 0) carry(loop, value->index() - 1);
  }

  /// Result `i` of a loop or branch.
  void carry(Op* op, unsigned i) {
    if (!carried_.insert({op, i}).second) return;
    need(op);
    if (op->is(tile::info(OpKind::For))) need(op->in(in::For::inits, i));
    for (unsigned r = 0; r < op->region_count(); ++r) need(op->region(r)->front()->terminator()->operand(i));
  }

  std::vector<unsigned> kept_results(Op* op) const {
    std::vector<unsigned> kept;
    for (unsigned i = 0; i < op->result_count(); ++i) {
      if (carried_.contains({op, i})) kept.push_back(i);
    }
    return kept;
  }

  static Value* mapped(Value* value, const std::map<Value*, Value*>& values) {
    auto it = values.find(value);
    return it == values.end() ? value : it->second;
  }

  /// Clones what the role needs of a block of a loop or branch, and yields the results that it needs.
  void clone_block(Block* from, Block* to, const std::vector<unsigned>& kept, Builder& builder,
                   std::map<Value*, Value*>& values) {
    Builder inner(builder.module(), to);
    clone(from, inner, values);
    inner.set_loc(from->parent_op()->loc());
    std::vector<Value*> yields;
    for (unsigned i : kept) yields.push_back(mapped(from->terminator()->operand(i), values));
    tile::yield(inner, yields);
  }

  void clone_branch(Op* branch, Builder& builder, std::map<Value*, Value*>& values) {
    std::vector<unsigned> kept = kept_results(branch);
    std::vector<Type> types;
    for (unsigned i : kept) types.push_back(branch->result(i)->type());
    builder.set_loc(branch->loc());
    Value* condition = mapped(branch->in(in::If::condition), values);
    Op* made = builder.op(tile::info(OpKind::If), {{condition}}, std::move(types));
    for (unsigned r = 0; r < branch->region_count(); ++r) {
      clone_block(branch->region(r)->front(), made->region(r)->add_block(), kept, builder, values);
    }
    for (unsigned n = 0; n < kept.size(); ++n) {
      made->result(n)->set_name(branch->result(kept[n])->name());
      values[branch->result(kept[n])] = made->result(n);
    }
  }

  void clone_loop(Op* loop, Builder& builder, std::map<Value*, Value*>& values) {
    std::vector<unsigned> kept = kept_results(loop);
    std::vector<Value*> inits;
    for (unsigned i : kept) inits.push_back(mapped(loop->in(in::For::inits, i), values));
    builder.set_loc(loop->loc());
    auto bound = [&](unsigned slot) { return mapped(loop->in(slot), values); };
    Op* made = tile::for_loop(builder, bound(in::For::lo), bound(in::For::hi), bound(in::For::step), inits);
    Block* old = loop->region()->front();
    Block* body = made->region()->front();
    auto take_over = [&](Value* from, Value* to) {
      to->set_name(from->name());
      values[from] = to;
    };
    take_over(old->arg(0), body->arg(0));
    for (unsigned n = 0; n < kept.size(); ++n) take_over(old->arg(kept[n] + 1), body->arg(n + 1));
    clone_block(old, body, kept, builder, values);
    for (unsigned n = 0; n < kept.size(); ++n) take_over(loop->result(kept[n]), made->result(n));
  }

  Op* kernel_;
  std::set<Op*> needed_;
  std::set<std::pair<Op*, unsigned>> carried_;
};

struct RoleShape {
  std::string_view name;
  int64_t first, warps, registers;
};

void make_role(Op* kernel, const RoleShape& shape, Op* before) {
  RoleSlice slice(kernel, shape.name == "load");
  Builder builder(*kernel->module());
  builder.set_before(before);
  builder.set_loc(kernel->loc());
  Context& context = builder.context();
  Op* role = builder.op(tile::info(OpKind::Role), {}, {},
                        {attr::Role::first(context, shape.first),
                         attr::Role::name(context, shape.name),
                         attr::Role::warps(context, shape.warps)});
  if (shape.registers) role->set(attr::Role::registers, shape.registers);
  Builder inside(*kernel->module(), role->region()->add_block());
  std::map<Value*, Value*> values;
  slice.clone(kernel->region()->front(), inside, values);
  inside.set_loc(kernel->loc());
  tile::yield(inside, {});
}

/// The registers that the roles ask for are not more than a block has.
Status check_registers(Op* kernel, const GpuSchedule& schedule, const Machine& machine, DiagnosticEngine& diagnostics) {
  if (!schedule.compute_registers) return success;
  int64_t launched = launch_registers(machine, schedule.threads()) * schedule.threads();
  int64_t wanted = 128 * schedule.load_groups * schedule.load_registers +
                   32 * schedule.compute_warps * schedule.compute_registers;
  if (wanted <= launched) return success;
  Loc place = schedule::place_of_key(kernel, schedule::key::registers.name);
  diagnostics.report(diag::schedule_registers, place, kernel_name(kernel), wanted, launched, wanted - launched);
  return failure;
}

Status specialise(Op* kernel, const GpuSchedule& schedule, const Machine& machine, DiagnosticEngine& diagnostics) {
  if (check_registers(kernel, schedule, machine, diagnostics).failed()) return failure;
  Block* block = kernel->region()->front();
  Op* end = block->back();
  std::vector<Op*> old;
  for (Op* op : *block) {
    if (op != end && !RoleSlice::stays(op)) old.push_back(op);
  }
  int64_t load_warps = 4 * schedule.load_groups;
  make_role(kernel, {"load", 0, load_warps, schedule.load_registers}, end);
  make_role(kernel, {"mma", load_warps, schedule.compute_warps, schedule.compute_registers}, end);
  for (auto it = old.rbegin(); it != old.rend(); ++it) (*it)->erase();
  return success;
}

bool has_channel(Op* kernel) {
  for (Op* op : *kernel->region()->front()) {
    if (op->is(tile::info(OpKind::Channel))) return true;
  }
  return false;
}

}  // namespace

Status specialise_roles(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "specialise_roles needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    GpuSchedule schedule = gpu_schedule(op, *context.machine);
    if (schedule.load_groups == 0 || !has_channel(op)) continue;
    op->set(attr::Kernel::threads, schedule.threads());
    if (specialise(op, schedule, *context.machine, context.diagnostics).failed()) return failure;
  }
  return success;
}

}  // namespace tessera
