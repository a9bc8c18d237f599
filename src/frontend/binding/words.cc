#include "frontend/binding/words.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/check.h"
#include "support/diagnostic.h"

namespace tessera::names {

namespace {

constexpr WordRow rows[] = {
#define WORD(kind, text, meaning) {WordKind::kind, text, meaning},
#include "frontend/binding/words.def"
#define DIRECTIVE(text, meaning) {WordKind::Directive, text, meaning},
#include "frontend/syntax/directives.def"
#undef DIRECTIVE
};

constexpr TypeRow types[] = {
#define TYPE(text, form, meaning) {text, TypeForm::form},
#include "frontend/binding/words.def"
};

enum class PolicyUse : uint8_t { Read, Unread };
constexpr PolicyRow policies[] = {
#define POLICY(text, subject, form, use, meaning) \
  {text, PolicySubject::subject, form, PolicyUse::use == PolicyUse::Read},
#include "frontend/binding/words.def"
};

constexpr EffectRow effect_rows[] = {
#define EFFECT(text, form, meaning) {text, form},
#include "frontend/binding/words.def"
};

constexpr DecoratorRow decorator_rows[] = {
#define DECORATOR(text, what, meaning) {text, DecoratorMeaning::what},
#include "frontend/binding/words.def"
};

constexpr AliasRow alias_rows[] = {
#define ALIAS(text, function) {text, function},
#include "frontend/binding/words.def"
};

template <typename Row>
const Row* find(std::span<const Row> table, std::string_view text) {
  auto found = std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.text == text; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

std::span<const WordRow> word_rows() { return rows; }

bool is_word(std::string_view text, WordKind kind) {
  return std::any_of(std::begin(rows), std::end(rows),
                     [&](const WordRow& row) { return row.kind == kind && row.text == text; });
}

std::vector<std::string> words_of(WordKind kind) {
  std::vector<std::string> texts;
  for (const WordRow& row : rows) {
    if (row.kind == kind) texts.emplace_back(row.text);
  }
  return texts;
}

const TypeRow* find_type(std::string_view text) { return find<TypeRow>(types, text); }

std::vector<const PolicyRow*> policies_of(PolicySubject subject) {
  bool is_state = subject == PolicySubject::Cache || subject == PolicySubject::Optimizer;
  std::vector<const PolicyRow*> found;
  for (const PolicyRow& row : policies) {
    if (row.subject == subject || (is_state && row.subject == PolicySubject::State)) found.push_back(&row);
  }
  return found;
}

const PolicyRow* find_policy(std::string_view text) { return find<PolicyRow>(policies, text); }

std::string example_of(const PolicyRow& policy) {
  switch (policy.subject) {
    case PolicySubject::DType: return fmt::format("a dtype: Tensor[B, D, bf16 @{}]", policy.form);
    case PolicySubject::Cache:
      return fmt::format("the type of a cache: KVCache[\"B\", \"H\", \"S_max\", \"D_h\", bf16] @{}", policy.form);
    case PolicySubject::State: return fmt::format("the type of a state: state: OptimizerState[w] @{}", policy.form);
    case PolicySubject::Optimizer:
      return fmt::format("the type of an optimiser's state: state: OptimizerState[w] @{}", policy.form);
  }
  TSR_UNREACHABLE("a policy of nothing");
}

std::span<const EffectRow> effects() { return effect_rows; }
const EffectRow* find_effect(std::string_view text) { return find(effects(), text); }

std::span<const DecoratorRow> decorators() { return decorator_rows; }

const DecoratorRow* find_decorator(std::string_view dotted) {
  constexpr std::string_view prefix = "tessera.";
  return find(decorators(), dotted.starts_with(prefix) ? dotted.substr(prefix.size()) : dotted);
}

std::vector<std::string> decorator_names() {
  std::vector<std::string> names;
  for (const DecoratorRow& row : decorator_rows) {
    if (row.meaning != DecoratorMeaning::Unsupported) names.emplace_back(row.text);
  }
  return names;
}

bool means_kernel(std::string_view dotted) {
  if (const DecoratorRow* row = find_decorator(dotted)) return row->is_kernel();
  return dotted.starts_with("kernel.") || nearest_name(dotted, decorator_names()).starts_with("kernel");
}

std::span<const AliasRow> aliases() { return alias_rows; }

std::string_view function_of(std::string_view name) {
  const AliasRow* alias = find(aliases(), name);
  return alias ? alias->function : name;
}

std::string listed(std::span<const std::string> texts, std::string_view last) {
  std::string out;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i > 0 && i + 1 == texts.size()) {
      out.append(" ").append(last).append(" ");
    } else if (i > 0) {
      out += ", ";
    }
    out += texts[i];
  }
  return out;
}

}  // namespace tessera::names
