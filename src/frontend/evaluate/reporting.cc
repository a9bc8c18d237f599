#include "frontend/evaluate/reporting.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "frontend/evaluate/session.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

/// Errors that no arguments of a call mend, and the warning of what a signature lacks. Those that say "nothing proves
/// it" or "not known at compile time" are none.
constexpr DiagId of_any_call[] = {
    // Names and members.
    DiagId::unknown_name, DiagId::unknown_member, DiagId::unknown_module, DiagId::unknown_decorator,
    DiagId::duplicate_name, DiagId::duplicate_parameter, DiagId::duplicate_member, DiagId::cyclic_definition,
    DiagId::recursive_call, DiagId::recursive_module, DiagId::reserved_parameter, DiagId::unplaced_module,
    DiagId::misplaced_statement,
    // Calls and operators.
    DiagId::not_callable, DiagId::wrong_argument_count, DiagId::missing_argument, DiagId::unknown_keyword,
    DiagId::repeated_argument, DiagId::wrong_kind, DiagId::wrong_operands, DiagId::not_assignable,
    DiagId::wrong_unpacking, DiagId::index_out_of_range, DiagId::division_by_zero, DiagId::number_overflow,
    DiagId::never_equal, DiagId::unequal_lengths,
    // Types and shapes.
    DiagId::not_a_type, DiagId::malformed_type, DiagId::unknown_policy, DiagId::dtype_is_dimension,
    DiagId::shape_mismatch, DiagId::unstated_relation, DiagId::rank_mismatch, DiagId::bad_reshape,
    DiagId::bad_einsum, DiagId::open_extents,
    DiagId::axis_out_of_range, DiagId::unnamed_axis, DiagId::negative_dimension, DiagId::dimension_overflow,
    DiagId::shape_policy, DiagId::wrong_result, DiagId::missing_return,
    DiagId::attention_bias, DiagId::branch_types, DiagId::loop_carried_type,
    // Effects, promises and schedules.
    DiagId::impure_call, DiagId::unknown_effect, DiagId::malformed_promise, DiagId::unknown_schedule_key,
    DiagId::schedule_value_kind, DiagId::schedule_value_range, DiagId::schedule_unknown_axis,
    DiagId::schedule_too_many_extents, DiagId::schedule_choices_empty, DiagId::schedule_arguments,
    // Kernels.
    DiagId::reserved_axis, DiagId::unknown_axis, DiagId::second_tile_context, DiagId::no_tile_context,
    DiagId::missing_index, DiagId::tile_permutation, DiagId::tile_subscript, DiagId::coordinate_count,
    DiagId::memory_subscript, DiagId::tile_load_index, DiagId::repeated_axis, DiagId::unknown_relaxation,
    DiagId::loop_carried_constant, DiagId::return_in_loop, DiagId::kernel_without_result,
    DiagId::kernel_without_context,
};

/// The same of those about dtypes.
constexpr DiagId of_dtypes[] = {
    DiagId::wrong_dtype, DiagId::dtype_mismatch, DiagId::mixed_dtypes, DiagId::narrowing, DiagId::accum_conflict,
    DiagId::accum_narrower, DiagId::number_not_of_dtype, DiagId::dot_accumulator, DiagId::false_where,
    DiagId::unmet_need,
};

template <size_t N>
bool has(const DiagId (&list)[N], DiagId id) {
  return std::find(std::begin(list), std::end(list), id) != std::end(list);
}

constexpr DType tried_dtypes[] = {DType::F32, DType::I32, DType::Bool};

/// Digit i of the number, of as many values as there are dtypes to try, says which one dtype i is.
DTypeChoices numbered_choices(const Signature& signature, unsigned number) {
  DTypeChoices choices;
  for (size_t i = 0; i < signature.dtypes.size(); ++i) {
    choices[signature.dtypes[i].name] = tried_dtypes[number % std::size(tried_dtypes)];
    number /= unsigned(std::size(tried_dtypes));
  }
  return choices;
}

}  // namespace

bool is_reported(DiagId id, Reporting reporting) {
  switch (reporting) {
    case Reporting::All: return true;
    case Reporting::OfAnyCall: return has(of_any_call, id) || has(of_dtypes, id);
    case Reporting::OfAnyCallAndDType: return has(of_any_call, id);
    case Reporting::Nothing: return false;
  }
  return true;
}

void explore_dtypes(Session& session, const Signature& signature, const std::function<void(const DTypeChoices&)>& run) {
  constexpr size_t most_varied = 3;  // of more dtypes the others are f32
  Session::Reports reports(session, Reporting::OfAnyCall);
  if (signature.dtypes.empty()) return run({});
  DTypeChoices best;
  size_t fewest = std::numeric_limits<size_t>::max();
  unsigned count = 1;
  const size_t varied = std::min(signature.dtypes.size(), most_varied);
  for (size_t i = 0; i < varied; ++i) count *= unsigned(std::size(tried_dtypes));
  for (unsigned i = 0; i < count && fewest != 0; ++i) {
    DTypeChoices choices = numbered_choices(signature, i);
    Session::Trial trial(session);
    run(choices);
    if (trial.errors() < fewest) best = std::move(choices);
    fewest = std::min(fewest, trial.errors());
  }
  Session::Reports of_any_dtype(session, Reporting::OfAnyCallAndDType);
  run(best);
}

}  // namespace tessera::frontend
