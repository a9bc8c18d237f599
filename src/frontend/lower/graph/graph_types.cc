// Declared types: a value given to a parameter, a result or a name with a type must have that type,
// or a dtype that widens to it.

#include "frontend/lower/graph/graph_builder.h"
#include "frontend/values/dims.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

bool GraphBuilder::check_memory(DType dtype, Loc loc, std::string_view what) {
  if (dtype != DType::I4) return true;
  report(diag::dtype_mismatch, loc, what, to_string(dtype), "a dtype of memory")
      .help("numbers of 4 bits lie two to a byte, in u8: pack_int4 and unpack_int4 of tessera.nn");
  return false;
}

std::optional<NumericType> GraphBuilder::written_type(const TypePattern& pattern, Scope& scope) {
  NumericType type{pattern.dtype, pattern.policies, false};
  if (!pattern.dtype_symbol.empty()) {
    Datum dtype = evaluator_.lookup(pattern.dtype_symbol, scope, pattern.loc);
    auto known = evaluator_.expect_dtype(dtype, pattern.loc, "the dtype");
    if (!known) return std::nullopt;
    type.storage = *known;
    if (pattern.policies.empty()) type.policies = dtype.dtype_policies();
    if (type.policies.accum && !widens_to(type.storage, *type.policies.accum)) {
      report(diag::accum_narrower, pattern.loc, to_string(*type.policies.accum),
             to_string(type.storage));
      return std::nullopt;
    }
  }
  return type;
}

bool GraphBuilder::check_dims(const TypePattern& pattern, const IrValue& value, Scope& scope,
                              Loc loc, const std::string& what) {
  auto wanted = evaluate_dims(evaluator_, pattern, scope);
  if (!wanted) return false;
  const std::vector<Dim>& dims_now = value.value->type()->dims;
  ShapeQuestion question;
  question.operands.push_back({loc, what, dims_now, wanted->size()});
  question.operands[0].reduced = blame().reduced_from(value.value);
  question.fits = [&](const Shapes& shapes) { return shapes[0] == *wanted; };
  if (dims_now.size() != wanted->size()) {
    auto builder = report(diag::rank_mismatch, loc, what, dims_now.size(), wanted->size());
    builder.label(pattern.loc, "the type is written here");
    blame().help_shapes(builder, question);
    return false;
  }
  std::optional<size_t> i = blame().differing_axis(dims_now, *wanted, false);
  if (!i) return true;
  bool spread = pattern.dims.size() != wanted->size();
  DimPlace here = place(value, *i, what);
  here.what = dimension_of(*i, what);
  report_unequal(blame(), loc, here,
                 {(*wanted)[*i], spread ? pattern.loc : pattern.dims[*i].loc, dimension_of(*i, "its type"), "", {},
                  to_text(*wanted)},
                 &question);
  return is_assumed(dims_now[*i], (*wanted)[*i]);
}

/// Whether a value may be given the written type: its @accum agrees, and its dtype widens.
bool GraphBuilder::check_widening(const TypePattern& pattern, const NumericType& type,
                                  const IrValue& value, Loc loc, const std::string& what) {
  auto accum = value.policies.accum;
  if (accum && type.policies.accum && accum != type.policies.accum) {
    report(diag::accum_conflict, loc, to_string(*accum), to_string(*type.policies.accum))
        .label(pattern.loc, "the type is written here");
    return false;
  }
  if (value.weak && is_float(type.storage)) return true;
  if (widens_to(value.storage, type.storage)) return true;
  bool narrows =
      widens_to(type.storage, value.storage) || is_float(type.storage) == is_float(value.storage);
  std::string_view from = to_string(value.storage), to = to_string(type.storage);
  auto builder = narrows ? report(diag::narrowing, loc, what, from, to)
                         : report(diag::dtype_mismatch, loc, what, from, to);
  builder.label(pattern.loc, "the type is written here");
  if (value.value->type()->dtype == value.storage) blame().label_dtype(builder, value.value, loc);
  blame().help_conversion(builder, loc, type.storage);
  return false;
}

/// Of what nothing calls: the value in the shape of its type, which calls give it.
Value* GraphBuilder::in_written_shape(const TypePattern& pattern, Value* value, Scope& scope) {
  auto wanted = evaluate_dims(evaluator_, pattern, scope);
  return wanted ? graph::reshape(builder_, value, std::move(*wanted)) : value;
}

Datum GraphBuilder::conform_tensor(const TypePattern& pattern, const Datum& datum, Scope& scope,
                                   Use use, Loc loc, const std::string& what) {
  if (!pattern.layout.empty()) {
    return evaluator_.unsupported(pattern.loc, fmt::format("layout '{}' of a tensor", pattern.layout));
  }
  if (!pattern.privileges.empty()) return evaluator_.unsupported(pattern.loc, "a region of a tensor");
  auto type = written_type(pattern, scope);
  if (!type) return Datum::poison();
  auto value = expect_tensor(datum, loc, what);
  if (!value) return Datum::poison();
  if (!datum.is_ir()) {
    // A number takes the dtype that is written.
    value->value = number(datum, type->storage, {}, loc);
    if (!value->value) return Datum::poison();
    value->storage = type->storage;
  }
  if (use == Use::Stored && !check_dims(pattern, *value, scope, loc, what)) return Datum::poison();
  if (!check_widening(pattern, *type, *value, loc, what)) return Datum::poison();
  builder_.set_loc(loc);
  IrValue result = *value;
  result.weak = false;
  if (use == Use::Stored && evaluator_.is_open()) result.value = in_written_shape(pattern, result.value, scope);
  if (value->weak) result.value = in_dtype(*value, type->compute());
  if (use == Use::Stored) {
    result.value = round_to(result.value, *type, loc);
  } else if (value->storage != type->storage) {
    result.value = convert(result.value, type->compute());
  }
  bool inherits = !type->policies.accum && type->storage == value->storage;
  if (inherits) type->policies.accum = value->policies.accum;
  result.storage = type->storage;
  result.policies = type->policies;
  return Datum::ir(result);
}

Datum GraphBuilder::conform(const TypePattern& pattern, const Datum& value, Scope& scope, Use use,
                            Loc loc, const std::string& what) {
  if (value.is_poison()) return value;
  switch (pattern.kind) {
    case PatternKind::Poison:
      return Datum::poison();
    case PatternKind::Any:
      return value;
    case PatternKind::Tensor:
    case PatternKind::KTile:
      return conform_tensor(pattern, value, scope, use, loc, what);
    case PatternKind::Tile:
      return evaluator_.unsupported(pattern.loc, "type 'Tile' outside a kernel");
    case PatternKind::State:
      return conform_state(pattern, value, scope, loc, what);
    case PatternKind::Other:
      // A tile of a kernel on whole tensors: any tensor, as it is stored.
      if (pattern.name == "Tile" && value.is_ir())
        return use == Use::Stored ? rounded(value, loc) : value;
      return evaluator_.unsupported(pattern.loc, fmt::format("type '{}'", pattern.name));
    case PatternKind::Tuple:
      break;
    case PatternKind::Scalar:
      // A scalar that is computed is a tensor of rank 0.
      if (value.is_ir()) return conform_tensor(pattern, value, scope, Use::Stored, loc, what);
      return evaluator_.conform_constant(pattern, value, loc, what);
    default:
      return evaluator_.conform_constant(pattern, value, loc, what);
  }
  if (pattern.elements.empty() && value.is_none()) return value;
  if (!value.is_sequence() || value.elements().size() != pattern.elements.size()) {
    auto builder = report(diag::wrong_kind, loc, what,
           value.is_sequence() ? fmt::format("a tuple of {}", value.elements().size())
                               : describe(value),
           pattern.elements.empty() ? "nothing"
                                    : fmt::format("a tuple of {}", pattern.elements.size()));
    bool is_one = value.is_ir() && pattern.elements.size() > 1;
    if (is_one) builder.help("several results stand beside each other: return a, b");
    return Datum::poison();
  }
  std::vector<Datum> elements;
  for (size_t i = 0; i < pattern.elements.size(); ++i) {
    elements.push_back(conform(pattern.elements[i], value.elements()[i], scope, use, loc,
                               fmt::format("element {} of {}", i, what)));
    if (elements.back().is_poison()) return Datum::poison();
  }
  return Datum::tuple(std::move(elements));
}

/// Rounds tensors to what they are stored in, which is what returning them means.
Datum GraphBuilder::rounded(const Datum& value, Loc loc) {
  if (value.is_sequence()) {
    std::vector<Datum> elements;
    for (const Datum& element : value.elements()) elements.push_back(rounded(element, loc));
    return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements))
                                      : Datum::list(std::move(elements));
  }
  if (!value.is_ir() || value.as_ir().weak) return value;
  builder_.set_loc(loc);
  IrValue result = value.as_ir();
  result.value = stored(result);
  return Datum::ir(result);
}

Datum GraphBuilder::annotate(const ast::Expr& annotation, Datum value, Scope& scope, Loc loc) {
  TypePattern pattern = read_type(evaluator_, annotation, scope);
  return conform(pattern, value, scope, Use::Stored, loc, "the value");
}

}  // namespace tessera::frontend
