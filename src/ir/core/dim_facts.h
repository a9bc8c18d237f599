#pragma once
// Relations between dims that hold or are required: `where` clauses, guards, assumptions of
// kernels.
//
// As an attribute a fact is {left = <K % 8>, relation = "==", right = <0>}; a guard has the source's text beside them.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/attribute.h"
#include "ir/dim/dim_multiples.h"

namespace tessera {

class Context;

enum class Relation : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };

/// "==", "!=", "<", "<=", ">", ">=".
std::string_view spelling(Relation relation);
std::optional<Relation> parse_relation(std::string_view text);
bool holds(int64_t left, Relation relation, int64_t right);

struct DimFact {
  Relation relation;
  Dim left;
  Dim right;

  std::string text() const;
};

/// Answers questions about sizes, given that every size is at least 0 and the facts hold. What the facts say is worked
/// out once, for the first question that needs it.
class DimDecider {
 public:
  DimDecider(DimTable& dims, std::span<const DimFact> facts);
  ~DimDecider();

  /// Whether the relation holds for all sizes (true), for none (false), or depends on them.
  std::optional<bool> decide(const DimFact& asked);

 private:
  struct Knowledge;

  DimTable& dims_;
  std::vector<DimFact> facts_;
  std::unique_ptr<Knowledge> knowledge_;
};

/// The answer as far as constants and bounds of sizes give one, without facts and without a search.
std::optional<bool> decide_at_once(DimTable& dims, const DimFact& asked);
/// The answer to a single question.
std::optional<bool> decide(DimTable& dims, const DimFact& asked, std::span<const DimFact> facts = {});
/// The one form of a dim among those that the facts make equal: equal sizes are equal pointers (dim_rules.h).
Dim one_form(DimTable& dims, Dim dim, std::span<const DimFact> facts);
/// The facts about multiples.
std::vector<DimMultiple> multiples(std::span<const DimFact> facts);

Attr fact_attr(Context& context, const DimFact& fact);
/// Nothing when the attribute is no fact.
std::optional<DimFact> read_fact(Attr attribute);
/// Those of a list; elements that are no facts are left out.
std::vector<DimFact> read_facts(const std::vector<Attr>& list);

/// True if the dim depends on the symbol.
bool mentions(Dim dim, std::string_view symbol);

}  // namespace tessera
