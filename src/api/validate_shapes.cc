#include "api/validate_shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "ir/core/context.h"
#include "ir/core/dim_facts.h"
#include "ir/graph/ops.h"
#include "ir/text/entries.h"
#include "ir/text/verifier.h"

namespace tessera::api {

namespace {

GuardKinds kind_of(const DimFact& fact) {
  bool equality = fact.relation == Relation::Equal || fact.relation == Relation::NotEqual;
  if (!equality) return guards_of_order;
  auto is_remainder = [](Dim dim) {
    return std::any_of(dim->terms.begin(), dim->terms.end(), [](const DimTerm& term) {
      return std::any_of(term.factors.begin(), term.factors.end(),
                         [](const DimAtom* atom) { return atom->kind == DimAtomKind::Mod; });
    });
  };
  return is_remainder(fact.left) || is_remainder(fact.right) ? guards_of_divisibility
                                                             : guards_of_equality;
}

/// Calls `visit` for each division in a dim, inner ones included.
void for_each_division(Dim dim, const std::function<void(Dim, Dim)>& visit) {
  for (const DimTerm& term : dim->terms) {
    for (const DimAtom* atom : term.factors) {
      if (atom->a) for_each_division(atom->a, visit);
      if (atom->b) for_each_division(atom->b, visit);
      if (atom->kind == DimAtomKind::FloorDiv) visit(atom->a, atom->b);
    }
  }
}

/// Whether a // b is ceildiv(x, b) for some x: a ends in b - 1.
bool rounds_up(Dim a, Dim b) {
  std::optional<int64_t> divisor = b->constant();
  if (!divisor || a->terms.empty() || !a->terms.back().factors.empty()) return false;
  return a->terms.back().coefficient == *divisor - 1 && a->terms.size() > 1;
}

/// Takes ":12" off the end; 0 where there is none.
uint32_t take_number(std::string_view& text) {
  size_t colon = text.rfind(':');
  if (colon == text.npos) return 0;
  uint32_t number = 0;
  std::from_chars(text.data() + colon + 1, text.data() + text.size(), number);
  text = text.substr(0, colon);
  return number;
}

/// The place that an attribute of a function names, "mlp.tsr:6:19", with what stands there; the function's own where it
/// is in no file of the compilation.
Loc place_in(const Op* function, std::string_view place, std::string_view text) {
  const SourceManager& sources = function->module()->sources();
  Loc found = function->loc();
  uint32_t column = take_number(place), line = take_number(place);
  if (line == 0 || column == 0 || sources.ir_name(found.file) != place) return found;
  std::string_view written = sources.file(found.file).line(line);
  bool is_there = column <= written.size() && written.substr(column - 1).starts_with(text);
  return {found.file, line, column, is_there ? uint32_t(text.size()) : 1};
}

/// One entry of a graph.
class EntryShapes {
 public:
  EntryShapes(Op* function, const ShapePolicy& policy, ShapeReport& report)
      : function_(function),
        policy_(policy),
        report_(report),
        dims_(function->module()->context().dims()),
        name_(symbol_name(function)),
        given_(policy.dims) {}

  /// The sizes that the entry has are added to `known`.
  void check(std::set<std::string, std::less<>>& known) {
    report_.entries.push_back(name_);
    facts_ = read_facts(function_->attr(graph::attr::Func::guards));
    check_signature();
    known.insert(bound_.begin(), bound_.end());
    check_guards();
    check_extents();
  }

 private:
  void add(FindingKind kind, FindingSeverity severity, std::string subject, std::string message,
           Loc loc) {
    report_.findings.push_back({kind, severity, name_, std::move(subject), std::move(message), loc, {}});
  }
  FindingSeverity doubt() const {
    return policy_.strict ? FindingSeverity::Error : FindingSeverity::Warning;
  }

  /// "3*D is 2304", or the text of a number.
  std::string with_value(Dim dim) const {
    if (dim->constant()) return dim->text;
    std::optional<int64_t> value = evaluate(dim, given_);
    return value ? fmt::format("{} is {}", dim->text, *value) : dim->text;
  }

  /// ", where D is 100" for the sizes in a condition.
  std::string values_of(const DimFact& fact) const {
    std::set<std::string, std::less<>> names;
    auto add_name = [&](std::string_view name) { names.emplace(name); };
    for_each_symbol(fact.left, add_name);
    for_each_symbol(fact.right, add_name);
    std::string text;
    for (const std::string& name : names) {
      text += fmt::format("{}{} is {}", text.empty() ? ", where " : " and ", name, given_.find(name)->second);
    }
    return text;
  }

  /// A condition that holds or does not for the sizes that are given, or is left for calls.
  void check_condition(const DimFact& fact, GuardKinds kind, const std::string& text, Loc loc) {
    std::optional<int64_t> left = evaluate(fact.left, given_);
    std::optional<int64_t> right = evaluate(fact.right, given_);
    if (left && right) {
      if (holds(*left, fact.relation, *right)) return;
      add(FindingKind::FalseGuard, FindingSeverity::Error, text,
          fmt::format("{} does not hold: {} {} {}{}", text, *left, spelling(fact.relation), *right,
                      values_of(fact)),
          loc);
      return;
    }
    add_guard(text, kind, "", loc);
  }

  /// A condition that is checked at run time, with what is known of it.
  void add_guard(const std::string& text, GuardKinds kind, const std::string& known, Loc loc) {
    ++report_.guards;
    bool allowed = policy_.run_time_guards & kind;
    add(FindingKind::Guard, allowed ? FindingSeverity::Note : FindingSeverity::Error, text,
        allowed ? fmt::format("{} is checked when '{}' is called{}", text, name_, known)
                : fmt::format("'{}' checks {} at run time{}", name_, text, known),
        loc);
  }

  /// A size that a call brings by `source`, which is where it first stands alone; false where it has stood before.
  bool bind(std::string_view name, const std::string& source, Loc loc) {
    if (!bound_.insert(std::string(name)).second) return false;
    if (policy_.other_dims) given_.emplace(name, *policy_.other_dims);
    if (given_.count(name)) return true;
    ++report_.open_dims;
    bool allowed = policy_.symbolic_dims;
    add(FindingKind::OpenDim, allowed ? FindingSeverity::Note : FindingSeverity::Error, std::string(name),
        allowed ? fmt::format("size {} is that of {} when '{}' is called", name, source, name_)
                : fmt::format("'{}' takes size {} from {} at run time", name_, name, source),
        loc);
    report_.findings.back().source = source;
    return true;
  }

  /// Sizes are bound where they first stand alone; other extents are equations.
  void check_signature() {
    struct Equation {
      std::string what;
      Dim extent;
      Loc loc;
    };
    Block* block = function_->region()->front();
    const std::vector<Attr>& arguments = function_->attr(graph::attr::Func::args);
    for (const Attr& argument : arguments) {
      const std::string& size = entry::text_of(argument, entry::Argument::dim);
      const std::string& name = entry::text_of(argument, entry::Argument::name);
      if (!size.empty()) bind(size, fmt::format("'{}'", name), function_->loc());
    }
    std::vector<Equation> equations;
    for (unsigned i = 0; i < block->arg_count(); ++i) {
      const std::vector<Dim>& extents = block->arg(i)->type()->dims;
      Attr places = entry::node(arguments[i], entry::Argument::places);
      for (size_t axis = 0; axis < extents.size(); ++axis) {
        Dim extent = extents[axis];
        std::string what = fmt::format("axis {} of '{}'", axis, entry::text_of(arguments[i], entry::Argument::name));
        bool is_placed = places && axis < places->elements.size();
        Loc loc = is_placed ? place_in(function_, places->elements[axis]->string, extent->text) : function_->loc();
        bool binds = !extent->symbol().empty() && bind(extent->symbol(), what, loc);
        if (!binds && !extent->constant()) equations.push_back({what, extent, loc});
      }
    }
    for (const auto& [what, extent, loc] : equations) check_equation(what, extent, loc);
  }

  void check_equation(const std::string& what, Dim extent, Loc loc) {
    // An argument's extent is what the call brings: the equation is open unless all of it is given.
    std::string known = evaluate(extent, given_) ? fmt::format("; {}", with_value(extent)) : "";
    add_guard(fmt::format("{} == {}", what, extent->text), guards_of_signature, known, loc);
  }

  void check_guards() {
    for (Attr guard : function_->attr(graph::attr::Func::guards)) {
      std::optional<DimFact> fact = read_fact(guard);
      if (!fact) continue;
      std::string text = entry::text_of(guard, entry::Guard::text);
      Loc loc = place_in(function_, entry::text_of(guard, entry::Guard::place), text);
      check_condition(*fact, kind_of(*fact), text.empty() ? fact->text() : text, loc);
    }
  }

  /// Extents of all values: once for each dim, at the first op that has it.
  void check_extents() {
    walk(function_, [&](Op* op) {
      for (unsigned i = 0; i < op->result_count(); ++i) check_type(op->result(i)->type(), op->loc());
    });
    Block* block = function_->region()->front();
    for (unsigned i = 0; i < block->arg_count(); ++i) {
      check_type(block->arg(i)->type(), function_->loc());
    }
  }

  void check_type(Type type, Loc loc) {
    if (!type->is(TypeKind::Tensor)) return;
    for (Dim dim : type->dims) {
      if (seen_.insert(dim).second) check_dim(dim, loc);
    }
    std::optional<int64_t> count = evaluate(element_count(dims_, type->dims), given_);
    int64_t bytes = 0;
    bool all_given = std::all_of(type->dims.begin(), type->dims.end(),
                                 [&](Dim dim) { return evaluate(dim, given_).has_value(); });
    bool fits = count && !__builtin_mul_overflow(*count, int64_t(byte_size(type->dtype)), &bytes);
    if (!all_given || fits) return;
    add(FindingKind::Overflow, FindingSeverity::Error, to_text(type->dims),
        fmt::format("a tensor of shape {} has more bytes than 64 bits count", to_text(type->dims)), loc);
  }

  void check_dim(Dim dim, Loc loc) {
    std::optional<int64_t> value = evaluate(dim, given_);
    if (value ? *value < 0 : decide(dims_, {Relation::GreaterEqual, dim, dims_.constant(0)}, facts_) != true) {
      add(FindingKind::NegativeDim, value ? FindingSeverity::Error : doubt(), dim->text,
          value ? fmt::format("extent {}", with_value(dim))
                : fmt::format("extent {} is negative for some sizes", dim->text),
          loc);
    }
    for_each_division(dim, [&](Dim a, Dim b) {
      Dim rest = dims_.mod(a, b);
      std::optional<int64_t> left = evaluate(rest, given_);
      bool exact = left ? *left == 0 : decide(dims_, {Relation::Equal, rest, dims_.constant(0)}, facts_) == true;
      // Rounding up is intended: ceildiv(a, b) is (a + b - 1) // b.
      if (exact || rounds_up(a, b) || !divided_.insert(rest).second) return;
      add(FindingKind::InexactDim, policy_.strict ? FindingSeverity::Error : FindingSeverity::Note, dim->text,
          fmt::format("extent {} is rounded down where {} is not a multiple of {}", dim->text, a->text, b->text),
          loc);
    });
  }

  Op* function_;
  const ShapePolicy& policy_;
  ShapeReport& report_;
  DimTable& dims_;
  std::string name_;
  DimValues given_;
  std::set<std::string, std::less<>> bound_;
  std::vector<DimFact> facts_;
  std::set<Dim> seen_;
  std::set<Dim> divided_;
};

}  // namespace

std::string_view to_string(FindingKind kind) {
  static constexpr std::array<std::string_view, 9> names = {
      "malformed",   "guard",    "false-guard", "open-dim",      "negative-dim",
      "inexact-dim", "overflow", "unknown-dim", "internal-error"};
  return names[size_t(kind)];
}

bool ShapeReport::ok() const {
  return std::none_of(findings.begin(), findings.end(), [](const ShapeFinding& finding) {
    return finding.severity == FindingSeverity::Error;
  });
}

ShapeReport validate_shapes(Module& graph, const ShapePolicy& policy) {
  TSR_CHECK(graph.level() == Level::Graph, "shapes are validated on graphs");
  ShapeReport report;
  DiagnosticEngine diagnostics(graph.sources());
  if (verify(graph, diagnostics).failed()) {
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      report.findings.push_back({FindingKind::Malformed, FindingSeverity::Error, "", "",
                                 diagnostic.message, diagnostic.loc, {}});
    }
    return report;
  }
  std::set<std::string, std::less<>> known;
  for (Op* function : *graph.body()) {
    if (function->attr(graph::attr::Func::role) != "entry") continue;
    EntryShapes(function, policy, report).check(known);
  }
  report.dims.assign(known.begin(), known.end());
  for (const auto& [name, value] : policy.dims) {
    if (known.count(name) || policy.other_dims) continue;
    report.findings.push_back({FindingKind::UnknownDim, FindingSeverity::Warning, "", name,
                               fmt::format("no entry has a size '{}'", name), Loc{}, {}});
  }
  return report;
}

ShapeReport validate_shapes(Op* entry, const ShapePolicy& policy) {
  ShapeReport report;
  std::set<std::string, std::less<>> known;
  EntryShapes(entry, policy, report).check(known);
  return report;
}

}  // namespace tessera::api
