#include "lsp/model/dependencies.h"

#include <algorithm>
#include <string_view>

#include "support/check.h"
#include "support/hash.h"

namespace tessera::lsp {

namespace {

/// The nodes of a graph in groups that reach one another, each behind the groups that it reaches (Tarjan, "Depth-first
/// search and linear graph algorithms", 1972). Chains are as long as files are: the path is kept in
/// a list.
class Grouper {
 public:
  using Nodes = std::vector<size_t>;
  explicit Grouper(const std::vector<Nodes>& edges)
      : edges_(edges), number_(edges.size()), lowest_(edges.size()), is_open_(edges.size()) {}

  std::vector<Nodes> run() {
    for (size_t node = 0; node < edges_.size(); ++node) {
      if (number_[node] == 0) walk_from(node);
    }
    return std::move(groups_);
  }

 private:
  struct Step {
    size_t node;
    size_t next = 0;  ///< of its edges
  };
  void enter(size_t node) {
    lowest_[node] = number_[node] = ++count_;
    open_.push_back(node);
    is_open_[node] = true;
    way_.push_back({node});
  }
  void leave() {
    size_t node = way_.back().node;
    way_.pop_back();
    if (!way_.empty()) lowest_[way_.back().node] = std::min(lowest_[way_.back().node], lowest_[node]);
    if (lowest_[node] != number_[node]) return;
    auto first = std::find(open_.rbegin(), open_.rend(), node).base() - 1;
    groups_.emplace_back(first, open_.end());
    open_.erase(first, open_.end());
    for (size_t each : groups_.back()) is_open_[each] = false;
  }
  void walk_from(size_t start) {
    enter(start);
    while (!way_.empty()) {
      Step& step = way_.back();
      if (step.next == edges_[step.node].size()) {
        leave();
        continue;
      }
      size_t node = step.node, to = edges_[node][step.next++];
      if (number_[to] == 0) {
        enter(to);
      } else if (is_open_[to]) {
        lowest_[node] = std::min(lowest_[node], number_[to]);
      }
    }
  }

  const std::vector<Nodes>& edges_;
  std::vector<size_t> number_;  ///< in the order of the walk, from 1
  std::vector<size_t> lowest_;
  std::vector<bool> is_open_;
  Nodes open_;
  std::vector<Step> way_;
  std::vector<Nodes> groups_;
  size_t count_ = 0;
};

}  // namespace

void Reporters::add(const Reporters& more) {
  if (more.count == Count::None) return;
  if (count == Count::None) {
    *this = more;
  } else if (more.count == Count::Several || more.who != who) {
    count = Count::Several;
  }
}

/// A word leads to a name, and a name to the pieces that declare it.
Dependencies::Dependencies(const FileModel& file) {
  const auto& pieces = file.pieces();
  std::unordered_map<std::string_view, size_t> names;  // nodes, behind those of pieces
  std::vector<std::vector<size_t>> edges(pieces.size());
  for (size_t i = 0; i < pieces.size(); ++i) {
    files_.push_back(pieces[i]->file);
    by_file_[pieces[i]->file] = i;
    bool entry = false;
    for (const Declared& declared : pieces[i]->names.declared) {
      auto [name, is_new] = names.try_emplace(declared.name, edges.size());
      if (is_new) edges.emplace_back();
      edges[name->second].push_back(i);
      entry = entry || declared.kind == SymbolKind::Entry;
    }
    has_entry_.push_back(entry);
  }
  for (size_t i = 0; i < pieces.size(); ++i) {
    for (const std::string& word : pieces[i]->words) {
      auto name = names.find(word);
      if (name != names.end()) edges[i].push_back(name->second);
    }
  }
  group_of_.resize(edges.size());
  for (const std::vector<size_t>& nodes : Grouper(edges).run()) add_group(nodes, edges);
}

void Dependencies::add_group(const std::vector<size_t>& nodes, const std::vector<std::vector<size_t>>& edges) {
  Group group;
  std::vector<uint64_t> parts;
  for (size_t node : nodes) {
    group_of_[node] = groups_.size();
    if (node >= files_.size()) continue;
    group.pieces.push_back(node);
    group.entries += has_entry_[node] ? 1 : 0;
    parts.push_back(files_[node]);
  }
  for (size_t node : nodes) {
    for (size_t to : edges[node]) {
      if (group_of_[to] != groups_.size()) group.uses.push_back(group_of_[to]);
    }
  }
  std::sort(group.uses.begin(), group.uses.end());
  group.uses.erase(std::unique(group.uses.begin(), group.uses.end()), group.uses.end());
  for (size_t used : group.uses) {
    parts.push_back(groups_[used].key);
    group.uses_entry = group.uses_entry || groups_[used].uses_entry || groups_[used].entries > 0;
  }
  std::sort(parts.begin(), parts.end());
  for (uint64_t part : parts) group.key = hash_combine(group.key, part);
  groups_.push_back(std::move(group));
}

size_t Dependencies::find(FileId file) const {
  auto found = by_file_.find(file);
  return found == by_file_.end() ? files_.size() : found->second;
}

size_t Dependencies::piece_of(FileId file) const {
  size_t piece = find(file);
  TSR_CHECK(piece < files_.size(), "a declaration of another file");
  return piece;
}

uint64_t Dependencies::key(size_t piece) const { return hash_combine(files_[piece], groups_[group_of_[piece]].key); }

bool Dependencies::uses_entry(size_t piece) const {
  const Group& group = groups_[group_of_[piece]];
  return group.uses_entry || group.entries > (has_entry_[piece] ? 1 : 0);
}

std::vector<Reporters> Dependencies::reached(const std::vector<Reporters>& by_piece) const {
  std::vector<Reporters> by_group(groups_.size());
  for (size_t i = 0; i < groups_.size(); ++i) {
    for (size_t piece : groups_[i].pieces) by_group[i].add(by_piece[piece]);
    for (size_t used : groups_[i].uses) by_group[i].add(by_group[used]);
  }
  std::vector<Reporters> all;
  for (size_t piece = 0; piece < files_.size(); ++piece) all.push_back(by_group[group_of_[piece]]);
  return all;
}

}  // namespace tessera::lsp
