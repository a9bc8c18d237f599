// Effects: what a function does besides computing a result. They are found while its body is run,
// and checked where the source makes a promise about them.

#include <algorithm>
#include <set>

#include "frontend/binding/words.h"
#include "frontend/evaluate/blame.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// "rng", "state(cache)": an effect as written; empty when it is none.
std::string effect_text(const ast::Expr& expr) {
  const auto* call = ast::as<ast::Call>(&expr);
  const auto* name = ast::as<ast::Name>(call ? call->callee : &expr);
  const names::EffectRow* effect = name ? names::find_effect(name->text) : nullptr;
  if (!effect || effect->has_argument() != (call != nullptr)) return {};
  if (!call) return std::string(name->text);
  const auto* argument = call->arguments.size() == 1 ? ast::as<ast::Name>(call->arguments[0].value) : nullptr;
  return argument ? fmt::format("{}({})", name->text, argument->text) : std::string();
}

/// Whether a function that declares the effect has it, as no op causes it yet.
bool is_declared_only(std::string_view effect) { return effect == "io" || effect.starts_with("collective("); }

}  // namespace

void CallFrame::add_effect(std::string_view effect, EffectSite site) {
  std::vector<EffectSite>& sites = effects[std::string(effect)];
  bool is_known = std::ranges::any_of(sites, [&](const EffectSite& other) { return other.loc == site.loc; });
  if (!is_known) sites.push_back(std::move(site));
}

void CallFrame::add_effects(const CallFrame& done) {
  for (const auto& [effect, sites] : done.effects) {
    const EffectSite& first = sites.front();
    std::vector<std::pair<std::string, Loc>> calls = first.calls;
    calls.emplace_back(done.name, done.call);
    add_effect(effect, {done.call.known() ? done.call : first.origin, first.origin, std::move(calls)});
  }
}

void CallFrame::add_declared(const Function& called, Loc at) {
  if (!called.def) return;
  for (const ast::Expr* expr : called.def->effects) {
    std::string effect = effect_text(*expr);
    if (!is_declared_only(effect)) continue;
    EffectSite site{expr->loc, expr->loc, {}};
    if (at.known()) {
      site.loc = at;
      site.calls.emplace_back(called.name, at);
    }
    add_effect(effect, std::move(site));
  }
}

namespace {

/// From the call that is reported inwards, to where the effect is from.
void note_origin(const Session& session, DiagnosticEngine::Builder& builder, const std::string& effect,
                 const EffectSite& site) {
  for (size_t i = site.calls.size(); i-- > 0;) {
    const auto& [name, call] = site.calls[i];
    if (call == site.loc || !call.known() || session.is_builtin(call)) continue;
    builder.note(call, fmt::format("through this call of '{}'", name), NoteKind::Call);
  }
  if (site.origin != site.loc && !session.is_builtin(site.origin)) {
    builder.note(site.origin, fmt::format("'{}' is from here", effect));
  }
}

/// Whether an effect of an entry is no state, or that of one that it can change.
bool names_state(const Function& entry, const ast::Expr& effect) {
  const auto* call = ast::as<ast::Call>(&effect);
  const auto* kind = call ? ast::as<ast::Name>(call->callee) : nullptr;
  if (!kind || kind->text != "state") return true;
  std::string_view name = ast::cast<ast::Name>(*call->arguments[0].value).text;
  return name == "params" || std::ranges::any_of(entry.parameters(), [&](const ast::Parameter& parameter) {
    return parameter.name.text == name;
  });
}

}  // namespace

void check_effects(const Blame& blame, const CallFrame& frame) {
  const Function& function = *frame.function;
  if (!function.def) return;
  std::set<std::string> declared;
  for (const ast::Expr* expr : function.def->effects) {
    if (expr->kind == ast::NodeKind::ErrorExpr) return;
    std::string effect = effect_text(*expr);
    if (effect.empty()) {
      const auto* name = ast::as<ast::Name>(expr);
      auto builder = blame.report(diag::unknown_effect, expr->loc, name ? name->text : "…");
      std::vector<std::string> known = names::words_of(names::WordKind::Effect), forms;
      for (const names::EffectRow& row : names::effects()) forms.emplace_back(row.form);
      bool is_near = name && builder.suggest(blame.sources(), expr->loc, name->text, known);
      if (!is_near) builder.help(fmt::format("effects are {}", names::listed(forms)));
      return;
    }
    declared.insert(effect);
    if (function.kind == FunctionKind::Jit && !names_state(function, *expr)) {
      blame.report(diag::unknown_effect, expr->loc, effect)
          .help(fmt::format("a state is a parameter of '{}', or 'params': state(params)", function.name));
    }
  }
  if (!function.pure && !function.def->has_effects) return;
  // A place may have several.
  using Found = std::vector<std::pair<std::string, const EffectSite*>>;
  std::vector<Found> places;
  for (const auto& [effect, sites] : frame.effects) {
    if (!function.pure && declared.count(effect)) continue;
    for (const EffectSite& site : sites) {
      auto same = std::ranges::find_if(places, [&](const Found& each) { return each[0].second->loc == site.loc; });
      (same == places.end() ? places.emplace_back() : *same).emplace_back(effect, &site);
    }
  }
  std::string promise = "is declared @pure";
  if (!function.pure) {
    promise = declared.empty() ? "declares no effect"
                               : fmt::format("declares only {}", fmt::join(declared, ", "));
  }
  for (const Found& found : places) {
    std::string effects;
    for (const auto& [effect, site] : found) effects += (effects.empty() ? "" : ", ") + effect;
    auto builder = blame.report(diag::impure_call, found[0].second->loc, effects, function.name, promise);
    builder.label(function.loc, fmt::format("'{}' is defined here", function.name));
    for (const auto& [effect, site] : found) note_origin(blame.session(), builder, effect, *site);
  }
}

void warn_of_uncaused(const Blame& blame, const CallFrame& frame) {
  const Function& function = *frame.function;
  bool may_cause = function.kind == FunctionKind::Jit && function.def && !function.pure;
  if (!may_cause || frame.result.is_poison()) return;  // where there is an error, not all of it was found
  for (const ast::Expr* expr : function.def->effects) {
    std::string effect = effect_text(*expr);
    if (!is_declared_only(effect) || frame.effects.count(effect) != 0) continue;
    blame.report(diag::hint_no_effect, expr->loc, fmt::format("effect '{}'", effect), "any target")
        .note({}, fmt::format("nothing that '{}' calls declares '{}', and no op causes it yet", function.name, effect))
        .help("leave it out if no branch that is switched off has it");
  }
}

}  // namespace tessera::frontend
