#include "ir/schedule/schedule_keys.h"

#include <algorithm>
#include <array>

#include "ir/core/common_attributes.h"
#include "ir/core/context.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera::schedule {

namespace {

constexpr std::array<std::string_view, 4> role_names = {"load", "mma", "store", "softmax"};

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> list;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    list.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return list;
}

using Problem = std::optional<ScheduleProblem>;

ScheduleProblem wrong_kind(const ScheduleKey& key, Attr value) {
  return {ScheduleProblem::Kind::WrongKind, std::string(key.name), expected_value(key),
          value->text};
}

Problem check_number(const ScheduleKey& key, Attr value) {
  if (!value->is(AttrKind::Int)) return wrong_kind(key, value);
  if (value->integer >= key.low && value->integer <= key.high && value->integer % key.step == 0) return std::nullopt;
  std::string range = fmt::format("{} to {}", key.low, key.high);
  if (key.step > 1) range = fmt::format("the multiples of {} from {}", key.step, range);
  int64_t nearest = (std::clamp(value->integer, key.low, key.high) + key.step / 2) / key.step * key.step;
  return ScheduleProblem{ScheduleProblem::Kind::OutOfRange, std::string(key.name), range, value->text,
                         std::to_string(nearest)};
}

Problem check_list(const ScheduleKey& key, Attr value) {
  if (!value->is(AttrKind::Array) || value->elements.empty()) return wrong_kind(key, value);
  for (Attr element : value->elements) {
    if (Problem problem = check_number(key, element)) return problem;
  }
  return std::nullopt;
}

Problem check_entries(const ScheduleKey& key, Attr value) {
  if (!value->is(AttrKind::Dict)) return wrong_kind(key, value);
  for (const auto& [name, number] : value->entries) {
    bool is_role = std::find(role_names.begin(), role_names.end(), name) != role_names.end();
    if (key.kind == ScheduleValueKind::Roles && !is_role) return wrong_kind(key, value);
    Problem problem = check_number(key, number);
    if (!problem) continue;
    problem->found += fmt::format(" for '{}'", name);
    return problem;
  }
  return std::nullopt;
}

bool is_among(ScheduleReaders readers, const Machine& machine) {
  switch (readers) {
    case ScheduleReaders::All: return true;
    case ScheduleReaders::Cpu: return !machine.is_gpu();
    case ScheduleReaders::Gpu: return machine.is_gpu();
    case ScheduleReaders::TensorMaps: return machine.gpu.has_tma;
    case ScheduleReaders::None: return false;
  }
  TSR_UNREACHABLE("unknown readers of a schedule key");
}

/// Of the roles only load and mma are distinguished, and only where copies need no warps.
bool reads_role(std::string_view key, std::string_view role, const Machine& machine) {
  return role == "mma" ? key == "roles" || machine.gpu.has_tma : role == "load" && machine.gpu.has_tma;
}

Problem check_word(const ScheduleKey& key, Attr value) {
  bool known = value->is(AttrKind::String) && std::find(key.choices.begin(), key.choices.end(),
                                                        value->string) != key.choices.end();
  return known ? Problem() : wrong_kind(key, value);
}

}  // namespace

std::span<const ScheduleKey> schedule_keys() {
  static const std::vector<ScheduleKey> keys = {
#define KEY(name, kind, low, high, step, choices, machines, readers, summary)                    \
  {#name, ScheduleValueKind::kind,   low,    high, step, words(choices), ScheduleReaders::machines, \
   ScheduleReaders::readers, summary},
#include "ir/schedule/schedule_keys.def"
#undef KEY
  };
  return keys;
}

const ScheduleKey* find_schedule_key(std::string_view name) {
  for (const ScheduleKey& key : schedule_keys()) {
    if (key.name == name) return &key;
  }
  return nullptr;
}

Attr key_place(Context& context, Loc place) {
  return context.array({context.integer(place.line), context.integer(place.column), context.integer(place.length)});
}

Loc place_of_key(Op* kernel, std::string_view key) {
  Attr places = kernel->attr(common::Kernel::key_places);
  Attr place = places ? places->get(key) : nullptr;
  if (!place || !fits(place, AttrType::Ints) || place->elements.size() != 3) return kernel->loc();
  auto is_number = [](Attr each) { return each->integer > 0 && each->integer <= UINT32_MAX; };
  if (!std::ranges::all_of(place->elements, is_number)) return kernel->loc();
  auto number = [&](size_t n) { return uint32_t(place->elements[n]->integer); };
  return {kernel->loc().file, number(0), number(1), number(2)};
}

std::string expected_value(const ScheduleKey& key) {
  switch (key.kind) {
    case ScheduleValueKind::Int:
      return "a number";
    case ScheduleValueKind::Ints:
      return "a list of numbers";
    case ScheduleValueKind::Bool:
      return "True or False";
    case ScheduleValueKind::Word:
      return fmt::format("one of {}", fmt::join(key.choices, ", "));
    case ScheduleValueKind::Axes:
      return "a number for each axis";
    case ScheduleValueKind::Roles:
      return fmt::format("a number for each of {}", fmt::join(role_names, ", "));
  }
  TSR_UNREACHABLE("unknown kind of schedule value");
}

std::optional<ScheduleProblem> check_schedule_value(std::string_view name, Attr value) {
  const ScheduleKey* key = find_schedule_key(name);
  if (!key) {
    std::vector<std::string> candidates;
    for (const ScheduleKey& known : schedule_keys()) candidates.emplace_back(known.name);
    return ScheduleProblem{ScheduleProblem::Kind::UnknownKey, std::string(name),
                           nearest_name(name, candidates), value->text};
  }
  switch (key->kind) {
    case ScheduleValueKind::Int:
      return check_number(*key, value);
    case ScheduleValueKind::Ints:
      return check_list(*key, value);
    case ScheduleValueKind::Bool:
      return value->is(AttrKind::Bool) ? Problem() : wrong_kind(*key, value);
    case ScheduleValueKind::Word:
      return check_word(*key, value);
    case ScheduleValueKind::Axes:
      return value->is(AttrKind::Array) ? check_list(*key, value) : check_entries(*key, value);
    case ScheduleValueKind::Roles:
      return check_entries(*key, value);
  }
  TSR_UNREACHABLE("unknown kind of schedule value");
}

std::vector<ScheduleProblem> check_schedule(Attr schedule) {
  std::vector<ScheduleProblem> problems;
  for (const auto& [key, value] : schedule->entries) {
    if (auto problem = check_schedule_value(key, value)) problems.push_back(std::move(*problem));
  }
  return problems;
}

std::vector<UnreadPart> unread_parts(std::string_view name, Attr value, const Machine& machine) {
  const ScheduleKey* key = find_schedule_key(name);
  if (!key) return {};
  if (key->readers == ScheduleReaders::None) return {{fmt::format("'{}'", name), true}};
  bool is_for_it = is_among(key->machines, machine);
  if (is_for_it && !is_among(key->readers, machine)) return {{fmt::format("'{}'", name)}};
  std::vector<UnreadPart> parts;
  auto add = [&](std::string_view part, bool is_read, bool is_everywhere) {
    if (!is_everywhere && (is_read || !is_for_it)) return;
    parts.push_back({fmt::format("'{}' of '{}'", part, name), is_everywhere});
  };
  if (key->kind == ScheduleValueKind::Roles) {
    for (const auto& [role, number] : value->entries) {
      add(role, reads_role(name, role, machine), role != "mma" && role != "load");
    }
  }
  if (name == "order" && value->string == "columns") add(value->string, false, true);
  return parts;
}

std::string to_string(const ScheduleProblem& problem) {
  switch (problem.kind) {
    case ScheduleProblem::Kind::UnknownKey:
      return fmt::format("'{}' is not a key of a schedule", problem.key);
    case ScheduleProblem::Kind::WrongKind:
      return fmt::format("schedule key '{}' takes {}, not {}", problem.key, problem.expected,
                         problem.found);
    case ScheduleProblem::Kind::OutOfRange:
      return fmt::format("schedule key '{}' is {}, outside {}", problem.key, problem.found,
                         problem.expected);
  }
  TSR_UNREACHABLE("unknown kind of schedule problem");
}

std::string_view key_of_others(std::string_view name) {
  if (name == "num_warps") return "warps";
  if (name == "num_stages") return "stages";
  if (name == "num_ctas") return "cluster";
  return {};
}

namespace {

/// The extent of a tile along an axis: BM for BLOCK_M and BLOCK_SIZE_M; empty for other names.
std::string extent_of_others(std::string_view name) {
  for (std::string_view prefix : {"BLOCK_SIZE_", "BLOCK_", "TILE_", "B_"}) {
    if (name.starts_with(prefix) && name.size() == prefix.size() + 1) return fmt::format("B{}", name.back());
  }
  return {};
}

}  // namespace

void report(const ScheduleProblem& problem, Loc loc, DiagnosticEngine& diagnostics) {
  switch (problem.kind) {
    case ScheduleProblem::Kind::UnknownKey: {
      auto builder = diagnostics.report(diag::unknown_schedule_key, loc, problem.key);
      auto rename = [&](std::string message, std::string here) {
        if (loc.length != problem.key.size()) return builder.help(std::move(message));  // the whole schedule
        return builder.fix(std::move(message), loc, std::move(here));
      };
      if (std::string_view here = key_of_others(problem.key); !here.empty()) {
        rename(fmt::format("it is '{}' here", here), std::string(here));
        return;
      }
      if (std::string here = extent_of_others(problem.key); !here.empty()) {
        rename(fmt::format("the extent of a tile along an axis is '{}' here", here), here);
        return;
      }
      if (problem.key == "BLOCK_SIZE" || problem.key == "BLOCK") {
        builder.help("each axis of a tile has an extent: BM=64 is that of axis 'm'");
        return;
      }
      bool is_near = !problem.expected.empty();
      if (is_near && builder.suggest(diagnostics.sources(), loc, problem.key, {problem.expected})) return;
      builder.help("BM=64 is the extent of a tile along axis 'm', block={\"batch\": 4} that along axis 'batch'; "
                   "docs/schedules.md has the other keys");
      return;
    }
    case ScheduleProblem::Kind::WrongKind:
      diagnostics.report(diag::schedule_value_kind, loc, problem.key, problem.expected,
                         problem.found);
      return;
    case ScheduleProblem::Kind::OutOfRange:
      diagnostics.report(diag::schedule_value_range, loc, problem.key, problem.found, problem.expected)
          .help(fmt::format("the nearest value is {}", problem.nearest));
      return;
  }
}

}  // namespace tessera::schedule
