#pragma once
// Which diagnostics of an evaluation are reported. Functions that nothing calls are run, too, and
// errors that depend on the arguments of a call are no errors of theirs.

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "ir/numbers/dtype.h"
#include "support/diagnostic.h"

namespace tessera::frontend {

class Session;
struct Signature;

/// From all to none.
enum class Reporting : uint8_t {
  All,
  OfAnyCall,           ///< errors that every call would have
  OfAnyCallAndDType,   ///< the same where a dtype that calls choose is open: none about dtypes
  Nothing,
};

bool is_reported(DiagId id, Reporting reporting);

/// A dtype for each dtype parameter of a signature.
using DTypeChoices = std::map<std::string, DType, std::less<>>;

/// Runs a function that nothing calls for its errors, with the choices for which it has the fewest: a number with a
/// fraction, an integer or a bool for each dtype that is open. Where there are such, none of the errors reported is
/// about dtypes.
void explore_dtypes(Session& session, const Signature& signature, const std::function<void(const DTypeChoices&)>& run);

}  // namespace tessera::frontend
