// Two types of one name in one namespace are one type to the linker: it keeps one of their
// constructors, and the other type's objects are built by it.

#include <catch2/catch.hpp>
#include <map>
#include <regex>

#include "unit/tree/files.h"

namespace {

/// The types that a header defines at the level of its namespaces, with those namespaces; no specialisations.
std::vector<std::string> types_of(const tree::File& header) {
  static const std::regex opening("namespace ([a-z_0-9:]+) \\{");
  static const std::regex type("(?:struct|class|union|enum|enum class) ([A-Z]\\w*)\\b(?!<)[^;]*\\{.*");
  std::string space;
  std::vector<std::string> types;
  std::smatch found;
  for (const std::string& line : header.lines) {
    if (std::regex_match(line, found, opening)) space = found[1];
    if (std::regex_match(line, found, type)) types.push_back(space + "::" + found[1].str());
  }
  return types;
}

}  // namespace

TEST_CASE("no two headers define types of one name") {
  std::map<std::string, std::string> known;
  for (const auto& header : tree::files_below({"src", "runtime"}, {".h"})) {
    for (const std::string& type : types_of(header)) {
      auto [first, fresh] = known.emplace(type, header.path);
      INFO(type << " in " << first->second << " and " << header.path);
      CHECK(fresh);
    }
  }
  CHECK(known.size() > 200);
}
