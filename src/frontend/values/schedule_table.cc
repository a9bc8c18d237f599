#include "frontend/values/schedule_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "ir/schedule/schedule_keys.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

using Json = nlohmann::json;

namespace {

constexpr size_t max_table_bytes = 16 << 20;

std::optional<ScheduleCondition> read_condition(std::string_view text) {
  size_t first = text.find(' ');
  size_t second = first == std::string_view::npos ? first : text.find(' ', first + 1);
  if (second == std::string_view::npos) return std::nullopt;
  std::optional<Relation> relation = parse_relation(text.substr(first + 1, second - first - 1));
  std::string_view number = text.substr(second + 1);
  ScheduleCondition condition{std::string(text.substr(0, first)),
                              relation.value_or(Relation::Equal)};
  auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), condition.value);
  if (!relation || condition.axis.empty() || error != std::errc() ||
      end != number.data() + number.size()) {
    return std::nullopt;
  }
  return condition;
}

/// A number, boolean, string, or a list or object of numbers; null for anything else.
Attr to_attr(Context& context, const Json& value) {
  if (value.is_boolean()) return context.boolean(value.get<bool>());
  if (value.is_number_integer()) return context.integer(value.get<int64_t>());
  if (value.is_string()) return context.string(value.get<std::string>());
  if (value.is_array()) {
    std::vector<Attr> elements;
    for (const Json& element : value) {
      if (!element.is_number_integer()) return nullptr;
      elements.push_back(context.integer(element.get<int64_t>()));
    }
    return context.array(std::move(elements));
  }
  if (!value.is_object()) return nullptr;
  std::vector<NamedAttr> entries;
  for (const auto& [key, number] : value.items()) {
    if (!number.is_number_integer()) return nullptr;
    entries.emplace_back(key, context.integer(number.get<int64_t>()));
  }
  return context.dict(std::move(entries));
}

}  // namespace

class TableReader {
 public:
  TableReader(Context& context, std::string_view name, DiagnosticEngine& diagnostics)
      : context_(context), name_(name), diagnostics_(diagnostics) {}

  Result<ScheduleTable> read(std::string_view text) {
    if (text.size() > max_table_bytes) return fail("the file", "it is larger than 16 MiB");
    Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return fail("the file", "it is not JSON");
    if (!has_only(json, {"format", "target", "kernels"}))
      return fail("the file", "it has format, target and kernels");
    if (json.value("format", Json()) != 1) return fail("format", "only format 1 is known");
    if (!json.contains("target") || !json["target"].is_string())
      return fail("target", "it is not a string");
    table_.target_ = json["target"].get<std::string>();
    if (!json.contains("kernels") || !json["kernels"].is_object())
      return fail("kernels", "it is not an object");
    for (const auto& [kernel, rows] : json["kernels"].items()) {
      if (!rows.is_array()) return fail(kernel, "it is not a list of rows");
      for (size_t i = 0; i < rows.size(); ++i) {
        if (!read_row(kernel, fmt::format("row {} of '{}'", i + 1, kernel), rows[i]))
          return failure;
      }
    }
    return std::move(table_);
  }

 private:
  static bool has_only(const Json& json, std::initializer_list<std::string_view> keys) {
    if (!json.is_object()) return false;
    for (const auto& item : json.items()) {
      if (std::find(keys.begin(), keys.end(), item.key()) == keys.end()) return false;
    }
    return true;
  }

  Failure fail(std::string_view where, std::string_view why) {
    diagnostics_.report(diag::schedule_table, Loc{}, name_, where, why);
    return failure;
  }

  bool read_row(const std::string& kernel, const std::string& where, const Json& json) {
    if (!has_only(json, {"dtypes", "when", "schedule"}) || !json.contains("schedule")) {
      return fail(where, "a row has dtypes, when and schedule"), false;
    }
    ScheduleRow row;
    if (!read_dtypes(where, json.value("dtypes", Json::object()), row)) return false;
    if (!read_conditions(where, json.value("when", Json::array()), row)) return false;
    if (!read_schedule(where, json["schedule"], row)) return false;
    table_.kernels_[kernel].push_back(std::move(row));
    return true;
  }

  bool read_dtypes(const std::string& where, const Json& json, ScheduleRow& row) {
    if (!json.is_object()) return fail(where, "dtypes is not an object"), false;
    for (const auto& [name, list] : json.items()) {
      if (!list.is_array()) return fail(where, "a dtype parameter has a list of dtypes"), false;
      for (const Json& text : list) {
        auto dtype = text.is_string() ? parse_dtype(text.get<std::string>()) : std::nullopt;
        if (!dtype) return fail(where, fmt::format("{} is not a dtype", text.dump())), false;
        row.dtypes[name].push_back(*dtype);
      }
    }
    return true;
  }

  bool read_conditions(const std::string& where, const Json& json, ScheduleRow& row) {
    if (!json.is_array()) return fail(where, "when is not a list"), false;
    for (const Json& text : json) {
      auto condition = text.is_string() ? read_condition(text.get<std::string>()) : std::nullopt;
      if (!condition)
        return fail(where, fmt::format("{} is not a condition such as \"m <= 16\"", text.dump())),
               false;
      row.conditions.push_back(std::move(*condition));
    }
    return true;
  }

  bool read_schedule(const std::string& where, const Json& json, ScheduleRow& row) {
    if (!json.is_object()) return fail(where, "schedule is not an object"), false;
    for (const auto& [key, value] : json.items()) {
      Attr attr = to_attr(context_, value);
      if (!attr)
        return fail(where, fmt::format("{} is not a value of a schedule", value.dump())), false;
      if (auto problem = schedule::check_schedule_value(key, attr))
        return fail(where, to_string(*problem)), false;
      row.schedule[key] = attr;
    }
    return true;
  }

  Context& context_;
  std::string name_;
  DiagnosticEngine& diagnostics_;
  ScheduleTable table_;
};

Result<ScheduleTable> ScheduleTable::read(Context& context, std::string_view name,
                                          std::string_view text, DiagnosticEngine& diagnostics) {
  return TableReader(context, name, diagnostics).read(text);
}

namespace {

bool has_dtypes(const ScheduleRow& row, const ScheduleQuery& query) {
  return std::ranges::all_of(row.dtypes, [&](const auto& wanted) {
    auto bound = query.dtypes.find(wanted.first);
    return bound != query.dtypes.end() && std::ranges::count(wanted.second, bound->second) > 0;
  });
}

/// The conditions that remain for sizes; nothing when the row can never be the one.
std::optional<std::vector<DimFact>> open_conditions(DimTable& dims, const ScheduleRow& row,
                                                    const ScheduleQuery& query) {
  std::vector<DimFact> open;
  for (const ScheduleCondition& condition : row.conditions) {
    Dim extent = query.extent(condition.axis);
    if (!extent) return std::nullopt;
    DimFact fact{condition.relation, extent, dims.constant(condition.value)};
    std::optional<bool> known = decide(dims, fact);
    if (known == false) return std::nullopt;
    if (!known) open.push_back(fact);
  }
  return open;
}

}  // namespace

std::vector<ScheduleTable::Choice> ScheduleTable::find(DimTable& dims, const ScheduleQuery& query) const {
  std::vector<Choice> choices;
  auto rows = kernels_.find(query.kernel);
  static const std::vector<ScheduleRow> none;
  for (const ScheduleRow& row : rows == kernels_.end() ? none : rows->second) {
    bool has_roles = schedule::given(row.schedule, schedule::key::roles) != nullptr;
    if (!has_dtypes(row, query) || (!query.roles && has_roles)) continue;
    auto open = open_conditions(dims, row, query);
    if (!open) continue;
    choices.push_back({&row, std::move(*open)});
    if (choices.back().when.empty() && !has_roles) return choices;
  }
  bool ends = !choices.empty() && choices.back().when.empty();
  if (!ends) choices.push_back({nullptr, {}});
  return choices;
}

}  // namespace tessera::frontend
