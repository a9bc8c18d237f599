#pragma once
// Modules of parameters as values. The name of a `module` is a reference; applied to arguments it
// is an application, which has no params yet. A place makes an instance of it: a name at the top
// level of a file or a field of another module. The places give the params their keys, so that
//
//     module GPT(D: dim, L: dim):
//         wte: Param[256, D, f32] = normal(0.02)
//         blocks: [Block(D)] * L
//     model = GPT(64, 12)
//
// has the params `wte`, `blocks.0.wqkv`, `blocks.1.wqkv`, … A list that repeats one application
// holds as many instances.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/syntax/ast.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

class Scope;

/// The name that an expression of operators and subscripts begins with; null where there is none, or nothing behind it.
const ast::Name* leading_name(const ast::Expr& expr);

/// The value of the name of a `module`.
class ModuleReference : public Object {
 public:
  ModuleReference(const ast::Module* stmt, Scope* scope) : stmt_(stmt), scope_(scope) {}
  const ast::Module& stmt() const { return *stmt_; }
  std::string_view name() const { return stmt_->name.text; }
  /// Around the module: that of its file.
  Scope* scope() const { return scope_; }
  /// The method of that name; null when there is none.
  const ast::Def* method(std::string_view name) const;
  std::string describe() const override { return "module '" + std::string(name()) + "'"; }

 private:
  const ast::Module* stmt_;
  Scope* scope_;
};

/// A module's name with its arguments: what an instance is made of.
class ModuleApplication : public Object {
 public:
  struct Argument {
    std::string name;
    Datum value;
    Loc loc;
  };
  ModuleApplication(const ModuleReference& module, std::vector<Argument> arguments,
                    std::string name, Loc loc)
      : module_(module), arguments_(std::move(arguments)), name_(std::move(name)), loc_(loc) {
    for (const Argument& argument : arguments_) measure_.add(argument.value.measure());
  }
  const ModuleReference& module() const { return module_; }
  /// One for each parameter.
  const std::vector<Argument>& arguments() const { return arguments_; }
  /// The value of `name=`; empty when it is not given.
  const std::string& name() const { return name_; }
  Loc loc() const { return loc_; }
  std::string describe() const override;
  Measure measure() const override { return measure_; }
  /// Whether both make the same instance but for its place.
  bool is_like(const ModuleApplication& other) const;

 private:
  ModuleReference module_;
  std::vector<Argument> arguments_;
  std::string name_;
  Loc loc_;
  Measure measure_;
};

/// A module with its params.
class ModuleInstance : public Object {
 public:
  ModuleInstance(const ModuleApplication& application, Scope* scope, std::string path)
      : module_(application.module()),
        name_(application.name()),
        path_(std::move(path)),
        scope_(scope),
        depth_(application.measure().depth) {}
  const ModuleReference& module() const { return module_; }
  /// The value of `name=`.
  const std::string& name() const { return name_; }
  /// What the keys of its params begin with, "blocks.3"; may be empty.
  const std::string& path() const { return path_; }
  /// In which methods are run: it has the module's parameters, its constants and `self`.
  Scope* scope() const { return scope_; }
  /// A parameter, constant or field; null when there is none of that name.
  const Datum* member(std::string_view name) const;
  const std::map<std::string, Datum, std::less<>>& members() const { return members_; }
  /// Only while the instance is made.
  void set_member(std::string_view name, Datum value);
  std::string describe() const override;
  /// Nobody goes through the members of an instance, but its arguments live as long as it does.
  Measure measure() const override { return {1, depth_}; }

 private:
  ModuleReference module_;
  std::string name_;
  std::string path_;
  Scope* scope_;
  uint32_t depth_;
  std::map<std::string, Datum, std::less<>> members_;
};

/// Values by the names of a module's params, of which a field that is a module has a tree: gradients, states of
/// optimisers, what tree_map gives.
class Tree : public Object {
 public:
  /// `what`: as messages name it, "the gradient of an instance of module 'Block'".
  Tree(std::string what, Dictionary members) : what_(std::move(what)), members_(std::move(members)) {}
  const Datum* member(std::string_view name) const { return members_.get(name); }
  const Dictionary& members() const { return members_; }
  std::string describe() const override { return what_; }
  Measure measure() const override;

  /// A tree of the same names with what `replace` gives for each member.
  template <typename F>
  Datum replaced(F&& replace) const {
    Dictionary members;
    for (const auto& [name, member] : members_.entries) members.entries.emplace_back(name, replace(member));
    return Datum::object(std::make_shared<Tree>(what_, std::move(members)));
  }

 private:
  std::string what_;
  Dictionary members_;
};

/// "blocks.0" of "blocks" and "0"; one of them when the other is empty.
std::string joined_key(std::string_view prefix, std::string_view name);

/// Whether a field is a param (`Param[…]`), and no module.
bool is_param_field(const ast::Assign& field);

}  // namespace tessera::frontend
