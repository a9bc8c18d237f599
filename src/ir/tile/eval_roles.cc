// Programs and their roles: which role runs next, what it waits for, and what is left in flight at
// the end.

#include <fmt/format.h>

#include <algorithm>

#include "ir/tile/eval_run.h"
#include "support/check.h"

namespace tessera::tile {

namespace {

constexpr int64_t warp_size = 32;

std::string role_text(const EvalRole& role) {
  return role.name.empty() ? "the program" : fmt::format("role '{}'", role.name);
}

/// What may follow roles without waiting for them.
bool may_follow_roles(Op* op) {
  OpKind kind = kind_of(op);
  bool waits = kind == OpKind::Barrier || kind == OpKind::ClusterBarrier;
  return op->is_pure() || waits || kind == OpKind::Role || kind == OpKind::Return;
}

}  // namespace

void KernelRun::begin_program() {
  scratch_.clear();
  shared_.clear();
  arena_.clear();
  accesses_.clear();
  roles_.clear();
  barriers_.clear();
  channels_.clear();
  in_flight_.clear();
  copies_ = 0;
  role_count_ = 0;
  EvalRole& program = roles_.emplace_back();
  if (std::optional<int64_t> threads = kernel_->attr(attr::Kernel::threads))
    program.order.warps = *threads / warp_size;
  program.frames.push_back({kernel_, *kernel_->region()->front()->begin()});
}

void KernelRun::run_program(Position program) {
  program_ = std::move(program);
  begin_program();
  while (!failed_) {
    if (EvalRole* role = next_role()) {
      run_role(*role);
    } else if (!in_flight_.empty()) {
      land(size_t(options_.seed ? random(in_flight_.size()) : 0));
    } else {
      break;
    }
  }
  if (failed_) return;
  bool over = std::all_of(roles_.begin(), roles_.end(), [](EvalRole& role) { return role.done(); });
  over ? end_program() : report_stuck();
}

uint64_t KernelRun::random(uint64_t below) {
  // splitmix64 (Steele, Lea, Flood 2014).
  uint64_t z = random_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (z ^ z >> 31) % below;
}

EvalRole* KernelRun::next_role() {
  std::vector<EvalRole*> ready;
  for (EvalRole& role : roles_) {
    if (!role.done() && is_ready(role)) ready.push_back(&role);
  }
  if (ready.empty() || failed_) return nullptr;
  return ready[options_.seed ? random(ready.size()) : 0];
}

bool KernelRun::is_ready(EvalRole& role) {
  if (!role.wait) return true;
  const EvalWait& wait = *role.wait;
  if (!wait.barrier) {
    return std::all_of(roles_.begin() + 1, roles_.end(), [](EvalRole& r) { return r.done(); });
  }
  if (wait.barrier->phase > wait.phase + 1) {
    op_ = wait.op;
    fail(fmt::format("{} phases of its barrier pass before {} sees the first",
                     wait.barrier->phase - wait.phase, role_text(role)));
  }
  return wait.barrier->phase > wait.phase;
}

/// Runs a role until it has to wait, or with a seed until it has done something others may see.
void KernelRun::run_role(EvalRole& role) {
  role.wait.reset();
  role_ = &role;
  while (!failed_ && !role.done() && !role.wait) {
    bool seen = role.frames.back().next->info().effects != 0;
    step(role);
    if (options_.seed && seen) return;
  }
}

void KernelRun::step(EvalRole& role) {
  failed_ = options_.may_go_on && !options_.may_go_on();
  if (failed_) return;
  size_t depth = role.frames.size();
  Op* op = role.frames.back().next;
  role.frames.back().next = op->next();
  op_ = op;
  if (roles_.size() > 1 && &role == &roles_[0] && !may_follow_roles(op)) {
    return fail("it follows roles", {}, "put a tile.barrier between");
  }
  resolve_operands(op);
  if (!failed_) run_op(op);
  if (role.wait) role.frames[depth - 1].next = op;
}

void KernelRun::run_role_op(Op* op) {
  EvalRole& program = roles_[0];
  EvalRole role{std::string(op->attr(attr::Role::name)),
                {uint16_t(++role_count_), op->attr(attr::Role::warps), {}, {}}};
  role.order.known = program.order.known_by_one();
  role.frames.push_back({op, *op->region()->front()->begin()});
  roles_.push_back(std::move(role));
}

void KernelRun::run_barrier(Op*) {
  if (role_ == &roles_[0] && roles_.size() > 1) {
    for (EvalRole& role : roles_) {
      if (&role == role_ || role.done()) continue;
      role_->wait = EvalWait{op_};
      return;
    }
    for (size_t r = 1; r < roles_.size(); ++r)
      role_->order.known.join(roles_[r].order.known_by_all());
    roles_.resize(1);
  }
  role_->order.synchronise();
}

void KernelRun::end_role(EvalRole& role) {
  const Progress& own = role.order.own;
  auto left = [&](Op* op, std::string_view what, std::string_view wait) {
    fail(fmt::format("{} ends while a {} is in flight", role_text(role), op->name()),
         {{op->loc(), std::string(what)}}, fmt::format("put a {} before", wait));
  };
  if (!role.mmas.empty()) left(role.mmas[0]->op, "of this tile.mma", "tile.mma_wait");
  if (!role.stores.empty()) left(role.stores[0].op, "of this memory", "tile.store_wait");
  if (!role.group_copies.empty()) left(role.group_copies[0].op, "this one", "tile.copy_wait");
  TSR_CHECK(failed_ || own[Stream::Mma] == role.mmas_issued, "an mma was lost");
  role.frames.clear();
}

/// What the copy engine still does when all roles have ended, it does to memory of the next
/// program.
void KernelRun::end_program() {
  Knowledge known;
  for (EvalRole& role : roles_) known.join(role.order.known_by_all());
  for (const MemoryAccess& access : accesses_) {
    if (access.stream != Stream::Copy || known.has_copy(access.number)) continue;
    op_ = access.op;
    return fail("nobody waits for this copy, which may be in flight when the program ends");
  }
}

std::string KernelRun::lacking(const EvalWait& wait) const {
  if (!wait.barrier) return "for the roles to end";
  const EvalBarrier& barrier = *wait.barrier;
  std::string text = fmt::format("for phase {} of barrier {}, which lacks {} of {} arrivals",
                                 barrier.phase, barrier.index, barrier.missing, barrier.arrivals);
  if (barrier.bytes != 0) text += fmt::format(" and {} bytes", barrier.bytes);
  return text;
}

void KernelRun::report_stuck() {
  std::vector<DiagnosticNote> notes;
  std::string message;
  for (EvalRole& role : roles_) {
    if (role.done()) continue;
    std::string waits = fmt::format("{} waits {}", role_text(role), lacking(*role.wait));
    if (message.empty() && role.wait->barrier) {
      op_ = role.wait->op;
      message = waits;
      notes.push_back({role.wait->barrier->op->loc(), "the barrier is made here"});
    } else {
      notes.push_back({role.wait->op->loc(), waits});
    }
  }
  fail("the program is stuck: " + message, notes, "");
}

}  // namespace tessera::tile
