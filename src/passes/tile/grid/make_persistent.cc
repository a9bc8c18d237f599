// Makes a kernel persistent: as many programs as run at once, each of which loops over tiles of the
// grid (GPU).
//
//   for t in worker .. programs step workers: <the program whose number is t>
//
// In clusters the loop counts clusters, of which each worker takes the program at its place.
//
// While one tile is stored the loads of the next can be in flight, and launching a block costs
// nothing. Channels go on counting iterations from tile to tile. `order = "grouped"` numbers the
// programs of a two-dimensional grid in bands of `group` rows, column by column, so that programs
// running at once share rows of one operand and columns of the other.
//
// Workers take equally many programs each, which should take equally long together. Where the trip
// count of a loop grows or falls along an axis of the grid, as that of causal attention does, programs
// are numbered with the longest of a band first, and workers take them to and fro: the first takes the
// longest of one round and the shortest of the next. A band is few rows, as programs of a row read the
// same keys, and an even number of rounds, for which a few workers may stay idle. Where data decide a
// trip count, kernels of the library stay as they are, and the machine hands out their programs as
// others end. What a program asks for itself is done.

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>

#include "passes/analysis/gpu_schedule.h"
#include "passes/analysis/program_work.h"
#include "passes/pass.h"
#include "passes/tile/pipeline/builders.h"
#include "support/check.h"

namespace tessera {

using tile::OpKind;
namespace attr = tile::attr;
namespace in = tile::in;

namespace {

using Kind = ElementwiseKind;

/// Rounds in which workers may take the programs of one band, the most first.
constexpr int64_t rounds_of_band[] = {8, 4, 2};
/// Where a grid has more programs than that, one of so many workers may stay idle for bands.
constexpr int64_t most_idle = 10;

class Persistence {
 public:
  Persistence(Op* kernel, const GpuSchedule& schedule)
      : kernel_(kernel),
        schedule_(schedule),
        builder_(*kernel->module()),
        cluster_(kernel->attr(attr::Kernel::cluster).vector()),
        grid_(kernel->attr(attr::Kernel::grid)) {
    for (size_t axis = 0; axis < grid_.size(); ++axis) {
      Trend trend = work_along(kernel, int64_t(axis));
      (trend == Trend::Rising || trend == Trend::Falling ? uneven_ : even_).push_back(axis);
    }
    is_grouped_ = schedule.group > 1 && grid_.size() == 2;
    is_dealt_ = !is_grouped_ && !uneven_.empty();
    // The loop counts clusters.
    DimTable& dims = builder_.context().dims();
    for (size_t i = 0; i < cluster_.size(); ++i) grid_[i] = dims.floordiv(grid_[i], dims.constant(cluster_[i]));
  }

  void run() {
    Block* block = kernel_->region()->front();
    std::vector<Op*> inner;
    for (Op* op : *block) {
      if (!stays(op)) inner.push_back(op);
    }
    builder_.set_before(block->back());
    builder_.set_loc(kernel_->loc());
    DimTable& dims = builder_.context().dims();
    Dim programs = dims.constant(1);
    for (Dim extent : grid_) programs = dims.mul(programs, extent);
    programs_ = programs;
    first_ = builder_.value(tile::info(OpKind::WorkerId), {}, index_type());
    step_ = builder_.value(tile::info(OpKind::WorkerCount), {}, index_type());
    if (!cluster_.empty()) {
      place_in_cluster(first_);
      first_ = clusters_of(first_);
      step_ = clusters_of(step_);
    }
    Value* end = tile::dim(builder_, programs);
    Value* begin = is_dealt_ ? choose_bands(end) : first_;
    // Channels that are filled together have one count.
    std::vector<std::pair<Op*, std::vector<Op*>>> filled;
    for (Op* channel : all(OpKind::Channel)) {
      Op* loop = acquire_of(channel)->parent();
      auto known = std::ranges::find(filled, loop, &std::pair<Op*, std::vector<Op*>>::first);
      if (known == filled.end()) known = filled.insert(known, {loop, {}});
      known->second.push_back(channel);
    }
    std::vector<Value*> none(filled.size(), tile::index(builder_, 0));
    Op* loop = tile::for_loop(builder_, begin, end, step_, none);
    Block* body = loop->region()->front();
    for (Op* op : inner) op->move_to_end(body);
    number_programs(body);
    builder_.set_end(body);
    std::vector<Value*> counts;
    for (const auto& [in_loop, channels] : filled) {
      Value* done = body->arg(unsigned(counts.size()) + 1);
      for (Op* channel : channels) follow(channel, done);
      builder_.set_end(body);
      // What stood in the kernel's body stands in that of the loop over tiles now.
      counts.push_back(tile::add(builder_, done, iterations_of_tile(in_loop == kernel_ ? loop : in_loop, loop)));
    }
    builder_.set_end(body);
    if (std::ranges::any_of(all(OpKind::AllocShared),
                            [](Op* alloc) { return alloc->attr(attr::AllocShared::written); })) {
      // The next tile begins when all that this one did to the source's memory is over.
      builder_.op(tile::info(OpKind::CopyWait), {}, {},
                  {attr::CopyWait::pending(builder_.context(), 0)});
      tile::barrier(builder_);
    }
    tile::yield(builder_, counts);
    kernel_->set(attr::Kernel::persistent, true);
  }

 private:
  Type index_type() { return builder_.context().scalar(DType::I64); }

  static bool stays(Op* op) {
    OpKind kind = tile::kind_of(op);
    return op->is_terminator() || kind == OpKind::AllocShared || kind == OpKind::Channel || kind == OpKind::View ||
           kind == OpKind::Constant || kind == OpKind::Dim;
  }

  std::vector<Op*> all(OpKind kind) {
    std::vector<Op*> found;
    walk(kernel_, [&](Op* op) {
      if (op->is(tile::info(kind))) found.push_back(op);
    });
    return found;
  }

  Value* clusters_of(Value* workers) {
    Value* size = short_number(tile::index(builder_, tile::programs_of_cluster(kernel_)));
    return tile::cast(builder_, arithmetic(Kind::FloorDiv, short_number(workers), size), DType::I64);
  }

  /// The worker's index in its cluster along each axis, the first counting slowest.
  void place_in_cluster(Value* worker) {
    Value* size = short_number(tile::index(builder_, tile::programs_of_cluster(kernel_)));
    Value* rest = arithmetic(Kind::Mod, short_number(worker), size);
    places_.resize(cluster_.size());
    for (size_t i = cluster_.size(); i-- > 0;) {
      Value* extent = short_number(tile::index(builder_, cluster_[i]));
      places_[i] = tile::cast(builder_, arithmetic(Kind::Mod, rest, extent), DType::I64);
      rest = arithmetic(Kind::FloorDiv, rest, extent);
    }
  }

  Value* arithmetic(Kind kind, Value* a, Value* b) { return tile::elementwise(builder_, kind, {a, b}); }

  Value* select(Value* which, Value* a, Value* b) {
    return tile::elementwise(builder_, Kind::Select, {which, a, b});
  }

  Value* natural(int64_t value) { return short_number(tile::index(builder_, value)); }

  /// A GPU divides numbers of 32 bits in a tenth of the time. The runtime refuses grids of 2^31 programs and more.
  Value* short_number(Value* index) { return tile::cast(builder_, index, DType::U32); }

  /// Where programs take unequally long: how many rows a band has, and how many workers work. Gives the first program
  /// of the worker, `end` for one that is idle.
  Value* choose_bands(Value* end) {
    Value *rows = extent_of(even_), *workers = short_number(step_);
    Value* columns = arithmetic(Kind::Max, extent_of(uneven_), natural(1));  // of no programs, too
    Value *height = natural(0), *used = natural(0), *most = nullptr;
    for (int64_t rounds : rounds_of_band) {
      Value* rows_taken = arithmetic(Kind::FloorDiv, tile::mul(builder_, workers, natural(rounds)), columns);
      Value* rest = arithmetic(Kind::Mod, tile::mul(builder_, rows_taken, columns), natural(rounds));
      Value* fewer = tile::mul(builder_, arithmetic(Kind::FloorDiv, rows_taken, natural(rounds)), natural(rounds));
      if (!most) most = rows_taken;
      rows_taken = select(arithmetic(Kind::Eq, rest, natural(0)), rows_taken, fewer);
      Value* busy = arithmetic(Kind::FloorDiv, tile::mul(builder_, rows_taken, columns), natural(rounds));
      Value* is_better = arithmetic(Kind::Ge, busy, used);
      height = select(is_better, rows_taken, height);
      used = arithmetic(Kind::Max, busy, used);
    }
    Value* fewest = tile::sub(builder_, workers, arithmetic(Kind::FloorDiv, workers, natural(most_idle)));
    Value* is_high = arithmetic(Kind::Lt, most, rows);  // more than a band of the most rounds
    Value* is_banded = arithmetic(Kind::Ge, used, select(is_high, fewest, workers));
    height_ = select(is_banded, height, rows);
    step_ = tile::cast(builder_, select(is_banded, used, workers), DType::I64);
    return select(arithmetic(Kind::Lt, first_, step_), first_, end);
  }

  /// A band of programs that are numbered column by column: rows and columns are axes of the grid.
  struct Bands {
    std::vector<size_t> rows, columns;
    Value* height;  ///< in clusters: at least one
    bool joins;     ///< less than half a band joins the one before it: it would end with long programs
  };

  std::optional<Bands> bands() {
    if (is_grouped_) {
      return Bands{{0}, {1}, natural(std::max<int64_t>(1, schedule_.group / (cluster_.empty() ? 1 : cluster_[0]))),
                   false};
    }
    if (!is_dealt_) return std::nullopt;
    return Bands{even_, uneven_, height_, true};
  }

  Value* extent_of(const std::vector<size_t>& axes) {
    DimTable& dims = builder_.context().dims();
    Dim extent = dims.constant(1);
    for (size_t axis : axes) extent = dims.mul(extent, grid_[axis]);
    return short_number(tile::dim(builder_, extent));
  }

  /// The program that a worker takes in the round of number `taken`: of each other round, counted from its end.
  Value* to_and_fro(Value* taken) {
    Value *first = short_number(first_), *step = short_number(step_);
    Value* begin = tile::sub(builder_, taken, first);
    Value* end = tile::min(builder_, tile::add(builder_, begin, step), short_number(tile::dim(builder_, programs_)));
    Value* round = arithmetic(Kind::FloorDiv, begin, step);
    Value* is_odd = arithmetic(Kind::Eq, arithmetic(Kind::Mod, round, natural(2)), natural(1));
    Value* last = tile::sub(builder_, end, natural(1));
    return select(is_odd, tile::sub(builder_, last, first), taken);
  }

  /// The index along each of the axes, of which the first counts slowest.
  void number_along(const std::vector<size_t>& axes, Value* rest, std::vector<Value*>& indices) {
    for (size_t i = axes.size(); i-- > 1;) {
      Value* extent = extent_of({axes[i]});
      indices[axes[i]] = arithmetic(Kind::Mod, rest, extent);
      rest = arithmetic(Kind::FloorDiv, rest, extent);
    }
    if (!axes.empty()) indices[axes[0]] = rest;
  }

  /// Band after band, and in each of them column by column.
  void number_in_bands(const Bands& in, Value* number, std::vector<Value*>& indices) {
    Value* last = nullptr;
    Value *rows = extent_of(in.rows), *columns = extent_of(in.columns);
    Value* group = tile::min(builder_, rows, in.height);
    Value* band_size = tile::mul(builder_, columns, group);
    Value* band = arithmetic(Kind::FloorDiv, number, band_size);
    if (in.joins) {
      Value* half = arithmetic(Kind::FloorDiv, group, natural(2));
      Value* nearest = arithmetic(Kind::FloorDiv, tile::add(builder_, rows, half), group);
      last = tile::sub(builder_, arithmetic(Kind::Max, nearest, natural(1)), natural(1));
      band = tile::min(builder_, band, last);
    }
    Value* start = tile::mul(builder_, band, group);
    Value* left = tile::sub(builder_, rows, start);
    Value* height = last ? select(arithmetic(Kind::Eq, band, last), left, group) : tile::min(builder_, left, group);
    Value* within = tile::sub(builder_, number, tile::mul(builder_, band, band_size));
    number_along(in.rows, tile::add(builder_, start, arithmetic(Kind::Mod, within, height)), indices);
    number_along(in.columns, arithmetic(Kind::FloorDiv, within, height), indices);
  }

  /// Replaces program ids by indices computed from the loop's index.
  void number_programs(Block* body) {
    std::vector<Op*> ids = all(OpKind::ProgramId);
    if (body->empty()) return;
    builder_.set_before(body->front());
    std::vector<Value*> indices(grid_.size());
    Value* number = grid_.size() > 1 || is_dealt_ ? short_number(body->arg(0)) : body->arg(0);
    if (is_dealt_) number = to_and_fro(number);
    if (std::optional<Bands> in = bands()) {
      number_in_bands(*in, number, indices);
    } else {
      std::vector<size_t> axes(grid_.size());
      std::iota(axes.begin(), axes.end(), size_t(0));
      number_along(axes, number, indices);
    }
    for (Value*& index : indices) index = tile::cast(builder_, index, DType::I64);
    for (size_t i = 0; i < cluster_.size(); ++i) {
      Value* first = tile::mul(builder_, indices[i], tile::index(builder_, cluster_[i]));
      indices[i] = tile::add(builder_, first, places_[i]);
    }
    for (int64_t axis : kernel_->attr(attr::Kernel::last_first)) {
      DimTable& dims = builder_.context().dims();
      Dim last = dims.sub(kernel_->attr(attr::Kernel::grid)[size_t(axis)], dims.constant(1));
      indices[size_t(axis)] = tile::sub(builder_, tile::dim(builder_, last), indices[size_t(axis)]);
    }
    for (Op* id : ids) {
      id->result()->replace_all_uses(indices[size_t(id->attr(attr::ProgramId::axis))]);
      id->erase();
    }
  }

  static Op* acquire_of(Op* channel) {
    for (Use* use = channel->result()->first_use(); use; use = use->next()) {
      if (use->owner()->is(tile::info(OpKind::ChannelAcquire))) return use->owner();
    }
    TSR_UNREACHABLE("a channel that nobody fills");
  }

  /// Makes a channel's iterations follow the `done` ones of the tiles before.
  void follow(Op* channel, Value* done) {
    std::vector<std::pair<Op*, unsigned>> readers;
    for (Use* use = channel->result()->first_use(); use; use = use->next()) {
      if (use->owner()->is(tile::info(OpKind::CopyAsync))) continue;
      readers.emplace_back(use->owner(), use->owner()->slot_begin(in::ChannelAcquire::iteration));
    }
    for (Value* ring : channel->ins(in::Channel::rings)) {
      for (Use* use = ring->first_use(); use; use = use->next()) {
        Op* user = use->owner();
        if (user->is(tile::info(OpKind::Slot))) readers.emplace_back(user, user->slot_begin(in::Slot::index));
      }
    }
    for (auto [reader, position] : readers) {
      builder_.set_before(reader);
      reader->set_operand(position, tile::add(builder_, done, reader->operand(position)));
    }
  }

  /// How often a tile runs the body of `loop`, which is that of the tiles or one in it.
  Value* iterations_of_tile(Op* loop, Op* tiles) {
    if (loop == tiles) return tile::index(builder_, 1);
    Value *lo = loop->in(in::For::lo), *hi = loop->in(in::For::hi);
    if (tile::known_index(lo) == 0) return hi;
    return arithmetic(Kind::Max, tile::sub(builder_, hi, lo), tile::index(builder_, 0));
  }

  Op* kernel_;
  const GpuSchedule& schedule_;
  Builder builder_;
  std::vector<int64_t> cluster_;  ///< programs along the first axes of the grid; none without clusters
  std::vector<Dim> grid_;         ///< of clusters, or of programs
  std::vector<size_t> even_, uneven_;  ///< axes along which programs take longer or shorter are uneven
  bool is_grouped_ = false;            ///< the schedule says how programs are numbered
  bool is_dealt_ = false;              ///< long and short programs are dealt out to workers
  Dim programs_{};
  Value *first_ = nullptr, *step_ = nullptr;  ///< the worker's number, and how many work
  Value* height_ = nullptr;                   ///< the rows of a band where programs take unequally long
  std::vector<Value*> places_;                ///< of the worker in its cluster, an axis each
};

/// Whether something in memory decides the index, or a branch or loop that may read it.
bool is_of_data(Value* index, std::set<Op*>& seen) {
  Op* def = index->def();
  if (!def || !seen.insert(def).second) return false;
  if (!def->ins(ValueClass::ReadMemory).empty() || def->region_count() > 0) return true;
  for (unsigned i = 0; i < def->operand_count(); ++i) {
    if (is_of_data(def->operand(i), seen)) return true;
  }
  return false;
}

/// Whether memory decides a trip count.
bool has_loops_of_data(Op* kernel) {
  bool found = false;
  walk(kernel, [&](Op* op) {
    if (!op->is(tile::info(OpKind::For))) return;
    std::set<Op*> seen;
    found |= is_of_data(op->in(in::For::lo), seen) || is_of_data(op->in(in::For::hi), seen);
  });
  return found;
}

}  // namespace

Status make_persistent(Module& module, PassContext& context) {
  TSR_CHECK(context.machine, "make_persistent needs a machine");
  for (Op* op : *module.body()) {
    if (!op->is(tile::info(OpKind::Kernel))) continue;
    GpuSchedule schedule = gpu_schedule(op, *context.machine);
    if (!schedule.persistent) continue;
    if (op->attr(attr::Kernel::own) || !has_loops_of_data(op)) Persistence(op, schedule).run();
  }
  return success;
}

}  // namespace tessera
