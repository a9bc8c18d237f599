#pragma once
// What belongs to one kernel while it is built.

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "frontend/evaluate/kernel_scan.h"
#include "frontend/evaluate/schedule_value.h"
#include "frontend/evaluate/type_expr.h"
#include "frontend/lower/kernel/edge_search.h"
#include "frontend/lower/kernel/kernel_objects.h"
#include "frontend/values/schedule_table.h"
#include "frontend/values/scope.h"

namespace tessera::frontend {

struct KernelFunction {
  /// What a loop counts.
  struct LoopTiles {
    std::string name;
    Loc loc;
    Dim extent, step;
    const KernelAxis *over, *steps;  ///< axes that the source names for the two, if any
    bool of_cache = false;           ///< it goes over the positions of the cache
  };

  /// A parameter that the kernel writes.
  struct Region {
    const SignatureParameter* parameter;
    size_t operand;               ///< its number among a call's operands
    Value* out = nullptr;         ///< the kernel's parameter that holds what it becomes
    Loc stored = {};              ///< the last tile.store so far
    std::vector<Dim> parts = {};  ///< of a sum: how many parts, along each axis of the grid that shares tiles
    bool keeps = false;           ///< what is not stored stays as it was
    bool adds = false;            ///< sums are made in memory
  };

  /// A quotient of a sum of a tile along axes and the number of its elements there.
  struct Mean {
    Op* quotient;
    Value* tile;
    std::vector<int64_t> axes;
  };

  struct Print {
    std::string label, source;
    Value *values, *shown;
    std::vector<Dim> extents, trip_counts;
    Block* loop;  ///< the body of the outermost loop around it; null for none
  };

  /// Where a tuner is asked for, or choices are given, and the layer that has them, if there is one.
  using Tuned = std::pair<Loc, std::optional<size_t>>;

  size_t errors_before = 0;  ///< errors of the session before it

  // Its signature, and what of it is known.
  const Signature* signature = nullptr;
  KernelScan scan;
  Bindings bindings;
  std::map<std::string, std::string, std::less<>> unified;  ///< sizes of which a clause says that they are another one
  Scope* scope = nullptr;
  std::set<const Scope*> own_scopes;  ///< whose sizes are the kernel's
  bool has_symbols = false;           ///< its sizes are known: those of other scopes become such
  std::map<const Value*, const SignatureParameter*> parameters;
  std::shared_ptr<CacheParameter> cache;  ///< null where there is none
  Value* seed_of_call = nullptr;          ///< memory of the seed that the kernel's call gives; null where it gives none
  int64_t draws_by_call = 0;              ///< that take it so far

  // What it gives.
  std::vector<std::vector<Dim>> result_dims;
  std::vector<DType> result_dtypes;
  std::vector<DType> stated_dtypes;  ///< of the results that the source returns, as it says
  size_t returned = 0;               ///< results that the source returns; those of regions follow
  std::vector<Region> regions;
  std::vector<Print> prints;
  std::vector<Value*> print_outputs;  ///< the kernel's last parameters

  // Its op, its axes and its schedule.
  Op* op = nullptr;
  Op* grid = nullptr;
  std::vector<KernelAxis> axes;
  std::set<std::string> combined_axes;     ///< that have to be whole, as an earlier try has shown
  std::set<const KernelAxis*> named_axes;  ///< of which `t.m` or `t.i` was evaluated
  std::vector<ScheduleLayer> layers;
  std::vector<Tuned> tuned;
  size_t choices = 1;
  std::map<std::string, Attr> keys;
  std::map<std::string, Loc> places;  ///< of the schedule's keys in the source

  // Its loops, and what is known of tiles.
  std::map<const Value*, const KernelAxis*> loop_axes;
  std::map<const Value*, LoopTiles> loops;  ///< by their index
  std::set<const Scope*> loop_scopes;
  TileOrigins origins;
  std::vector<Mean> means;
  std::set<const Value*> softmax_sums;  ///< what division by gives 0 where it is 0
  bool has_scaled_softmax = false;      ///< scores are scaled as their exponentials are taken
};

}  // namespace tessera::frontend
