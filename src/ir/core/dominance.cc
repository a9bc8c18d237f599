#include "ir/core/dominance.h"

#include <algorithm>

namespace tessera {

namespace {

std::vector<Block*> reverse_postorder(Block* entry) {
  std::vector<Block*> order;
  std::unordered_map<Block*, unsigned> next_successor;
  std::vector<Block*> stack{entry};
  next_successor[entry] = 0;
  while (!stack.empty()) {
    Block* block = stack.back();
    unsigned& next = next_successor[block];
    Op* end = block->back();
    if (end && next < end->successors().size()) {
      Block* successor = end->successors()[next++].block;
      if (next_successor.try_emplace(successor, 0).second) stack.push_back(successor);
    } else {
      order.push_back(block);
      stack.pop_back();
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

}  // namespace

const Dominance::Tree& Dominance::tree(Region* region) {
  auto [it, inserted] = trees_.try_emplace(region);
  Tree& tree = it->second;
  if (!inserted) return tree;
  std::vector<Block*> order = reverse_postorder(region->front());
  std::unordered_map<Block*, std::vector<Block*>> predecessors;
  for (unsigned i = 0; i < order.size(); ++i) {
    tree.order[order[i]] = i;
    if (!order[i]->back()) continue;
    for (const Successor& s : order[i]->back()->successors()) predecessors[s.block].push_back(order[i]);
  }
  auto intersect = [&](Block* a, Block* b) {
    while (a != b) {
      while (tree.order[a] > tree.order[b]) a = tree.parent[a];
      while (tree.order[b] > tree.order[a]) b = tree.parent[b];
    }
    return a;
  };
  tree.parent[region->front()] = region->front();
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 1; i < order.size(); ++i) {
      Block* idom = nullptr;
      for (Block* p : predecessors[order[i]]) {
        if (tree.parent.contains(p)) idom = idom ? intersect(p, idom) : p;
      }
      Block*& known = tree.parent[order[i]];
      changed |= known != idom;
      known = idom;
    }
  }
  return tree;
}

bool Dominance::dominates(Block* a, Block* b) {
  if (a == b) return true;
  const Tree& t = tree(a->region());
  auto order_a = t.order.find(a), order_b = t.order.find(b);
  if (order_b == t.order.end()) return true;  // unreachable code is dominated by everything
  if (order_a == t.order.end()) return false;
  while (t.order.at(b) > order_a->second) b = t.parent.at(b);
  return a == b;
}

unsigned Dominance::position(Op* op) {
  auto [it, inserted] = positions_.try_emplace(op->block());
  if (inserted) {
    unsigned n = 0;
    for (Op* other : *op->block()) it->second[other] = n++;
  }
  return it->second[op];
}

bool Dominance::dominates(Value* value, Op* user) {
  Block* home = value->parent_block();
  if (!home) return false;
  for (Op* op = user; op && op->block(); op = op->parent()) {
    if (op->block()->region() == home->region()) {
      if (op->block() != home) return dominates(home, op->block());
      return !value->def() || position(value->def()) < position(op);
    }
    if (op->info().has(Function)) return false;
  }
  return false;
}

}  // namespace tessera
