#include "passes/analysis/tile_halvings.h"

#include "ir/core/common_attributes.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace tessera {

namespace {

std::string place_of(const Module& module, Loc call) {
  return fmt::format("{}:{}:{}", module.sources().ir_name(call.file), call.line, call.column);
}

}  // namespace

int64_t tile_halvings(const Module& module, Loc call) {
  if (!call.known()) return 0;
  std::string place = place_of(module, call);
  for (Attr each : module.attr(common::Module::halvings)) {
    if (each->get("call")->string == place) return each->get("times")->integer;
  }
  return 0;
}

Attr with_more_halvings(const Module& module, const std::vector<Loc>& calls) {
  Context& context = module.context();
  std::map<std::string, int64_t> times;
  for (Attr each : module.attr(common::Module::halvings)) {
    times[each->get("call")->string] = each->get("times")->integer;
  }
  std::set<std::string> places;
  for (Loc call : calls) {
    if (call.known()) places.insert(place_of(module, call));
  }
  bool more = false;
  for (const std::string& place : places) {
    int64_t& halvings = times[place];
    more |= halvings < most_halvings;
    halvings = std::min(halvings + 1, most_halvings);
  }
  if (!more) return nullptr;
  std::vector<Attr> noted;
  for (const auto& [call, halvings] : times) {
    noted.push_back(context.dict({{"call", context.string(call)}, {"times", context.integer(halvings)}}));
  }
  return context.array(std::move(noted));
}

}  // namespace tessera
