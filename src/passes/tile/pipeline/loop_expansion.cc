// Iteration i of a loop runs the ops of its stage s in step i + s, each step in the order of the schedule:
//
//   for n < stages - 1:        the ops of stages 0 … n                          (prologue)
//   for t from lo + stages - 1: all ops; those of stage s for iteration t - s   (steady state)
//   for n < stages - 1:        the ops of stages n + 1 …                        (epilogue)
//
// Ops that take no time, such as indices, slots and broadcasts, are written again for each stage that reads them. Other
// values that a later step reads are carried by the loop.
//
// An MMA is waited for where something reads its sum, or where its registers or its slots are written again; the wait
// leaves the MMAs in flight that were issued after it. In a loop of one stage, MMAs stay in flight into the next step
// where nothing reads their sums before: then slots are released a step later, and the loop has to run at least once.
// With more stages each step waits for its MMAs at its end. So at the end of a step the same MMAs are in flight on all
// paths.

#include "passes/tile/pipeline/loop_expansion.h"

#include <algorithm>
#include <map>
#include <set>

#include "passes/tile/pipeline/builders.h"
#include "support/check.h"

namespace tessera {

using pipeline::LoopPipeline;
using tile::OpKind;
namespace at = tile::at;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

/// A value of the body in an iteration. Iterations are counted from that of a frame.
using ValueOf = std::pair<Value*, int64_t>;

/// An MMA that nobody has waited for. Where another one adds to its sum, that has no value any more.
struct Flight {
  size_t number;
  int64_t iteration;
  Value* sum;
};

/// The release of an iteration whose readers have been issued.
struct DueRelease {
  size_t channel;
  int64_t iteration;
};

/// Ops that count their iterations from one index: the prologue from the loop's first, a step from its newest, the
/// epilogue from the end.
struct Frame {
  Value* base;
  bool begins = false;  ///< iteration 0 is the loop's first
  std::map<ValueOf, Value*> values = {};
  std::vector<Flight> flights = {};
  std::vector<DueRelease> releases = {};
};

struct LoopChannel {
  Op *wait, *release;
  std::set<size_t> readers = {};
  size_t first = 0, last = 0;  ///< of the readers, in the order in which an iteration runs them
  int64_t slots = 1;
};

class LoopExpansion {
 public:
  LoopExpansion(const LoopPipeline& plan, bool runs)
      : plan_(plan), loop_(plan.loop), body_(loop_->region()->front()), runs_(runs), builder_(*loop_->module()) {
    for (size_t i = 0; i < plan.ops.size(); ++i) {
      numbers_[plan.ops[i].op] = i;
      order_.push_back(i);
    }
    std::ranges::stable_sort(order_, {}, [&](size_t i) { return plan.ops[i].order; });
    for (size_t at = 0; at < order_.size(); ++at) positions_[order_[at]] = at;
  }

  /// Returns the loop of the steady state.
  Op* run() {
    find_channels();
    find_slots();
    builder_.set_before(loop_);
    builder_.set_loc(loop_->loc());
    if (plan_.stages == 1) try_step();
    int64_t least = plan_.stages > 1 ? plan_.stages - 1 : in_flight_.empty() ? 0 : 1;
    std::vector<Value*> results = least == 0 || (least == 1 && runs_) ? expanded() : expanded_if_at_least(least);
    for (unsigned i = 0; i < loop_->result_count(); ++i) loop_->result(i)->replace_all_uses(results[i]);
    loop_->erase();
    return steady_;
  }

 private:
  Op* op(size_t number) const { return plan_.ops[number].op; }
  int64_t stage(size_t number) const { return plan_.ops[number].stage; }
  static bool is_mma(Op* op) { return op->is(tile::info(OpKind::Mma)); }
  static bool reads_registers(Op* mma) { return mma->in(in::Mma::a)->type()->is(TypeKind::Tile); }
  Value* init(unsigned i) const { return loop_->in(in::For::inits, i); }
  Value* handed_on(unsigned i) const { return body_->terminator()->operand(i); }

  /// The op that takes time and makes the value; nothing for others.
  std::optional<size_t> made_by(Value* value) const {
    while (value->def() && value->def()->is(tile::info(OpKind::MmaWait))) {
      value = value->def()->operand(value->index());
    }
    auto found = numbers_.find(value->def());
    return found == numbers_.end() ? std::nullopt : std::optional(found->second);
  }

  void find_channels() {
    std::map<Value*, size_t> of_ring;
    for (Op* op : *body_) {
      if (!op->is(tile::info(OpKind::ChannelWait))) continue;
      Op* channel = op->in(in::ChannelWait::channel)->def();
      for (Value* ring : channel->ins(in::Channel::rings)) of_ring[ring] = channels_.size();
      channels_.push_back({op, nullptr});
      channels_.back().slots = channel->attr(attr::Channel::stages);
    }
    for (Op* op : *body_) {
      if (!op->is(tile::info(OpKind::ChannelRelease))) continue;
      Value* channel = op->in(in::ChannelRelease::channel);
      for (LoopChannel& each : channels_) {
        if (each.wait->in(in::ChannelWait::channel) == channel) each.release = op;
      }
    }
    for (size_t i : order_) {
      for (unsigned n = 0; n < op(i)->operand_count(); ++n) {
        Op* def = op(i)->operand(n)->def();
        if (!def || def->block() != body_ || !def->is(tile::info(OpKind::Slot))) continue;
        auto ring = of_ring.find(def->in(in::Slot::memory));
        if (ring != of_ring.end()) channels_[ring->second].readers.insert(i);
      }
    }
    auto place = [&](size_t i) { return std::pair(stage(i), positions_.at(i)); };
    for (LoopChannel& each : channels_) {
      TSR_CHECK(!each.readers.empty(), "a loop waits for a slot that it does not read");
      each.first = *std::ranges::min_element(each.readers, {}, place);
      each.last = *std::ranges::max_element(each.readers, {}, place);
    }
  }

  /// Finds which values the steady state carries: those that a step reads and one before it made.
  void find_slots() {
    for (size_t i : order_) {
      for (unsigned n = 0; n < op(i)->operand_count(); ++n) need(op(i)->operand(n), -stage(i));
    }
    for (const LoopChannel& each : channels_) {
      need(each.wait->in(in::ChannelWait::iteration), -stage(each.first));
      need(each.release->in(in::ChannelRelease::iteration), -stage(each.last));
    }
    for (unsigned i = 0; i < loop_->result_count(); ++i) {
      std::optional<size_t> made = made_by(handed_on(i));
      bool is_late = made && stage(*made) > 0;
      if (!loop_->result(i)->unused() && !is_late) need_slot({body_->arg(i + 1), 0});
    }
    for (size_t i = 0; i < slots_.size(); ++i) {
      ValueOf next = next_of(slots_[i]);
      need(next.first, next.second);
    }
    std::ranges::stable_sort(slots_, {}, [&](const ValueOf& slot) {
      return slot.first->def() ? std::tuple(body_->arg_count(), positions_.at(*made_by(slot.first)), -slot.second)
                               : std::tuple(slot.first->index(), size_t(0), -slot.second);
    });
  }

  /// What the slot holds in the next step.
  ValueOf next_of(const ValueOf& slot) const {
    auto [value, iteration] = slot;
    return value->def() ? ValueOf(value, iteration + 1) : ValueOf(handed_on(value->index() - 1), iteration);
  }

  void need_slot(const ValueOf& slot) {
    if (std::ranges::find(slots_, slot) == slots_.end()) slots_.push_back(slot);
  }

  void need(Value* value, int64_t iteration) {
    if (value->parent_block() != body_) return;
    if (std::optional<size_t> made = made_by(value)) {
      int64_t step = iteration + stage(*made);
      TSR_CHECK(step <= 0, "a step reads what a later one makes");
      if (step < 0) need_slot({op(*made)->result(value_index(value)), iteration});
      return;
    }
    if (Op* def = value->def()) {
      for (unsigned i = 0; i < def->operand_count(); ++i) need(def->operand(i), iteration);
    } else if (value->index() > 0) {
      std::optional<size_t> made = made_by(handed_on(value->index() - 1));
      bool same_step = made && iteration - 1 + stage(*made) == 0;
      if (!same_step) need_slot({value, iteration});
    }
  }

  static unsigned value_index(Value* value) {
    return value->def()->is(tile::info(OpKind::MmaWait)) ? 0 : value->index();
  }

  /// The value in an iteration of the frame; ops that take no time are written where the builder stands.
  Value* value(Frame& frame, Value* of, int64_t iteration) {
    if (of->parent_block() != body_) return of;
    if (auto known = frame.values.find({of, iteration}); known != frame.values.end()) return known->second;
    Value* made = nullptr;
    Op* def = of->def();
    if (!def && of->index() == 0) {
      made = index(frame, iteration);
    } else if (!def) {
      unsigned i = of->index() - 1;
      made = frame.begins && iteration == 0 ? init(i) : value(frame, handed_on(i), iteration - 1);
    } else if (def->is(tile::info(OpKind::MmaWait))) {
      made = value(frame, def->operand(of->index()), iteration);
    } else {
      TSR_CHECK(!numbers_.contains(def), "a step reads a value before it is made");
      copy(frame, def, iteration);
      return frame.values.at({of, iteration});
    }
    return frame.values[{of, iteration}] = made;
  }

  Value* index(Frame& frame, int64_t iteration) {
    if (iteration == 0) return frame.base;
    if (iteration > 0) return tile::add(builder_, frame.base, tile::index(builder_, iteration));
    return tile::sub(builder_, frame.base, tile::index(builder_, -iteration));
  }

  /// The same, of MMAs that are complete.
  Value* done(Frame& frame, Value* of, int64_t iteration) {
    Value* found = value(frame, of, iteration);
    auto flight = std::ranges::find(frame.flights, found, &Flight::sum);
    if (flight == frame.flights.end()) return found;
    complete(frame, size_t(flight - frame.flights.begin()));
    return value(frame, of, iteration);
  }

  Op* copy(Frame& frame, Op* op, int64_t iteration) {
    std::map<Value*, Value*> values;
    for (unsigned i = 0; i < op->operand_count(); ++i) {
      bool adds_to = is_mma(op) && i == op->slot_begin(in::Mma::c);
      Value* operand = op->operand(i);
      values[operand] = adds_to ? value(frame, operand, iteration) : done(frame, operand, iteration);
    }
    // What an operand was before a wait is not what it is now.
    for (auto& [operand, with] : values) with = value(frame, operand, iteration);
    Op* made = builder_.module().clone(op, values);
    builder_.insert(made);
    for (unsigned i = 0; i < op->result_count(); ++i) frame.values[{op->result(i), iteration}] = made->result(i);
    return made;
  }

  /// Waits until the first flights, up to that one, are complete.
  void complete(Frame& frame, size_t last) {
    auto sums = [&](size_t from, size_t to) {
      std::vector<Value*> found;
      for (size_t i = from; i < to; ++i) {
        if (frame.flights[i].sum) found.push_back(frame.flights[i].sum);
      }
      return found;
    };
    size_t count = frame.flights.size();
    std::vector<Value*> values = sums(0, last + 1);
    if (values.empty()) values = sums(last + 1, count);
    Op* wait = tile::mma_wait(builder_, values, int64_t(count - last - 1));
    for (size_t i = 0; i < values.size(); ++i) {
      wait->result(unsigned(i))->set_name(values[i]->name());
      for (auto& [of, with] : frame.values) {
        if (with == values[i]) with = wait->result(unsigned(i));
      }
      for (Flight& each : frame.flights) {
        if (each.sum == values[i]) each.sum = wait->result(unsigned(i));
      }
    }
    frame.flights.erase(frame.flights.begin(), frame.flights.begin() + ptrdiff_t(last) + 1);
    release_read(frame);
  }

  /// Releases slots that no MMA in flight reads.
  void release_read(Frame& frame) {
    std::vector<DueRelease> left;
    for (const DueRelease& each : frame.releases) {
      const LoopChannel& channel = channels_[each.channel];
      bool is_read = std::ranges::any_of(frame.flights, [&](const Flight& flight) {
        return flight.iteration == each.iteration && channel.readers.contains(flight.number);
      });
      is_read ? left.push_back(each) : release(frame, channel.release, each.iteration);
    }
    frame.releases = std::move(left);
  }

  void release(Frame& frame, Op* release, int64_t iteration) {
    Value* channel = release->in(in::ChannelRelease::channel);
    Value* number = release->in(in::ChannelRelease::iteration);
    builder_.set_loc(release->loc());
    bool is_before_step = frame.base == step_index_ && plan_.stages == 1 && iteration < 0;
    if (!is_before_step) {
      tile::channel_op(builder_, OpKind::ChannelRelease, channel, value(frame, number, iteration));
      return;
    }
    Value* has_one = tile::elementwise(builder_, ElementwiseKind::Gt, {frame.base, loop_->in(in::For::lo)});
    Value* of_before = value(frame, number, iteration);
    tile::when(builder_, has_one, [&] { tile::channel_op(builder_, OpKind::ChannelRelease, channel, of_before); });
  }

  /// Writes an op of an iteration.
  void write(Frame& frame, size_t number, int64_t iteration) {
    for (const LoopChannel& each : channels_) {
      if (each.first != number) continue;
      builder_.set_loc(each.wait->loc());
      copy(frame, each.wait, iteration);
    }
    for (const pipeline::Completion& each : plan_.completions) {
      if (each.to != number) continue;
      auto flight = std::ranges::find_if(frame.flights, [&](const Flight& flight) {
        return flight.number == each.from && flight.iteration == iteration - each.distance;
      });
      if (flight != frame.flights.end()) complete(frame, size_t(flight - frame.flights.begin()));
    }
    builder_.set_loc(op(number)->loc());
    Op* made = copy(frame, op(number), iteration);
    if (is_mma(made)) {
      for (Flight& each : frame.flights) {
        if (each.sum == made->in(in::Mma::c)) each.sum = nullptr;
      }
      frame.flights.push_back({number, iteration, made->result()});
    }
    for (size_t i = 0; i < channels_.size(); ++i) {
      if (channels_[i].last == number) frame.releases.push_back({i, iteration});
    }
    release_read(frame);
  }

  /// Writes the ops of a step whose stage `runs`; those of stage s are of iteration `newest` - s.
  template <typename F>
  void write_step(Frame& frame, int64_t newest, F&& runs) {
    for (size_t number : order_) {
      if (runs(stage(number))) write(frame, number, newest - stage(number));
    }
    for (size_t i = frame.flights.size(); i-- > 0;) {
      if (may_stay(frame.flights[i])) continue;
      complete(frame, i);
      break;
    }
  }

  /// What the loop carries of a sum to which MMAs add one after another; null where they begin it.
  Value* carried_sum(Value* sum) const {
    while (Op* def = sum->def()) {
      if (def->is(tile::info(OpKind::MmaWait))) {
        sum = def->operand(sum->index());
      } else if (is_mma(def)) {
        sum = def->in(in::Mma::c);
      } else {
        return nullptr;
      }
    }
    return sum->block() == body_ ? sum : nullptr;
  }

  /// Whether the loop carries the sum where the MMA found it. One that changes places would be copied while the MMA
  /// writes it.
  bool keeps_its_place(Op* mma) const {
    Value* sum = carried_sum(mma->in(in::Mma::c));
    return sum && carried_sum(handed_on(sum->index() - 1)) == sum;
  }

  /// Whether an MMA may be in flight at the end of a step.
  bool may_stay(const Flight& flight) const {
    if (plan_.stages > 1 || flight.iteration < 0 || reads_registers(op(flight.number))) return false;
    if (!keeps_its_place(op(flight.number))) return false;
    return std::ranges::all_of(channels_, [&](const LoopChannel& each) {
      return each.slots > 1 || !each.readers.contains(flight.number);
    });
  }

  /// Finds the MMAs that are in flight at the end of a step of a loop of one stage.
  void try_step() {
    Frame before{loop_->in(in::For::lo), true};
    steady_state(before)->erase();
  }

  /// The steady state, behind a prologue. Values that it carries start as they are there.
  Op* steady_state(Frame& before) {
    int64_t ahead = plan_.stages - 1;
    std::vector<Value*> inits;
    for (auto [of, iteration] : slots_) inits.push_back(value(before, of, iteration + ahead));
    builder_.set_loc(loop_->loc());
    Op* made = tile::for_loop(builder_, index(before, ahead), loop_->in(in::For::hi), loop_->in(in::For::step), inits);
    Block* body = made->region()->front();
    Frame frame{step_index_ = body->arg(0)};
    body->arg(0)->set_name(body_->arg(0)->name());
    enter(frame, [&](size_t slot) { return body->arg(unsigned(slot) + 1); });
    builder_.set_end(body);
    write_step(frame, 0, [](int64_t) { return true; });
    std::vector<Value*> next;
    for (const ValueOf& slot : slots_) {
      auto [of, iteration] = next_of(slot);
      next.push_back(value(frame, of, iteration));
    }
    builder_.set_loc(body_->terminator()->loc());
    tile::yield(builder_, next);
    leave(frame, next);
    builder_.set_after(made);
    return made;
  }

  /// Begins a frame with what the step before left.
  template <typename F>
  void enter(Frame& frame, F&& carried) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      Value* begins = frame.values[slots_[i]] = carried(i);
      begins->set_name(slots_[i].first->name());
    }
    for (const auto& [flight, slot] : in_flight_) {
      frame.flights.push_back({flight.number, flight.iteration - 1, slot ? carried(*slot) : nullptr});
    }
    for (const DueRelease& each : releases_) frame.releases.push_back({each.channel, each.iteration - 1});
  }

  /// Keeps what a step of the steady state leaves, and which of the values that it hands on are sums in flight.
  void leave(const Frame& frame, const std::vector<Value*>& next) {
    in_flight_.clear();
    for (const Flight& each : frame.flights) {
      auto slot = std::ranges::find(next, each.sum);
      bool is_carried = each.sum && slot != next.end();
      in_flight_.emplace_back(each, is_carried ? std::optional(size_t(slot - next.begin())) : std::nullopt);
    }
    releases_ = frame.releases;
  }

  std::vector<Value*> expanded() {
    Frame prologue{loop_->in(in::For::lo), true}, epilogue{loop_->in(in::For::hi)};
    for (int64_t n = 0; n + 1 < plan_.stages; ++n) {
      write_step(prologue, n, [&](int64_t stage) { return stage <= n; });
    }
    Op* made = steady_ = steady_state(prologue);
    enter(epilogue, [&](size_t slot) { return made->result(unsigned(slot)); });
    builder_.set_loc(loop_->loc());
    if (!epilogue.flights.empty()) complete(epilogue, epilogue.flights.size() - 1);
    for (int64_t n = 0; n + 1 < plan_.stages; ++n) {
      write_step(epilogue, n, [&](int64_t stage) { return stage > n; });
    }
    std::vector<Value*> results;
    for (unsigned i = 0; i < loop_->result_count(); ++i) {
      results.push_back(loop_->result(i)->unused() ? init(i) : value(epilogue, body_->arg(i + 1), 0));
    }
    return results;
  }

  /// The same where the loop has that many iterations, else the loop as it was.
  std::vector<Value*> expanded_if_at_least(int64_t iterations) {
    Value* last = tile::add(builder_, loop_->in(in::For::lo), tile::index(builder_, iterations - 1));
    Value* has_them = tile::elementwise(builder_, ElementwiseKind::Lt, {last, loop_->in(in::For::hi)});
    std::vector<Type> types;
    for (unsigned i = 0; i < loop_->result_count(); ++i) types.push_back(loop_->result(i)->type());
    Op* choice = builder_.op(tile::info(OpKind::If), {{has_them}}, types);
    builder_.set_end(choice->region(at::If::otherwise)->add_block());
    if (iterations == 1) {
      tile::yield(builder_, loop_->ins(in::For::inits));
    } else {
      std::map<Value*, Value*> none;
      Op* as_it_was = builder_.module().clone(loop_, none);
      builder_.insert(as_it_was);
      std::vector<Value*> values;
      for (unsigned i = 0; i < loop_->result_count(); ++i) values.push_back(as_it_was->result(i));
      tile::yield(builder_, values);
    }
    builder_.set_end(choice->region(at::If::then)->add_block());
    tile::yield(builder_, expanded());
    std::vector<Value*> results;
    for (unsigned i = 0; i < loop_->result_count(); ++i) {
      choice->result(i)->set_name(loop_->result(i)->name());
      results.push_back(choice->result(i));
    }
    return results;
  }

  const LoopPipeline& plan_;
  Op* loop_;
  Block* body_;
  bool runs_;
  Builder builder_;
  std::map<Op*, size_t> numbers_;
  std::vector<size_t> order_;            ///< ops in the order of a step
  std::map<size_t, size_t> positions_;   ///< in that order
  std::vector<LoopChannel> channels_;
  std::vector<ValueOf> slots_;           ///< what the steady state carries, as a step begins
  std::vector<std::pair<Flight, std::optional<size_t>>> in_flight_;  ///< as a step ends, and which slot has the sum
  std::vector<DueRelease> releases_;                                 ///< as a step ends
  Value* step_index_ = nullptr;
  Op* steady_ = nullptr;  ///< the loop that is written
};

}  // namespace

Op* expand_loop(const LoopPipeline& plan, bool runs) {
  TSR_CHECK(plan.unpipelined.empty(), "a loop without a schedule");
  return LoopExpansion(plan, runs).run();
}

}  // namespace tessera
