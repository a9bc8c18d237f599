#include "frontend/evaluate/schedule_value.h"

#include <algorithm>
#include <cctype>

#include "frontend/evaluate/evaluate.h"
#include "frontend/syntax/text_brackets.h"
#include "ir/schedule/schedule_keys.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

using schedule::find_schedule_key;
using schedule::ScheduleKey;

/// A compile-time value as an attribute; null for what no schedule has.
Attr to_attr(Context& context, const Datum& datum) {
  switch (datum.kind()) {
    case DatumKind::Int:
      return context.integer(datum.as_int());
    case DatumKind::Bool:
      return context.boolean(datum.as_bool());
    case DatumKind::String:
      return context.string(datum.as_string());
    case DatumKind::Float:
      return context.number(datum.as_float());
    case DatumKind::Tuple: {
      std::vector<Attr> elements;
      for (const Datum& element : datum.elements()) {
        Attr attr = to_attr(context, element);
        if (!attr) return nullptr;
        elements.push_back(attr);
      }
      return context.array(std::move(elements));
    }
    case DatumKind::Dict: {
      std::vector<NamedAttr> entries;
      for (const auto& [key, value] : datum.entries().entries) {
        Attr attr = to_attr(context, value);
        if (!attr) return nullptr;
        entries.emplace_back(key, attr);
      }
      return context.dict(std::move(entries));
    }
    default:
      return nullptr;
  }
}

/// The value with every list in it replaced by its nth element (the last when it has fewer), which
/// is how choices are checked one by one. `more` is set when a list has further elements.
Datum choose(const Datum& datum, size_t n, bool& more) {
  if (datum.is(DatumKind::List)) {
    if (datum.elements().empty()) return Datum::none();
    more = more || n + 1 < datum.elements().size();
    return choose(datum.elements()[std::min(n, datum.elements().size() - 1)], n, more);
  }
  if (datum.is(DatumKind::Tuple)) {
    std::vector<Datum> elements;
    for (const Datum& element : datum.elements()) elements.push_back(choose(element, n, more));
    return Datum::tuple(std::move(elements));
  }
  if (datum.is(DatumKind::Dict)) {
    Dictionary entries;
    for (const auto& [key, value] : datum.entries().entries) {
      entries.entries.emplace_back(key, choose(value, n, more));
    }
    return Datum::dict(std::move(entries));
  }
  return datum;
}

bool has_empty_choice(const Datum& datum) {
  if (datum.is(DatumKind::List) && datum.elements().empty()) return true;
  if (datum.is(DatumKind::Dict)) {
    const auto& entries = datum.entries().entries;
    return std::any_of(entries.begin(), entries.end(),
                       [](const auto& e) { return has_empty_choice(e.second); });
  }
  if (!datum.is_sequence()) return false;
  return std::any_of(datum.elements().begin(), datum.elements().end(), has_empty_choice);
}

/// `block=128` is short for `block=(128,)`, and so for a cluster.
Datum as_list(const ScheduleKey& key, Datum value) {
  bool takes_list = key.kind == schedule::ScheduleValueKind::Ints ||
                    key.kind == schedule::ScheduleValueKind::Axes;
  bool single = value.is(DatumKind::Int) || value.is(DatumKind::List);
  return takes_list && single ? Datum::tuple({std::move(value)}) : value;
}

bool check_entry(Evaluator& evaluator, const std::string& name, const Datum& value, Loc loc) {
  if (has_empty_choice(value)) {
    evaluator.report(diag::schedule_choices_empty, loc, name);
    return false;
  }
  std::string key = tunable_axis(name).empty() ? name : "block";
  bool more = true;
  for (size_t n = 0; more; ++n) {
    more = false;
    if (!evaluator.may_spend(1 + value.measure().parts / parts_of_step, loc)) return false;
    Datum chosen = choose(value, n, more);
    if (key != name) chosen = Datum::tuple({chosen});
    Attr attr = to_attr(evaluator.context(), chosen);
    if (!attr && find_schedule_key(key)) {
      Loc place = place_of_key(evaluator.session().sources(), loc, name);
      auto builder = evaluator.report(diag::schedule_value_kind, place, name, expected_value(*find_schedule_key(key)),
                                      describe(chosen));
      bool is_whole = key == "block" && chosen.is(DatumKind::Schedule);
      if (is_whole) builder.help("block(…) is a schedule of its own: @kernel.schedule(block(m=64).warps(8))");
      return false;
    }
    auto problem =
        schedule::check_schedule_value(key, attr ? attr : evaluator.context().boolean(false));
    if (!problem) continue;
    problem->key = name;
    schedule::report(*problem, place_of_key(evaluator.session().sources(), loc, name),
                     evaluator.session().diagnostics());
    return false;
  }
  return true;
}

std::string tunable_name(std::string_view axis) {
  std::string name = "B" + std::string(axis);
  name[1] = char(std::toupper(static_cast<unsigned char>(name[1])));
  return name;
}

void set(Dictionary& dictionary, const std::string& key, Datum value) {
  for (auto& entry : dictionary.entries) {
    if (entry.first == key) {
      entry.second = std::move(value);
      return;
    }
  }
  dictionary.entries.emplace_back(key, std::move(value));
}

bool is_axis_name(std::string_view name) {
  if (name.empty() || !std::islower(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// Adds one attribute; extents by axis become tunables.
void add(Dictionary& attributes, const std::string& name, Datum value) {
  if (name == "block" && value.is(DatumKind::Dict)) {
    for (const auto& [axis, extent] : value.entries().entries) {
      if (!axis.empty()) set(attributes, tunable_name(axis), extent);
    }
    return;
  }
  const ScheduleKey* key = find_schedule_key(name);
  set(attributes, name, key ? as_list(*key, std::move(value)) : std::move(value));
}

}  // namespace

Loc place_of_key(const SourceManager& sources, Loc call, std::string_view key) {
  if (!call.known()) return call;
  const SourceFile& file = sources.file(call.file);
  auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  TextBrackets brackets;
  Loc found = call;
  bool ends = false;
  for (uint32_t number = call.line; !ends && number <= file.line_count(); ++number) {
    std::string_view line = file.line(number);
    size_t first = number == call.line ? std::min(size_t(call.column - 1), line.size()) : 0;
    line.remove_prefix(first);
    brackets.read(line, [&](size_t at, size_t depth) {
      ends = depth == 0 && line[at] == ')';
      bool begins = at == 0 || !is_part(static_cast<unsigned char>(line[at - 1]));
      if (depth != 1 || !begins || !line.substr(at).starts_with(key)) return !ends;
      size_t behind = line.find_first_not_of(' ', at + key.size());
      ends = behind != line.npos && line[behind] == '=' && line.substr(behind, 2) != "==";
      if (ends) found = {call.file, number, uint32_t(first + at) + 1, uint32_t(key.size())};
      return !ends;
    });
  }
  return found;
}

std::string tunable_axis(std::string_view name) {
  if (name.size() < 2 || name[0] != 'B' || !std::isupper(static_cast<unsigned char>(name[1])))
    return {};
  bool is_word = name.size() > 3 && std::ranges::none_of(name, [](unsigned char c) { return std::islower(c); });
  if (is_word) return {};  // `BLOCK` is no extent of an axis `lOCK`
  std::string axis(name.substr(1));
  axis[0] = char(std::tolower(static_cast<unsigned char>(axis[0])));
  return axis;
}

Datum make_schedule(Evaluator& evaluator, const Dictionary& attributes, Loc loc) {
  Dictionary normal;
  for (const auto& [name, value] : attributes.entries) {
    if (value.is_poison()) return Datum::poison();
    add(normal, name, value);
  }
  for (const auto& [name, value] : normal.entries) {
    if (!check_entry(evaluator, name, value, loc)) return Datum::poison();
  }
  std::sort(normal.entries.begin(), normal.entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return Datum::schedule(std::move(normal));
}

Datum schedule_member(Evaluator& evaluator, const Datum& schedule, const ast::Identifier& name) {
  std::string key(name.text);
  if (key.starts_with("with_")) key = key.substr(5);
  if (!find_schedule_key(key) && !is_axis_name(name.text)) {
    std::vector<std::string> candidates;
    for (const ScheduleKey& known : schedule::schedule_keys()) candidates.emplace_back(known.name);
    auto builder = evaluator.report(diag::unknown_schedule_key, name.loc, key);
    builder.suggest(evaluator.session().sources(), name.loc, key, candidates);
    return Datum::poison();
  }
  return Datum::object(std::make_shared<ScheduleMember>(schedule, key));
}

Datum ScheduleMember::call(Evaluator& evaluator, const std::vector<CallArgument>& arguments,
                           Loc loc) const {
  Dictionary attributes = schedule_.entries();
  std::vector<Datum> positional;
  Dictionary named;
  for (const CallArgument& argument : arguments) {
    if (argument.value.is_poison()) return Datum::poison();
    if (argument.name.empty()) {
      positional.push_back(argument.value);
    } else {
      named.entries.emplace_back(argument.name, argument.value);
    }
  }
  std::string key = find_schedule_key(key_) ? key_ : tunable_name(key_);
  bool takes_names = key == "block" || key == "roles" || key == "registers";
  if (positional.empty() == named.entries.empty() || (!named.entries.empty() && !takes_names)) {
    evaluator.report(diag::schedule_arguments, loc, key_,
                     takes_names ? "values, or values by name" : "values");
    return Datum::poison();
  }
  if (!named.entries.empty()) {
    add(attributes, key, Datum::dict(std::move(named)));
  } else {
    if (key == "block") {
      // Extents by position replace all that were given before.
      std::erase_if(attributes.entries,
                    [](const auto& entry) { return !tunable_axis(entry.first).empty(); });
    }
    add(attributes, key,
        positional.size() == 1 ? positional[0] : Datum::tuple(std::move(positional)));
  }
  return make_schedule(evaluator, attributes, loc);
}

ScheduleLayer to_layer(Context& context, const Datum& schedule, Loc loc) {
  ScheduleLayer layer;
  layer.loc = loc;
  for (const auto& [name, value] : schedule.entries().entries) {
    Attr attr = to_attr(context, choose(value, 0, layer.has_choices));
    std::string axis = tunable_axis(name);
    if (!axis.empty()) {
      layer.block[axis] = attr->integer;
    } else if (name == "block") {
      for (Attr extent : attr->elements) layer.positional.push_back(extent->integer);
    } else {
      layer.keys[name] = attr;
    }
  }
  return layer;
}

ScheduleLayer to_layer(const std::map<std::string, Attr>& attributes, Loc loc) {
  ScheduleLayer layer;
  layer.loc = loc;
  for (const auto& [name, value] : attributes) {
    if (name != "block") {
      layer.keys[name] = value;
      continue;
    }
    for (Attr extent : value->elements) layer.positional.push_back(extent->integer);
    for (const auto& [axis, extent] : value->entries) layer.block[axis] = extent->integer;
  }
  return layer;
}

}  // namespace tessera::frontend
