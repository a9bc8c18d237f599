#include "frontend/evaluate/schedule_value.h"

#include <fmt/format.h>

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

/// `block=128` is short for `block=(128,)`, and so for a cluster. A list of numbers is the value of a key that takes
/// one, and the choices along the first axis of `block`; a list that has lists in it is choices of these.
Datum as_list(const ScheduleKey& key, Datum value) {
  bool is_ints = key.kind == schedule::ScheduleValueKind::Ints;
  if (!is_ints && key.kind != schedule::ScheduleValueKind::Axes) return value;
  if (value.is(DatumKind::Int)) return Datum::tuple({std::move(value)});
  if (!value.is(DatumKind::List) || value.elements().empty()) return value;
  std::vector<Datum> elements = value.elements();
  if (std::ranges::any_of(elements, &Datum::is_sequence)) {
    for (Datum& element : elements) {
      element = element.is(DatumKind::List) ? Datum::tuple(element.elements()) : as_list(key, std::move(element));
    }
    return Datum::list(std::move(elements));
  }
  return is_ints ? Datum::tuple(std::move(elements)) : Datum::tuple({std::move(value)});
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

/// Where a key ends before a byte of the line that gives it a value: `key=`, `"key":` or `.key(`.
std::optional<size_t> key_before(std::string_view line, size_t at, std::string_view key) {
  std::string_view before = line.substr(0, at);
  before = before.substr(0, before.find_last_not_of(' ') + 1);
  if (line[at] == ':') {
    if (!before.ends_with('"') && !before.ends_with('\'')) return std::nullopt;
    before.remove_suffix(1);
  } else if (line[at] != '(' && (line[at] != '=' || line.substr(at, 2) == "==")) {
    return std::nullopt;
  }
  if (!before.ends_with(key)) return std::nullopt;
  size_t begin = before.size() - key.size();
  auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return begin > 0 && is_part(before[begin - 1]) ? std::nullopt : std::optional(begin);
}

/// The numbers of `block=[64, 32]`, which are choices along the first axis; empty for other values.
std::vector<int64_t> only_list(const Datum& block) {
  bool is_list = block.is_sequence() && block.elements().size() == 1 && block.elements()[0].is(DatumKind::List);
  std::vector<int64_t> numbers;
  if (!is_list) return numbers;
  for (const Datum& number : block.elements()[0].elements()) {
    if (number.is(DatumKind::Int)) numbers.push_back(number.as_int());
  }
  return numbers;
}

bool is_axis_name(std::string_view name) {
  if (name.empty() || !std::islower(static_cast<unsigned char>(name[0]))) return false;
  return std::all_of(name.begin() + 1, name.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// Adds one attribute; extents by axis become tunables.
void add(Dictionary& attributes, const std::string& name, Datum value) {
  if (name == schedule::key::block.name && value.is(DatumKind::Dict)) {
    for (const auto& [axis, extent] : value.entries().entries) {
      if (!axis.empty()) set(attributes, tunable_name(axis), extent);
    }
    return;
  }
  const ScheduleKey* key = find_schedule_key(name);
  set(attributes, name, key ? as_list(*key, std::move(value)) : std::move(value));
}

}  // namespace

std::optional<Loc> written_key(const SourceManager& sources, Loc call, std::string_view key) {
  if (!call.known()) return std::nullopt;
  const SourceFile& file = sources.file(call.file);
  TextBrackets brackets;
  std::optional<Loc> found;
  bool ends = false;
  for (uint32_t number = call.line; !ends && number <= file.line_count(); ++number) {
    std::string_view line = file.line(number);
    size_t first = number == call.line ? std::min(size_t(call.column - 1), line.size()) : 0;
    line.remove_prefix(first);
    brackets.read(line, [&](size_t at, size_t depth) {
      std::optional<size_t> begin = depth == 1 ? key_before(line, at, key) : std::nullopt;
      if (begin) found = Loc{call.file, number, uint32_t(first + *begin) + 1, uint32_t(key.size())};
      bool is_closed = (line[at] == ')' || line[at] == '}') && !line.substr(at + 1).starts_with('.');
      ends = found || (depth == 0 && (is_closed || line[at] == ','));
      return !ends;
    });
  }
  return found;
}

Loc place_of_key(const SourceManager& sources, Loc call, std::string_view key) {
  return written_key(sources, call, key).value_or(call);
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
  bool fits = true;
  for (const auto& [name, value] : normal.entries) fits = check_entry(evaluator, name, value, loc) && fits;
  if (!fits) return Datum::poison();
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
    if (std::string_view here = schedule::key_of_others(key); !here.empty()) {
      Loc place = name.loc;
      place.column += uint32_t(name.text.size() - key.size());  // behind `with_`
      place.length = uint32_t(key.size());
      builder.fix(fmt::format("it is '{}' here", here), place, std::string(here));
    } else {
      builder.suggest(evaluator.session().sources(), name.loc, key, candidates);
    }
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

void help_dict(DiagnosticEngine::Builder& builder, const Datum& value) {
  if (!value.is(DatumKind::Dict) || value.entries().entries.empty()) return;
  builder.help(fmt::format("a schedule has the keys: {}", to_text(Datum::schedule(value.entries()))));
}

std::vector<std::string> ScheduleLayer::names() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : keys) names.push_back(key);
  for (const auto& [axis, extent] : block) names.push_back(tunable_name(axis));
  if (!positional.empty()) names.emplace_back("block");
  return names;
}

ScheduleLayer to_layer(Context& context, const Datum& schedule, Loc loc) {
  ScheduleLayer layer;
  layer.loc = loc;
  for (const auto& [name, value] : schedule.entries().entries) {
    Attr attr = to_attr(context, choose(value, 0, layer.has_choices));
    if (name == schedule::key::block.name) layer.listed_block = only_list(value);
    std::string axis = tunable_axis(name);
    if (!axis.empty()) {
      layer.block[axis] = attr->integer;
    } else if (name == schedule::key::block.name) {
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
    if (name != schedule::key::block.name) {
      layer.keys[name] = value;
      continue;
    }
    for (Attr extent : value->elements) layer.positional.push_back(extent->integer);
    for (const auto& [axis, extent] : value->entries) layer.block[axis] = extent->integer;
  }
  return layer;
}

}  // namespace tessera::frontend
