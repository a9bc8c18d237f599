// Matmuls, reductions and the ops of neural networks.

#include <algorithm>
#include <cmath>

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dims.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

ShapeQuestion GraphBuilder::ask_matmul(const OperatorPlace& at, const IrValue& a, const IrValue& b) {
  ShapeQuestion question = blame().ask_operands(at, a.value->type()->dims, b.value->type()->dims);
  question.fits = has_matmul;
  question.may_exchange = true;
  for (ShapedOperand& operand : question.operands) operand.rank = 0;
  std::optional<std::vector<Dim>> wanted = wanted_result(at);
  if (!wanted) return question;
  auto is_wanted = [wanted](const Shapes& shapes) {
    const std::vector<Dim>&left = shapes[0], &right = shapes[1];
    if (left.size() < 2 || right.size() != 2 || !has_matmul(shapes)) return false;
    std::vector<Dim> result = left;
    result.back() = right.back();
    return result == *wanted;
  };
  ShapeQuestion asked = question;
  asked.fits = is_wanted;
  asked.may_combine = true;
  return has_change(dims(), session().sources(), asked) ? asked : question;
}

/// The declared dims of the result of the function, if it returns this matmul.
std::optional<std::vector<Dim>> GraphBuilder::wanted_result(const OperatorPlace& at) {
  const CallFrame* frame = blame().frame();
  const Function* function = frame ? frame->function : nullptr;
  if (!function || !function->def || !at.scope || session().is_builtin(at.loc)) return std::nullopt;
  const auto* last = function->def->body.empty() ? nullptr : ast::as<ast::Return>(function->def->body.back());
  const auto* returned = last ? ast::as<ast::Binary>(last->value) : nullptr;
  if (!returned || returned->left != at.left.expr || returned->right != at.right.expr) return std::nullopt;
  const Signature& signature = session().signature(evaluator_, *function);
  if (!signature.result || signature.result->kind != PatternKind::Tensor) return std::nullopt;
  return evaluate_dims(evaluator_, *signature.result, *at.scope);
}

/// The leading dims (all but the last two) of a matmul; reports those that do not broadcast.
std::optional<std::vector<Dim>> GraphBuilder::match_leading(const IrValue& a, const IrValue& b,
                                                            const OperatorPlace& at) {
  auto leading = [](const IrValue& value) {
    const std::vector<Dim>& all = value.value->type()->dims;
    return std::vector<Dim>(all.begin(), all.end() - 2);
  };
  std::vector<Dim> of_a = leading(a), of_b = leading(b);
  std::vector<Dim>& longer = of_a.size() < of_b.size() ? of_b : of_a;
  std::vector<Dim>& shorter = of_a.size() < of_b.size() ? of_a : of_b;
  size_t offset = longer.size() - shorter.size();
  for (size_t i = 0; i < shorter.size(); ++i) {
    Dim& dim = longer[offset + i];
    if (dim == shorter[i] || shorter[i]->is_constant(1)) continue;
    if (!dim->is_constant(1)) {
      bool swapped = &longer == &of_b;
      ShapeQuestion question = ask_matmul(at, a, b);
      size_t axis_a = swapped ? i : offset + i, axis_b = swapped ? offset + i : i;
      report_unequal(blame(), at.loc, place(a, axis_a, question.operands[0].what),
                     place(b, axis_b, question.operands[1].what), &question);
      if (!is_assumed(dim, shorter[i])) return std::nullopt;
      dim = unknown_size();
      continue;
    }
    dim = shorter[i];
  }
  return std::move(longer);
}

/// Whether two values have a matmul: of numbers, with axes, and as long along k.
bool GraphBuilder::check_matmul(const IrValue& a, const IrValue& b, const OperatorPlace& at) {
  for (const IrValue* operand : {&a, &b}) {
    if (operand->storage == DType::Bool) {
      report(diag::wrong_dtype, at.loc, "@", to_string(DType::Bool));
      return false;
    }
    if (operand->value->type()->rank() == 0) {
      report(diag::rank_mismatch, at.loc, subject(*operand, "an operand of '@'"), 0, 1);
      return false;
    }
  }
  const std::vector<Dim>& of_a = a.value->type()->dims;
  const std::vector<Dim>& of_b = b.value->type()->dims;
  size_t axis = of_b.size() == 1 ? 0 : of_b.size() - 2;
  if (of_a.back() == of_b[axis]) return true;
  ShapeQuestion question = ask_matmul(at, a, b);
  report_unequal(blame(), at.loc, place(a, of_a.size() - 1, question.operands[0].what),
                 place(b, axis, question.operands[1].what), &question);
  return is_assumed(of_a.back(), of_b[axis]);
}

std::optional<Datum> GraphBuilder::matmul(const Datum& left, const Datum& right, const OperatorPlace& at) {
  if (!left.is_ir() || !right.is_ir()) return std::nullopt;
  IrValue a = left.as_ir(), b = right.as_ir();
  if (!check_matmul(a, b, at)) return Datum::poison();
  auto type = promote(type_of(a), type_of(b), at);
  if (!type) return Datum::poison();
  builder_.set_loc(at.loc);
  // A vector is a matrix of one row on the left and of one column on the right.
  Dim one = dims().constant(1);
  bool row = a.value->type()->rank() == 1, column = b.value->type()->rank() == 1;
  const std::vector<Dim> dims_a = a.value->type()->dims;
  const std::vector<Dim> dims_b = b.value->type()->dims;
  // The operands enter in the dtype they are stored in.
  a.value = convert(stored(a), type->storage);
  b.value = convert(stored(b), type->storage);
  if (row) a.value = graph::reshape(builder_, a.value, {one, dims_a[0]});
  if (column) b.value = graph::reshape(builder_, b.value, {dims_b[0], one});
  if (std::vector<Dim> same = b.value->type()->dims; same[same.size() - 2] != dims_a.back()) {
    same[same.size() - 2] = dims_a.back();
    b.value = graph::reshape(builder_, b.value, std::move(same));
  }
  auto leading = match_leading(a, b, at);
  if (!leading) return Datum::poison();
  auto extended = [&](Value* value) {
    std::vector<Dim> all = *leading;
    all.insert(all.end(), value->type()->dims.end() - 2, value->type()->dims.end());
    if (evaluator_.is_open()) value = with_unknown(value, all);
    return graph::broadcast_to(builder_, value, std::move(all));
  };
  Value* x = extended(a.value);
  Value* y = b.value->type()->rank() == 2 ? b.value : extended(b.value);
  DType accum = contraction_dtype(type->storage, type->policies);
  Value* result = graph::gemm(builder_, x, y, accum);
  if (row || column) {
    std::vector<Dim> shape = result->type()->dims;
    if (column) shape.pop_back();
    if (row) shape.erase(shape.end() - (column ? 1 : 2));
    result = graph::reshape(builder_, result, std::move(shape));
  }
  if (!is_float(type->storage)) type->storage = accum;
  return handle(result, *type, at.loc);
}

Datum GraphBuilder::reduce(std::string_view kind, const BoundArguments& arguments, size_t axis) {
  std::string_view function = kind;
  auto x =
      expect_tensor(arguments[0], arguments.locs[0], fmt::format("the argument of '{}'", function));
  auto keep = evaluator_.expect_bool(arguments[axis + 1], arguments.locs[axis + 1], "keepdims");
  if (!x || !keep) return Datum::poison();
  Type type = x->value->type();
  auto axes = expect_axes(arguments[axis], type->rank(), arguments.locs[axis],
                          subject(*x, fmt::format("the argument of '{}'", function)));
  if (!axes) return Datum::poison();
  bool mean = kind == "mean";
  if (x->storage == DType::Bool || (mean && !is_float(x->storage))) {
    auto builder = report(diag::wrong_dtype, arguments.call, function, to_string(x->storage));
    // A float would lose count of more than it has digits for.
    blame().help_conversion(builder, arguments.locs[0], mean ? DType::F32 : DType::I64);
    return Datum::poison();
  }
  builder_.set_loc(arguments.call);
  std::vector<Dim> reduced;
  for (int64_t each : *axes) reduced.push_back(type->dims[size_t(each)]);
  Value* value = graph::reduce(builder_, computed(*x), mean ? "sum" : kind, *axes, *keep);
  if (mean) value = divide_by_count(value, reduced);
  return handle(value, type_of(*x), arguments.call);
}

Value* GraphBuilder::divide_by_count(Value* sum, std::span<const Dim> reduced) {
  Dim count = element_count(dims(), reduced);
  std::vector<Dim> shape = sum->type()->dims;
  DType dtype = sum->type()->dtype;
  Value* divisor = nullptr;
  if (auto constant = count->constant()) {
    divisor = graph::full(builder_, double(*constant), shape, dtype);
  } else {
    divisor = graph::broadcast_to(builder_, convert(graph::dim(builder_, count), dtype), shape);
  }
  return graph::div(builder_, sum, divisor);
}

Datum GraphBuilder::softmax(const BoundArguments& arguments) {
  auto x = expect_float(arguments[0], arguments.locs[0], "softmax");
  if (!x) return Datum::poison();
  size_t rank = x->value->type()->rank();
  auto axis =
      expect_axis(arguments[1], rank, arguments.locs[1], subject(*x, "the argument of 'softmax'"));
  if (!axis) return Datum::poison();
  builder_.set_loc(arguments.call);
  Value* value = computed(*x);
  bool last = size_t(*axis) + 1 == rank;
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(int64_t(i));
  std::swap(perm[size_t(*axis)], perm[rank - 1]);
  if (!last) value = graph::transpose(builder_, value, perm);
  value = graph::softmax(builder_, value);
  if (!last) value = graph::transpose(builder_, value, perm);
  return handle(value, type_of(*x), arguments.call);
}

Datum GraphBuilder::rmsnorm(const BoundArguments& arguments) {
  auto x = expect_float(arguments[0], arguments.locs[0], "rmsnorm");
  auto eps = evaluator_.expect_number(arguments[2], arguments.locs[2], "eps");
  if (!x || !eps) return Datum::poison();
  if (*eps < 0 || !std::isfinite(*eps)) {
    report(diag::wrong_kind, arguments.locs[2], "eps", to_text(arguments[2]),
           "a finite number of at least 0");
    return Datum::poison();
  }
  Type type = x->value->type();
  if (type->rank() == 0) {
    report(diag::rank_mismatch, arguments.locs[0], subject(*x, "the argument of 'rmsnorm'"), 0, 1);
    return Datum::poison();
  }
  NumericType result = type_of(*x);
  Value* scale = nullptr;
  if (!arguments[1].is_none()) {
    auto given = expect_float(arguments[1], arguments.locs[1], "rmsnorm");
    if (!given) return Datum::poison();
    Type scale_type = given->value->type();
    std::string what = subject(*given, "the scale");
    ShapeQuestion question;
    question.operands = {blame().asked(arguments.written(0), "argument 'x'", *x->value),
                         blame().asked(arguments.written(1), "argument 'scale'", *given->value)};
    question.may_exchange = true;
    question.fits = [](const Shapes& shapes) {
      return !shapes[0].empty() && shapes[1] == std::vector<Dim>{shapes[0].back()};
    };
    if (scale_type->rank() != 1) {
      auto builder = report(diag::rank_mismatch, arguments.locs[1], what, scale_type->rank(), 1);
      blame().help_shapes(builder, question);
      return Datum::poison();
    }
    if (scale_type->dims[0] != type->dims.back()) {
      report_unequal(blame(), arguments.locs[1], place(*given, 0, "the scale"),
                     place(*x, type->rank() - 1, "the argument of 'rmsnorm'"), &question);
      return Datum::poison();
    }
    auto promoted = promote(result, type_of(*given), arguments.call);
    if (!promoted) return Datum::poison();
    result = *promoted;
    builder_.set_loc(arguments.call);
    scale = convert(given->value, result.compute());
  }
  builder_.set_loc(arguments.call);
  Value* value = convert(x->value, result.compute());
  return handle(graph::rmsnorm(builder_, value, scale, *eps), result, arguments.call);
}

Datum GraphBuilder::embedding(const BoundArguments& arguments) {
  auto ids = expect_tensor(arguments[0], arguments.locs[0], "the argument 'ids' of 'embedding'");
  auto table =
      expect_tensor(arguments[1], arguments.locs[1], "the argument 'table' of 'embedding'");
  if (!ids || !table) return Datum::poison();
  if (!is_integer(ids->storage)) {
    auto builder = report(diag::dtype_mismatch, arguments.locs[0], subject(*ids, "the argument 'ids'"),
                          to_string(ids->storage), "an integer dtype");
    if (is_integer(table->storage)) {
      blame().help_exchange(builder, "indices stand before the table", arguments.locs[0], arguments.locs[1]);
    } else {
      blame().help_conversion(builder, arguments.locs[0], DType::I32);
    }
    return Datum::poison();
  }
  if (table->value->type()->rank() != 2) {
    report(diag::rank_mismatch, arguments.locs[1], subject(*table, "the argument 'table'"),
           table->value->type()->rank(), 2);
    return Datum::poison();
  }
  if (table->storage == DType::Bool) {
    report(diag::wrong_dtype, arguments.locs[1], "embedding", to_string(DType::Bool));
    return Datum::poison();
  }
  builder_.set_loc(arguments.call);
  return handle(graph::embedding(builder_, ids->value, table->value), type_of(*table),
                arguments.call);
}

/// Targets that stand where logits belong, and the reverse.
bool GraphBuilder::report_swapped(const BoundArguments& arguments) {
  if (!arguments[0].is_ir() || !arguments[1].is_ir()) return false;
  DType first = type_of(arguments[0].as_ir()).storage, second = type_of(arguments[1].as_ir()).storage;
  if (!is_integer(first) || !is_float(second)) return false;
  auto builder = report(diag::dtype_mismatch, arguments.locs[0], subject(arguments[0].as_ir(), "the argument 'logits'"),
                        to_string(first), "a float dtype");
  blame().help_exchange(builder, "logits stand before targets", arguments.locs[0], arguments.locs[1]);
  return true;
}

Datum GraphBuilder::cross_entropy(const BoundArguments& arguments) {
  if (report_swapped(arguments)) return Datum::poison();
  auto logits = expect_float(arguments[0], arguments.locs[0], "cross_entropy");
  auto targets =
      expect_tensor(arguments[1], arguments.locs[1], "the argument 'targets' of 'cross_entropy'");
  if (!logits || !targets) return Datum::poison();
  std::string of_logits = subject(*logits, "the argument 'logits'");
  std::string of_targets = subject(*targets, "the argument 'targets'");
  if (!is_integer(targets->storage)) {
    report(diag::dtype_mismatch, arguments.locs[1], of_targets, to_string(targets->storage), "an integer dtype")
        .help("targets are numbers of classes; soft_cross_entropy of tessera.nn takes probabilities");
    return Datum::poison();
  }
  const std::vector<Dim>& rows = logits->value->type()->dims;
  const std::vector<Dim>& picked = targets->value->type()->dims;
  if (rows.empty()) {
    report(diag::rank_mismatch, arguments.locs[0], of_logits, 0, 1);
    return Datum::poison();
  }
  ShapeQuestion question;
  question.operands = {blame().asked(arguments.written(0), "argument 'logits'", *logits->value),
                       blame().asked(arguments.written(1), "argument 'targets'", *targets->value, rows.size() - 1)};
  question.fits = [](const Shapes& shapes) {
    return !shapes[0].empty() && shapes[1] == std::vector<Dim>(shapes[0].begin(), shapes[0].end() - 1);
  };
  if (picked.size() + 1 != rows.size()) {
    auto builder = report(diag::rank_mismatch, arguments.locs[1], of_targets, picked.size(), rows.size() - 1);
    blame().help_shapes(builder, question);
    return Datum::poison();
  }
  for (size_t i = 0; i < picked.size(); ++i) {
    if (picked[i] == rows[i]) continue;
    report_unequal(blame(), arguments.call, place(*targets, i, of_targets), place(*logits, i, of_logits), &question);
    return Datum::poison();
  }
  builder_.set_loc(arguments.call);
  return handle(graph::cross_entropy(builder_, computed(*logits), targets->value), type_of(*logits),
                arguments.call);
}

}  // namespace tessera::frontend
