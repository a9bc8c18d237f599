#pragma once
// Tables of schedules, one JSON file for each target: what the standard library ships with and what
// an autotuner writes. A kernel has rows in order; the first one whose dtypes and conditions hold
// decides. Where that depends on sizes, there is a kernel for each row that may be the one.
//
//   {"format": 1, "target": "cpu:x86-64-v4",
//    "kernels": {"tessera.matmul.matmul": [{"dtypes": {"T": ["f32", "bf16"]}, "when": ["m <= 16"],
//                                           "schedule": {"block": {"m": 16, "n": 256, "k": 256}}}]}}
//
// Rows belong to a kernel of a module, so that another one of its name has none.
// `dtypes` names dtype parameters of the kernel, `when` compares the extents of its axes with
// numbers; both may be left out. `schedule` has the keys of schedule_keys.def. docs/schedules.md is
// the reader's description.

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/context.h"
#include "ir/core/dim_facts.h"
#include "support/diagnostic.h"
#include "support/result.h"

namespace tessera::frontend {

/// `axis op value`, as in "m <= 16".
struct ScheduleCondition {
  std::string axis;
  Relation relation;
  int64_t value = 0;
};

struct ScheduleRow {
  std::map<std::string, std::vector<DType>> dtypes;
  std::vector<ScheduleCondition> conditions;
  std::map<std::string, Attr> schedule;
};

/// A kernel instance as a table sees it.
struct ScheduleQuery {
  std::string kernel;  ///< behind its module: "tessera.matmul.matmul"
  std::map<std::string, DType> dtypes;  ///< dtype parameters
  std::function<Dim(const std::string&)>
      extent;  ///< of an axis; null when the kernel has no such axis
  bool roles = true;  ///< rows with roles count
};

class ScheduleTable {
 public:
  /// Reads a file. It is untrusted: every error is a diagnostic that names the row.
  static Result<ScheduleTable> read(Context& context, std::string_view name, std::string_view text,
                                    DiagnosticEngine& diagnostics);

  const std::string& target() const { return target_; }
  const std::map<std::string, std::vector<ScheduleRow>>& kernels() const { return kernels_; }
  /// Takes the rows of a base for kernels that have none here.
  void inherit(const ScheduleTable& base) { kernels_.insert(base.kernels_.begin(), base.kernels_.end()); }
  /// A row that may decide, with what must hold of the sizes then; the row is null for no schedule.
  struct Choice {
    const ScheduleRow* row;
    std::vector<DimFact> when;
  };
  /// The rows that may decide in order. The last one has no conditions; `roles` in the schedule of others ask the
  /// machine for copies that some operands may not allow, so that what follows such a row is kept, too.
  std::vector<Choice> find(DimTable& dims, const ScheduleQuery& query) const;

 private:
  friend class TableReader;
  std::string target_;
  std::map<std::string, std::vector<ScheduleRow>> kernels_;
};

}  // namespace tessera::frontend
