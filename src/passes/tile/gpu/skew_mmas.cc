// Runs the second MMA of an iteration beside the elementwise work of the next iteration (GPU).
//
// Attention has two MMAs in an iteration: scores of rows and keys, then weights times values.
// Between the two the tensor cores would wait for exponentials. This pass moves the second MMA of
// an iteration to the next one, which is modulo scheduling in two stages:
//
//   for t: s = mma(q, k t); p = f(wait s); o' = wait mma(p, v t, g(o))
//
// becomes, where there is a first iteration,
//
//   s = mma(q, k lo); p = f(wait s); c = g(o)
//   for t from lo + 1: s = mma(q, k t); d = mma(p, v t-1, c); x = f(wait s {1}); c = g(wait d {0}); p = x
//   o' = wait mma(p, v hi-1, c)
//
// The last steps of f that only narrow its result run behind the wait: until then the second MMA
// reads the registers of p. The pass takes only loops whose operands all come by channels: the next
// iteration can release their slots, while buffers that the threads fill would need barriers. It
// also leaves loops alone that test masks element by element (skip_masks decides masks of sums of
// coordinates at once): there are too few registers for the weights of one iteration beside those
// of the next.

#include <map>
#include <optional>
#include <set>

#include "passes/analysis/loop_bounds.h"
#include "passes/pass.h"
#include "passes/tile/gpu/builders.h"

namespace tessera {

using tile::OpKind;
namespace at = tile::at;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

using Values = std::map<Value*, Value*>;

class MmaSkew {
 public:
  explicit MmaSkew(Op* loop) : loop_(loop), body_(loop->region()->front()), builder_(*loop->module()) {}

  void run() {
    if (!find_mmas() || has_other_masks() || !find_channel() || !divide()) return;
    builder_.set_before(loop_);
    builder_.set_loc(loop_->loc());
    Value* runs = tile::elementwise(builder_, ElementwiseKind::Lt, {loop_->in(in::For::lo), loop_->in(in::For::hi)});
    std::vector<Type> types;
    for (unsigned i = 0; i < loop_->result_count(); ++i) types.push_back(loop_->result(i)->type());
    Op* choice = builder_.op(tile::info(OpKind::If), {{runs}}, types);
    builder_.set_end(choice->region(at::If::otherwise)->add_block());
    tile::yield(builder_, loop_->ins(in::For::inits));
    builder_.set_end(choice->region(at::If::then)->add_block());
    tile::yield(builder_, pipelined());
    for (unsigned i = 0; i < loop_->result_count(); ++i) loop_->result(i)->replace_all_uses(choice->result(i));
    loop_->erase();
  }

 private:
  /// Finds the two MMAs. The second one computes a loop-carried value from weights in registers.
  bool find_mmas() {
    std::vector<Op*> waits;
    size_t mmas = 0;
    for (Op* op : *body_) {
      if (op->is(tile::info(OpKind::MmaWait))) waits.push_back(op);
      mmas += op->is(tile::info(OpKind::Mma));
    }
    if (mmas != 2 || waits.size() != 2 || tile::known_index(loop_->in(in::For::step)) != 1) return false;
    for (Op* wait : waits) {
      if (wait->operand_count() != 1 || wait->attr(attr::MmaWait::pending) != 0) return false;
      Op* mma = wait->operand(0)->def();
      if (!mma || !mma->is(tile::info(OpKind::Mma)) || mma->block() != body_) return false;
      if (!mma->result()->has_one_use()) return false;
    }
    first_wait_ = waits[0];
    second_wait_ = waits[1];
    first_ = first_wait_->operand(0)->def();
    second_ = second_wait_->operand(0)->def();
    Op* end = body_->terminator();
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      if (end->operand(i) == second_wait_->result()) carried_ = i;
    }
    bool from_registers = second_->in(in::Mma::a)->type()->is(TypeKind::Tile);
    return carried_ && from_registers && second_wait_->result()->has_one_use() && first_->is_before(second_);
  }

  /// Whether there are tiles of integers that are no sums of coordinates.
  bool has_other_masks() const {
    for (Op* op : *body_) {
      for (unsigned i = 0; i < op->result_count(); ++i) {
        Type type = op->result(i)->type();
        if (!type->is(TypeKind::Tile) || type->dtype != DType::I64) continue;
        bool sums = op->info().elementwise == ElementwiseKind::Add || op->info().elementwise == ElementwiseKind::Sub;
        bool shapes = op->is(tile::info(OpKind::Iota)) || op->is(tile::info(OpKind::Splat)) ||
                      op->is(tile::info(OpKind::Full)) || op->is(tile::info(OpKind::Broadcast)) ||
                      op->is(tile::info(OpKind::Reshape));
        if (!sums && !shapes) return true;
      }
    }
    return false;
  }

  /// The channel that brings the second MMA's right factor.
  bool find_channel() {
    slot_ = second_->in(in::Mma::b)->def();
    if (!slot_ || !slot_->is(tile::info(OpKind::Slot)) || slot_->block() != body_) return false;
    if (!slot_->result()->has_one_use()) return false;
    for (Op* op : *body_) {
      bool waits = op->is(tile::info(OpKind::ChannelWait)), releases = op->is(tile::info(OpKind::ChannelRelease));
      if (!waits && !releases) continue;
      bool own = false;
      for (Value* ring : op->operand(0)->def()->ins(in::Channel::rings)) own |= ring == slot_->in(in::Slot::memory);
      Op*& found = waits ? wait_ : release_;
      if (!own) continue;
      if (found) return false;
      found = op;
    }
    return wait_ && release_ && follows_index(wait_->in(in::ChannelWait::iteration), body_) &&
           follows_index(slot_->in(in::Slot::index), body_);
  }

  /// Divides the rest of the body. Ops that compute c from loop-carried values, and ops that narrow
  /// the weights, come after the second MMA; all others before it.
  bool divide() {
    std::set<Op*> second{second_, second_wait_, slot_, wait_, release_};
    for (Op* op : *body_) {
      if (op->is_terminator() || second.contains(op)) continue;
      bool reads_sum = false;
      for (unsigned i = 0; i < op->operand_count(); ++i) {
        Value* operand = op->operand(i);
        if (operand->def() && operand->def()->block() == body_ && second.contains(operand->def())) return false;
        reads_sum |= operand == body_->arg(*carried_ + 1) || late_.contains(operand->def());
      }
      bool may_move = op->is_pure() && op->region_count() == 0;
      if (reads_sum && !may_move) return false;
      if (reads_sum) late_.insert(op);
      bool known = may_move || op->is(tile::info(OpKind::Load)) || op->is(tile::info(OpKind::Mma)) ||
                   op->is(tile::info(OpKind::MmaWait)) || op->is(tile::info(OpKind::ChannelWait)) ||
                   op->is(tile::info(OpKind::ChannelRelease));
      if (!known) return false;
    }
    Op* end = body_->terminator();
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      if (i != *carried_ && late_.contains(end->operand(i)->def())) return false;
    }
    for (Op* op = second_->in(in::Mma::a)->def(); narrows(op); op = op->operand(0)->def()) late_.insert(op);
    return true;
  }

  bool narrows(Op* op) const {
    bool keeps = op && (op->info().elementwise == ElementwiseKind::Cast || op->is(tile::info(OpKind::Merge)));
    return keeps && op->block() == body_ && op->result()->has_one_use();
  }

  static Value* mapped(Value* value, const Values& values) {
    auto it = values.find(value);
    return it == values.end() ? value : it->second;
  }

  Op* copy(Op* op, Values& values) {
    Op* made = builder_.module().clone(op, values);
    builder_.insert(made);
    return made;
  }

  /// The value that the number has in another iteration.
  Value* at_iteration(Value* value, Value* index) {
    Values values{{body_->arg(0), index}};
    return at_iteration(value, values);
  }
  Value* at_iteration(Value* value, Values& values) {
    if (value->parent_block() != body_ || values.contains(value)) return mapped(value, values);
    Op* def = value->def();
    for (unsigned i = 0; i < def->operand_count(); ++i) at_iteration(def->operand(i), values);
    return values[value] = copy(def, values)->result();
  }

  /// Writes the first stage of an iteration; calls `between` once its MMA is issued.
  template <typename F>
  void first_stage(Values& values, int64_t pending, F&& between) {
    for (Op* op : *body_) {
      bool second = op == second_ || op == second_wait_ || op == slot_ || op == wait_ || op == release_;
      if (second || late_.contains(op) || op->is_terminator()) continue;
      Op* made = copy(op, values);
      if (op == first_) between();
      if (op == first_wait_) made->set(attr::MmaWait::pending, pending);
    }
  }

  void late_ops(Values& values) {
    for (Op* op : *body_) {
      if (late_.contains(op)) copy(op, values);
    }
  }

  /// Issues the second MMA of the iteration with that index.
  Op* issue(Value* weights, Value* sums, Value* index) {
    Value* channel = wait_->in(in::ChannelWait::channel);
    tile::channel_op(builder_, OpKind::ChannelWait, channel,
                     at_iteration(wait_->in(in::ChannelWait::iteration), index));
    Value* right = tile::slot(builder_, slot_->in(in::Slot::memory), at_iteration(slot_->in(in::Slot::index), index));
    Op* made = builder_.op(tile::info(OpKind::Mma), {{weights}, {right}, {sums}, {}}, {sums->type()});
    if (auto instruction = second_->attr(attr::Mma::instruction)) made->set(attr::Mma::instruction, *instruction);
    return made;
  }

  Value* await(Op* mma, Value* index) {
    Value* done = tile::mma_wait(builder_, {mma->result()}, 0)->result();
    Value* iteration = at_iteration(release_->in(in::ChannelRelease::iteration), index);
    tile::channel_op(builder_, OpKind::ChannelRelease, release_->in(in::ChannelRelease::channel), iteration);
    return done;
  }

  /// The next loop-carried values, and the weights.
  std::vector<Value*> carried_on(const Values& values) {
    std::vector<Value*> on;
    Op* end = body_->terminator();
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      on.push_back(mapped(i == *carried_ ? second_->in(in::Mma::c) : end->operand(i), values));
    }
    on.push_back(mapped(second_->in(in::Mma::a), values));
    return on;
  }

  /// The loop's results, where it runs.
  std::vector<Value*> pipelined() {
    Value *lo = loop_->in(in::For::lo), *hi = loop_->in(in::For::hi);
    Value* one = tile::index(builder_, 1);
    Values values{{body_->arg(0), lo}};
    for (unsigned i = 0; i < loop_->result_count(); ++i) values[body_->arg(i + 1)] = loop_->in(in::For::inits, i);
    first_stage(values, 0, [] {});
    late_ops(values);
    Op* made = tile::for_loop(builder_, tile::add(builder_, lo, one), hi, one, carried_on(values));
    fill(made->region()->front());
    builder_.set_after(made);
    Value* last = tile::sub(builder_, hi, one);
    unsigned weights = loop_->result_count();
    Op* mma = issue(made->result(weights), made->result(*carried_), last);
    std::vector<Value*> results;
    for (unsigned i = 0; i < weights; ++i) results.push_back(made->result(i));
    results[*carried_] = await(mma, last);
    return results;
  }

  void fill(Block* body) {
    builder_.set_end(body);
    Values values{{body_->arg(0), body->arg(0)}};
    for (unsigned i = 0; i < loop_->result_count(); ++i) {
      values[body_->arg(i + 1)] = body->arg(i + 1);
      body->arg(i + 1)->set_name(body_->arg(i + 1)->name());
    }
    Value* before = tile::sub(builder_, body->arg(0), tile::index(builder_, 1));
    Op* mma = nullptr;
    Value* weights = body->arg(body->arg_count() - 1);
    first_stage(values, 1, [&] { mma = issue(weights, body->arg(*carried_ + 1), before); });
    values[body_->arg(*carried_ + 1)] = await(mma, before);
    late_ops(values);
    tile::yield(builder_, carried_on(values));
  }

  Op* loop_;
  Block* body_;
  Builder builder_;
  Op *first_ = nullptr, *first_wait_ = nullptr;
  Op *second_ = nullptr, *second_wait_ = nullptr;
  Op *slot_ = nullptr, *wait_ = nullptr, *release_ = nullptr;  ///< of the second MMA's right factor
  std::optional<unsigned> carried_;                            ///< the result of the second MMA
  std::set<Op*> late_;
};

}  // namespace

Status skew_mmas(Module& module, PassContext&) {
  std::vector<Op*> loops;
  for (Op* kernel : *module.body()) {
    if (!kernel->is(tile::info(OpKind::Kernel))) continue;
    walk(kernel, [&](Op* op) {
      if (op->is(tile::info(OpKind::For))) loops.push_back(op);
    });
  }
  for (Op* loop : loops) MmaSkew(loop).run();
  return success;
}

}  // namespace tessera
