#include "frontend/evaluate/kernel_scan.h"

#include <algorithm>

#include "frontend/evaluate/links.h"
#include "frontend/evaluate/session.h"
#include "frontend/syntax/ast_walk.h"

namespace tessera::frontend {

namespace {

std::string_view name_of(const ast::Expr* expr) {
  const auto* name = ast::as<ast::Name>(expr);
  return name ? name->text : std::string_view();
}

const ast::Expr* argument(const ast::Call& call, std::string_view name, size_t position) {
  size_t at = 0;
  for (const ast::Argument& given : call.arguments) {
    if (given.name.text == name) return given.value;
    if (given.name.text.empty() && at++ == position) return given.value;
  }
  return nullptr;
}

constexpr size_t keyword_only = size_t(-1);

constexpr std::string_view tile_prefix = "tile.";

class Scanner {
 public:
  Scanner(const Session& session, const Function& kernel) : session_(session), kernel_(kernel) {}

  KernelScan scan() {
    for (const ast::Stmt* stmt : kernel_.def->body) {
      ast::walk(*stmt, [&](const ast::Node& node) { find_context(node); });
    }
    for (const ast::Stmt* stmt : kernel_.def->body) {
      ast::walk(*stmt, [&](const ast::Node& node) { find_uses(node); });
    }
    return std::move(scan_);
  }

 private:
  /// "load" for a call of `tile.load`, by whatever name; empty for anything else.
  std::string tile_function(const ast::Call& call) const {
    std::string name = session_.links().language_name(*call.callee, kernel_);
    return name.starts_with(tile_prefix) ? name.substr(tile_prefix.size()) : std::string();
  }
  bool is_of_tiles(const ast::Node& node) const {
    if (node.kind != ast::NodeKind::Name && node.kind != ast::NodeKind::Attribute) return false;
    std::string name = session_.links().language_name(static_cast<const ast::Expr&>(node), kernel_);
    return name == "tile" || name.starts_with(tile_prefix);
  }

  void find_context(const ast::Node& node) {
    if (const auto* call = ast::as<ast::Call>(&node)) {
      if (!scan_.context && tile_function(*call) == "context") scan_.context = call;
    }
    scan_.uses_tiles = scan_.uses_tiles || is_of_tiles(node);
    const auto* assign = ast::as<ast::Assign>(&node);
    const auto* call = assign ? ast::as<ast::Call>(assign->value) : nullptr;
    if (!call || tile_function(*call) != "context") return;
    for (const ast::Expr* target : assign->targets) variables_.insert(name_of(target));
  }

  /// The axis that `t.m` names; empty for any other expression.
  std::string_view axis_of(const ast::Expr* expr) const {
    const auto* attribute = ast::as<ast::Attribute>(expr);
    return attribute && variables_.count(name_of(attribute->object)) ? attribute->name.text
                                                                     : std::string_view();
  }

  void find_uses(const ast::Node& node) {
    if (const auto* attribute = ast::as<ast::Attribute>(&node)) {
      std::string_view axis = axis_of(attribute);
      if (!axis.empty()) scan_.axes_used.insert(axis);
    }
    const auto* call = ast::as<ast::Call>(&node);
    if (!call) return;
    std::string function = tile_function(*call);
    if (function == "load") return find_load(*call);
    if (function == "store" && !argument(*call, "index", 2)) {
      scan_.whole_loads.insert(name_of(argument(*call, "x", 1)));
    }
    scan_.scatters |= function == "scatter" || function == "atomic_add";
    if (function != "range" && function != "range_n") return;
    std::string_view axis = axis_of(argument(*call, "step", 1));
    if (!axis.empty()) scan_.looped.insert(axis);
    if (!axis.empty() && function == "range_n") scan_.tied_ranges.push_back({argument(*call, "shape", 0), axis});
  }

  void find_load(const ast::Call& call) {
    std::string_view parameter = name_of(argument(call, "x", 0));
    const ast::Expr* rows = argument(call, "rows", keyword_only);
    const ast::Expr* cols = argument(call, "cols", keyword_only);
    if (rows || cols) {
      scan_.tied_loads.push_back({parameter, axis_of(rows), axis_of(cols), argument(call, "index", 1) != nullptr});
    } else if (!argument(call, "index", 1)) {
      scan_.whole_loads.insert(parameter);
    }
  }

  const Session& session_;
  const Function& kernel_;
  KernelScan scan_;
  std::set<std::string_view> variables_;
};

}  // namespace

const ast::Expr* KernelScan::extent(std::string_view axis) const {
  return context ? argument(*context, axis, keyword_only) : nullptr;
}

KernelScan scan_kernel(const Session& session, const Function& kernel) { return Scanner(session, kernel).scan(); }

std::vector<const ast::Call*> draws_by_call(const Session& session, const Function& kernel) {
  std::vector<const ast::Call*> draws;
  for (const ast::Stmt* stmt : kernel.def->body) {
    ast::walk(*stmt, [&](const ast::Node& node) {
      const auto* call = ast::as<ast::Call>(&node);
      if (!call || session.links().language_name(*call->callee, kernel) != "dropout_in_kernel") return;
      bool named = std::any_of(call->arguments.begin(), call->arguments.end(),
                               [](const ast::Argument& argument) { return argument.name.text == "seed"; });
      if (!named) draws.push_back(call);
    });
  }
  return draws;
}

const ast::Expr* probability_of(const ast::Call& draw) {
  for (size_t i = 0; i < draw.arguments.size(); ++i) {
    const ast::Argument& argument = draw.arguments[i];
    if (argument.name.text == "p" || (argument.name.text.empty() && i == 1)) return argument.value;
  }
  return nullptr;
}

}  // namespace tessera::frontend
