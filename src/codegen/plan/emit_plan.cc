// Buffers: arguments, then results, then the others as they appear. An alias is its operand's
// buffer under other dims, which a kernel does not see, so it needs no step. A result that a step
// computes is written in place; one that has memory already (an argument, a constant, a value that
// is returned twice) is copied.

#include "codegen/plan/emit_plan.h"

#include <algorithm>
#include <map>

#include "codegen/plan/constant_data.h"
#include "codegen/plan/format_terms.h"
#include "ir/core/place.h"
#include "ir/host/ops.h"
#include "support/check.h"

namespace tessera::codegen {

namespace {

using format::BufferKind;
using format::Plan;
using host::OpKind;

/// The value whose memory this one is.
Value* root_of(Value* value) {
  while (value->def() && value->def()->is(host::info(OpKind::Alias)))
    value = value->def()->operand(0);
  return value;
}

const std::string& text_of(Attr dict, std::string_view key) {
  static const std::string none;
  Attr value = dict->get(key);
  return value ? value->string : none;
}

format::ExprOp relation_op(Relation relation) {
  switch (relation) {
    case Relation::Equal:
      return format::ExprOp::Eq;
    case Relation::NotEqual:
      return format::ExprOp::Ne;
    case Relation::Less:
      return format::ExprOp::Lt;
    case Relation::LessEqual:
      return format::ExprOp::Le;
    case Relation::Greater:
      return format::ExprOp::Gt;
    case Relation::GreaterEqual:
      return format::ExprOp::Ge;
  }
  TSR_UNREACHABLE("bad relation");
}

class PlanEmitter {
 public:
  PlanEmitter(Op* function, std::string_view target)
      : function_(function), names_(entry_dims(function)) {
    plan_.entry = symbol_name(function);
    plan_.target = target;
  }

  Plan run() {
    add_arguments();
    add_dims();
    add_results();
    for (Op* op : *function_->region()->front()) {
      add_step(op);
      sources_.resize(plan_.steps.size(), place_of(op));
    }
    copy_results();
    sources_.resize(plan_.steps.size(), place_of(function_->region()->front()->terminator()));
    end_lives();
    add_guards();
    return std::move(plan_);
  }

  /// Where each step comes from.
  format::StepSources take_sources() { return std::move(sources_); }

 private:
  uint32_t expr(Dim dim) { return format::intern_expr(plan_, format_dim(dim, names_)); }

  uint32_t add_buffer(BufferKind kind, Type type, std::string name) {
    format::PlanBuffer buffer;
    buffer.kind = kind;
    buffer.dtype = format_dtype(type->dtype);
    buffer.name = std::move(name);
    for (Dim extent : type->dims) buffer.shape.push_back(expr(extent));
    bool of_caller =
        kind == BufferKind::Input || kind == BufferKind::Param || kind == BufferKind::Output;
    // Kernels use unaligned vector accesses, so a caller's memory need only suit its elements.
    if (of_caller) buffer.alignment = byte_size(type->dtype);
    plan_.buffers.push_back(std::move(buffer));
    return uint32_t(plan_.buffers.size() - 1);
  }

  void add_arguments() {
    Block* body = function_->region()->front();
    const std::vector<Attr>& args = function_->attr("args")->elements;
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      BufferKind kind = text_of(args[i], "kind") == "param" ? BufferKind::Param : BufferKind::Input;
      buffers_[body->arg(i)] = add_buffer(kind, body->arg(i)->type(), text_of(args[i], "name"));
    }
  }

  /// A dim is the value of the argument that says so, else the extent of one.
  void add_dims() {
    const std::vector<Attr>& args = function_->attr("args")->elements;
    for (const std::string& name : names_) {
      format::PlanDim dim{name, format::DimSource::Shape, format::no_index};
      for (size_t i = 0; i < args.size(); ++i) {
        if (text_of(args[i], "dim") == name) dim = {name, format::DimSource::Scalar, uint32_t(i)};
      }
      plan_.dims.push_back(std::move(dim));
    }
  }

  void add_results() {
    Op* end = function_->region()->front()->terminator();
    const std::vector<Attr>& results = function_->attr("results")->elements;
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      Value* root = root_of(end->operand(i));
      uint32_t output =
          add_buffer(BufferKind::Output, end->operand(i)->type(), text_of(results[i], "name"));
      bool computed = root->def() && !root->def()->is(host::info(OpKind::Constant));
      if (computed && buffers_.emplace(root, output).second) continue;
      copies_.push_back({output, root});
    }
  }

  uint32_t buffer(Value* value) { return buffers_.at(root_of(value)); }

  /// The buffer that a step defines.
  uint32_t define(Value* value) {
    auto [it, is_new] = buffers_.emplace(value, 0);
    if (is_new) {
      // Numbered: hints of names are made unique by printing, and a plan must not depend on that.
      std::string name = "t" + std::to_string(temps_++);
      it->second = add_buffer(BufferKind::Temp, value->type(), std::move(name));
      plan_.buffers.back().first_step = uint32_t(plan_.steps.size());
    }
    return it->second;
  }

  void add_step(Op* op) {
    switch (host::kind_of(op)) {
      case OpKind::Launch:
        return add_launch(op);
      case OpKind::Constant:
        return add_constant(op);
      case OpKind::Fill: {
        DType dtype = op->result()->type()->dtype;
        uint32_t target = define(op->result());
        auto [pattern, width] = fill_pattern(dtype, op->attr("value"));
        plan_.steps.push_back(format::FillStep{target, width, pattern});
        return;
      }
      case OpKind::Copy: {
        uint32_t target = define(op->result());
        plan_.steps.push_back(format::CopyStep{target, buffer(op->operand(0))});
        return;
      }
      case OpKind::Alias:
      case OpKind::Return:
        return;
      case OpKind::Func:
        break;
    }
    TSR_UNREACHABLE("no step of a plan: " + std::string(op->name()));
  }

  void add_launch(Op* op) {
    // Every choice is a launch and, but for the last, a select before it that ends with the others.
    std::vector<Op*> kernels = host::choices(op);
    std::vector<format::LaunchStep> launches;
    for (Op* kernel : kernels) launches.push_back(launch(op, kernel));
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (size_t others = kernels.size() - i - 1) {
        uint32_t condition = format::intern_expr(plan_, conjunction(host::assumptions(op, kernels[i])));
        plan_.steps.push_back(format::SelectStep{condition, 1, uint32_t(2 * others - 1)});
      }
      plan_.steps.push_back(std::move(launches[i]));
    }
  }

  format::Expr conjunction(const std::vector<DimFact>& facts) {
    format::Expr all = format::const_expr(1);
    for (size_t i = 0; i < facts.size(); ++i) {
      format::Expr fact = fact_expr(facts[i], names_);
      all = i == 0 ? fact : format::binary_expr(format::ExprOp::And, all, fact);
    }
    return all;
  }

  format::LaunchStep launch(Op* op, Op* kernel) {
    format::LaunchStep step;
    std::string name(symbol_name(kernel));
    auto known = std::find(plan_.kernels.begin(), plan_.kernels.end(), name);
    step.kernel = uint32_t(known - plan_.kernels.begin());
    if (known == plan_.kernels.end()) plan_.kernels.push_back(name);
    for (unsigned i = 0; i < op->operand_count(); ++i)
      step.buffers.push_back(buffer(op->operand(i)));
    for (unsigned i = 0; i < op->result_count(); ++i) step.buffers.push_back(define(op->result(i)));
    for (const std::string& dim : kernel_dims(kernel)) {
      step.dims.push_back(expr(op->attr("dims")->get(dim)->dim));
    }
    return step;
  }

  void add_constant(Op* op) {
    uint32_t index =
        add_buffer(BufferKind::Constant, op->result()->type(), "c" + std::to_string(constants_++));
    buffers_[op->result()] = index;
    size_t alignment = size_t(format::plan_alignment);
    plan_.data.resize((plan_.data.size() + alignment - 1) / alignment * alignment);
    plan_.buffers[index].offset = plan_.data.size();
    plan_.data += constant_bytes(op->result()->type()->dtype, op->attr("values")->elements);
  }

  void copy_results() {
    for (const auto& [output, root] : copies_) {
      plan_.steps.push_back(format::CopyStep{output, buffers_.at(root)});
    }
  }

  /// A temp lives to the last step that names it.
  void end_lives() {
    auto use = [&](uint32_t index, size_t step) {
      format::PlanBuffer& used = plan_.buffers[index];
      if (used.kind == BufferKind::Temp) used.last_step = std::max(used.last_step, uint32_t(step));
    };
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const format::PlanStep& step = plan_.steps[i];
      if (const auto* launch = std::get_if<format::LaunchStep>(&step)) {
        for (uint32_t index : launch->buffers) use(index, i);
      } else if (const auto* copy = std::get_if<format::CopyStep>(&step)) {
        use(copy->to, i);
        use(copy->from, i);
      } else if (const auto* fill = std::get_if<format::FillStep>(&step)) {
        use(fill->buffer, i);
      }
    }
  }

  void add_guards() {
    Attr guards = function_->attr("guards");
    for (Attr guard : guards ? guards->elements : std::vector<Attr>()) {
      format::Expr condition = fact_expr(*read_fact(guard), names_);
      std::string message = text_of(guard, "text");
      if (message.empty()) message = format::expr_text(condition, names_);
      plan_.guards.push_back({format::intern_expr(plan_, condition), "where " + message + " does not hold"});
    }
  }

  Op* function_;
  std::vector<std::string> names_;
  Plan plan_;
  std::map<Value*, uint32_t> buffers_;               ///< of roots
  std::vector<std::pair<uint32_t, Value*>> copies_;  ///< results that are copied at the end
  format::StepSources sources_;  ///< beside plan_.steps
  size_t temps_ = 0;
  size_t constants_ = 0;
};

void add_names(Dim dim, std::vector<std::string>& names) {
  for_each_symbol(dim, [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  });
}

}  // namespace

std::vector<std::string> entry_dims(Op* function) {
  std::vector<std::string> names;
  Block* body = function->region()->front();
  const std::vector<Attr>& args = function->attr("args")->elements;
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    const std::string& bound = text_of(args[i], "dim");
    if (!bound.empty() && std::find(names.begin(), names.end(), bound) == names.end())
      names.push_back(bound);
    for (Dim extent : body->arg(i)->type()->dims) add_names(extent, names);
  }
  return names;
}

std::vector<std::string> kernel_dims(Op* kernel) {
  std::vector<std::string> names;
  if (Attr dims = kernel->attr("dims")) {
    for (Attr name : dims->elements) names.push_back(name->string);
    return names;
  }
  Block* body = kernel->region()->front();
  for (unsigned i = 0; body && i < body->arg_count(); ++i) {
    for (Dim extent : body->arg(i)->type()->dims) add_names(extent, names);
  }
  return names;
}

format::Expr fact_expr(const DimFact& fact, const std::vector<std::string>& dims) {
  return format::binary_expr(relation_op(fact.relation), format_dim(fact.left, dims),
                             format_dim(fact.right, dims));
}

namespace {

/// Every symbol that the plan will mention, the parameters' first.
std::vector<std::string> mentioned_dims(Op* function) {
  std::vector<std::string> names = entry_dims(function);
  for (Op* op : *function->region()->front()) {
    for (unsigned i = 0; i < op->result_count(); ++i) {
      for (Dim extent : op->result(i)->type()->dims) add_names(extent, names);
    }
    if (!op->is(host::info(OpKind::Launch))) continue;
    for (const auto& [name, value] : op->attr("dims")->entries) add_names(value->dim, names);
  }
  Attr guards = function->attr("guards");
  for (Attr guard : guards ? guards->elements : std::vector<Attr>()) {
    add_names(guard->get("left")->dim, names);
    add_names(guard->get("right")->dim, names);
  }
  return names;
}

}  // namespace

Result<Plan> emit_plan(Op* function, std::string_view target, DiagnosticEngine& diagnostics,
                       format::StepSources* sources) {
  std::vector<std::string> known = entry_dims(function);
  std::vector<std::string> used = mentioned_dims(function);
  if (used.size() != known.size()) {
    diagnostics.report(diag::plan_unbound_dim, function->loc(), used[known.size()],
                       symbol_name(function));
    return failure;
  }
  PlanEmitter emitter(function, target);
  Plan plan = emitter.run();
  if (sources) *sources = emitter.take_sources();
  if (format::Outcome checked = format::check_plan(plan); !checked) {
    diagnostics.report(diag::plan_refused, function->loc(), symbol_name(function),
                       checked.error().text);
    return failure;
  }
  return plan;
}

}  // namespace tessera::codegen
