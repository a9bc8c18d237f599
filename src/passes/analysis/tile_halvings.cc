#include "passes/analysis/tile_halvings.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "ir/core/common_attributes.h"
#include "ir/text/entries.h"

namespace tessera {

namespace {

using entry::Halving;

std::string place_of(const Module& module, Loc call) {
  return fmt::format("{}:{}:{}", module.sources().ir_name(call.file), call.line, call.column);
}

}  // namespace

int64_t tile_halvings(const Module& module, Loc call) {
  if (!call.known()) return 0;
  std::string place = place_of(module, call);
  for (Attr each : module.attr(common::Module::halvings)) {
    if (entry::read(each, Halving::call) == place) return entry::read(each, Halving::times);
  }
  return 0;
}

Attr with_more_halvings(const Module& module, const std::vector<Loc>& calls) {
  Context& context = module.context();
  std::map<std::string, int64_t> times;
  for (Attr each : module.attr(common::Module::halvings)) {
    times[std::string(entry::read(each, Halving::call))] = entry::read(each, Halving::times);
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
    noted.push_back(entry::make_dict(context, {Halving::call(context, call), Halving::times(context, halvings)}));
  }
  return context.array(std::move(noted));
}

}  // namespace tessera
