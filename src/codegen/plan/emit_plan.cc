// Buffers: arguments, then results, then the others as they appear. An alias is its operand's
// buffer under other dims, which a kernel does not see, so it needs no step; a value that takes
// over a buffer is that buffer. A result that a step computes is written in place; one that has
// memory already (an argument, a constant, a value that is returned twice) is copied.
//
// A loop keeps loop-carried values in the buffers of its initial values. Where an iteration
// computes the next value into a buffer of its own, the two are exchanged at the end of the
// iteration; both live as long as the loop-carried value. A value without memory to exchange is
// copied.

#include "codegen/plan/emit_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/plan/constant_data.h"
#include "codegen/plan/format_terms.h"
#include "ir/core/place.h"
#include "ir/host/ops.h"
#include "ir/target/ops.h"
#include "ir/text/entries.h"
#include "runtime/files/text.h"
#include "runtime/format/plan_views.h"
#include "support/check.h"
#include "support/diagnostic_rows.h"

namespace tessera::codegen {

namespace {

using entry::Argument, entry::PrintItem;

using format::BufferKind;
using format::Plan;
using host::OpKind;

/// The value that was first in this one's memory: seen through other dims and through what took the
/// memory over.
Value* root_of(Value* value) {
  Value* root = host::root_of(value);
  while (Value* before = host::memory_before(root)) root = host::root_of(before);
  return root;
}

/// The roots of values that a loop carries and computes anew in every iteration.
std::set<Value*> exchanged_roots(Op* function) {
  std::set<Value*> exchanged;
  walk(function, [&](Op* op) {
    bool loop = op->is(host::info(OpKind::For)) || op->is(host::info(OpKind::While));
    if (!loop) return;
    Op* end = op->region(op->region_count() - 1)->front()->terminator();
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      Value* root = root_of(op->operand(i));
      if (root_of(end->operand(i)) != root) exchanged.insert(root);
    }
  });
  return exchanged;
}

/// Every counter of a loop, in order.
std::vector<std::string> counters_of(Op* function) {
  std::vector<std::string> counters;
  walk(function, [&](Op* op) {
    if (op->is(host::info(OpKind::For))) counters.emplace_back(op->attr(host::attr::For::counter));
  });
  return counters;
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
      : function_(function), names_(entry_dims(function)), exchanged_(exchanged_roots(function)) {
    std::vector<std::string> counters = counters_of(function);
    names_.insert(names_.end(), counters.begin(), counters.end());
    plan_.entry = symbol_name(function);
    plan_.target = target;
  }

  Plan run() {
    add_arguments();
    add_dims();
    add_results();
    add_donations();
    add_steps(function_->region()->front());
    copy_results();
    come_from(function_->region()->front()->terminator());
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
    const std::vector<Attr>& args = function_->attr(host::attr::Func::args);
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      BufferKind kind = entry::read(args[i], Argument::kind) == "param" ? BufferKind::Param : BufferKind::Input;
      buffers_[body->arg(i)] = add_buffer(kind, body->arg(i)->type(), entry::text_of(args[i], Argument::name));
    }
  }

  /// A dim is the value of the argument that says so, else the extent of one.
  void add_dims() {
    const std::vector<Attr>& args = function_->attr(host::attr::Func::args);
    for (const std::string& name : names_) {
      format::PlanDim dim{name, format::DimSource::Shape, format::no_index};
      for (size_t i = 0; i < args.size(); ++i) {
        if (entry::text_of(args[i], Argument::dim) == name) dim = {name, format::DimSource::Scalar, uint32_t(i)};
      }
      plan_.dims.push_back(std::move(dim));
    }
    size_t own = entry_dims(function_).size();
    for (size_t i = own; i < names_.size(); ++i) plan_.dims[i].source = format::DimSource::Loop;
  }

  void add_results() {
    Op* end = function_->region()->front()->terminator();
    const std::vector<Attr>& results = function_->attr(host::attr::Func::results);
    for (unsigned i = 0; i < end->operand_count(); ++i) {
      Value* root = root_of(end->operand(i));
      uint32_t output =
          add_buffer(BufferKind::Output, end->operand(i)->type(), entry::text_of(results[i], entry::Result::name));
      if (!entry::text_of(results[i], entry::Result::alias_of).empty()) {
        donations_.push_back({output, buffers_.at(root)});
        continue;
      }
      bool computed = root->def() && !root->def()->is(host::info(OpKind::Constant));
      if (computed && !exchanged_.count(root) && buffers_.emplace(root, output).second) continue;
      copies_.push_back({output, root});
    }
  }

  /// Results that the entry leaves in memory it was given.
  void add_donations() {
    for (auto [output, input] : donations_) {
      uint32_t whole = format::intern_expr(plan_, format::const_expr(0));
      plan_.steps.push_back(format::AliasStep{output, input, whole});
    }
  }

  uint32_t buffer(Value* value) { return buffers_.at(root_of(value)); }

  uint32_t add_temp(Type type) {
    // Numbered: hints of names are made unique by printing, and a plan must not depend on that.
    uint32_t temp = add_buffer(BufferKind::Temp, type, "t" + std::to_string(temps_++));
    plan_.buffers[temp].first_step = uint32_t(plan_.steps.size());
    return temp;
  }

  /// The buffer that a step defines.
  uint32_t define(Value* value) {
    Value* root = root_of(value);
    auto known = buffers_.find(root);
    if (known == buffers_.end()) known = buffers_.emplace(root, add_temp(value->type())).first;
    return known->second;
  }

  void add_copy(uint32_t to, uint32_t from) {
    if (to != from) plan_.steps.push_back(format::CopyStep{to, from});
  }

  /// The steps since the last time are those of the op.
  void come_from(Op* op) { sources_.resize(plan_.steps.size(), format::one_line(place_of(op))); }

  void add_steps(Block* block) {
    for (Op* op : *block) {
      add_step(op);
      come_from(op);
    }
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
        auto [pattern, width] = fill_pattern(dtype, op->attr(host::attr::Fill::value));
        plan_.steps.push_back(format::FillStep{target, width, pattern});
        return;
      }
      case OpKind::Copy: {
        uint32_t target = define(op->result());
        return add_copy(target, buffer(op->operand(0)));
      }
      case OpKind::Check:
        plan_.steps.push_back(format::CheckStep{
            buffer(op->operand(0)), format::one_line(op->attr(host::attr::Check::message))});
        return;
      case OpKind::Print:
        return add_print(op);
      case OpKind::For:
        return add_for(op);
      case OpKind::While:
        return add_while(op);
      case OpKind::If:
        return add_if(op);
      case OpKind::Alias:
      case OpKind::Return:
      case OpKind::Yield:
        return;
      case OpKind::Func:
        break;
    }
    TSR_UNREACHABLE("no step of a plan: " + std::string(op->name()));
  }

  std::vector<uint32_t> exprs(Attr dims) {
    std::vector<uint32_t> found;
    for (Attr dim : dims->elements) found.push_back(expr(dim->dim));
    return found;
  }

  void add_print(Op* op) {
    format::PrintStep step{exprs(op->node(host::attr::Print::grid)), {}};
    for (Attr item : op->attr(host::attr::Print::items)) {
      unsigned i = unsigned(step.items.size());
      step.items.push_back({format::one_line(entry::read(item, PrintItem::label)),
                            format::one_line(entry::read(item, PrintItem::source)),
                            buffer(op->in(host::in::Print::values, i)), buffer(op->in(host::in::Print::shown, i)),
                            exprs(entry::node(item, PrintItem::extents)),
                            exprs(entry::node(item, PrintItem::trip_counts)),
                            uint32_t(entry::read(item, PrintItem::loop))});
    }
    plan_.steps.push_back(std::move(step));
  }

  void add_for(Op* op) {
    size_t at = plan_.steps.size();
    plan_.steps.push_back(format::ForStep{});
    come_from(op);
    add_steps(op->region()->front());
    carry_over(op);
    format::ForStep step;
    auto counter = std::find(names_.begin(), names_.end(), op->attr(host::attr::For::counter));
    step.dim = uint32_t(counter - names_.begin());
    step.lo = format::intern_expr(plan_, format::const_expr(0));
    step.hi = expr(op->attr(host::attr::For::count));
    step.body_steps = uint32_t(plan_.steps.size() - at - 1);
    if (step.body_steps == 0) return plan_.steps.pop_back();  // an iteration changes nothing
    plan_.steps[at] = step;
    loops_.push_back({at + 1, plan_.steps.size() - 1});
  }

  void add_while(Op* op) {
    size_t at = plan_.steps.size();
    plan_.steps.push_back(format::WhileStep{});
    come_from(op);
    Block* condition = op->region(host::at::While::condition)->front();
    add_steps(condition);
    size_t body = plan_.steps.size();
    uint32_t truth = buffer(condition->terminator()->operand(0));
    add_steps(op->region(host::at::While::body)->front());
    carry_over(op);
    size_t end = plan_.steps.size();
    plan_.steps[at] = format::WhileStep{truth, uint32_t(body - at - 1), uint32_t(end - body)};
    loops_.push_back({at + 1, end - 1});
  }

  /// Makes the values that an iteration yields those that the next one begins with.
  void carry_over(Op* loop) {
    Block* body = loop->region(loop->region_count() - 1)->front();
    struct Move {
      uint32_t to, from;
      bool exchange;
    };
    std::vector<Move> moves;
    std::set<Value*> given;
    std::set<uint32_t> carried;
    for (unsigned i = 0; i < loop->result_count(); ++i) carried.insert(buffer(loop->operand(i)));
    for (unsigned i = 0; i < loop->result_count(); ++i) {
      Value* next = root_of(body->terminator()->operand(i));
      uint32_t to = buffer(loop->operand(i)), from = buffer(next);
      if (to == from) continue;
      bool own = next->parent_block() == body && plan_.buffers[from].kind == BufferKind::Temp &&
                 given.insert(next).second;
      bool fixed = next->def() && next->def()->is(host::info(OpKind::Constant));
      bool changes = carried.contains(from) || next->parent_block() != function_->region()->front();
      if (!own && !fixed && changes) {
        // Another loop-carried value: it is saved before it changes.
        uint32_t saved = add_temp(loop->result(i)->type());
        add_copy(saved, from);
        from = saved;
        own = true;
      }
      moves.push_back({to, from, own && plan_.buffers[to].kind == BufferKind::Temp && alike(to, from)});
    }
    for (const Move& move : moves) {
      if (move.exchange) {
        plan_.steps.push_back(format::SwapStep{move.to, move.from});
        pairs_.push_back({move.to, move.from});
      } else {
        add_copy(move.to, move.from);
      }
    }
  }

  bool alike(uint32_t a, uint32_t b) const {
    return plan_.buffers[a].dtype == plan_.buffers[b].dtype && plan_.buffers[a].shape == plan_.buffers[b].shape;
  }

  void add_if(Op* op) {
    Value* condition = op->in(host::in::If::condition);
    uint32_t read = condition ? buffer(condition) : format::no_index;
    for (unsigned i = 0; i < op->result_count(); ++i) define(op->result(i));
    size_t at = plan_.steps.size();
    plan_.steps.push_back(format::IfStep{});
    come_from(op);
    uint32_t lengths[2];
    for (unsigned r = 0; r < 2; ++r) {
      size_t begin = plan_.steps.size();
      add_branch(op, op->region(r)->front());
      lengths[r] = uint32_t(plan_.steps.size() - begin);
    }
    if (condition) {
      plan_.steps[at] = format::IfStep{read, lengths[0], lengths[1]};
    } else {
      std::vector<DimFact> when = read_facts(op->attr(host::attr::If::when));
      plan_.steps[at] = format::SelectStep{format::intern_expr(plan_, conjunction(when)), lengths[0], lengths[1]};
    }
  }

  /// A branch computes its results in their buffers, if it computes them. What it took over it may
  /// read to its end, so that this memory is written last.
  void add_branch(Op* op, Block* block) {
    std::vector<std::pair<uint32_t, Value*>> copies, last;
    for (unsigned i = 0; i < op->result_count(); ++i) {
      Value* root = root_of(block->terminator()->operand(i));
      uint32_t result = buffer(op->result(i));
      bool taken = host::place_of(op, i) != nullptr;
      bool computed = root->parent_block() == block && root->def() &&
                      !root->def()->is(host::info(OpKind::Constant)) && !exchanged_.count(root);
      if (computed && !taken && buffers_.emplace(root, result).second) continue;
      (taken ? last : copies).push_back({result, root});
    }
    add_steps(block);
    copies.insert(copies.end(), last.begin(), last.end());
    for (auto [result, root] : copies) add_copy(result, buffers_.at(root));
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
    for (unsigned i = 0; i < op->slot_size(host::in::Launch::operands); ++i)
      step.buffers.push_back(buffer(op->operand(i)));
    for (unsigned i = 0; i < op->result_count(); ++i) step.buffers.push_back(define(op->result(i)));
    for (const std::string& dim : kernel_dims(kernel)) {
      step.dims.push_back(expr(op->attr(host::attr::Launch::dims)->get(dim)->dim));
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
    plan_.data +=
        constant_bytes(op->result()->type()->dtype, op->attr(host::attr::Constant::values));
  }

  void copy_results() {
    for (const auto& [output, root] : copies_) {
      plan_.steps.push_back(format::CopyStep{output, buffers_.at(root)});
    }
  }

  /// A temp lives to the last step that names it; through a whole loop if it was there before.
  void end_lives() {
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const auto* loop = std::get_if<format::WhileStep>(&plan_.steps[i]);
      size_t at = i + (loop ? loop->condition_steps : 0);
      for (uint32_t buffer : format::accessed_buffers(plan_.steps[i])) use(buffer, at);
    }
    bool changed = true;
    while (changed) {
      changed = false;
      for (format::PlanBuffer& buffer : plan_.buffers) {
        if (buffer.kind == BufferKind::Temp) changed |= cover_loops(buffer);
      }
      for (auto [a, b] : pairs_) changed |= live_together(plan_.buffers[a], plan_.buffers[b]);
    }
  }

  void use(uint32_t index, size_t step) {
    format::PlanBuffer& used = plan_.buffers[index];
    if (used.kind != BufferKind::Temp) return;
    used.first_step = std::min(used.first_step, uint32_t(step));
    used.last_step = std::max(used.last_step, uint32_t(step));
  }
  /// A temp that lives across a part of a loop, and not only within it, is live in every iteration.
  bool cover_loops(format::PlanBuffer& temp) {
    bool changed = false;
    for (auto [first, last] : loops_) {
      bool within = temp.first_step >= first && temp.last_step <= last;
      bool outside = temp.last_step < first || temp.first_step > last;
      bool covers = temp.first_step <= first && temp.last_step >= last;
      if (within || outside || covers) continue;
      temp.first_step = std::min(temp.first_step, uint32_t(first));
      temp.last_step = std::max(temp.last_step, uint32_t(last));
      changed = true;
    }
    return changed;
  }

  static bool live_together(format::PlanBuffer& a, format::PlanBuffer& b) {
    if (a.first_step == b.first_step && a.last_step == b.last_step) return false;
    a.first_step = b.first_step = std::min(a.first_step, b.first_step);
    a.last_step = b.last_step = std::max(a.last_step, b.last_step);
    return true;
  }

  void add_guards() {
    for (Attr guard : function_->attr(host::attr::Func::guards)) {
      format::Expr condition = fact_expr(*read_fact(guard), names_);
      std::string message = entry::text_of(guard, entry::Guard::text);
      if (message.empty()) message = format::expr_text(condition, names_);
      if (std::string place = entry::text_of(guard, entry::Guard::place); !place.empty()) message += " (" + place + ")";
      std::string said = format::cat("where ", format::one_line(message), " does not hold");
      plan_.guards.push_back({format::intern_expr(plan_, condition), said});
    }
  }

  Op* function_;
  std::vector<std::string> names_;
  std::set<Value*> exchanged_;
  Plan plan_;
  std::map<Value*, uint32_t> buffers_;               ///< of roots
  std::vector<std::pair<uint32_t, Value*>> copies_;  ///< results that are copied at the end
  std::vector<std::pair<uint32_t, uint32_t>> donations_;  ///< outputs and the inputs they lie in
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;      ///< temps that are exchanged
  std::vector<std::pair<size_t, size_t>> loops_;          ///< first and last step of each
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
  const std::vector<Attr>& args = function->attr(host::attr::Func::args);
  for (unsigned i = 0; i < body->arg_count(); ++i) {
    const std::string& bound = entry::text_of(args[i], Argument::dim);
    if (!bound.empty() && std::find(names.begin(), names.end(), bound) == names.end())
      names.push_back(bound);
    for (Dim extent : body->arg(i)->type()->dims) add_names(extent, names);
  }
  return names;
}

std::vector<std::string> kernel_dims(Op* kernel) {
  std::vector<std::string> names;
  if (kernel->has(target::attr::Func::dims)) {
    for (std::string_view name : kernel->attr(target::attr::Func::dims)) names.emplace_back(name);
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
  std::vector<std::string> names = entry_dims(function), counters = counters_of(function);
  names.insert(names.end(), counters.begin(), counters.end());
  auto add_all = [&](Attr list) {
    for (Attr dim : list->elements) add_names(dim->dim, names);
  };
  walk(function, [&](Op* op) {
    for (unsigned i = 0; i < op->result_count(); ++i) {
      for (Dim extent : op->result(i)->type()->dims) add_names(extent, names);
    }
    if (op->is(host::info(OpKind::For))) add_names(op->attr(host::attr::For::count), names);
    if (op->is(host::info(OpKind::If))) {
      for (const DimFact& fact : read_facts(op->attr(host::attr::If::when)))
        add_names(fact.left, names), add_names(fact.right, names);
    }
    if (op->is(host::info(OpKind::Print))) {
      add_all(op->node(host::attr::Print::grid));
      for (Attr item : op->attr(host::attr::Print::items))
        add_all(entry::node(item, PrintItem::extents)), add_all(entry::node(item, PrintItem::trip_counts));
    }
    if (!op->is(host::info(OpKind::Launch))) return;
    for (const auto& [name, value] : op->attr(host::attr::Launch::dims)->entries)
      add_names(value->dim, names);
  });
  for (Attr guard : function->attr(host::attr::Func::guards)) {
    add_names(entry::read(guard, entry::Guard::left), names);
    add_names(entry::read(guard, entry::Guard::right), names);
  }
  return names;
}

}  // namespace

Result<Plan> emit_plan(Op* function, std::string_view target, DiagnosticEngine& diagnostics,
                       format::StepSources* sources) {
  std::vector<std::string> known = entry_dims(function), counters = counters_of(function);
  known.insert(known.end(), counters.begin(), counters.end());
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
