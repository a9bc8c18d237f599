// @autodiff: two entries more, of which one gives what the function gives and what its derivatives need, and the other
// the derivatives. Both are made of one function that computes all (src/ir/graph/derive/halves.h).

#include <algorithm>
#include <set>

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/function.h"
#include "ir/graph/derive/backward.h"
#include "ir/graph/derive/halves.h"
#include "ir/text/entries.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

/// Appends the derivatives of the results by each float among the arguments, for cotangents that are arguments, too.
bool GraphBuilder::add_derivatives(const Function& function, std::vector<Attr>& names, std::vector<Value*>& returned) {
  using entry::Argument, entry::Result;
  // What the entry updates counts as a constant.
  std::set<std::string, std::less<>> updated;
  for (Attr name : names) updated.emplace(entry::text_of(name, Result::alias_of));
  for (const auto& [declaration, place] : function_.updated) updated.insert(declaration->key);
  auto is_differentiated = [](Value* value) { return is_float(value->type()->dtype); };
  Block* block = function_.op->region()->front();
  std::vector<Op*> ops = graph::ops_since(builder_, nullptr);
  auto library = derivative_library(function.loc);
  graph::Forward forward(builder_, graph::Forward::Purpose::Transposed, *library);
  std::vector<Value*> tangents;
  std::vector<std::string> by;
  for (unsigned i = 0; i < block->arg_count(); ++i) {
    Value* argument = block->arg(i);
    std::string name(entry::read(function_.arguments[i], Argument::name));
    if (!is_differentiated(argument) || updated.count(name)) continue;
    const Type type = argument->type();
    tangents.push_back(graph::full(builder_, 0, type->dims, type->dtype));
    forward.set(argument, tangents.back());
    by.push_back(std::move(name));
  }
  bool has_results = std::ranges::any_of(returned, is_differentiated);
  if (by.empty() || !has_results) {
    report(diag::hint_no_effect, function.loc,
           fmt::format("'@autodiff' of an entry without a float among its {}", has_results ? "arguments" : "results"),
           "any target");
  }
  Op* before = graph::last_op(builder_);
  if (!forward.push(ops)) return refuse_derivative(forward.refused(), function.loc);
  std::vector<Op*> linear = graph::ops_since(builder_, before);
  graph::Backward backward(builder_, *library);
  for (size_t i = 0; i < returned.size(); ++i) {
    returned[i] = forward.now(returned[i]);
    if (!is_differentiated(returned[i]) || !entry::text_of(names[i], Result::alias_of).empty()) continue;
    std::string name = "d_" + entry::text_of(names[i], Result::name);
    const Type type = returned[i]->type();
    function_.cotangents.push_back(add_argument(name, "input", context().tensor(type->dims, type->dtype)));
    if (Value* tangent = forward.tangent(returned[i])) backward.seed(tangent, function_.cotangents.back());
  }
  if (!backward.pull(linear, tangents)) return refuse_derivative(backward.refused(), function.loc);
  for (size_t i = 0; i < by.size(); ++i) {
    const Type type = tangents[i]->type();
    Value* cotangent = backward.cotangent(tangents[i]);
    returned.push_back(cotangent ? cotangent : graph::full(builder_, 0, type->dims, type->dtype));
    names.push_back(entry::make_dict(context(), {Result::name(context(), "d_" + by[i])}));
  }
  graph::drop_unused(linear);
  return true;
}

/// The entries `symbol.forward` and `symbol.backward` of an entry that has no errors.
void GraphBuilder::build_halves(const Function& function, const Signature& signature, const std::string& symbol) {
  size_t errors = session().error_count();
  for (const char* half : {".forward", ".backward"}) {
    if (!module_.find(symbol + half)) continue;
    report(diag::duplicate_entry, function.loc, symbol + half).help("'@autodiff' makes an entry of that name");
    return;
  }
  begin_function("entry", symbol + ".forward", function.loc);
  function_.name = symbol;
  function_.is_derived = true;
  if (add_body(function, signature, *session().new_scope(function.scope)) && session().error_count() == errors) {
    finish_arguments();
    check_argument_names(function);
    add_facts();
    graph::split_halves(function_.op, function_.given, function_.cotangents, symbol + ".backward");
  } else {
    function_.op->erase();
  }
  end_function();
}

}  // namespace tessera::frontend
