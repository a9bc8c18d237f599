// Loops and conditions become blocks; loop-carried values become block arguments.

#include "ir/tile/ops.h"
#include "passes/tile/x86/kernel_lowering.h"

namespace tessera {

using Kind = ElementwiseKind;
namespace attr = tile::attr;
namespace in = tile::in;

std::vector<Value*> KernelLowering::flatten(const std::vector<Value*>& tile_values) const {
  std::vector<Value*> parts;
  for (Value* value : tile_values) {
    const std::vector<Value*>& own = values_.at(value);
    parts.insert(parts.end(), own.begin(), own.end());
  }
  return parts;
}

void KernelLowering::unflatten(const std::vector<Value*>& tile_values, const std::vector<Value*>& parts) {
  auto next = parts.begin();
  for (Value* value : tile_values) {
    auto end = next + int64_t(part_types(value).size());
    define(value, {next, end});
    next = end;
  }
}

/// A loop with `copies` steps per iteration, which runs as long as the index is below `bound`:
///
///   if from < bound goto body(from, carried) else goto exit(from, carried)
///   body(i, c): …; if i + copies*step < bound goto body(…) else goto exit(…)
///
/// Leaves the builder in the exit block, with `index` and `carried` as they are there.
Block* KernelLowering::lower_iterations(Op* op, Value* from, Value* bound, int64_t copies, std::vector<Value*>& carried,
                                   Value*& index) {
  Block* region = op->region()->front();
  std::vector<Value*> inner(carried.size());
  Block* body = b_.new_block();
  Block* exit = b_.new_block();
  for (Block* block : {body, exit}) {
    block->add_arg(from->type(), block == body ? region->arg(0)->name() : std::string_view());
    for (Value* value : carried) block->add_arg(value->type());
  }
  auto go = [&](Value* at, const std::vector<Value*>& values) {
    std::vector<Value*> arguments{at};
    arguments.insert(arguments.end(), values.begin(), values.end());
    b_.cond_branch(b_.op(Kind::Lt, at, bound), body, arguments, exit, arguments);
  };
  go(from, carried);

  b_.at().set_end(body);
  Value* i = body->arg(0);
  for (size_t n = 0; n < carried.size(); ++n) inner[n] = body->arg(unsigned(n) + 1);
  std::vector<Value*> region_args;
  for (unsigned n = 1; n < region->arg_count(); ++n) region_args.push_back(region->arg(n));
  Value* step = scalar(op->in(in::For::step));
  for (int64_t copy = 0; copy < copies; ++copy) {
    define(region->arg(0), {i});
    unflatten(region_args, inner);
    lower_block(region);
    inner = flatten(region->terminator()->ins(in::Yield::values));
    i = b_.add(i, step);
  }
  go(i, inner);

  b_.at().set_end(exit);
  index = exit->arg(0);
  for (size_t n = 0; n < carried.size(); ++n) carried[n] = exit->arg(unsigned(n) + 1);
  return exit;
}

void KernelLowering::lower_for(Op* op) {
  Value* lo = scalar(op->in(in::For::lo));
  Value* hi = scalar(op->in(in::For::hi));
  Value* step = scalar(op->in(in::For::step));
  int64_t unroll = op->attr(attr::For::unroll).value_or(1);
  std::vector<Value*> in_registers;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    if (is_accumulator(op->result(i))) {
      zero_accumulators(op->result(i));
    } else {
      in_registers.push_back(op->in(in::For::inits, i));
    }
  }
  std::vector<Value*> carried = flatten(in_registers);
  Value* index = lo;
  if (unroll > 1) {
    Value* last_start = b_.sub(hi, b_.mul(step, b_.index(unroll - 1)));
    lower_iterations(op, index, last_start, unroll, carried, index);
  }
  std::optional<int64_t> low = b_.as_constant(lo), high = b_.as_constant(hi), by = b_.as_constant(step);
  bool whole = unroll > 1 && low && high && by && (*high - *low) % (*by * unroll) == 0;
  if (!whole) lower_iterations(op, index, hi, 1, carried, index);
  std::vector<Value*> results;
  for (unsigned i = 0; i < op->result_count(); ++i) results.push_back(op->result(i));
  unflatten(results, carried);
}

void KernelLowering::lower_if(Op* op) {
  Value* condition = scalar(op->in(in::If::condition));
  Block* branches[] = {b_.new_block(), b_.new_block()};
  Block* join = b_.new_block();
  std::vector<Value*> results, arguments;
  for (unsigned i = 0; i < op->result_count(); ++i) {
    results.push_back(op->result(i));
    for (Type type : part_types(op->result(i))) arguments.push_back(join->add_arg(type));
  }
  b_.cond_branch(condition, branches[0], {}, branches[1], {});
  for (unsigned n = 0; n < 2; ++n) {
    b_.at().set_end(branches[n]);
    Block* region = op->region(n)->front();
    lower_block(region);
    b_.branch(join, flatten(region->terminator()->ins(in::Yield::values)));
  }
  b_.at().set_end(join);
  unflatten(results, arguments);
}

}  // namespace tessera
