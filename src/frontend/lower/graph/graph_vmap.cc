// vmap: a function of one example for many. The function runs once, on tensors that stand for any example. The ops that
// it leaves in the block are then made to ops on all examples (src/ir/graph/vmap).

#include "frontend/evaluate/type_expr.h"
#include "frontend/fixes/shape_fixes.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/function.h"
#include "frontend/values/modules.h"
#include "frontend/values/state.h"
#include "ir/graph/derive/forward.h"
#include "ir/graph/regions.h"
#include "ir/graph/vmap/batch.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

/// The examples in the arguments of a call, and those of its results.
class GraphBuilder::Examples {
 public:
  Examples(GraphBuilder& graph, const MappedFunction& mapped, Loc loc) : graph_(&graph), mapped_(&mapped), loc_(loc) {}

  /// The argument as one example has it; poison when an error was reported.
  Datum one_of(const Datum& value, const Datum& axes, Loc loc, const std::string& what) {
    if (value.is_poison() || axes.is_none()) return value;
    if (value.is_ir()) return one_of(value.as_ir(), axes, loc, what);
    if (value.object_as<StateValue>()) {
      graph_->evaluator_.unsupported(loc, "examples of a state object in 'vmap'");
      return Datum::poison();
    }
    if (const auto* tree = value.object_as<Tree>()) {
      return checked(tree->replaced([&](const Datum& part) { return one_of(part, axes, loc, what); }));
    }
    if (!value.is_sequence()) return value;
    return parts(value, axes, loc, what, [&](const Datum& part, const Datum& axis) {
      return one_of(part, axis, loc, what);
    });
  }

  /// A result with all examples.
  Datum all_of(const Datum& value, const Datum& axes) {
    if (value.is_ir()) return all_of(value.as_ir(), axes);
    if (const auto* tree = value.object_as<Tree>()) {
      return checked(tree->replaced([&](const Datum& part) { return all_of(part, axes); }));
    }
    if (value.is(DatumKind::Object)) {
      graph_->report(diag::wrong_kind, loc_, "a result of a function in 'vmap'", describe(value),
                     "a tensor, or a tuple, list or tree of them");
      return Datum::poison();
    }
    if (!value.is_sequence()) return value;
    return parts(value, axes, loc_, "the result of 'vmap'",
                 [&](const Datum& part, const Datum& axis) { return all_of(part, axis); });
  }

  bool is_empty() const { return !count_; }
  bool failed() const { return failed_; }
  /// Makes ops on all examples of those on one.
  void push(const std::vector<Op*>& ops) {
    batch_.emplace(graph_->builder_, count_);
    for (auto [one, all] : values_) batch_->set(one, all);
    std::vector<Op*> replaced = batch_->push(ops);
    replaced_.insert(replaced_.end(), replaced.begin(), replaced.end());
  }
  /// Erases the ops on one example.
  void drop() { graph::drop_unused(replaced_); }

 private:
  Datum checked(Datum value) {
    if (!failed_) return value;
    return Datum::poison();
  }

  /// The elements of a tuple or list, each with its axes.
  template <typename F>
  Datum parts(const Datum& value, const Datum& axes, Loc loc, const std::string& what, F&& part) {
    bool is_each = axes.is_sequence();
    if (is_each && axes.elements().size() != value.elements().size()) {
      failed_ = true;
      graph_->report(diag::wrong_kind, loc, fmt::format("the axes of {}", what), to_text(axes),
                     fmt::format("one for each of its {} elements", value.elements().size()));
      return Datum::poison();
    }
    std::vector<Datum> elements;
    for (size_t i = 0; i < value.elements().size(); ++i) {
      elements.push_back(part(value.elements()[i], is_each ? axes.elements()[i] : axes));
      if (elements.back().is_poison()) failed_ = true;
    }
    return checked(value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements)));
  }

  /// The axis of examples of a tensor of `rank`; nullopt when an error was reported.
  std::optional<int64_t> axis_of(const Datum& axes, size_t rank, Loc loc, const std::string& what) {
    bool is_one = axes.is(DatumKind::Int);
    bool fits = is_one && axes.as_int() < int64_t(rank) && axes.as_int() >= -int64_t(rank);
    if (fits) return axes.as_int() < 0 ? axes.as_int() + int64_t(rank) : axes.as_int();
    failed_ = true;
    std::string range = rank == 0 ? "a tensor with an axis"
                                  : fmt::format("a number from {} to {}", -int64_t(rank), int64_t(rank) - 1);
    graph_->report(diag::wrong_kind, loc, fmt::format("the axis of examples of {}", what), to_text(axes), range)
        .label(mapped_->loc(), "the axes of examples are given here");
    return std::nullopt;
  }

  Datum one_of(const IrValue& tensor, const Datum& axes, Loc loc, const std::string& what) {
    Builder& builder = graph_->builder_;
    const std::vector<Dim> dims = tensor.value->type()->dims;
    auto axis = axis_of(axes, dims.size(), loc, what);
    if (!axis) return Datum::poison();
    DimPlace place{dims[size_t(*axis)], loc, fmt::format("axis {} of {}", *axis, what)};
    if (!count_) {
      count_ = place.dim;
      first_ = place;
    } else if (count_ != place.dim) {
      failed_ = true;
      auto report = report_unequal(graph_->blame(), loc, first_, place);
      if (!mapped_->in_axes().is_sequence()) {
        report.help("an argument that all examples share has None: vmap(f, in_axes=(0, None))");
      }
      return Datum::poison();
    }
    builder.set_loc(loc_);
    Op* before = graph::last_op(builder);
    std::vector<int64_t> perm{*axis};
    for (size_t i = 0; i < dims.size(); ++i) {
      if (int64_t(i) != *axis) perm.push_back(int64_t(i));
    }
    Value* all = *axis == 0 ? tensor.value : graph::transpose(builder, tensor.value, perm);
    IrValue one = tensor;
    one.value = graph::element(builder, all, graph_->dims().constant(0));
    for (Op* op : graph::ops_since(builder, before)) {
      if (op->result() != all) replaced_.push_back(op);
    }
    values_.emplace_back(one.value, all);
    return Datum::ir(one);
  }

  Datum all_of(const IrValue& tensor, const Datum& axes) {
    Builder& builder = graph_->builder_;
    IrValue all = tensor;
    if (axes.is_none()) {
      if (!batch_->differs(tensor.value)) return Datum::ir(tensor);
      failed_ = true;
      graph_->report(diag::wrong_kind, loc_, "a result of 'vmap' for which 'out_axes' is None",
                     describe(Datum::ir(tensor)), "the same for each example")
          .label(mapped_->loc(), "the axes of results are given here");
      return Datum::poison();
    }
    builder.set_loc(loc_);
    all.value = batch_->of_all(tensor.value);
    size_t rank = all.value->type()->rank();
    auto axis = axis_of(axes, rank, loc_, "a result of 'vmap'");
    if (!axis) return Datum::poison();
    std::vector<int64_t> perm;
    for (size_t i = 1; i < rank; ++i) perm.push_back(int64_t(i));
    perm.insert(perm.begin() + *axis, 0);
    if (*axis != 0) all.value = graph::transpose(builder, all.value, perm);
    all.name = {};
    return Datum::ir(all);
  }

  GraphBuilder* graph_;
  const MappedFunction* mapped_;
  Loc loc_;
  Dim count_ = nullptr;
  DimPlace first_{};
  bool failed_ = false;
  std::vector<std::pair<Value*, Value*>> values_;
  std::vector<Op*> replaced_;  ///< that something else is in the place of
  std::optional<graph::Batch> batch_;
};

/// A call of vmap(f).
Datum GraphBuilder::call_mapped(const MappedFunction& mapped, std::vector<CallArgument> arguments, Loc loc) {
  Examples examples(*this, mapped, loc);
  const Datum& axes = mapped.in_axes();
  size_t positional = size_t(std::ranges::count_if(arguments, [](const auto& given) { return given.name.empty(); }));
  if (axes.is_sequence() && axes.elements().size() != positional) {
    std::vector<std::string> shown(positional, "None");
    for (size_t i = 0; i < std::min(positional, axes.elements().size()); ++i) shown[i] = to_text(axes.elements()[i]);
    report(diag::wrong_kind, loc, "'in_axes' of 'vmap'", to_text(axes),
           fmt::format("one for each of the {} arguments of this call", positional))
        .label(mapped.loc(), "it is given here")
        .help(fmt::format("None is that of an argument that all examples share: in_axes=({}{})",
                          fmt::join(shown, ", "), positional == 1 ? "," : ""));
    return Datum::poison();
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    bool is_named = !arguments[i].name.empty();
    std::string what = is_named ? fmt::format("argument '{}'", arguments[i].name) : fmt::format("argument {}", i);
    const Datum axis = !axes.is_sequence() ? axes : is_named ? Datum::integer(0) : axes.elements()[i];
    arguments[i].value = examples.one_of(arguments[i].value, axis, arguments[i].loc, what);
    if (arguments[i].value.is_poison() || examples.failed()) return Datum::poison();
  }
  if (examples.is_empty()) {
    report(diag::wrong_kind, loc, "a call of what 'vmap' gives", "one without tensors to map",
           "one with a tensor whose axis of examples is in 'in_axes'");
    return Datum::poison();
  }
  Op* before = graph::last_op(builder_);
  Block* block = builder_.block();
  size_t spent = function_.spent.size();
  ++function_.mapped;
  Datum result = evaluator_.call(mapped.function(), std::move(arguments), loc);
  --function_.mapped;
  if (result.is_poison()) return result;
  if (function_.spent.size() != spent) {
    evaluator_.unsupported(loc, "a state object that changes in 'vmap'");
    return Datum::poison();
  }
  TSR_CHECK(builder_.block() == block, "a call ends where it began");
  examples.push(graph::ops_since(builder_, before));
  Datum all = examples.all_of(numbers_to_tensors(result, loc), mapped.out_axes());
  examples.drop();
  return all;
}

}  // namespace tessera::frontend
