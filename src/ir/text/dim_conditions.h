#pragma once
// Conditions on sizes that choose while a program runs: lists of facts, all of which hold.

#include <span>
#include <vector>

#include "ir/core/dim_facts.h"

namespace tessera {

/// What holds where not all of the facts do.
DimFact negated(DimTable& dims, std::span<const DimFact> facts);
/// What holds where all of the first facts do, or all of the others do.
DimFact any_of(DimTable& dims, std::span<const DimFact> first, std::span<const DimFact> other);
/// What holds in a branch that facts choose: they themselves, or that not all of them hold.
std::vector<DimFact> facts_of_branch(DimTable& dims, std::span<const DimFact> when, bool is_taken);

std::vector<Attr> fact_attrs(Context& context, std::span<const DimFact> facts);

}  // namespace tessera
