#pragma once
// Checks the shapes of a graph: the sizes and guards that are known at compile time, those that
// remain for run time, and whether a policy allows these.
//
// A graph from the front end has no two dims that must be equal and are not: the front end reports
// those as errors. These remain: the equations of a signature (a size that two arguments have),
// `where` clauses, sizes that a call determines, and dims that are sizes for some calls only.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/core/module.h"
#include "ir/dim/dim.h"
#include "support/result.h"

namespace tessera::api {

/// Kinds of guards, as bits.
enum GuardKinds : uint32_t {
  guards_none = 0,
  guards_of_signature = 1,      ///< two extents of arguments are the same dim
  guards_of_equality = 2,       ///< `where A == B`, `A != B`
  guards_of_order = 4,          ///< `where S <= 4096`
  guards_of_divisibility = 8,   ///< `where D % 64 == 0`
  guards_all = 15,
};

struct ShapePolicy {
  uint32_t run_time_guards = guards_all;  ///< others have to hold for the sizes that are given
  bool symbolic_dims = true;              ///< sizes may be left open
  bool strict = false;  ///< what holds for some sizes only is an error, not a warning
  DimValues dims;       ///< sizes that are known: {"B", 8}
  std::optional<int64_t> other_dims;  ///< of all other sizes; names that no entry has are passed over then
};

enum class FindingKind : uint8_t {
  Malformed,     ///< the graph breaks a rule of its level
  Guard,         ///< a condition that is checked at run time
  FalseGuard,    ///< a condition that does not hold for the sizes
  OpenDim,       ///< a size that a call determines
  NegativeDim,   ///< an extent that is negative for some sizes
  InexactDim,    ///< an extent with a division that leaves a rest for some sizes
  Overflow,      ///< a tensor whose bytes do not fit in 64 bits
  UnknownDim,    ///< a size is given that no entry has
  InternalError,  ///< shapes cannot be looked at for a bug of ours
};
/// "guard", "false-guard".
std::string_view to_string(FindingKind kind);

enum class FindingSeverity : uint8_t { Note, Warning, Error };

struct ShapeFinding {
  FindingKind kind = FindingKind::Guard;
  FindingSeverity severity = FindingSeverity::Note;
  std::string entry;    ///< empty for what is of no entry
  std::string subject;  ///< the dim or the condition: "D", "D % 64 == 0"
  std::string message;  ///< with the values of both sides where they are known
  Loc loc;              ///< where it is written or computed; may be unknown
  std::string source;   ///< of an open dim, what brings it: "axis 1 of 'x'"
};

struct ShapeReport {
  std::vector<std::string> entries;    ///< that were looked at, in the order of the graph
  std::vector<std::string> dims;       ///< of the entries of a module, in the order of the alphabet
  std::vector<ShapeFinding> findings;  ///< by entry, in the same order
  size_t guards = 0;                   ///< that calls check
  size_t open_dims = 0;                ///< that calls bring
  /// No finding is an error.
  bool ok() const;
};

/// Looks at a module of level graph.
ShapeReport validate_shapes(Module& graph, const ShapePolicy& policy);
/// Looks at one entry of a module that is known to keep the rules of its level.
ShapeReport validate_shapes(Op* entry, const ShapePolicy& policy);

}  // namespace tessera::api
