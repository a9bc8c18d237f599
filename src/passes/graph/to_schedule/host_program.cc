#include "passes/graph/to_schedule/host_program.h"

#include <algorithm>

#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "passes/analysis/kernels.h"
#include "support/check.h"

namespace tessera {

using host::OpKind;

HostProgram::HostProgram(Module& module, Op* function)
    : module_(module), context_(module.context()), builder_(module) {
  OpState state;
  state.info = host::info(OpKind::Func);
  state.loc = function->loc();
  state.attributes = {{"symbol", function->attr("symbol")}};
  for (std::string_view name : {"args", "results", "guards", "effects", "numerics"}) {
    if (Attr value = function->attr(name)) state.attributes.push_back({name, value});
  }
  function_ = module.create(state);
  Block* body = function_->region()->add_block();
  Block* graph = function->region()->front();
  for (unsigned i = 0; i < graph->arg_count(); ++i) {
    Value* argument = graph->arg(i);
    buffers_[argument] = body->add_arg(argument->type(), argument->name());
  }
  function_->move_to_end(module.body());
  builder_.set_end(body);
  builder_.set_loc(function->loc());
}

Value* HostProgram::buffer(Value* graph) {
  auto known = buffers_.find(graph);
  if (known != buffers_.end()) return known->second;
  Op* def = graph->def();
  TSR_CHECK(def && graph::kind_of(def) == graph::OpKind::Constant,
            "a value is used before it is computed");
  Value* constant = builder_.value(host::info(OpKind::Constant), {}, graph->type(),
                                   {{"values", def->attr("values")}});
  constant->set_name(graph->name());
  return buffers_[graph] = constant;
}

Value* HostProgram::under(Value* buffer, const std::vector<Dim>& dims) {
  if (buffer->type()->dims == dims) return buffer;
  // An alias of an alias is one of the buffer itself.
  Op* def = buffer->def();
  if (def && def->is(host::info(OpKind::Alias))) return under(def->operand(0), dims);
  Type type = context_.tensor(dims, buffer->type()->dtype);
  Value*& alias = aliases_[{buffer, type}];
  if (!alias) alias = builder_.value(host::info(OpKind::Alias), {{buffer}}, type);
  return alias;
}

Value* HostProgram::carrier(std::string_view symbol) {
  Block* body = function_->region()->front();
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    for (Dim dim : body->arg(i)->type()->dims) {
      if (dim->symbol() == symbol) return body->arg(i);
    }
  }
  auto known = carriers_.find(symbol);
  if (known != carriers_.end()) return known->second;
  Type type = context_.tensor({context_.dims().symbol(symbol)}, DType::U8);
  Value* made =
      builder_.value(host::info(OpKind::Fill), {}, type, {{"value", context_.integer(0)}});
  return carriers_[std::string(symbol)] = made;
}

void HostProgram::launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
                         const std::map<std::string, Dim>& dims,
                         const std::vector<Value*>& outputs) {
  Block* body = kernel->region()->front();
  std::map<std::string, Dim, std::less<>> binding(dims.begin(), dims.end());
  std::vector<NamedAttr> entries;
  for (const auto& [name, value] : dims) entries.emplace_back(name, context_.dim(value));
  std::vector<Type> types;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Type parameter = body->arg(unsigned(operands.size() + i))->type();
    std::vector<Dim> bound;
    for (Dim dim : parameter->dims) bound.push_back(context_.dims().substitute(dim, binding));
    types.push_back(context_.tensor(std::move(bound), parameter->dtype));
  }
  Op* launch = builder_.op(host::info(OpKind::Launch), {operands}, types,
                           {{"dims", context_.dict(std::move(entries))},
                            {"kernel", context_.symbol(symbol_name(kernel))},
                            {"variants", symbols_attr(context_, variants)}});
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* made = launch->result(unsigned(i));
    if (made->type()->dims == outputs[i]->type()->dims) made->set_name(outputs[i]->name());
    buffers_[outputs[i]] = made;
  }
}

void HostProgram::define_empty(Value* graph) {
  Type type = context_.tensor(graph->type()->dims, graph->type()->dtype);
  buffers_[graph] =
      builder_.value(host::info(OpKind::Fill), {}, type, {{"value", context_.integer(0)}});
}

Value* HostProgram::result(Value* made, std::vector<Value*>& taken) {
  Value* root = made;
  while (root->def() && root->def()->is(host::info(OpKind::Alias))) root = root->def()->operand(0);
  // Each result has memory of its own, which a kernel or a copy writes.
  bool computed = root->def() && !root->def()->is(host::info(OpKind::Constant));
  if (!computed || std::find(taken.begin(), taken.end(), root) != taken.end()) {
    root = builder_.value(host::info(OpKind::Copy), {{made}}, made->type());
    made = root;
  }
  taken.push_back(root);
  return made;
}

void HostProgram::finish(const std::vector<Value*>& results) {
  std::vector<Value*> taken, values;
  for (Value* made : results) values.push_back(result(made, taken));
  builder_.op(host::info(OpKind::Return), {values}, {});
}

}  // namespace tessera
