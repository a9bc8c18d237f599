// Members and subscripts of tensors: `x.T`, `x[:, :n]`, `x[..., 0]`, `x[:, None]`.

#include <algorithm>
#include <cstdlib>

#include "frontend/evaluate/blame_names.h"
#include "frontend/evaluate/placement.h"
#include "frontend/fixes/foreign.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dims.h"
#include "frontend/values/modules.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

/// `x.sum(-1)`: the call as that of a function, which may have another name, or have to be imported.
void GraphBuilder::help_function(DiagnosticEngine::Builder& builder, const ast::Identifier& name,
                                 std::string_view subject, Loc loc, std::optional<std::vector<Edit>> import) {
  std::string_view callee = function_here(name.text);
  std::string which = callee == name.text ? "a function" : fmt::format("the function '{}'", callee);
  std::string message =
      fmt::format("'{}' is {}{}: {}({}, …)", name.text, which, import ? " of tessera.nn" : "", callee, subject);
  std::string_view line = session().sources().file(loc.file).line(loc.line);
  size_t bracket = loc.column - 1 + loc.length;
  bool is_call = is_operand(session().sources(), loc) && !session().is_builtin(loc) && bracket + 1 < line.size() &&
                 line[bracket] == '(' && loc.line == name.loc.line &&
                 (callee == name.text || line[bracket + 1] != ')');
  if (!is_call) {
    builder.help(std::move(message));
    return;
  }
  Loc member = name.loc;
  member.column -= 1;
  member.length += 2;  // with '.' and '('
  std::vector<Edit> edits = {{loc.before(), fmt::format("{}(", callee)},
                             {member, line[bracket + 1] == ')' ? "" : ", "}};
  if (import) edits.insert(edits.begin(), import->begin(), import->end());
  builder.fix(std::move(message), std::move(edits));
}

std::optional<Datum> GraphBuilder::attribute(const Datum& object, const ast::Identifier& name, Loc loc) {
  if (object.object_as<StateValue>()) return state_member(object, name);
  if (const auto* tree = object.object_as<Tree>()) {
    if (const Datum* member = tree->member(name.text)) return *member;
    auto builder = report(diag::unknown_member, name.loc, describe(object), name.text);
    std::vector<std::string> names;
    for (const auto& [known, value] : tree->members().entries) names.push_back(known);
    builder.suggest(session().sources(), name.loc, name.text, names);
    return Datum::poison();
  }
  if (!object.is_ir()) return std::nullopt;
  const IrValue& x = object.as_ir();
  Type type = x.value->type();
  if (name.text == "dtype") return Datum::dtype(x.storage, x.policies);
  if (name.text == "shape") {
    std::vector<Datum> shape;
    for (Dim dim : type->dims) shape.push_back(Datum::dim(dim));
    return Datum::tuple(std::move(shape));
  }
  if (name.text == "T") {
    if (type->rank() < 2) {
      report(diag::rank_mismatch, loc, subject(x, "the tensor"), type->rank(), 2);
      return Datum::poison();
    }
    std::vector<int64_t> perm;
    for (size_t i = 0; i < type->rank(); ++i) perm.push_back(int64_t(i));
    std::swap(perm[type->rank() - 1], perm[type->rank() - 2]);
    return transpose(x, perm, loc);
  }
  auto builder = report(diag::unknown_member, name.loc, describe(object), name.text);
  std::string subject = x.name.empty() ? "x" : std::string(x.name);
  auto function = std::find_if(common_builtins().begin(), common_builtins().end(),
                               [&](const Builtin& builtin) { return builtin.name == function_here(name.text); });
  if (blame().help_member_conversion(builder, loc, name, "cast")) return Datum::poison();
  if (std::string help = help_for_member(name.text, subject); !help.empty()) {
    builder.help(std::move(help));
  } else if (function != common_builtins().end()) {
    help_function(builder, name, subject, loc, std::nullopt);
  } else if (std::optional<std::vector<Edit>> import = library_import(session(), name.text, loc)) {
    help_function(builder, name, subject, loc, std::move(import));
  } else if (!builder.suggest(session().sources(), name.loc, name.text, {"T", "dtype", "shape"})) {
    std::string near = nearest_function(name.text);
    std::string example = near.empty() ? "sum(x, axis=1)" : fmt::format("{}({}, …)", near, subject);
    if (!near.empty() && library_import(session(), near, loc)) example += " of tessera.nn";
    builder.help(fmt::format("a tensor has T, dtype and shape; functions stand alone: {}", example));
  }
  return Datum::poison();
}

/// The selection of a subscript, axis by axis of the operand.
struct GraphBuilder::Slicing {
  const std::vector<Dim>& extents;
  Dim zero;
  std::string what;
  std::vector<Dim> starts;
  std::vector<int64_t> steps;
  std::vector<Dim> dims;    ///< of the slice
  std::vector<Dim> result;  ///< without indexed axes, with new ones
  bool whole = true;
  std::vector<size_t> reversed;  ///< axes of which the slice counts from the end
  std::vector<Datum> indices;  ///< tensors that subscript axes of the result from `gathered` on
  size_t gathered = 0;

  size_t axis() const { return starts.size(); }
  void take(Dim start, int64_t step, Dim dim) {
    whole = whole && start->is_constant(0) && step == 1 && dim == extents[axis()];
    starts.push_back(start);
    steps.push_back(step);
    dims.push_back(dim);
  }
  void take_whole() {
    result.push_back(extents[axis()]);
    take(zero, 1, extents[axis()]);
  }
};

/// Whether low <= high is known; `index` is the one as it is written that lies outside where it does not hold.
bool GraphBuilder::check_bound(Dim low, Dim high, Dim index, Loc loc, const std::string& what) {
  auto holds = decide(dims(), ast::CompareOp::LessEqual, low, high, evaluator_.facts());
  if (holds == true) return true;
  if (holds == false) {
    report(diag::index_out_of_range, loc, index->text, what);
  } else if (evaluator_.is_open()) {
    return true;  // in the calls that are no errors
  } else if (as_written(low) == low && as_written(high) == high) {
    auto builder = report(diag::unproved_bound, loc, low->text, high->text);
    blame().help_clause(builder, {Relation::LessEqual, low, high});
  } else {
    report(diag::unproved_bound, loc, as_written(low)->text, as_written(high)->text)
        .help("let the loop end before: it has to hold in each iteration");
  }
  return false;
}

Dim GraphBuilder::as_written(Dim dim) {
  std::map<std::string, Dim, std::less<>> names;
  for (const RuntimeLoop& loop : function_.runtime_loops) {
    std::string counter = loop.counter ? loop.counter->text : std::string();
    size_t number = counter.rfind('_');
    if (number == std::string::npos) continue;
    Dim variable = dims().symbol(counter.substr(0, number)), start = dims().substitute(loop.start, names);
    Dim distance = loop.step > 0 ? dims().sub(variable, start) : dims().sub(start, variable);
    names[counter] = dims().floordiv(distance, dims().constant(std::abs(loop.step)));
  }
  return names.empty() ? dim : dims().substitute(dim, names);
}

/// Where an index or a bound lies, which counts from the end where it is negative. Nothing where it is negative or 0,
/// as calls make it (-K): an error, unless nothing calls what is run.
std::optional<Dim> GraphBuilder::from_start(Dim written, Dim extent, Loc loc) {
  Dim zero = dims().constant(0);
  auto is = [&](ast::CompareOp op) { return decide(dims(), op, written, zero, evaluator_.facts()) == true; };
  if (is(ast::CompareOp::Less)) return dims().add(extent, written);
  if (written->constant() || !is(ast::CompareOp::LessEqual) || is(ast::CompareOp::GreaterEqual)) return written;
  if (evaluator_.is_open()) return std::nullopt;
  Dim one = dims().constant(1), distance = dims().mul(dims().constant(-1), written);
  auto builder = report(diag::unproved_bound, loc, one->text, distance->text);
  blame().help_clause(builder, {Relation::LessEqual, one, distance});
  return std::nullopt;
}

/// A bound of a slice; a negative one counts from the end. Nothing when an error was reported, or nothing is known.
std::optional<GraphBuilder::SliceBound> GraphBuilder::slice_bound(const ast::Expr* expr, Dim otherwise, Dim extent,
                                                                  Scope& scope) {
  if (!expr) return SliceBound{otherwise, otherwise};
  Datum value = evaluator_.evaluate(*expr, scope);
  if (value.is_ir() && !size_of(value.as_ir())) {
    evaluator_.unsupported(expr->loc, "a bound that is a tensor");
    return std::nullopt;
  }
  Dim written = evaluator_.expect_dim(value, expr->loc, "the bound of a slice");
  if (!written) return std::nullopt;
  std::optional<Dim> at = from_start(written, extent, expr->loc);
  if (!at) return std::nullopt;
  return SliceBound{*at, written};
}

std::optional<int64_t> GraphBuilder::slice_step(const ast::Slice& slice, Scope& scope) {
  if (!slice.step) return 1;
  auto step = evaluator_.expect_int(evaluator_.evaluate(*slice.step, scope), slice.step->loc, "the step of a slice");
  if (step && (*step == 0 || *step == INT64_MIN)) {
    report(diag::wrong_kind, slice.step->loc, "the step of a slice", std::to_string(*step), "another integer");
    return std::nullopt;
  }
  return step;
}

/// A negative step selects from the axis in reverse: element i is then element extent - 1 - i.
bool GraphBuilder::slice_axis(Slicing& slicing, const ast::Slice& slice, Scope& scope) {
  Dim extent = slicing.extents[slicing.axis()];
  std::string what =
      fmt::format("{}, which is {}", dimension_of(slicing.axis(), slicing.what), extent->text);
  std::optional<int64_t> step = slice_step(slice, scope);
  if (!step) return false;
  bool forwards = *step > 0;
  Dim zero = dims().constant(0), last = dims().sub(extent, dims().constant(1));
  auto start = slice_bound(slice.lower, forwards ? zero : last, extent, scope);
  if (!start) return false;
  auto stop = slice_bound(slice.upper, forwards ? extent : dims().constant(-1), extent, scope);
  if (!stop) return false;
  Loc loc = slice.upper ? slice.upper->loc : slice.loc;
  Loc start_loc = slice.lower ? slice.lower->loc : slice.loc;
  // No extent is negative, however it was computed.
  bool is_all = forwards ? start->at == zero && stop->at == extent : !slice.lower && !slice.upper;
  Dim highest = forwards ? extent : last;
  // What is outside is said before what is in the wrong order. Backwards an axis of no elements starts at -1.
  Dim lowest_start = forwards ? zero : dims().constant(-1);
  auto is_outside = [&](const ast::Expr* given, const SliceBound& bound, Dim lowest) {
    bool outside = given && (decide(dims(), ast::CompareOp::Less, bound.at, lowest, evaluator_.facts()) == true ||
                             decide(dims(), ast::CompareOp::Greater, bound.at, highest, evaluator_.facts()) == true);
    if (outside) report(diag::index_out_of_range, given->loc, as_written(bound.written)->text, what);
    return outside;
  };
  if (is_outside(slice.lower, *start, lowest_start) || is_outside(slice.upper, *stop, zero)) return false;
  auto [low, low_written] = forwards ? *start : *stop;
  auto [high, high_written] = forwards ? *stop : *start;
  Loc low_loc = forwards ? start_loc : loc, high_loc = forwards ? loc : start_loc;
  // Backwards the end is the element before the last one selected: without one it is before the first.
  bool has_low = forwards || slice.upper;
  if (decide(dims(), ast::CompareOp::LessEqual, low, high, evaluator_.facts()) == false) {
    report(diag::wrong_kind, loc, "the end of this slice", as_written(stop->at)->text,
           fmt::format("{}, its start, or {}", as_written(start->at)->text, forwards ? "more" : "less"));
    return false;
  }
  if (!is_all && ((has_low && !check_bound(zero, low, low_written, low_loc, what)) ||
                  !check_bound(high, highest, high_written, high_loc, what) ||
                  !check_bound(low, high, low, start_loc, what))) {
    return false;
  }
  Dim count = dims().sub(high, low);
  int64_t stride = std::abs(*step);
  if (stride != 1) count = dims().ceildiv(count, dims().constant(stride));
  if (!forwards) slicing.reversed.push_back(slicing.axis());
  slicing.take(forwards ? start->at : dims().sub(last, start->at), stride, count);
  slicing.result.push_back(count);
  return true;
}

/// Whether a tensor can say which elements a subscript gathers.
bool GraphBuilder::check_indices(const IrValue& indices, Loc loc) {
  if (is_integer(indices.storage)) return true;
  if (indices.storage == DType::Bool) {
    report(diag::unsupported_construct, loc, "a subscript that is a mask")
        .help(
            "the number of elements that a mask selects is not a size that a type can name; "
            "where(mask, x, 0.0) keeps the shape");
    return false;
  }
  auto builder = blame().report_dtype(diag::dtype_mismatch, loc, indices.value, DType::I32,
                                      "elements are gathered by it here", subject(indices, "the subscript"),
                                      to_string(indices.storage), "an integer dtype");
  blame().help_conversion(builder, loc, DType::I32);
  return false;
}

namespace {

bool is_unknown(Dim size) { return size->symbol().find(unknown_mark) != std::string_view::npos; }

}  // namespace

bool GraphBuilder::index_axis(Slicing& slicing, const ast::Expr& index, Scope& scope) {
  Datum value = evaluator_.evaluate(index, scope);
  if (value.is_poison()) return false;
  if (value.is_ir()) {
    if (!check_indices(value.as_ir(), index.loc)) return false;
    if (slicing.indices.empty()) slicing.gathered = slicing.result.size();
    if (slicing.result.size() != slicing.gathered + slicing.indices.size()) {
      report(diag::unsupported_construct, index.loc, "a subscript with tensors that do not stand side by side")
          .help("transpose first, so that the axes that they subscript are neighbours");
      return false;
    }
    slicing.indices.push_back(value);
    auto gathered = common_dims(slicing.indices, index.loc);
    if (!gathered || std::ranges::any_of(*gathered, is_unknown)) return false;
    slicing.take_whole();
    return true;
  }
  if (value.is_sequence()) {
    report(diag::wrong_kind, index.loc, "the index", describe_given(value),
           "an integer, a size or a tensor of integers")
        .help("rows that are known at compile time are slices, concat((x[:1], x[3:4]), axis=0)");
    return false;
  }
  Dim at = evaluator_.expect_dim(value, index.loc, "the index");
  if (!at) return false;
  Dim extent = slicing.extents[slicing.axis()];
  std::string what =
      fmt::format("{}, which is {}", dimension_of(slicing.axis(), slicing.what), extent->text);
  std::optional<Dim> from = from_start(at, extent, index.loc);
  if (!from) return false;
  Dim position = *from;
  Dim last = dims().sub(extent, dims().constant(1));
  auto outside = decide(dims(), ast::CompareOp::Greater, position, last, evaluator_.facts());
  if (outside == true ||
      decide(dims(), ast::CompareOp::Less, position, dims().constant(0), evaluator_.facts()) == true) {
    report(diag::index_out_of_range, index.loc, at->text, what);
    return false;
  }
  if (!check_bound(dims().constant(0), position, at, index.loc, what) ||
      !check_bound(dims().add(position, dims().constant(1)), extent, at, index.loc, what)) {
    return false;
  }
  slicing.take(position, 1, dims().constant(1));
  return true;
}

/// What a function of the library that moves elements gives of x and other arguments: a subscript rounds nothing.
Datum GraphBuilder::moved(std::string_view function, const Datum& x, std::vector<Datum> arguments, Loc loc) {
  SourceModule* library = session().load_library("tessera.indexing");
  TSR_CHECK(library, "the library has a module for indexing");
  const IrValue& table = x.as_ir();
  std::vector<CallArgument> given;
  given.push_back({"", handle(table.value, {table.value->type()->dtype, {}, false}, loc), loc});
  for (Datum& argument : arguments) given.push_back({"", std::move(argument), loc});
  Datum taken = evaluator_.call(evaluator_.lookup(function, *library->scope, loc), std::move(given), loc);
  return taken.is_ir() ? handle(taken.as_ir().value, type_of(table), loc) : taken;
}

/// x[.., i, ..] is a gather, and x[.., i, j, ..] one of elements.
Datum GraphBuilder::gather_axes(const Datum& x, size_t axis, std::vector<Datum> indices, Loc loc) {
  bool one = indices.size() == 1;
  Datum numbers = one ? indices[0] : Datum::tuple(std::move(indices));
  return moved(one ? "gather" : "gather_elements", x, {numbers, Datum::integer(int64_t(axis))}, loc);
}

/// `W["d_model"]`, for what is said of axes; not a part of the tensor.
Datum GraphBuilder::named_axis(const IrValue& x, const ast::String& name) {
  const std::vector<Dim>& extents = x.value->type()->dims;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis]->symbol() != name.value) continue;
    return Datum::object(
        std::make_shared<NamedAxis>(std::string(x.name), std::string(name.value), axis));
  }
  report(diag::unnamed_axis, name.loc, subject(x, "the tensor"), name.value)
      .label(x.origin, fmt::format("its shape is {}", to_text(extents)));
  return Datum::poison();
}

std::optional<Datum> GraphBuilder::subscript(const Datum& object, ast::ExprList indices, Scope& scope, Loc loc) {
  if (const auto* state = object.object_as<StateValue>(); state && state->field("K")) {
    if (!is_current(*state, loc)) return Datum::poison();
    std::vector<Datum> parts;
    for (const char* field : {"K", "V"}) {
      parts.push_back(evaluator_.subscript(Datum::ir(*state->field(field)), indices, scope, loc));
      if (parts.back().is_poison()) return Datum::poison();
    }
    return Datum::tuple(std::move(parts));
  }
  if (!object.is_ir()) return std::nullopt;
  const auto* name = indices.size() == 1 ? ast::as<ast::String>(indices[0]) : nullptr;
  if (name) return named_axis(object.as_ir(), *name);
  const IrValue& x = object.as_ir();
  Type type = x.value->type();
  Slicing slicing{type->dims, dims().constant(0), subject(x, "the tensor"), {}, {}, {}, {}};
  size_t used = 0, ellipses = 0;
  for (const ast::Expr* index : indices) {
    ellipses += index->kind == ast::NodeKind::Ellipsis;
    used += index->kind != ast::NodeKind::Ellipsis && index->kind != ast::NodeKind::None;
  }
  if (used > type->rank()) {
    for (const ast::Expr* index : indices) {  // a name without a meaning is no axis too many
      bool is_value = index->kind != ast::NodeKind::Slice && index->kind != ast::NodeKind::Ellipsis;
      if (is_value && evaluator_.evaluate(*index, scope).is_poison()) return Datum::poison();
    }
    report(diag::rank_mismatch, loc, slicing.what, type->rank(), used);
    return Datum::poison();
  }
  if (ellipses > 1) return evaluator_.unsupported(loc, "a subscript with more than one '...'");
  auto take_whole = [&](size_t count) {
    for (size_t i = 0; i < count; ++i) slicing.take_whole();
  };
  bool good = true;  // what is wrong with each axis is said
  for (const ast::Expr* index : indices) {
    if (index->kind == ast::NodeKind::Ellipsis) {
      take_whole(type->rank() - used);
    } else if (index->kind == ast::NodeKind::None) {
      slicing.result.push_back(dims().constant(1));
    } else {
      size_t axis = slicing.axis();
      const auto* slice = ast::as<ast::Slice>(index);
      bool is_taken = slice ? slice_axis(slicing, *slice, scope) : index_axis(slicing, *index, scope);
      if (!is_taken && slicing.axis() == axis) slicing.take_whole();
      good = good && is_taken;
    }
  }
  if (!good) return Datum::poison();
  take_whole(type->rank() - slicing.axis());
  Datum source = object;
  for (size_t axis : slicing.reversed) {
    source = moved("flip", source, {Datum::integer(int64_t(axis))}, loc);
    if (source.is_poison()) return source;
  }
  builder_.set_loc(loc);
  Value* value = source.as_ir().value;
  if (!slicing.whole) {
    value = graph::slice(builder_, value, slicing.starts, slicing.steps, slicing.dims);
  }
  value = graph::reshape(builder_, value, slicing.result);
  Datum taken = handle(value, type_of(source.as_ir()), loc);
  if (slicing.indices.empty()) return taken;
  return gather_axes(taken, slicing.gathered, std::move(slicing.indices), loc);
}

}  // namespace tessera::frontend
