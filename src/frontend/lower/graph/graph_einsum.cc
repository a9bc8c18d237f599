// einsum: multiplies tensors whose axes have letters, and sums over the letters that the result
// lacks.
//
// Operands are multiplied from left to right. Letters of a pair that neither the result nor a later
// operand has are summed over as early as possible: letters of one operand before the
// multiplication, letters of both by it. A multiplication that sums over letters is a matmul
// (letters that both keep lead, and stay one axis each); any other is elementwise.
//
// "..." stands for the axes of an operand that have no letter of their own. They get letters that
// no source can contain, counted from the last axis, so that those of several operands are aligned
// at the right.

#include <algorithm>
#include <map>

#include "frontend/lower/graph/graph_builder.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

bool has(const std::string& letters, char letter) {
  return letters.find(letter) != std::string::npos;
}

/// The letters of `a` for which `keep` holds, in order.
template <typename F>
std::string chosen(const std::string& a, F keep) {
  std::string out;
  std::copy_if(a.begin(), a.end(), std::back_inserter(out), keep);
  return out;
}

constexpr char rest = '.';  ///< stands for "..." until the operands' ranks are known

/// The parts of "ij,jk->ik": the operands' letters, and the result's.
struct EinsumSpec {
  std::vector<std::string> operands;
  std::string result;
  std::string problem;   ///< what is wrong with it, if anything
  std::string diagonal;  ///< an operand of which it takes a diagonal, if any
};

std::string letter_text(char c) {
  return c == rest ? "'...'" : fmt::format("the letter '{}'", c);
}

EinsumSpec parse_einsum(std::string text) {
  EinsumSpec spec;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  for (size_t at = text.find("..."); at != text.npos; at = text.find("...")) text.replace(at, 3, {'\n'});
  if (has(text, rest)) spec.problem = "'.' is not a letter";
  std::replace(text.begin(), text.end(), '\n', rest);
  size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::string all = left + (arrow == std::string::npos ? "" : text.substr(arrow + 2));
  for (char c : all) {
    if (c != ',' && c != rest && !std::isalpha(static_cast<unsigned char>(c))) {
      spec.problem = fmt::format("'{}' is not a letter", c);
      return spec;
    }
  }
  for (size_t at = 0; at <= left.size();) {
    size_t end = std::min(left.find(',', at), left.size());
    spec.operands.push_back(left.substr(at, end - at));
    at = end + 1;
  }
  if (arrow != std::string::npos) {
    spec.result = text.substr(arrow + 2);
  } else {
    for (char c : left) {
      if (c != ',' && c != rest && std::count(left.begin(), left.end(), c) == 1) spec.result += c;
    }
    std::sort(spec.result.begin(), spec.result.end());
    if (has(left, rest)) spec.result.insert(0, 1, rest);
  }
  for (char c : spec.result) {
    if (!has(left, c)) spec.problem = fmt::format("no operand has {}", letter_text(c));
    if (std::count(spec.result.begin(), spec.result.end(), c) > 1)
      spec.problem = fmt::format("the result has {} twice", letter_text(c));
  }
  for (const std::string& operand : spec.operands) {
    for (char c : operand) {
      if (std::count(operand.begin(), operand.end(), c) == 1) continue;
      if (c == rest) spec.problem = fmt::format("an operand has {} twice", letter_text(c));
      spec.diagonal = operand;
    }
  }
  return spec;
}

/// The letters of an operand or result, where "..." stands for so many axes.
std::string without_rest(const std::string& letters, size_t count) {
  size_t at = letters.find(rest);
  if (at == letters.npos) return letters;
  std::string axes;
  for (size_t i = 0; i < count; ++i) axes += char(-int(count - i));
  return letters.substr(0, at) + axes + letters.substr(at + 1);
}

bool is_of_rest(char letter) {
  return static_cast<signed char>(letter) < 0;
}

/// Whether each letter has one extent in all operands; axes of "..." may be of extent 1.
bool has_one_extent(const std::vector<std::string>& letters, const Shapes& shapes) {
  std::map<char, Dim> extents;
  for (size_t i = 0; i < letters.size(); ++i) {
    size_t rank = shapes[i].size(), least = letters[i].size() - has(letters[i], rest);
    if (rank < least || (rank > least && !has(letters[i], rest))) return false;
    std::string axes = without_rest(letters[i], rank - least);
    for (size_t k = 0; k < rank; ++k) {
      if (is_of_rest(axes[k]) && shapes[i][k]->is_constant(1)) continue;
      if (extents.try_emplace(axes[k], shapes[i][k]).first->second != shapes[i][k]) return false;
    }
  }
  return true;
}

}  // namespace

/// A tensor and the letters of its axes.
struct GraphBuilder::Term {
  std::string letters;
  IrValue value;

  Dim extent(char letter) const { return value.value->type()->dims[letters.find(letter)]; }
  std::vector<Dim> extents(const std::string& of) const {
    std::vector<Dim> dims;
    for (char letter : of) dims.push_back(extent(letter));
    return dims;
  }
};

/// The operands, and whether each letter has one extent in all of them.
ShapeQuestion GraphBuilder::ask_einsum(const std::vector<std::string>& letters, const BoundArguments& arguments) const {
  ShapeQuestion question;
  question.may_exchange = true;
  question.fits = [letters](const Shapes& shapes) { return has_one_extent(letters, shapes); };
  const std::vector<Datum>& given = arguments[1].elements();
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].is_ir()) return {};
    Loc loc = i < arguments.rest.size() ? arguments.rest[i] : Loc();
    question.operands.push_back(blame().asked(loc, fmt::format("operand {}", i + 1), *given[i].as_ir().value));
  }
  return question;
}

/// False, with a diagnostic, when a letter stands for two sizes.
bool GraphBuilder::same_extents(const Term& a, const Term& b, const std::vector<std::string>& letters,
                                const BoundArguments& arguments) {
  for (char letter : b.letters) {
    if (!has(a.letters, letter) || a.extent(letter) == b.extent(letter)) continue;
    ShapeQuestion question = ask_einsum(letters, arguments);
    report_unequal(blame(), arguments.call, place(a.value, a.letters.find(letter), "an operand of 'einsum'"),
                   place(b.value, b.letters.find(letter), "another operand of 'einsum'"),
                   question.operands.empty() ? nullptr : &question);
    return false;
  }
  return true;
}

/// The term with its axes in that order.
GraphBuilder::Term GraphBuilder::arranged(const Term& term, const std::string& letters, Loc loc) {
  if (letters == term.letters) return term;
  std::vector<int64_t> perm;
  for (char letter : letters) perm.push_back(int64_t(term.letters.find(letter)));
  return {letters, transpose(term.value, perm, loc).as_ir()};
}

/// The sum over the letters that are not kept; nothing when an error was reported.
std::optional<GraphBuilder::Term> GraphBuilder::summed(Term term, const std::string& kept, Loc loc) {
  std::vector<int64_t> axes;
  for (size_t i = 0; i < term.letters.size(); ++i) {
    if (!has(kept, term.letters[i])) axes.push_back(int64_t(i));
  }
  if (axes.empty()) return term;
  if (term.value.storage == DType::Bool) {
    report(diag::wrong_dtype, loc, "einsum", to_string(DType::Bool));
    return std::nullopt;
  }
  builder_.set_loc(loc);
  Value* sum = graph::reduce(builder_, computed(term.value), "sum", axes);
  Datum made = handle(sum, type_of(term.value), loc);
  if (!made.is_ir()) return std::nullopt;
  return Term{chosen(term.letters, [&](char c) { return has(kept, c); }), made.as_ir()};
}

/// The product of two terms; `kept` are the letters that what follows needs.
std::optional<GraphBuilder::Term> GraphBuilder::multiplied(const Term& a, const Term& b, const std::string& kept,
                                                           Loc loc) {
  auto in_both = [&](char c) { return has(a.letters, c) && has(b.letters, c); };
  std::string batch = chosen(a.letters, [&](char c) { return in_both(c) && has(kept, c); });
  std::string inner = chosen(a.letters, [&](char c) { return in_both(c) && !has(kept, c); });
  std::string rows = chosen(a.letters, [&](char c) { return !in_both(c); });
  std::string columns = chosen(b.letters, [&](char c) { return !in_both(c); });
  std::vector<Dim> shape = a.extents(batch + rows);
  std::vector<Dim> of_columns = b.extents(columns);
  shape.insert(shape.end(), of_columns.begin(), of_columns.end());
  Term left = arranged(a, batch + rows + inner, loc), right = arranged(b, batch + inner + columns, loc);
  builder_.set_loc(loc);
  auto reshaped = [&](const Term& term, std::vector<Dim> dims) {
    return handle(graph::reshape(builder_, term.value.value, std::move(dims)), type_of(term.value), loc);
  };
  Datum product;
  if (inner.empty()) {
    // Each with extents of 1 where only the other varies.
    std::vector<Dim> wide = left.extents(batch + rows), narrow = right.extents(batch);
    wide.resize(wide.size() + columns.size(), dims().constant(1));
    narrow.resize(narrow.size() + rows.size(), dims().constant(1));
    narrow.insert(narrow.end(), of_columns.begin(), of_columns.end());
    Datum operands[] = {reshaped(left, std::move(wide)), reshaped(right, std::move(narrow))};
    product = operands[0].is_ir() && operands[1].is_ir() ? evaluator_.elementwise(ElementwiseKind::Mul, operands, loc)
                                                         : Datum::poison();
  } else {
    std::vector<Dim> of_left = left.extents(batch), of_right = of_left;
    of_left.push_back(element_count(dims(), left.extents(rows)));
    of_left.push_back(element_count(dims(), left.extents(inner)));
    of_right.push_back(of_left.back());
    of_right.push_back(element_count(dims(), of_columns));
    Datum x = reshaped(left, std::move(of_left)), y = reshaped(right, std::move(of_right));
    product = x.is_ir() && y.is_ir() ? evaluator_.matmul(x, y, loc) : Datum::poison();
  }
  if (!product.is_ir()) return std::nullopt;
  builder_.set_loc(loc);
  const IrValue& made = product.as_ir();
  Datum result = handle(graph::reshape(builder_, made.value, std::move(shape)), type_of(made), loc);
  if (!result.is_ir()) return std::nullopt;
  return Term{batch + rows + columns, result.as_ir()};
}

/// The operands with a letter for each axis. Axes of "..." whose extent is 1 are left out where another operand has
/// more.
std::optional<std::vector<GraphBuilder::Term>> GraphBuilder::einsum_terms(const std::vector<std::string>& letters,
                                                                          const BoundArguments& arguments) {
  std::vector<Term> terms;
  for (size_t i = 0; i < letters.size(); ++i) {
    auto value = expect_tensor(arguments[1].elements()[i], arguments.locs[1], "an operand of 'einsum'");
    if (!value) return std::nullopt;
    size_t rank = value->value->type()->rank(), least = letters[i].size() - has(letters[i], rest);
    if (rank < least || (rank > least && !has(letters[i], rest))) {
      auto builder =
          report(diag::rank_mismatch, arguments.call, subject(*value, "an operand of 'einsum'"), rank, least);
      ShapeQuestion question = ask_einsum(letters, arguments);
      if (!question.operands.empty()) blame().help_shapes(builder, question);
      return std::nullopt;
    }
    terms.push_back({without_rest(letters[i], rank - least), *value});
  }
  for (Term& term : terms) {
    std::string kept = chosen(term.letters, [&](char c) {
      bool narrow = is_of_rest(c) && term.extent(c)->is_constant(1);
      auto wider = [&](const Term& other) { return has(other.letters, c) && !other.extent(c)->is_constant(1); };
      return !narrow || std::none_of(terms.begin(), terms.end(), wider);
    });
    if (kept == term.letters) continue;
    builder_.set_loc(arguments.call);
    Value* fewer = graph::reshape(builder_, term.value.value, term.extents(kept));
    term = {kept, handle(fewer, type_of(term.value), arguments.call).as_ir()};
  }
  return terms;
}

Datum GraphBuilder::einsum(const BoundArguments& arguments) {
  Loc loc = arguments.call;
  if (!arguments[0].is(DatumKind::String)) {
    report(diag::wrong_kind, arguments.locs[0], "the first argument of 'einsum'", describe(arguments[0]), "a string");
    return Datum::poison();
  }
  EinsumSpec spec = parse_einsum(arguments[0].as_string());
  size_t given = arguments[1].elements().size();
  if (spec.problem.empty() && spec.operands.size() != given) {
    spec.problem = fmt::format("it names {} operands, not {}", spec.operands.size(), given);
  }
  if (!spec.problem.empty()) {
    report(diag::bad_einsum, arguments.locs[0], arguments[0].as_string(), spec.problem);
    return Datum::poison();
  }
  if (!spec.diagonal.empty()) {
    std::string what = fmt::format("the diagonal that '{}' takes of an operand of einsum", spec.diagonal);
    report(diag::unsupported_construct, arguments.locs[0], what)
        .help("give the axes letters of their own, and keep the diagonal: where(i == j, x, 0), i and j of arange");
    return Datum::poison();
  }
  auto terms = einsum_terms(spec.operands, arguments);
  if (!terms) return Datum::poison();
  size_t most = 0;
  for (const Term& term : *terms) {
    for (char c : term.letters) most = is_of_rest(c) ? std::max(most, size_t(-int(static_cast<signed char>(c)))) : most;
  }
  std::string result = without_rest(spec.result, most);
  std::optional<Term> product;
  for (size_t i = 0; i < terms->size(); ++i) {
    Term term = (*terms)[i];
    std::string kept = result;
    for (size_t j = i + 1; j < terms->size(); ++j) kept += (*terms)[j].letters;
    if (product) {
      if (!same_extents(*product, term, spec.operands, arguments)) return Datum::poison();
      auto own = summed(std::move(term), kept + product->letters, loc);
      product = own ? multiplied(*product, *own, kept, loc) : std::nullopt;
    } else {
      product = std::move(term);
    }
    if (product) product = summed(std::move(*product), kept, loc);
    if (!product) return Datum::poison();
  }
  return Datum::ir(arranged(*product, result, loc).value);
}

}  // namespace tessera::frontend
