#include "ir/text/properties.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/text/entries.h"

namespace tessera {

namespace {

std::string names_of(std::span<const PropertyInfo> rows) {
  std::string names;
  for (const PropertyInfo& row : rows) names += fmt::format("{}'{}'", names.empty() ? "" : ", ", row.name);
  return names.empty() ? "it has none" : "it has " + names;
}

}  // namespace

void verify_properties(std::span<const PropertyInfo> rows, Op* function, OpVerifier& verifier) {
  for (Attr noted : function->module()->attr(common::Module::halvings)) {
    std::string problem = entry::problem_of(noted, entry::Dict::Halving);
    if (!problem.empty()) return verifier.error("an element of the module's 'halvings' is wrong: {}", problem);
  }
  std::vector<const PropertyInfo*> claimed;
  for (std::string_view name : function->module()->attr(common::Module::properties)) {
    auto row = std::ranges::find(rows, name, &PropertyInfo::name);
    if (row == rows.end()) {
      return verifier.error("the module says '{}', and no module of level {} has that property; {}", name,
                            to_string(function->module()->level()), names_of(rows));
    }
    claimed.push_back(&*row);
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
