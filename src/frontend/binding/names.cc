#include "frontend/binding/names.h"

#include <algorithm>
#include <numeric>

#include "frontend/binding/binder.h"
#include "frontend/binding/declared.h"

namespace tessera::names {

const Occurrence* FileNames::at(uint32_t offset) const {
  auto after = std::upper_bound(occurrences.begin(), occurrences.end(), offset,
                                [](uint32_t at, const Occurrence& o) { return at < o.range.begin; });
  if (after == occurrences.begin()) return nullptr;
  const Occurrence& found = *(after - 1);
  return found.range.touches(offset) ? &found : nullptr;
}

const Occurrence* FileNames::beginning_at(uint32_t offset) const {
  const Occurrence* found = at(offset);
  return found && found->range.begin == offset ? found : nullptr;
}

int32_t FileNames::scope_at(uint32_t offset) const {
  int32_t best = -1;
  for (size_t i = 0; i < scopes.size(); ++i) {
    bool inner = best < 0 || scopes[i].range.begin >= scopes[size_t(best)].range.begin;
    if (scopes[i].range.touches(offset) && inner) best = int32_t(i);
  }
  return best;
}

int32_t FileNames::find(std::string_view name, int32_t scope) const {
  for (int32_t at = scope; at >= 0; at = scopes[size_t(at)].parent) {
    auto found = scopes[size_t(at)].names.find(name);
    if (found != scopes[size_t(at)].names.end()) return found->second;
  }
  return -1;
}

int32_t FileNames::visible(std::string_view name, uint32_t offset) const { return find(name, scope_at(offset)); }

void FileNames::sort() {
  std::vector<int32_t> order(occurrences.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return occurrences[size_t(a)].range.begin < occurrences[size_t(b)].range.begin;
  });
  std::vector<int32_t> place(order.size());
  std::vector<Occurrence> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    place[size_t(order[i])] = int32_t(i);
    sorted.push_back(std::move(occurrences[size_t(order[i])]));
  }
  for (Occurrence& occurrence : sorted) {
    if (occurrence.parent >= 0) occurrence.parent = place[size_t(occurrence.parent)];
  }
  occurrences = std::move(sorted);
}

FileNames bind_names(const SourceManager& sources, FileId file, std::span<const ast::Declaration> declarations) {
  FileNames names = Binder(sources, file).bind(declarations);
  names.declared = list_declared(sources, file, declarations);
  return names;
}

bool FreeNames::contains(std::string_view name) const {
  auto is_in = [&](const std::vector<std::string_view>& list) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  return is_in(names) || is_in(types) || is_in(sizes);
}

FreeNames free_names(const SourceManager& sources, const ast::Node& node) {
  return Binder(sources, node.loc.file).free_names(node);
}

std::vector<std::string_view> assigned_names(ast::StmtList body) {
  std::vector<Assigned> list;
  append_assigned(body, list);
  std::vector<std::string_view> names;
  for (const Assigned& each : list) {
    bool is_new = each.is_value && std::find(names.begin(), names.end(), each.name.text) == names.end();
    if (is_new) names.push_back(each.name.text);
  }
  return names;
}

}  // namespace tessera::names
