#include "ir/text/properties.h"

#include <algorithm>
#include <array>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/text/entries.h"

namespace tessera {

namespace {

/// Filled before main.
std::span<const PropertyInfo>& rows_of(Level level) {
  static std::array<std::span<const PropertyInfo>, size_t(Level::Host) + 1> rows;
  return rows[size_t(level)];
}

/// Null where the level has no such property.
const PropertyInfo* find_row(Level level, std::string_view name) {
  std::span<const PropertyInfo> rows = rows_of(level);
  auto row = std::ranges::find(rows, name, &PropertyInfo::name);
  return row == rows.end() ? nullptr : &*row;
}

std::string names_of(std::span<const PropertyInfo> rows) {
  std::string names;
  for (const PropertyInfo& row : rows) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", row.name);
  return names.empty() ? "it has none" : "it has " + names;
}

}  // namespace

LevelProperties::LevelProperties(Level level, std::span<const PropertyInfo> rows) { rows_of(level) = rows; }

std::string problem_of_facts(const Module& module) {
  for (Attr noted : module.attr(common::Module::halvings)) {
    std::string problem = entry::problem_of(noted, entry::Dict::Halving);
    if (!problem.empty()) return fmt::format("an element of the module's 'halvings' is wrong: {}", problem);
  }
  std::set<std::string_view> names;
  for (std::string_view name : module.attr(common::Module::properties)) {
    if (!find_row(module.level(), name)) {
      return fmt::format("the module says '{}', and no module of level {} has that property; {}", name,
                         to_string(module.level()), names_of(rows_of(module.level())));
    }
    if (!names.insert(name).second) return fmt::format("the module says '{}' twice", name);
  }
  return {};
}

void verify_properties(Op* function, OpVerifier& verifier) {
  std::vector<const PropertyInfo*> claimed;
  for (std::string_view name : function->module()->attr(common::Module::properties)) {
    claimed.push_back(find_row(function->module()->level(), name));
  }
  auto check = [&](Op* op) {
    for (const PropertyInfo* row : claimed) {
      if (verifier.failed()) return;
      std::string problem = row->problem(op);
      if (problem.empty()) continue;
      verifier.of(op).error("{}, and the module says '{}'", problem, row->name);
      verifier.fail();
    }
  };
  check(function);
  if (!claimed.empty()) walk(function, check);
}

}  // namespace tessera
