#include "frontend/lower/kernel/captures.h"

#include <utility>
#include <vector>

#include "frontend/evaluate/links.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/builtins.h"
#include "frontend/values/modules.h"
#include "frontend/values/tile_builtins.h"

namespace tessera::frontend {

namespace {

class CaptureSearch {
 public:
  explicit CaptureSearch(const Session& session) : session_(session) {}

  void add(const Function& function) {
    bool is_library = session_.is_builtin(function.loc) && function.scope == function.scope->module_scope();
    if (is_library) return;
    const names::FreeNames& free = session_.free_names(*function.node());
    if (function.lambda) add(*function.lambda->body, *function.scope, free);
    for (const ast::Stmt* stmt : function.def ? function.def->body : ast::StmtList()) {
      add(*stmt, *function.scope, free);
    }
    for (const ast::Parameter& parameter : function.parameters()) {
      if (parameter.default_value) add(*parameter.default_value, *function.scope);
    }
  }

  /// Everything that the added functions lead to.
  Captures find() {
    while (!open_.empty()) {
      Text text = open_.back();
      open_.pop_back();
      ast::walk(*text.node, [&](const ast::Node& each) {
        if (const auto* name = ast::as<ast::Name>(&each)) {
          if (text.free->contains(name->text)) add_named(*name, *text.scope);
        } else if (const auto* member = ast::as<ast::Attribute>(&each)) {
          if (text.free->contains(first_name(*member))) add_named(*member, *text.scope);
        }
      });
    }
    return std::move(found_);
  }

 private:
  /// To be walked, with the names that it leaves to the scope.
  struct Text {
    const ast::Node* node;
    Scope* scope;
    const names::FreeNames* free;
  };

  /// `a` of `a.b.c`; empty where no name begins it.
  static std::string_view first_name(const ast::Attribute& member) {
    const ast::Expr* object = member.object;
    while (const auto* inner = ast::as<ast::Attribute>(object)) object = inner->object;
    const auto* name = ast::as<ast::Name>(object);
    return name ? name->text : std::string_view();
  }

  void add(const ast::Node& node, Scope& scope) { add(node, scope, session_.free_names(node)); }
  void add(const ast::Node& node, Scope& scope, const names::FreeNames& free) {
    if (seen_.insert({&node, &scope}).second) open_.push_back({&node, &scope, &free});
  }

  void add_named(const ast::Expr& expr, Scope& scope) {
    Links::Found found = session_.links().lookup(expr, scope);
    if (found.binding) add(*found.binding, *found.scope);
  }

  void add(Binding& binding, Scope& scope) {
    if (binding.pending) {
      add(*binding.pending, scope);
    } else if (binding.value.is_ir()) {
      found_.values.push_back(&binding);
    } else {
      add(binding.value);
    }
  }

  void add(const Datum& value) {
    if (value.is(DatumKind::Dim)) {
      for_each_symbol(value.as_dim(), [&](std::string_view symbol) { found_.symbols.emplace(symbol); });
    } else if (value.is_sequence()) {
      for (const Datum& element : value.elements()) add(element);
    } else if (value.is(DatumKind::Dict)) {
      for (const auto& [key, entry] : value.entries().entries) add(entry);
    } else if (value.is(DatumKind::Function)) {
      add(value.as_function());
    } else if (value.is(DatumKind::Builtin)) {
      const Builtin& builtin = value.as_builtin();
      found_.prints |= builtin.table != tile_table && BuiltinId(builtin.id) == BuiltinId::Print;
    } else if (const auto* instance = value.object_as<ModuleInstance>()) {
      if (!instances_.insert(instance).second) return;
      for (const auto& [name, member] : instance->members()) add(member);
      // Its parameters are names of that scope.
      for (const ast::Stmt* stmt : instance->module().stmt().body) add(*stmt, *instance->scope());
    }
  }

  const Session& session_;
  std::vector<Text> open_;
  std::set<std::pair<const ast::Node*, const Scope*>> seen_;
  std::set<const ModuleInstance*> instances_;
  Captures found_;
};

}  // namespace

Captures captures_of(const Session& session, std::span<const Function* const> functions) {
  CaptureSearch search(session);
  for (const Function* function : functions) search.add(*function);
  return search.find();
}

}  // namespace tessera::frontend
