#include "ir/schedule/schedule_keys.h"
#include "ir/text/access_site.h"
#include "ir/text/symbols.h"
#include "ir/text/work.h"
#include "ir/tile/build.h"
#include "ir/tile/ops.h"
#include "ir/tile/verify.h"

namespace tessera::tile {

namespace {

/// Checks that a region ends by yielding values of the results' types.
void check_yield(Op* op, unsigned region, OpVerifier& verifier) {
  Block* block = op->region(region)->front();
  if (block->next()) return verifier.error("region {} has more than one block", region);
  Op* end = block->terminator();
  if (!end || kind_of(end) != OpKind::Yield || end->info().level != Level::Tile) {
    return verifier.error("region {} does not end with tile.yield", region);
  }
  if (end->operand_count() != op->result_count()) {
    return verifier.error("region {} yields {} values for {} results", region, end->operand_count(),
                          op->result_count());
  }
  for (unsigned i = 0; i < op->result_count(); ++i) {
    Type wanted = op->result(i)->type(), type = end->operand(i)->type();
    if (type == wanted) continue;
    verifier.error("region {} yields {} for result {} of type {}", region, type->text, i,
                   wanted->text);
  }
}

void verify_cluster(Op* op, OpVerifier& verifier) {
  if (!op->has(attr::Kernel::cluster)) return;
  std::vector<Dim> grid = op->attr(attr::Kernel::grid);
  AttrList cluster = op->attr(attr::Kernel::cluster);
  int64_t programs = 1;
  bool fits = cluster.size() <= grid.size();
  for (int64_t extent : cluster) {
    fits = fits && extent >= 1 && extent <= most_programs_of_cluster;
    programs *= fits ? extent : 1;
  }
  if (!fits || programs > most_programs_of_cluster) {
    return verifier.error("'cluster' has an extent for each of the grid's first axes, and at most {} programs",
                          most_programs_of_cluster);
  }
  size_t axis = 0;
  for (int64_t extent : cluster) {
    std::optional<int64_t> along = grid[axis++]->constant();
    if (along && *along % extent)
      verifier.error("{} programs along an axis are not whole clusters of {}", *along, extent);
  }
}

}  // namespace

void verify_kernel(Op* op, OpVerifier& verifier) {
  if (op->region()->empty()) return verifier.error("it has no body");
  Block* body = op->region()->front();
  if (body->next()) return verifier.error("its body has more than one block");
  int64_t outputs = op->attr(attr::Kernel::outputs);
  if (outputs < 0 || outputs > int64_t(body->arg_count())) {
    verifier.error("it has {} parameters, of which {} cannot be results", body->arg_count(),
                   outputs);
  }
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    Type type = body->arg(i)->type();
    if (!type->is(TypeKind::Tensor)) verifier.error("parameter {} is not a tensor: {}", i, type->text);
  }
  if (kind_of(body->back()) != OpKind::Return) verifier.error("it does not end with tile.return");
  for (Attr schedule : {op->attr(attr::Kernel::schedule), op->attr(attr::Kernel::chosen)}) {
    if (!schedule) continue;
    for (const auto& problem : schedule::check_schedule(schedule)) {
      verifier.error("{}", schedule::to_string(problem));
    }
  }
  for (int64_t axis : op->attr(attr::Kernel::last_first)) {
    int64_t axes = int64_t(op->attr(attr::Kernel::grid).size());
    if (axis >= 0 && axis < axes) continue;
    verifier.error("axis {} of 'last_first' is not one of the {} of the grid", axis, axes);
  }
  verify_cluster(op, verifier);
  verify_work(op, verifier);
  verify_checks(op, body->arg_count(), verifier);
  if (!verifier.failed()) verify_free_dims(op, verifier);
  if (!verifier.failed()) verify_threads(op, verifier);
}

namespace {

/// The kernel that an op stands in; null after a report if there is none.
Op* kernel_of(Op* op, OpVerifier& verifier) {
  Op* kernel = op->parent();
  while (kernel->parent()) kernel = kernel->parent();
  if (kernel->info().level == Level::Tile) return kernel;
  verifier.error("it stands outside of a kernel");
  return nullptr;
}

}  // namespace

void verify_program_id(Op* op, OpVerifier& verifier) {
  Op* kernel = kernel_of(op, verifier);
  if (!kernel) return;
  if (kernel->attr(attr::Kernel::persistent))
    return verifier.error("a persistent kernel has workers");
  expect_axis(op, verifier, kernel->attr(attr::Kernel::grid).size());
}

void verify_worker(Op* op, OpVerifier& verifier) {
  Op* kernel = kernel_of(op, verifier);
  if (kernel && !kernel->attr(attr::Kernel::persistent))
    verifier.error("the kernel is not persistent");
}

void verify_order(Op* op, OpVerifier& verifier) {
  Op* role = op->parent();
  while (role && !role->is(info(OpKind::Role))) role = role->parent();
  int64_t warps = role ? role->attr(attr::Role::warps) : 0;
  if (warps < 8 || warps % 4) verifier.error("it stands in no role of two warpgroups or more");
}

void verify_for(Op* op, OpVerifier& verifier) {
  Block* body = op->region()->front();
  unsigned carried = op->slot_size(in::For::inits);
  if (body->arg_count() != carried + 1 || op->result_count() != carried) {
    return verifier.error(
        "it carries {} values, its region takes {} after the index and it gives {}", carried,
        int(body->arg_count()) - 1, op->result_count());
  }
  Type index = op->in(in::For::lo)->type();
  if (body->arg(0)->type() != index)
    verifier.error("the region's first argument must be {}", index->text);
  for (unsigned i = 0; i < carried; ++i) {
    Type init = op->in(in::For::inits, i)->type();
    if (body->arg(i + 1)->type() != init || op->result(i)->type() != init) {
      verifier.error("value {} starts as {} and goes on as {}", i, init->text,
                     body->arg(i + 1)->type()->text);
    }
  }
  if (op->attr(attr::For::unroll).value_or(1) < 1) {
    verifier.error("it cannot be unrolled {} times", op->required(attr::For::unroll));
  }
  if (!verifier.failed()) check_yield(op, at::For::body, verifier);
}

void verify_if(Op* op, OpVerifier& verifier) {
  Type condition = op->in(in::If::condition)->type();
  if (condition->dtype != DType::Bool) {
    return verifier.error("the condition must be bool, not {}", condition->text);
  }
  for (unsigned region : {unsigned(at::If::then), unsigned(at::If::otherwise)}) {
    if (op->region(region)->front()->arg_count())
      verifier.error("region {} takes arguments", region);
    check_yield(op, region, verifier);
  }
}

void verify_yield(Op* op, OpVerifier& verifier) {
  OpKind kind = op->parent() ? kind_of(op->parent()) : OpKind::Kernel;
  if (kind == OpKind::Role && op->operand_count()) verifier.error("a role gives no values");
  if (kind != OpKind::For && kind != OpKind::If && kind != OpKind::Role)
    verifier.error("it stands outside of a loop, a condition or a role");
}

}  // namespace tessera::tile
