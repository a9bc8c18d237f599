// Diagnoses errors beyond their place: decides which of two places that disagree is at fault, where
// that can be known, and suggests a fix. A name that the file spells once beside one that it spells
// several times is the misspelling. A function that uses an undefined name lacks a parameter where
// a call passes one argument too many. A declared dtype overrides one that a call writes. Where
// neither side is more likely wrong, the error is at the use.

#include <algorithm>
#include <cctype>
#include <set>

#include "frontend/binding/words.h"
#include "frontend/evaluate/evaluate.h"
#include "frontend/syntax/text_brackets.h"
#include "frontend/values/embedded.h"
#include "frontend/values/foreign.h"
#include "frontend/values/modules.h"
#include "frontend/values/origins.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Whether a place is an expression on one line that can be an argument: several values cannot.
bool is_operand(const SourceManager& sources, Loc loc) {
  std::string_view line = sources.file(loc.file).line(loc.line);
  if (!loc.known() || loc.length == 0 || loc.column - 1 + loc.length > line.size()) return false;
  std::string_view text = line.substr(loc.column - 1, loc.length);
  bool has_comma = false;
  TextBrackets().read(text, [&](size_t at, size_t depth) { return !(has_comma = depth == 0 && text[at] == ','); });
  return !has_comma;
}

}  // namespace

void Evaluator::help_clause(DiagnosticEngine::Builder& builder, const DimFact& asked, std::string_view when) {
  std::string clause = clause_for(dims(), asked, facts_);
  if (!clause.empty()) builder.help(fmt::format("{}, say so in the signature{}: `where {}`", when, of_entry(), clause));
}

void Evaluator::help_conversion(DiagnosticEngine::Builder& builder, Loc operand, DType to, std::string_view function) {
  std::string message = fmt::format("write the conversion: {}(…, {})", function, to_string(to));
  if (!is_operand(session_.sources(), operand) || session_.is_builtin(operand)) {
    builder.help(std::move(message));
  } else {
    builder.fix(std::move(message), {{operand.before(), fmt::format("{}(", function)},
                                     {operand.behind(), fmt::format(", {})", to_string(to))}});
  }
}

void Evaluator::label_operands(DiagnosticEngine::Builder& builder, DType left, DType right, const Value* chosen) {
  if (!operands_.left.known()) return;
  builder.label(operands_.left, fmt::format("{}", to_string(left)));
  builder.label(operands_.right, fmt::format("{}", to_string(right)));
  for (auto [value, dtype] : {std::pair(operands_.left_value, left), {operands_.right_value, right}}) {
    if (value && value != chosen && value->type()->dtype == dtype) label_dtype(builder, value, operands_.left);
  }
}

DiagnosticEngine::Builder Evaluator::report_mixed_dtypes(Loc loc, DType left, DType right, DType to,
                                                         std::string_view function) {
  Loc first = chosen_dtype(operands_.left_value), second = chosen_dtype(operands_.right_value);
  bool is_one = first.known() != second.known();
  const Value* chosen = !is_one ? nullptr : first.known() ? operands_.left_value : operands_.right_value;
  DType other = chosen == operands_.left_value ? right : left;
  auto builder =
      report_dtype(diag::mixed_dtypes, loc, chosen, other, "they are combined here", to_string(left), to_string(right));
  label_operands(builder, left, right, chosen);
  help_conversion(builder, left == to ? operands_.right : operands_.left, to, function);
  return builder;
}

Loc Evaluator::chosen_dtype(const Value* value) const {
  constexpr size_t most_values = 64;
  std::vector<const Value*> seen;
  if (value) seen.push_back(value);
  Loc chosen;
  for (size_t i = 0; i < seen.size(); ++i) {
    const Op* op = seen[i]->def();
    auto choice = dtype_choices_.find(seen[i]);
    // An op that was dropped may have left its address to another one.
    if (choice != dtype_choices_.end() && op && op->loc() == choice->second.call) {
      bool has_others = seen[i]->count_uses() > 1 && !seen[i]->type()->is(TypeKind::View);
      if (chosen.known() || has_others) return {};
      chosen = choice->second.dtype;
      continue;
    }
    size_t before = seen.size();
    auto follow = [&](const Value* operand) {
      bool is_new = operand && std::find(seen.begin(), seen.end(), operand) == seen.end();
      if (is_new && operand->type()->dtype == value->type()->dtype) seen.push_back(operand);
    };
    if (!op) follow(entering(seen[i]));
    for (unsigned k = 0; op && op->region_count() == 0 && k < op->operand_count(); ++k) follow(op->operand(k));
    bool is_declared = !op && seen.size() == before;
    if (is_declared || seen.size() > most_values) return {};
  }
  return session_.is_builtin(chosen) ? Loc{} : chosen;
}

void Evaluator::note_choice(const Builtin& builtin, const BoundArguments& arguments, const Datum& result) {
  if (!result.is_ir()) return;
  for (size_t i = 0; i < builtin.parameters.size(); ++i) {
    bool is_written = builtin.parameters[i].name == "dtype" && arguments.locs[i] != arguments.call;
    if (is_written) dtype_choices_[result.as_ir().value] = {arguments.locs[i], arguments.call};
  }
}

void Evaluator::label_choice(DiagnosticEngine::Builder& builder, Loc chosen, Loc loc, const Value* value,
                             std::optional<DType> better, std::string_view use) {
  builder.label(chosen, fmt::format("{} is chosen here", to_string(value->type()->dtype)));
  if (loc.known() && !session_.is_builtin(loc)) builder.label(loc, std::string(use));
  if (better) builder.fix(fmt::format("choose {}", to_string(*better)), chosen, std::string(to_string(*better)));
}

namespace {

/// The expression that ends a block without being returned; null where something else ends it.
const ast::Expr* dropped_value(ast::StmtList block) {
  if (block.empty()) return nullptr;
  if (const auto* branch = ast::as<ast::If>(block.back())) {
    const ast::Expr* found = dropped_value(branch->else_body);
    for (const ast::IfArm& arm : branch->arms) found = found ? found : dropped_value(arm.body);
    return found;
  }
  const auto* last = ast::as<ast::ExprStmt>(block.back());
  return last && last->value->kind != ast::NodeKind::String ? last->value : nullptr;
}

/// For `y = x + 1.0` as a function's last statement: what stands before the value on its line.
Loc dropped_target(const ast::Def& def, const SourceManager& sources) {
  const auto* last = def.body.empty() ? nullptr : ast::as<ast::Assign>(def.body.back());
  bool is_name = last && last->value && !last->annotation && last->targets.size() == 1 &&
                 last->targets[0]->kind == ast::NodeKind::Name;
  if (!is_name) return {};
  Loc name = last->targets[0]->loc, value = last->value->loc;
  if (name.line != value.line || name.file != value.file) return {};
  Loc before{name.file, name.line, name.column, value.column - name.column};
  std::string_view sign = sources.file(name.file).line(name.line).substr(name.behind().column - 1);
  sign = sign.substr(0, value.column - name.behind().column);
  return sign.find_first_not_of(" =") == sign.npos ? before : Loc{};
}

}  // namespace

DiagnosticEngine::Builder Evaluator::report_missing_return(const Function& function, Loc result) {
  // Its result may be the value that another call lacks.
  bool is_others = finished_.function == &function && finished_.result_loc.known() && blames_valueless();
  if (is_others && valueless_ != &function) {
    auto builder = report_missing_return(*valueless_);
    builder.label(finished_.result_loc, fmt::format("'{}' was to return it here", function.name));
    return builder;
  }
  const ast::Expr* value = function.def ? dropped_value(function.def->body) : nullptr;
  if (value && session_.is_builtin(value->loc)) value = nullptr;
  auto builder = report(diag::missing_return, value ? value->loc : function.loc, function.name);
  if (value) builder.label(value->loc, "this value is unused").fix("return it", value->loc.before(), "return ");
  Loc target = function.def ? dropped_target(*function.def, session_.sources()) : Loc{};
  if (target.known()) builder.label(target, "this value is unused").fix("return it", target, "return ");
  if (result.known()) builder.label(result, "the result is declared here");
  return builder;
}

bool Evaluator::blames_valueless() const {
  if (!valueless_ || !valueless_->def || session_.is_builtin(valueless_->loc)) return false;
  return valueless_->def->body.empty() || valueless_->def->body.back()->kind != ast::NodeKind::Return;
}

bool Evaluator::report_valueless(const Datum& value, Loc loc, std::string_view what) {
  if (!value.is_none() || !blames_valueless()) return false;
  report_missing_return(*valueless_).label(loc, fmt::format("{} is None", what));
  return true;
}

void Evaluator::report_wrong_kind(Loc loc, std::string_view what, const Datum& value, std::string_view wanted) {
  if (!report_valueless(value, loc, what)) report(diag::wrong_kind, loc, what, describe(value), wanted);
}

Loc Evaluator::declared_at(const Value*) const { return {}; }

void Evaluator::label_accumulation(DiagnosticEngine::Builder& builder, DType left, DType right) {
  if (!operands_.left.known() || session_.is_builtin(operands_.left)) return;
  builder.label(operands_.left, fmt::format("@accum({})", to_string(left)))
      .label(operands_.right, fmt::format("@accum({})", to_string(right)));
}

void Evaluator::label_dtype(DiagnosticEngine::Builder& builder, const Value* value, Loc reported) {
  if (!value) return;
  const Value* source = source_of_dtype(value);
  Loc loc = source->def() ? source->def()->loc() : declared_at(source);
  if (!loc.known() || session_.is_builtin(loc) || (loc.file == reported.file && loc.line == reported.line)) return;
  builder.label(loc, fmt::format("{} from here", to_string(value->type()->dtype)));
}

void Evaluator::fix_operand(DiagnosticEngine::Builder& builder, const Value* operand, std::string_view suffix,
                            std::string message) {
  bool is_right = operand == operands_.right_value;
  Loc loc = is_right ? operands_.right : operand == operands_.left_value ? operands_.left : Loc{};
  std::string text = loc.known() ? source_text(session_.sources(), loc) : "";
  auto is_plain = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.' || c >= 0x80; };
  bool is_name = !text.empty() && std::all_of(text.begin(), text.end(), is_plain);
  if (!is_name || session_.is_builtin(loc)) {
    builder.help(std::move(message));
  } else {
    builder.fix(std::move(message), loc.behind(), std::string(suffix));
  }
}

void Evaluator::label_operand(DiagnosticEngine::Builder& builder, DType dtype, Loc reported) {
  for (const Value* value : {operands_.left_value, operands_.right_value}) {
    if (value && value->type()->dtype == dtype) label_dtype(builder, value, reported);
  }
}

namespace {

/// Of text that is read for an error; of longer ones nothing is known, so that many errors in a long text take no
/// longer.
constexpr size_t longest_text = size_t(64) << 10;

/// How often a text has a word outside of comments.
size_t count_word(std::string_view text, std::string_view word) {
  auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '_' || c >= 0x80; };
  size_t count = 0;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    line = line.substr(0, line.find('#'));
    for (size_t at = line.find(word); at != line.npos; at = line.find(word, at + word.size())) {
      size_t end = at + word.size();
      bool begins = at == 0 || !is_part(line[at - 1]);
      count += begins && (end == line.size() || !is_part(line[end]));
    }
  }
  return count;
}

/// Helps with a name that other languages have; false for any other.
bool help_foreign_name(DiagnosticEngine::Builder& builder, std::string_view name, Loc loc) {
  constexpr std::pair<std::string_view, std::string_view> same[] = {
      {"tl", "tile"}, {"true", "True"}, {"false", "False"}, {"null", "None"}, {"nil", "None"}};
  for (const auto& [foreign, ours] : same) {
    if (foreign != name) continue;
    builder.fix(fmt::format("write '{}'", ours), loc, std::string(ours));
    return true;
  }
  std::string_view help = help_for_name(name);
  if (!help.empty()) builder.help(std::string(help));
  return !help.empty();
}

/// `Tensor`, `dim`: words of types are in no scope.
bool is_type_word(std::string_view name) {
  bool is_capitalised = std::isupper(static_cast<unsigned char>(name[0]));
  bool is_title = is_capitalised && std::any_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  return is_title || names::find_type(name);
}

}  // namespace

std::vector<std::string> Evaluator::undefined_names(const Callable& callee) const {
  std::vector<std::string> found;
  if (!callee.definition || !callee.scope || session_.is_builtin(callee.loc)) return found;
  const names::FreeNames& free = session_.free_names(*callee.definition);
  for (std::string_view name : free.names) {
    if (!is_type_word(name) && !callee.scope->find(name)) found.emplace_back(name);
  }
  return found;
}

bool Evaluator::is_misspelt(Loc defined, std::string_view nearest, std::string_view name, bool is_member) const {
  if (!defined.known() || session_.is_builtin(defined)) return false;
  if (session_.sources().file(defined.file).text().size() > longest_text) return false;
  return session_.count_uses(defined, nearest) == 1 && session_.count_uses(defined, name, is_member) > 1;
}

void Evaluator::blame_definition(DiagnosticEngine::Builder& builder, Loc defined, std::string_view nearest,
                                 std::string_view name, Loc use) {
  builder.label(defined, fmt::format("'{}' is defined here, and used nowhere", nearest))
      .label(use, fmt::format("'{}' is asked for here", name))
      .fix(fmt::format("did you mean '{}'?", name), defined, std::string(name));
}

namespace {

/// The words of a text outside of comments.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool is_comment = false;
  for (char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      word += c;
      continue;
    }
    if (!word.empty() && !is_comment) words.push_back(word);
    word.clear();
    is_comment = c == '#' || (is_comment && c != '\n');
  }
  return words;
}

/// Where a binding has its name; functions that are called from outside need not be named in the
/// file again.
Loc place_of_name(const Binding* binding, std::string_view name) {
  if (!binding || !binding->loc.known()) return {};
  bool is_entry = binding->value.is(DatumKind::Function) && binding->value.as_function().kind != FunctionKind::Plain;
  return is_entry ? Loc{} : Loc{binding->loc.file, binding->loc.line, binding->loc.column, uint32_t(name.size())};
}

}  // namespace

bool Evaluator::help_import(DiagnosticEngine::Builder& builder, std::string_view name, std::string_view nearest,
                            Loc loc) {
  std::optional<std::string_view> library = embedded_file("nn.tsr");
  // Its text is asked first: most names are none of its own, and reading it takes a while.
  bool may_have = library && !nearest.empty() && !session_.is_builtin(loc) && count_word(*library, nearest) > 0;
  if (!may_have) return false;
  SourceModule* nn = session_.load_library("tessera.nn");
  std::optional<Edit> import = session_.import_edit(loc.file, "tessera.nn", nearest);
  if (!nn || !nn->scope->find_here(nearest) || !import) return false;
  std::vector<Edit> edits = {std::move(*import)};
  if (name != nearest) edits.push_back({loc, std::string(nearest)});
  bool is_written = source_text(session_.sources(), loc) == name;
  std::string message = fmt::format("'{}' is imported from tessera.nn", nearest);
  is_written ? builder.fix(std::move(message), std::move(edits)) : builder.help(std::move(message));
  return true;
}

void Evaluator::unknown_dtype(const ast::Name& name) {
  if (!session_.is_first_use(name.loc.file, name.text)) return;
  auto builder = report(diag::unknown_name, name.loc, name.text);
  std::vector<std::string> names;
  for (std::string_view dtype : dtype_names()) names.emplace_back(dtype);
  if (builder.suggest(session_.sources(), name.loc, name.text, names)) return;
  builder.help(fmt::format("a dtype that the file names is a constant of it: const {} = f32", name.text));
}

Datum Evaluator::lookup(std::string_view name, Scope& scope, Loc loc) {
  Scope* where = nullptr;
  if (Binding* binding = scope.find(name, &where)) {
    if (EvaluationObserver* observer = session_.observer()) observer->named(name, loc, *where, *binding);
    return received(*where, resolve(*binding, *where, name, loc));
  }
  if (names::is_word(name, names::WordKind::Reserved)) return unsupported(loc, fmt::format("'{}'", name));
  bool is_reported = !frames_.empty() && frames_.back().lacks_names;
  if (is_reported || !session_.is_first_use(loc.file, name)) return Datum::poison();
  if (session_.drops_errors()) {
    report(diag::unknown_name, loc, name);
    return Datum::poison();
  }
  std::string nearest = nearest_name(name, scope.visible_names());
  const Binding* near = nearest.empty() ? nullptr : scope.find(nearest);
  if (Loc defined = place_of_name(near, nearest); is_misspelt(defined, nearest, name)) {
    auto builder = report(diag::unknown_name, defined, name);
    blame_definition(builder, defined, nearest, name, loc);
    return Datum::poison();
  }
  auto builder = report(diag::unknown_name, loc, name);
  const Binding* self = scope.find("self");
  const auto* instance = self ? self->value.object_as<ModuleInstance>() : nullptr;
  bool is_member = instance && (instance->member(name) || instance->module().method(name));
  if (is_member && !session_.is_builtin(loc)) {
    builder.fix("members of a module are named by its instance", loc.before(), "self.");
    return Datum::poison();
  }
  if (help_import(builder, name, name, loc) || help_foreign_name(builder, name, loc)) return Datum::poison();
  constexpr size_t shortest = 5;  // shorter names are near to much
  bool asks_library = !near && name.size() >= shortest;
  std::optional<std::string_view> library = asks_library ? embedded_file("nn.tsr") : std::nullopt;
  if (library && help_import(builder, name, nearest_name(name, words_of(*library)), loc)) return Datum::poison();
  if (near) builder.suggest(session_.sources(), loc, name, {nearest});
  if (near && near->loc.known() && !session_.is_builtin(near->loc)) builder.label(near->loc, "this is defined here");
  if (!near && nearest_name(name, {"return"}) == "return") builder.suggest(session_.sources(), loc, name, {"return"});
  if (!near && name.size() == 1 && name[0] >= 'A' && name[0] <= 'Z') {
    builder.help(fmt::format("a size is declared where it stands alone as a dimension of a parameter, or by "
                             "'dim {}' in the file", name));
  }
  return Datum::poison();
}

}  // namespace tessera::frontend
