// Matching patterns with argument types: which symbol stands for which dimension at one call.

#include <algorithm>

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/type_expr.h"
#include "frontend/fixes/operand_text.h"
#include "frontend/syntax/ast_walk.h"
#include "frontend/values/dims.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

std::string place(size_t axis, std::string_view what) {
  return fmt::format("dimension {} of {}", axis, what);
}

/// The symbol of each dimension of the argument: groups spread out, "" for an expression.
std::vector<std::string> spread_symbols(const TypePattern& pattern) {
  std::vector<std::string> symbols;
  for (const DimPattern& dim : pattern.dims) {
    if (dim.group.empty()) {
      symbols.push_back(dim.symbol);
    } else {
      symbols.insert(symbols.end(), dim.group.begin(), dim.group.end());
    }
  }
  return symbols;
}

/// Whether a size alone is mentioned by a polynomial: A and 2*A are hardly ever equal.
bool is_part_of(Dim size, Dim dim) {
  bool is_polynomial = std::ranges::all_of(dim->terms, [](const DimTerm& term) {
    return std::ranges::all_of(term.factors, [](const DimAtom* atom) { return atom->kind == DimAtomKind::Symbol; });
  });
  return is_polynomial && !size->symbol().empty() && mentions(dim, size->symbol());
}

bool bind_dtype(Evaluator& evaluator, const TypePattern& pattern, const ArgumentType& argument,
                Bindings& bindings) {
  if (pattern.dtype_symbol.empty()) return true;
  auto [it, fresh] = bindings.dtypes.try_emplace(pattern.dtype_symbol,
                                                 DTypeValue{argument.dtype, argument.policies});
  if (fresh || it->second.dtype == argument.dtype) return true;
  evaluator
      .report(diag::dtype_mismatch, argument.loc, argument.what, to_string(argument.dtype),
              to_string(it->second.dtype))
      .label(pattern.loc, fmt::format("'{}' is {} by an earlier argument", pattern.dtype_symbol,
                                     to_string(it->second.dtype)));
  return false;
}

}  // namespace

Loc ArgumentType::place(size_t axis) const {
  if (axis < dim_places.size()) return dim_places[axis];
  return origin.known() ? origin : loc;
}

namespace {

/// Says what a dimension is where it comes from, and what the constants in it are where they are declared.
void label_dim(Session& session, DiagnosticEngine::Builder& builder, const DimPlace& place, Loc reported) {
  if (!place.loc.known() || place.loc == reported) return;
  const std::vector<NamedPlace>* constants = session.written_dim(place.loc);
  std::string written = constants ? source_text(session.sources(), place.loc) : "";
  std::string value = written.empty() || written == place.dim->text ? place.dim->text
                                                                    : fmt::format("{} = {}", written, place.dim->text);
  std::string from = place.from.empty() ? "" : fmt::format(", from {}", place.from);
  builder.label(place.loc, fmt::format("{} is {}{}", place.what, value, from));
  if (place.instance.known()) builder.label(place.instance, "its module is made here");
  if (!constants) return;
  for (const NamedPlace& constant : *constants) builder.label(constant.loc, constant.text);
}

}  // namespace

DiagnosticEngine::Builder report_unequal(const Blame& blame, Loc loc, const DimPlace& a, const DimPlace& b,
                                         const ShapeQuestion* question) {
  using enum Blame::Unproven;
  bool certain = blame.certainly_differ(a.dim, b.dim);
  auto standing = blame.unproven({Relation::Equal, a.dim, b.dim});
  Session::Reports reports(blame.session(), standing == OfCalls ? Reporting::Nothing : Reporting::All);
  bool has_shapes = !a.shape.empty() && !b.shape.empty();
  std::string shapes = has_shapes ? fmt::format(" (shapes {} and {})", a.shape, b.shape) : "";
  auto report = [&](auto kind) {
    return blame.report(kind, loc, a.what, a.dim->text, b.what, b.dim->text + shapes);
  };
  auto warn = [&] {
    return blame.report(diag::unstated_relation, loc, blame.uncalled({Relation::Equal, a.dim, b.dim}),
                        fmt::format("{}, which is {}, equal to {}, which is {}{}", a.what, a.dim->text, b.what,
                                    b.dim->text, shapes));
  };
  auto builder = certain                ? report(diag::shape_mismatch)
                 : standing == Unstated ? warn()
                                        : report(diag::unrelated_symbols);
  label_dim(blame.session(), builder, a, loc);
  label_dim(blame.session(), builder, b, loc);
  if ((question && blame.help_shapes(builder, *question)) || certain) return builder;
  // A name can be given a value where it stands; of two sizes a clause says that they are one.
  Dim name = a.dim->symbol().empty() ? b.dim : a.dim;
  Dim other = name == a.dim ? b.dim : a.dim;
  if (!name->symbol().empty() && other->constant()) {
    if (!question || !fits_with(blame.session().dims(), *question, name, other)) return builder;
    builder.help(fmt::format("if it is always {0}, write {0} instead of {1} in the signature",
                             other->text, name->text));
  } else if (!is_part_of(a.dim, b.dim) && !is_part_of(b.dim, a.dim)) {
    blame.help_clause(builder, {Relation::Equal, a.dim, b.dim}, "if they are always equal");
  }
  return builder;
}

bool check_size(const Blame& blame, std::span<const Dim> dims, Loc loc) {
  if (has_size(blame.session().dims(), dims)) return true;
  blame.report(diag::dimension_overflow, loc,
               fmt::format("the size in bits of a tensor of shape {}", to_text(dims)));
  return false;
}

namespace {

/// The shape of a tensor with so many axes, the first of which takes the leading ones together: "(B * S, N)".
std::string merged_shape(const std::vector<Dim>& dims, size_t rank) {
  size_t merged = dims.size() - rank + 1;
  std::string first;
  for (size_t i = 0; i < merged; ++i) {
    std::string_view text = dims[i]->text;
    bool is_plain = dims[i]->constant() || !dims[i]->symbol().empty();
    first += fmt::format(fmt::runtime(is_plain ? "{}{}" : "{}({})"), i == 0 ? "" : " * ", text);
  }
  for (size_t i = merged; i < dims.size(); ++i) first += fmt::format(", {}", dims[i]->text);
  return fmt::format("({}{})", first, rank == 1 ? "," : "");
}

/// A tensor with fewer or more axes than its parameter.
void report_rank(Evaluator& evaluator, const TypePattern& pattern, const ArgumentType& argument,
                 std::string_view parameter, size_t wanted, const std::function<ShapeQuestion()>& ask) {
  auto builder =
      evaluator.report(diag::rank_mismatch, argument.loc, argument.what, argument.dims.size(), wanted);
  builder.label(pattern.loc, fmt::format("parameter '{}' is declared here", parameter));
  const Session& session = evaluator.session();
  bool is_elsewhere = argument.origin.known() && argument.origin.line != argument.loc.line;
  if (is_elsewhere && !session.is_builtin(argument.origin)) {
    builder.label(argument.origin, fmt::format("{} is {}", argument.what, to_text(argument.dims)));
  }
  if (!ask || evaluator.blame().help_shapes(builder, ask())) return;
  bool may_merge = wanted > 0 && argument.dims.size() > wanted && is_operand(session.sources(), argument.loc) &&
                   !session.is_builtin(argument.loc);
  if (!may_merge) return;
  builder.help(fmt::format("leading axes become one by reshape({}, {})", source_text(session.sources(), argument.loc),
                           merged_shape(argument.dims, wanted)));
}

}  // namespace

bool bind_symbols(Evaluator& evaluator, const TypePattern& pattern, const ArgumentType& argument,
                  std::string_view parameter, Bindings& bindings,
                  const std::function<ShapeQuestion()>& ask) {
  std::vector<std::string> symbols = spread_symbols(pattern);
  if (symbols.size() != argument.dims.size()) {
    report_rank(evaluator, pattern, argument, parameter, symbols.size(), ask);
    return false;
  }
  bool matched = bind_dtype(evaluator, pattern, argument, bindings);
  std::string shape = to_text(argument.dims);
  for (size_t i = 0; i < symbols.size(); ++i) {
    if (symbols[i].empty()) continue;
    DimPlace here{argument.dims[i], argument.place(i), place(i, argument.what), "", {}, shape};
    auto [it, fresh] =
        bindings.dims.try_emplace(symbols[i], BoundSymbol{here.dim, here.loc, here.what, shape});
    if (fresh || it->second.dim == here.dim) continue;
    DimPlace bound{it->second.dim, it->second.loc, fmt::format("'{}' ({})", symbols[i], it->second.what), "", {},
                   it->second.shape};
    std::optional<ShapeQuestion> question = ask ? std::optional(ask()) : std::nullopt;
    report_unequal(evaluator.blame(), argument.loc, here, bound, question ? &*question : nullptr)
        .label(pattern.loc, fmt::format("parameter '{}' is declared here", parameter));
    matched = false;
  }
  return matched;
}

namespace {

/// The number that a dimension of a pattern is, written or by the name of a constant.
std::optional<int64_t> number_of(const ast::Expr* expr, Scope& scope) {
  if (const auto* written = ast::as<ast::Integer>(expr)) return int64_t(written->value);
  const auto* name = ast::as<ast::Name>(expr);
  const Binding* binding = name ? scope.find(name->text) : nullptr;
  if (!binding || !binding->value.is(DatumKind::Int)) return std::nullopt;
  return binding->value.as_int();
}

/// The shape of a parameter as its declaration has it: "[2048, N]".
std::string declared_shape(const SourceManager& sources, const TypePattern& pattern) {
  std::string text;
  for (const DimPattern& dim : pattern.dims) {
    text += text.empty() ? "" : ", ";
    text += dim.expr ? source_text(sources, dim.expr->loc) : dim.symbol;
    text += fmt::format("{}", fmt::join(dim.group, ", "));
  }
  return fmt::format("[{}]", text);
}

}  // namespace

bool binds(std::span<const TypePattern* const> patterns, const Shapes& shapes, const Bindings& constants,
           Scope& scope) {
  std::map<std::string, Dim, std::less<>> bound;
  for (const auto& [name, symbol] : constants.dims) bound[name] = symbol.dim;
  for (size_t n = 0; n < patterns.size(); ++n) {
    std::vector<std::string> symbols = spread_symbols(*patterns[n]);
    if (symbols.size() != shapes[n].size()) return false;
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (symbols[i].empty()) continue;
      if (bound.try_emplace(symbols[i], shapes[n][i]).first->second != shapes[n][i]) return false;
    }
    if (patterns[n]->dims.size() != symbols.size()) continue;
    for (size_t i = 0; i < symbols.size(); ++i) {
      std::optional<int64_t> number;
      if (symbols[i].empty()) number = number_of(patterns[n]->dims[i].expr, scope);
      if (number && !shapes[n][i]->is_constant(*number)) return false;
    }
  }
  return true;
}

bool check_expressions(Evaluator& evaluator, const TypePattern& pattern, const ArgumentType& argument,
                       std::string_view parameter, Scope& scope, const std::function<ShapeQuestion()>& ask) {
  bool matched = true;
  size_t axis = 0;
  for (const DimPattern& dim : pattern.dims) {
    if (!dim.group.empty()) {
      axis += dim.group.size();
      continue;
    }
    size_t at = axis++;
    if (!dim.symbol.empty()) continue;
    Dim wanted = evaluate_dim(evaluator, dim, scope);
    if (!wanted) {
      matched = matched && evaluator.is_open();
    } else if (wanted != argument.dims[at]) {
      DimPlace here{argument.dims[at], argument.place(at), place(at, argument.what), "", {}, to_text(argument.dims)};
      DimPlace declared{wanted, dim.loc, place(at, fmt::format("parameter '{}'", parameter)), "", {},
                        declared_shape(evaluator.session().sources(), pattern)};
      std::optional<ShapeQuestion> question = ask ? std::optional(ask()) : std::nullopt;
      Shapes shapes;
      for (const ShapedOperand& operand : question ? question->operands : std::vector<ShapedOperand>()) {
        shapes.push_back(operand.dims);
      }
      bool sees_it = question && !question->fits(shapes);  // not where an expression alone says it
      report_unequal(evaluator.blame(), argument.loc, here, declared, sees_it ? &*question : nullptr);
      matched = false;
    }
  }
  return matched;
}

namespace {

/// The names in a dimension that stand for numbers of a file.
std::vector<NamedPlace> constants_of(const ast::Expr& expr, Scope& scope) {
  std::vector<NamedPlace> found;
  ast::walk(expr, [&](const ast::Node& node) {
    const auto* name = ast::as<ast::Name>(&node);
    Binding* binding = name ? scope.find(name->text) : nullptr;
    if (!binding || !binding->loc.known() || !binding->value.is(DatumKind::Int)) return;
    found.push_back({fmt::format("'{}' is {}", name->text, binding->value.as_int()), binding->loc});
  });
  return found;
}

}  // namespace

Dim evaluate_dim(Evaluator& evaluator, const DimPattern& pattern, Scope& scope) {
  Datum value = pattern.symbol.empty() ? evaluator.evaluate(*pattern.expr, scope)
                                       : evaluator.lookup(pattern.symbol, scope, pattern.loc);
  Dim dim = evaluator.expect_dim(value, pattern.loc, "a dimension");
  if (!dim) return nullptr;
  if (pattern.expr) evaluator.session().add_written_dim(pattern.loc, constants_of(*pattern.expr, scope));
  std::optional<int64_t> high = interval(dim).high;
  if (high && *high < 0) {
    evaluator.report(diag::negative_dimension, pattern.loc, dim->text);
    return nullptr;
  }
  return dim;
}

std::optional<std::vector<Dim>> evaluate_dims(Evaluator& evaluator, const TypePattern& pattern,
                                              Scope& scope) {
  std::vector<Dim> dims;
  for (const DimPattern& dim : pattern.dims) {
    if (dim.group.empty()) {
      dims.push_back(evaluate_dim(evaluator, dim, scope));
      if (!dims.back()) return std::nullopt;
      continue;
    }
    for (const std::string& name : dim.group) {
      DimPattern factor;
      factor.symbol = name;
      factor.loc = dim.loc;
      dims.push_back(evaluate_dim(evaluator, factor, scope));
      if (!dims.back()) return std::nullopt;
    }
  }
  if (!check_size(evaluator.blame(), dims, pattern.loc)) return std::nullopt;
  return dims;
}

}  // namespace tessera::frontend
