#pragma once
// Schedules as values of the language: `Schedule(block=(128, 256), stages=3)`, `base.with_block(64,
// 64)`, chains such as `block(BM, BN).k(BK).warps(8)`. A list is a set of choices. Extents by axis
// are kept under the names of tunables:
// `.k(64)` and `block(k=64)` are the entry BK = 64, and so is a tunable BK of an autotuner's space.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/builtins.h"
#include "frontend/values/value.h"
#include "ir/core/attribute.h"
#include "support/diagnostic.h"

namespace tessera {
class Context;
}

namespace tessera::frontend {

class Evaluator;

/// A schedule of these attributes; unknown keys and values that do not fit their key are reported.
/// Poison then.
Datum make_schedule(Evaluator& evaluator, const Dictionary& attributes, Loc loc);
/// The value of `schedule.name`: a function that gives the schedule with one attribute replaced.
Datum schedule_member(Evaluator& evaluator, const Datum& schedule, const ast::Identifier& name);
/// A member function of a schedule.
class ScheduleMember : public Object {
 public:
  ScheduleMember(Datum schedule, std::string key)
      : schedule_(std::move(schedule)), key_(std::move(key)) {}
  std::string describe() const override { return "a member of a schedule"; }
  Measure measure() const override { return schedule_.measure(); }
  Datum call(Evaluator& evaluator, const std::vector<CallArgument>& arguments, Loc loc) const;

 private:
  Datum schedule_;
  std::string key_;
};

/// Says how the keys of a dict that is given for a schedule are written.
void help_dict(DiagnosticEngine::Builder& builder, const Datum& value);

/// The scheduling decisions of one source, by key of schedule_keys.def.
struct ScheduleLayer {
  std::map<std::string, Attr> keys;      ///< but for block
  std::vector<int64_t> positional;       ///< block extents in the order of the axes
  std::map<std::string, int64_t> block;  ///< block extents by axis
  Loc loc;                               ///< where it is written; unknown for a table's row
  bool has_choices = false;              ///< lists of which the first elements were taken
  std::vector<int64_t> listed_block;     ///< choices that are written like extents of several axes: `block=[64, 32]`
  bool is_space = false;                 ///< of choices that a tuner has, of which some may not do

  /// Its keys as `Schedule(…)` has them, extents of axes among them: BM; `block` is the last.
  std::vector<std::string> names() const;
};

/// A schedule with the first of each set of choices taken.
ScheduleLayer to_layer(Context& context, const Datum& schedule, Loc loc);
/// The same of attributes that a table or a request gives; they have been checked.
ScheduleLayer to_layer(const std::map<std::string, Attr>& attributes, Loc loc);

/// Where a key is written in a schedule: `Schedule(key=…)`, a dict, or a chain such as `block(…).key(…)`.
std::optional<Loc> written_key(const SourceManager& sources, Loc call, std::string_view key);
/// The same, and the whole schedule where the key is not written there.
Loc place_of_key(const SourceManager& sources, Loc call, std::string_view key);

/// The axis that a tunable's name stands for: "m" for BM; empty when it is none.
std::string tunable_axis(std::string_view name);

}  // namespace tessera::frontend
