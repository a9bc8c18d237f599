#pragma once
// The words of the language that are no functions, from words.def.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::names {

enum class WordKind : uint8_t {
  Keyword,
  Type,
  DType,  ///< in ir/numbers/dtypes.def
  Policy,
  Effect,
  Decorator,
  Constant,
  Device,
  Namespace,
  Directive,
  Layout,
  Privilege,
  // After a dot:
  TensorMember,
  CacheMember,
  OptimizerMember,
  StateMember,     ///< of caches and of optimisers' states
  ScheduleMember,  ///< a key, which is also an argument of `Schedule`; in ir/schedule/schedule_keys.def
  KernelMember,
  Reserved,  ///< a name that nothing is done with yet
};

struct WordRow {
  WordKind kind;
  std::string_view text;
  std::string_view meaning;  ///< empty: the word is refused where it is written
};

std::span<const WordRow> word_rows();
bool is_word(std::string_view text, WordKind kind);
/// The words of a kind, in the order of their rows.
std::vector<std::string> words_of(WordKind kind);

/// How a type is written.
enum class TypeForm : uint8_t {
  Tensor,
  Param,
  Tile,
  KTile,
  KVCache,
  OptimizerState,
  Tuple,
  Schedule,
  Scalar,
  Dim,
  DType,
  Function,
  String,
  Any,
  Unsupported,  ///< it parses, and is not lowered by its name alone
};

struct TypeRow {
  std::string_view text;
  TypeForm form;
};
/// The type of that name; null when there is none.
const TypeRow* find_type(std::string_view text);

/// What a policy stands behind.
enum class PolicySubject : uint8_t { DType, Cache, Optimizer, State };

struct PolicyRow {
  std::string_view text;
  PolicySubject subject;
  std::string_view form;  ///< "accum(dtype)"
  bool is_read;           ///< otherwise types keep it and it has no effect yet, which its text and a warning say
};
/// Those of a subject; a cache and the state of an optimiser have those of states, too.
std::vector<const PolicyRow*> policies_of(PolicySubject subject);
const PolicyRow* find_policy(std::string_view text);
/// What a policy stands behind, with an example.
std::string example_of(const PolicyRow& policy);
inline bool is_policy(std::string_view text) { return find_policy(text) != nullptr; }

struct EffectRow {
  std::string_view text;
  std::string_view form;  ///< "state(name)"
  bool has_argument() const { return form.ends_with(')'); }
};
std::span<const EffectRow> effects();
const EffectRow* find_effect(std::string_view text);

enum class DecoratorMeaning : uint8_t {
  Jit,
  Kernel,
  KernelSchedule,
  Pure,
  Numerics,
  Autodiff,
  CustomVjp,
  CustomJvp,
  Checkpoint,
  Unsupported,
};

struct DecoratorRow {
  std::string_view text;  ///< without a leading `tessera.`
  DecoratorMeaning meaning;
  bool is_kernel() const { return meaning == DecoratorMeaning::Kernel || gives_schedule(); }
  bool gives_derivative() const {
    return meaning == DecoratorMeaning::CustomVjp || meaning == DecoratorMeaning::CustomJvp;
  }
  bool gives_schedule() const { return meaning == DecoratorMeaning::KernelSchedule; }
};
std::span<const DecoratorRow> decorators();
/// By its dotted name, with or without `tessera.`; null when there is none.
const DecoratorRow* find_decorator(std::string_view dotted);
/// The decorators that a misspelt one may stand for. One that is refused itself helps nobody.
std::vector<std::string> decorator_names();
/// Whether a decorator makes a kernel, or was meant to.
bool means_kernel(std::string_view dotted);

/// The function that another name of it means; the name itself when it is none.
std::string_view function_of(std::string_view name);
struct AliasRow {
  std::string_view text, function;
};
std::span<const AliasRow> aliases();

/// "a, b and c".
std::string listed(std::span<const std::string> texts, std::string_view last = "and");

}  // namespace tessera::names
