#pragma once
// The schema of schedules: which keys there are, what their values look like, and a checker.
// Schedules come from source, from tables and from IR text; all three are held to the rows of
// schedule_keys.def.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/attribute_key.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic.h"

namespace tessera {
class Context;
class Op;
}

namespace tessera::schedule {

enum class ScheduleValueKind : uint8_t { Int, Ints, Bool, Word, Axes, Roles };
/// Targets that a key concerns; TensorMaps are GPUs with a copy engine.
enum class ScheduleReaders : uint8_t { All, Cpu, Gpu, TensorMaps, None };

/// How values of a kind are stored.
constexpr AttrType type_of(ScheduleValueKind kind) {
  switch (kind) {
    case ScheduleValueKind::Int: return AttrType::Int;
    case ScheduleValueKind::Ints: return AttrType::Ints;
    case ScheduleValueKind::Bool: return AttrType::Bool;
    case ScheduleValueKind::Word: return AttrType::String;
    case ScheduleValueKind::Axes:
    case ScheduleValueKind::Roles: return AttrType::Dict;
  }
  return AttrType::Dict;
}

/// Keys of a kernel's schedule, all of which may be missing: entry::read(schedule, key::stages).
namespace key {
#define KEY(name, kind, ...) \
  inline constexpr AttrKey<type_of(ScheduleValueKind::kind), Arity::Optional> name{#name};
#include "ir/schedule/schedule_keys.def"
#undef KEY
}  // namespace key

/// What a schedule by names of keys has of one; null where it has none.
template <AttrType type, Arity arity>
Attr given(const std::map<std::string, Attr>& schedule, const AttrKey<type, arity>& key) {
  auto found = schedule.find(std::string(key.name));
  return found == schedule.end() ? nullptr : found->second;
}
/// Gives it the attribute, which has the key's name.
inline void give(std::map<std::string, Attr>& schedule, const OpAttr& attribute) {
  schedule[std::string(attribute.name)] = attribute.value;
}

struct ScheduleKey {
  std::string_view name;
  ScheduleValueKind kind;
  int64_t low;
  int64_t high;
  int64_t step;
  std::vector<std::string_view> choices;
  ScheduleReaders machines;  ///< that it is for
  ScheduleReaders readers;   ///< that do something with it
  std::string_view summary;
};

/// All keys in the order of the table.
std::span<const ScheduleKey> schedule_keys();
const ScheduleKey* find_schedule_key(std::string_view name);
/// The key that means what Triton calls so; empty for any other name.
std::string_view key_of_others(std::string_view name);
/// What a value of the key has to be, for messages: "a number", "one of none, xor".
std::string expected_value(const ScheduleKey& key);

/// A key's place, as `key_places` of a kernel have it.
Attr key_place(Context& context, Loc place);
/// Where the source gives a key of the kernel's schedule; the kernel where it does not.
Loc place_of_key(Op* kernel, std::string_view key);

/// One error in a schedule.
struct ScheduleProblem {
  enum class Kind : uint8_t { UnknownKey, WrongKind, OutOfRange };
  Kind kind;
  std::string key;
  std::string expected;  ///< WrongKind: what the key takes; OutOfRange: the bounds; UnknownKey: the
                         ///< nearest key
  std::string found;
  std::string nearest = {};  ///< OutOfRange: the value within the bounds
};

/// Checks one value against its key.
std::optional<ScheduleProblem> check_schedule_value(std::string_view key, Attr value);
/// Checks every entry of a Dict.
std::vector<ScheduleProblem> check_schedule(Attr schedule);
/// A part of a key's value that nothing reads.
struct UnreadPart {
  std::string text;            ///< as a message names it: "'cluster'", "'store' of 'roles'"
  bool is_everywhere = false;  ///< no target reads it
};
/// The parts of a key's value that the machine does not read, although the key is for it, and those that no target
/// reads.
std::vector<UnreadPart> unread_parts(std::string_view key, Attr value, const Machine& machine);
/// The problem in one line.
std::string to_string(const ScheduleProblem& problem);
/// Reports the problem as a user's error.
void report(const ScheduleProblem& problem, Loc loc, DiagnosticEngine& diagnostics);

}  // namespace tessera::schedule
