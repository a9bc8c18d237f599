// Reshape, transpose, concat and other ops that give the same elements other dims.

#include <algorithm>
#include <set>

#include "frontend/fixes/foreign.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dims.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

std::optional<int64_t> GraphBuilder::expect_axis(const Datum& datum, size_t rank, Loc loc,
                                                 std::string_view of) {
  auto axis = evaluator_.expect_int(datum, loc, "the axis");
  if (!axis) return std::nullopt;
  int64_t axes = int64_t(rank);
  if (*axis >= -axes && *axis < axes) return *axis < 0 ? *axis + axes : *axis;
  auto builder = report(diag::axis_out_of_range, loc, *axis, counted(rank, "dimension"), of);
  if (axes > 0) builder.help(fmt::format("axes count from 0: the last is {}, and also -1", axes - 1));
  return std::nullopt;
}

/// One axis, several, or None for all; sorted.
std::optional<std::vector<int64_t>> GraphBuilder::expect_axes(const Datum& datum, size_t rank,
                                                              Loc loc, std::string_view of) {
  std::vector<int64_t> axes;
  if (datum.is_none()) {
    for (size_t i = 0; i < rank; ++i) axes.push_back(int64_t(i));
    return axes;
  }
  std::vector<Datum> given = datum.is_sequence() ? datum.elements() : std::vector<Datum>{datum};
  for (const Datum& each : given) {
    auto axis = expect_axis(each, rank, loc, of);
    if (!axis) return std::nullopt;
    axes.push_back(*axis);
  }
  std::sort(axes.begin(), axes.end());
  auto twice = std::adjacent_find(axes.begin(), axes.end());
  if (twice == axes.end()) return axes;
  report(diag::repeated_axis, loc, *twice, to_text(datum));
  return std::nullopt;
}

/// False, with a diagnostic, when a dim that is an extent is below 0 whatever the sizes are.
bool GraphBuilder::expect_size(Dim dim, Loc loc) {
  auto high = interval(dim).high;
  if (!high || *high >= 0) return true;
  report(diag::negative_dimension, loc, dim->text);
  return false;
}

/// A shape given as one tuple or as the arguments from `at` on.
std::optional<std::vector<Dim>> GraphBuilder::rest_shape(const BoundArguments& arguments,
                                                         size_t at) {
  const std::vector<Datum>& rest = arguments[at].elements();
  bool tuple = rest.size() == 1 && rest[0].is_sequence();
  return evaluator_.expect_shape(tuple ? rest[0] : arguments[at], arguments.locs[at], "the shape");
}

/// A call without any shape; that of no axes is (), which is written.
bool GraphBuilder::lacks_shape(const BoundArguments& arguments, std::string_view function) {
  if (!arguments[1].elements().empty()) return false;
  report(diag::missing_argument, arguments.call, "shape", function)
      .help(fmt::format("it is called as {}(x, (B, D))", function));
  return true;
}

/// A reshape to a shape that has not as many elements; `known`: those of the extents beside -1, or null.
void GraphBuilder::report_reshape(const IrValue& x, std::span<const Dim> shape, Dim count, Dim wanted, Dim known,
                                  const BoundArguments& arguments) {
  auto standing = blame().unproven({Relation::Equal, wanted, count});
  if (standing == Blame::Unproven::OfCalls) return;
  std::string of = subject(x, "the tensor");
  auto warn = [&] {
    return report(diag::unstated_relation, arguments.call, blame().uncalled({Relation::Equal, wanted, count}),
                  fmt::format("{}, the elements of {}, equal to {}, those of shape {}", count->text, of, wanted->text,
                              to_text(shape)));
  };
  bool may_fit = standing == Blame::Unproven::Unstated && !are_equal_at_zero_only(dims(), wanted, count);
  auto builder = may_fit ? warn()
                         : report(diag::bad_reshape, arguments.call, of, count->text, to_text(shape), wanted->text);
  builder.label(x.origin.known() ? x.origin : arguments.locs[0],
                fmt::format("its shape is {}", to_text(x.value->type()->dims)));
  if (known && blame().certainly_differ(wanted, count)) {
    builder.help(fmt::format("nothing fits in the place of -1: {} does not divide {}", known->text, count->text));
  }
  blame().help_clause(builder, {Relation::Equal, wanted, count}, "if nothing is ever left over");
}

Datum GraphBuilder::reshape(const BoundArguments& arguments) {
  auto x = expect_tensor(arguments[0], arguments.locs[0], "the argument of 'reshape'");
  if (x && lacks_shape(arguments, "reshape")) return Datum::poison();
  auto shape = x ? rest_shape(arguments, 1) : std::nullopt;
  if (!shape) return Datum::poison();
  Dim count = evaluator_.simplified(element_count(dims(), x->value->type()->dims));
  auto is_rest = [](Dim d) { return d->is_constant(-1); };
  if (std::count_if(shape->begin(), shape->end(), is_rest) > 1) {
    report(diag::open_extents, arguments.locs[1], to_text(*shape))
        .help("one extent of -1 is what the others leave; write the others, as in (x.shape[0], -1)");
    return Datum::poison();
  }
  for (Dim dim : *shape) {
    if (!is_rest(dim) && !expect_size(dim, arguments.locs[1])) return Datum::poison();
  }
  // -1 stands for what is left; a quotient that leaves a remainder is refused below.
  auto open = std::find_if(shape->begin(), shape->end(), is_rest);
  Dim known = nullptr;  // the elements of the others
  if (open != shape->end()) {
    *open = dims().constant(1);
    if (!check_size(blame(), *shape, arguments.call)) return Datum::poison();
    known = element_count(dims(), *shape);
    Dim left = exact_quotient(dims(), count, known);
    if (!left && !known->is_constant(0)) left = reduced_quotient(dims(), count, known);
    if (left) *open = evaluator_.simplified(left);
  }
  if (!check_size(blame(), *shape, arguments.call)) return Datum::poison();
  Dim wanted = evaluator_.simplified(element_count(dims(), *shape));
  if (wanted != count) {
    report_reshape(*x, *shape, count, wanted, known, arguments);
    if (!is_assumed(count, wanted)) return Datum::poison();
    if (known) *open = unknown_size();
  }
  builder_.set_loc(arguments.call);
  return handle(graph::reshape(builder_, x->value, std::move(*shape)), type_of(*x), arguments.call);
}

Datum GraphBuilder::transpose(const IrValue& x, const std::vector<int64_t>& perm, Loc loc) {
  builder_.set_loc(loc);
  return handle(graph::transpose(builder_, x.value, perm), type_of(x), loc);
}

/// Without axes the last two change places.
Datum GraphBuilder::transpose(const BoundArguments& arguments) {
  auto x = expect_tensor(arguments[0], arguments.locs[0], "the argument of 'transpose'");
  if (!x) return Datum::poison();
  size_t rank = x->value->type()->rank();
  std::string of = subject(*x, "the argument of 'transpose'");
  const std::vector<Datum>& rest = arguments[1].elements();
  std::vector<int64_t> perm;
  if (rest.empty()) {
    if (rank < 2) {
      report(diag::rank_mismatch, arguments.locs[0], of, rank, 2);
      return Datum::poison();
    }
    for (size_t i = 0; i < rank; ++i) perm.push_back(int64_t(i));
    std::swap(perm[rank - 1], perm[rank - 2]);
    return transpose(*x, perm, arguments.call);
  }
  const std::vector<Datum>& axes =
      rest.size() == 1 && rest[0].is_sequence() ? rest[0].elements() : rest;
  for (const Datum& each : axes) {
    auto axis = expect_axis(each, rank, arguments.locs[1], of);
    if (!axis) return Datum::poison();
    if (std::count(perm.begin(), perm.end(), *axis)) {
      report(diag::repeated_axis, arguments.locs[1], *axis, "transpose");
      return Datum::poison();
    }
    perm.push_back(*axis);
  }
  if (perm.size() != rank) {
    auto builder = report(diag::rank_mismatch, arguments.locs[0], of, rank, perm.size());
    // Two axes of more are meant to change places, as elsewhere.
    std::vector<int64_t> all(rank);
    for (size_t i = 0; i < rank; ++i) all[i] = int64_t(i);
    if (perm.size() == 2 && rank > 2) std::swap(all[size_t(perm[0])], all[size_t(perm[1])]);
    std::string example = perm.size() == 2 && rank > 2 ? fmt::format(": transpose(x, {})", fmt::join(all, ", ")) : "";
    builder.help(fmt::format("all {} axes are given, in their new order{}", rank, example));
    return Datum::poison();
  }
  return transpose(*x, perm, arguments.call);
}

Datum GraphBuilder::broadcast_to(const BoundArguments& arguments) {
  auto x = expect_tensor(arguments[0], arguments.locs[0], "the argument of 'broadcast_to'");
  if (x && lacks_shape(arguments, "broadcast_to")) return Datum::poison();
  auto shape = x ? rest_shape(arguments, 1) : std::nullopt;
  if (!shape) return Datum::poison();
  for (Dim dim : *shape) {
    if (!expect_size(dim, arguments.locs[1])) return Datum::poison();
  }
  const std::vector<Dim>& old = x->value->type()->dims;
  std::string of = subject(*x, "the argument of 'broadcast_to'");
  if (old.size() > shape->size()) {
    report(diag::rank_mismatch, arguments.locs[0], of, old.size(), shape->size());
    return Datum::poison();
  }
  size_t offset = shape->size() - old.size();
  std::vector<Dim> wanted(shape->begin() + std::ptrdiff_t(offset), shape->end()), given = old;
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i]->is_constant(1)) given[i] = wanted[i];
  }
  if (std::optional<size_t> i = blame().differing_axis(given, wanted, false)) {
    ShapeQuestion question;
    question.operands = {blame().asked(arguments.written(0), "the argument", *x->value, shape->size())};
    question.fits = [&](const Shapes& shapes) {
      std::vector<Dim> repeated = shapes[0];
      for (size_t k = 0; k < std::min(repeated.size(), shape->size()); ++k) {
        size_t from = shape->size() - repeated.size() + k;
        if (repeated[k]->is_constant(1)) repeated[k] = (*shape)[from];
      }
      return std::ranges::equal(repeated, std::span(*shape).last(repeated.size()));
    };
    report_unequal(blame(), arguments.call, place(*x, *i, of),
                   {wanted[*i], arguments.locs[1], dimension_of(offset + *i, "the new shape")}, &question);
    return Datum::poison();
  }
  builder_.set_loc(arguments.call);
  return handle(graph::broadcast_to(builder_, x->value, std::move(*shape)), type_of(*x),
                arguments.call);
}

/// windows(x, size, axis=-1, step=1, dilation=1)
Datum GraphBuilder::windows(const BoundArguments& arguments) {
  auto x = expect_tensor(arguments[0], arguments.locs[0], "the argument of 'windows'");
  auto size = evaluator_.expect_int(arguments[1], arguments.locs[1], "the size of 'windows'");
  if (!x || !size) return Datum::poison();
  std::string of = subject(*x, "the argument of 'windows'");
  auto axis = expect_axis(arguments[2], x->value->type()->rank(), arguments.locs[2], of);
  auto step = evaluator_.expect_int(arguments[3], arguments.locs[3], "the step of 'windows'");
  auto dilation = evaluator_.expect_int(arguments[4], arguments.locs[4], "the dilation of 'windows'");
  if (!axis || !step || !dilation) return Datum::poison();
  const std::pair<int64_t, const char*> numbers[] = {{*size, "size"}, {*step, "step"}, {*dilation, "dilation"}};
  for (size_t i = 0; i < 3; ++i) {
    if (numbers[i].first >= 1 && numbers[i].first < int64_t(1) << 31) continue;
    report(diag::wrong_kind, arguments.locs[i == 0 ? 1 : i + 2], fmt::format("the {} of 'windows'", numbers[i].second),
           std::to_string(numbers[i].first), "a number from 1 up");
    return Datum::poison();
  }
  Dim extent = x->value->type()->dims[size_t(*axis)];
  int64_t reach = (*size - 1) * *dilation;
  std::string what = fmt::format("{}, which is {}", dimension_of(size_t(*axis), of), extent->text);
  Dim covered = dims().constant(reach + 1);
  if (decide(dims(), ast::CompareOp::Greater, covered, extent, evaluator_.facts()) == true) {
    report(diag::wrong_kind, arguments.locs[1], "the extent of a window", covered->text,
           fmt::format("at most {}, that of {},", extent->text, dimension_of(size_t(*axis), of)));
    return Datum::poison();
  }
  if (!check_bound(covered, extent, covered, arguments.call, what)) return Datum::poison();
  Dim count = dims().ceildiv(dims().sub(extent, dims().constant(reach)), dims().constant(*step));
  builder_.set_loc(arguments.call);
  Value* value = graph::windows(builder_, x->value, *axis, count, dims().constant(*size), *step, *dilation);
  return handle(value, type_of(*x), arguments.call);
}

/// Parts that differ along one axis alone are put beside each other along it.
void GraphBuilder::help_axis(DiagnosticEngine::Builder& builder, std::span<const IrValue> parts,
                             const BoundArguments& arguments) {
  std::set<size_t> unequal;
  const std::vector<Dim>& first = parts[0].value->type()->dims;
  for (const IrValue& part : parts) {
    const std::vector<Dim>& dims = part.value->type()->dims;
    if (dims.size() != first.size()) return;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != first[i]) unequal.insert(i);
    }
  }
  if (unequal.size() != 1) return;
  std::string message = fmt::format("the shapes fit with axis={}", *unequal.begin());
  bool is_written = arguments.locs[1] != arguments.call && !session().is_builtin(arguments.locs[1]);
  is_written ? builder.fix(std::move(message), arguments.locs[1], fmt::format("{}", *unequal.begin()))
             : builder.help(std::move(message));
}

Datum GraphBuilder::concat(const BoundArguments& arguments) {
  const Datum& list = arguments[0];
  if (!list.is_sequence() || list.elements().empty()) {
    auto builder = report(diag::wrong_kind, arguments.locs[0], "the argument 'parts' of 'concat'",
                          list.is_sequence() ? "empty" : describe(list), "a list of tensors");
    if (list.is_ir()) builder.help(std::string(several_tensors));
    return Datum::poison();
  }
  std::vector<IrValue> parts;
  std::optional<NumericType> type;
  for (const Datum& each : list.elements()) {
    auto part = expect_tensor(each, arguments.locs[0], "a part of 'concat'");
    if (!part) return Datum::poison();
    type = type ? promote(*type, type_of(*part), arguments.call) : type_of(*part);
    if (!type) return Datum::poison();
    parts.push_back(*part);
  }
  const std::vector<Dim>& first = parts[0].value->type()->dims;
  std::string of_first = subject(parts[0], "part 1");
  auto axis = expect_axis(arguments[1], first.size(), arguments.locs[1], of_first);
  if (!axis) return Datum::poison();
  std::vector<Value*> values;
  for (size_t n = 0; n < parts.size(); ++n) {
    const std::vector<Dim>& other = parts[n].value->type()->dims;
    std::string of = subject(parts[n], fmt::format("part {}", n + 1));
    if (other.size() != first.size()) {
      report(diag::rank_mismatch, arguments.locs[0], of, other.size(), first.size());
      return Datum::poison();
    }
    for (size_t i = 0; i < first.size(); ++i) {
      if (int64_t(i) == *axis || other[i] == first[i]) continue;
      auto builder = report_unequal(blame(), arguments.call, place(parts[n], i, of), place(parts[0], i, of_first));
      help_axis(builder, parts, arguments);
      return Datum::poison();
    }
  }
  builder_.set_loc(arguments.call);
  // Parts that are all still as they are stored stay so.
  bool as_stored = std::all_of(parts.begin(), parts.end(), [&](const IrValue& part) {
    return part.value->type()->dtype == type->storage;
  });
  for (const IrValue& part : parts) {
    values.push_back(as_stored ? part.value : convert(part.value, type->compute()));
  }
  return handle(graph::concat(builder_, std::move(values), *axis), *type, arguments.call);
}

}  // namespace tessera::frontend
