#pragma once
// Visiting every node of a tree.

#include <functional>
#include <optional>
#include <vector>

#include "frontend/syntax/ast.h"

namespace tessera::ast {

/// Appends the direct children of a node, in source order; absent ones are left out.
void append_children(const Node& node, std::vector<const Node*>& children);

/// Calls `visit` for the node and all below it, parents before children. Iterative: any depth.
void walk(const Node& root, const std::function<void(const Node&)>& visit);

/// The first statement by which a body returns, those of functions that it defines left out; null where it does not.
const Node* return_in(StmtList body);

/// The number that an expression states, `1` or `-1`; nothing for any other expression, and for null.
std::optional<int64_t> written_number(const Expr* expr);

}  // namespace tessera::ast
