#include "passes/graph/to_schedule/host_program.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/graph/ops.h"
#include "ir/host/ops.h"
#include "ir/text/dim_conditions.h"
#include "ir/text/entries.h"
#include "passes/analysis/access.h"
#include "passes/analysis/kernels.h"
#include "support/check.h"

namespace tessera {

using host::OpKind;

HostProgram::HostProgram(Module& module, Op* function)
    : module_(module), context_(module.context()), builder_(module) {
  OpState state;
  state.info = host::info(OpKind::Func);
  state.loc = function->loc();
  using graph::attr::Func;
  state.attributes = {common::Function::symbol(function->node(common::Function::symbol)),
                      host::attr::Func::args(function->node(Func::args)),
                      host::attr::Func::results(function->node(Func::results)),
                      host::attr::Func::guards(function->node(Func::guards)),
                      host::attr::Func::effects(function->node(Func::effects)),
                      host::attr::Func::numerics(function->node(Func::numerics))};
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

/// Where what all blocks may use goes.
Builder HostProgram::at_start() {
  Builder builder(module_);
  builder.set_loc(builder_.loc());
  Block* body = function_->region()->front();
  if (body->front()) {
    builder.set_before(body->front());
  } else {
    builder.set_end(body);
  }
  return builder;
}

/// Where what all may use that can use the buffer goes.
Builder HostProgram::after(Value* buffer) {
  Builder builder(module_);
  builder.set_loc(builder_.loc());
  Block* block = buffer->parent_block();
  if (buffer->def()) {
    builder.set_after(buffer->def());
    if (!builder.before()) builder.set_end(block);
  } else if (block->front()) {
    builder.set_before(block->front());
  } else {
    builder.set_end(block);
  }
  return builder;
}

Value* HostProgram::buffer(Value* graph) {
  auto known = buffers_.find(graph);
  if (known != buffers_.end()) return known->second;
  Op* def = graph->def();
  TSR_CHECK(def && graph::kind_of(def) == graph::OpKind::Constant,
            "a value is used before it is computed");
  Value* constant =
      at_start().value(host::info(OpKind::Constant), {}, graph->type(),
                       {host::attr::Constant::values(def->node(graph::attr::Constant::values))});
  constant->set_name(graph->name());
  return buffers_[graph] = constant;
}

Value* HostProgram::under(Value* buffer, const std::vector<Dim>& dims) {
  if (buffer->type()->dims == dims) return buffer;
  // An alias of an alias is one of the buffer itself, unless only a branch knows that they have as many elements.
  Op* def = buffer->def();
  auto elements = [&](Value* value) { return count_elements(context_.dims(), value->type()->dims); };
  bool is_alias = def && def->is(host::info(OpKind::Alias)) && elements(buffer) == elements(def->operand(0));
  if (is_alias) return under(def->operand(0), dims);
  Type type = context_.tensor(dims, buffer->type()->dtype);
  Value*& alias = aliases_[{buffer, type}];
  if (!alias) alias = after(buffer).value(host::info(OpKind::Alias), {{buffer}}, type);
  return alias;
}

Value* HostProgram::under_here(Value* buffer, const std::vector<Dim>& dims) {
  return builder_.value(host::info(OpKind::Alias), {{buffer}}, context_.tensor(dims, buffer->type()->dtype));
}

Value* HostProgram::carrier(Dim size) {
  // Memory of its own, so that no buffer counts as read for the sake of its type; it stands beside an extent of 0.
  Dim none = context_.dims().constant(0);
  Type nothing = context_.tensor({none}, DType::U8);
  if (!empty_)
    empty_ = at_start().value(host::info(OpKind::Fill), {}, nothing,
                              {host::attr::Fill::value(context_, 0)});
  bool counted = false;
  for_each_symbol(size, [&](std::string_view name) { counted = counted || counters_.count(name); });
  if (!counted) return under(empty_, {size, none});
  Value*& made = counted_[{size, builder_.block()}];
  if (!made) made = builder_.value(host::info(OpKind::Alias), {{empty_}}, context_.tensor({size, none}, DType::U8));
  return made;
}

/// The buffers that are taken over, and the numbers of those that results take; null where none does.
std::pair<std::vector<Value*>, Attr> HostProgram::taken_over(const std::vector<Value*>& places) {
  std::vector<Value*> over;
  std::vector<int64_t> numbers;
  for (Value* place : places) {
    numbers.push_back(place ? int64_t(over.size()) : -1);
    if (place) over.push_back(place);
  }
  Attr placed = over.empty() ? nullptr : context_.integers(numbers);
  return {std::move(over), placed};
}

/// The types of the kernel's parameters behind its operands, in the dims that these stand for.
std::vector<Type> HostProgram::result_types(Op* kernel, size_t operands,
                                            const std::map<std::string, Dim>& dims) const {
  Block* body = kernel->region()->front();
  std::map<std::string, Dim, std::less<>> binding(dims.begin(), dims.end());
  std::vector<Type> types;
  for (unsigned i = unsigned(operands); i < body->arg_count(); ++i) {
    Type parameter = body->arg(i)->type();
    std::vector<Dim> bound;
    for (Dim dim : parameter->dims) bound.push_back(context_.dims().substitute(dim, binding));
    types.push_back(context_.tensor(std::move(bound), parameter->dtype));
  }
  return types;
}

Op* HostProgram::launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
                        const std::map<std::string, Dim>& dims, std::vector<Type> types,
                        const std::vector<Value*>& places) {
  std::vector<NamedAttr> entries;
  for (const auto& [name, value] : dims) entries.emplace_back(name, context_.dim(value));
  auto [over, placed] = taken_over(places);
  Op* launch = builder_.op(host::info(OpKind::Launch), {operands, over}, std::move(types),
                           {host::attr::Launch::dims(context_, std::move(entries)),
                            host::attr::Launch::kernel(context_, symbol_name(kernel)),
                            host::attr::Launch::places(placed),
                            host::attr::Launch::variants(symbols_attr(context_, variants))});
  launches_.push_back(launch);
  return launch;
}

Op* HostProgram::launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
                        const std::map<std::string, Dim>& dims, const std::vector<Value*>& outputs,
                        std::vector<Value*> places) {
  std::vector<Type> types = result_types(kernel, operands.size(), dims);
  types.resize(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i]) continue;
    places.resize(outputs.size());
    places[i] = builder_.value(host::info(OpKind::Fill), {}, types[i],
                               {host::attr::Fill::value(context_, 0)});
  }
  Op* made = launch(kernel, variants, operands, dims, std::move(types), places);
  for (size_t i = 0; i < outputs.size(); ++i) {
    Value* result = made->result(unsigned(i));
    if (!outputs[i]) continue;
    if (result->type()->dims == outputs[i]->type()->dims) result->set_name(outputs[i]->name());
    buffers_[outputs[i]] = result;
  }
  return made;
}

Op* HostProgram::launch(Op* kernel, const std::vector<Op*>& variants, const std::vector<Value*>& operands,
                        const std::map<std::string, Dim>& dims, unsigned results) {
  std::vector<Type> types = result_types(kernel, operands.size(), dims);
  TSR_CHECK(types.size() == results, "a kernel has other results");
  return launch(kernel, variants, operands, dims, std::move(types), {});
}

Value* HostProgram::copy(Value* buffer) {
  return builder_.value(host::info(OpKind::Copy), {{buffer}, {}}, buffer->type());
}

void HostProgram::check(Op* check, Value* condition) {
  builder_.op(host::info(OpKind::Check), {{condition}}, {},
              {host::attr::Check::message(check->node(graph::attr::Check::message))});
}

void HostProgram::print(Op* launch, const std::vector<schedule::KernelPrint>& prints, Attr grid) {
  std::vector<Value*> values, shown;
  std::vector<Attr> items;
  for (const schedule::KernelPrint& print : prints) {
    values.push_back(launch->result(print.values));
    shown.push_back(launch->result(print.shown));
    items.push_back(print.item);
  }
  builder_.op(
      host::info(OpKind::Print), {values, shown}, {},
      {host::attr::Print::grid(grid), host::attr::Print::items(context_, std::move(items))});
}

namespace {

OpKind host_kind(Op* graph) {
  switch (graph::kind_of(graph)) {
    case graph::OpKind::For: return OpKind::For;
    case graph::OpKind::While: return OpKind::While;
    case graph::OpKind::Cond: return OpKind::If;
    default: TSR_UNREACHABLE("no loop and no branch: " + std::string(graph->name()));
  }
}

}  // namespace

Op* HostProgram::region_op(Op* graph, const std::vector<Value*>& operands, const std::vector<Value*>& places) {
  std::vector<Type> types;
  for (unsigned i = 0; i < graph->result_count(); ++i) {
    Type type = graph->result(i)->type();
    types.push_back(context_.tensor(type->dims, type->dtype));
  }
  std::vector<OpAttr> attributes(graph->attributes().begin(), graph->attributes().end());
  std::vector<std::vector<Value*>> slots{operands};
  if (graph::kind_of(graph) == graph::OpKind::Cond) {
    auto [over, placed] = taken_over(places);
    slots.push_back(over);
    if (placed) attributes.push_back(host::attr::If::places(placed));
  }
  Op* made = builder_.op(host::info(host_kind(graph)), std::move(slots), types, std::move(attributes));
  for (unsigned i = 0; i < graph->result_count(); ++i) {
    made->result(i)->set_name(graph->result(i)->name());
    buffers_[graph->result(i)] = made->result(i);
  }
  if (Attr counter = graph->node(common::Loop::counter)) counters_.insert(counter->string);
  return made;
}

Op* HostProgram::choice(const std::vector<DimFact>& when, const std::vector<Value*>& results) {
  std::vector<Type> types;
  for (Value* value : results) types.push_back(context_.tensor(value->type()->dims, value->type()->dtype));
  return builder_.op(host::info(OpKind::If), {{}, {}}, std::move(types),
                     {host::attr::If::when(context_, fact_attrs(context_, when))});
}

void HostProgram::enter(Op* host, Op* graph, unsigned region) {
  Block* from = graph ? graph->region(region)->front() : nullptr;
  Block* block = host->region(region)->add_block();
  for (unsigned i = 0; from && i < from->arg_count(); ++i) {
    Type type = from->arg(i)->type();
    buffers_[from->arg(i)] = block->add_arg(context_.tensor(type->dims, type->dtype), from->arg(i)->name());
  }
  if (host->is(host::info(OpKind::If))) {
    for (Value* taken : host->ins(host::in::If::over)) block->add_arg(taken->type(), taken->name());
  }
  builder_.set_end(block);
  entered_.push_back(host);
}

void HostProgram::leave(const std::vector<Value*>& yielded) {
  builder_.op(host::info(OpKind::Yield), {yielded}, {});
  builder_.set_end(entered_.back()->block());
  entered_.pop_back();
}

void HostProgram::define_empty(Value* graph) {
  Type type = context_.tensor(graph->type()->dims, graph->type()->dtype);
  buffers_[graph] =
      builder_.value(host::info(OpKind::Fill), {}, type, {host::attr::Fill::value(context_, 0)});
}

Value* HostProgram::result(Value* made, std::vector<Value*>& taken) {
  Value* root = host::root_of(made);
  // Each result has memory of its own, which a kernel or a copy writes.
  bool computed = root->def() && !root->def()->is(host::info(OpKind::Constant));
  if (!computed || std::find(taken.begin(), taken.end(), root) != taken.end()) {
    root = copy(made);
    made = root;
  }
  taken.push_back(root);
  return made;
}

/// The argument in whose memory each result is left; null for memory of its own.
std::vector<Value*> HostProgram::donors_of_results() const {
  std::vector<Value*> donors;
  const std::vector<Attr>& args = function_->attr(common::Entry::args);
  for (Attr description : function_->attr(common::Entry::results)) {
    Value*& donor = donors.emplace_back(nullptr);
    auto name = entry::read(description, entry::Result::alias_of);
    for (unsigned a = 0; name && a < args.size(); ++a) {
      if (entry::read(args[a], entry::Argument::name) == *name) donor = function_->region()->front()->arg(a);
    }
  }
  return donors;
}

void HostProgram::finish(const std::vector<Value*>& results) {
  std::vector<Value*> taken, values(results.size());
  std::vector<Value*> donors = donors_of_results();
  for (size_t i = 0; i < results.size(); ++i) {
    if (donors[i]) taken.push_back(host::root_of(results[i]));
  }
  // What lies in an argument is saved before anything is written to one.
  for (size_t i = 0; i < results.size(); ++i) {
    bool lies_in_other = donors[i] && !host::root_of(results[i])->def() && host::root_of(results[i]) != donors[i];
    values[i] = lies_in_other ? copy(results[i]) : donors[i] ? results[i] : result(results[i], taken);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!donors[i] || host::root_of(values[i]) == donors[i]) continue;
    values[i] = builder_.value(host::info(OpKind::Copy), {{values[i]}, {donors[i]}}, values[i]->type());
  }
  builder_.op(host::info(OpKind::Return), {values}, {});
}

}  // namespace tessera
