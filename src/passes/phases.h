#pragma once
// Coarse names for parts of a target's pipeline, so that a compile can be told, and cut, in a dozen steps.

#include <span>

#include "passes/pass_manager.h"

namespace tessera {

struct Phase {
  std::string_view name;
  std::string_view options;  ///< `name=pass.option`, separated by commas
  std::string_view summary;
  bool has_passes;           ///< on some machine
};

/// All phases in the order in which they run.
std::span<const Phase> all_phases();
/// The passes of a phase for a machine; nothing where no phase has that name. Without a machine they are those of a
/// CPU.
std::optional<std::vector<PassStep>> steps_of_phase(std::string_view name, const Machine* machine);
/// The pass and the option that an option of a phase is for.
struct PhaseOption {
  std::string_view pass;
  std::string_view option;
};
std::optional<PhaseOption> find_phase_option(std::string_view phase, std::string_view option);

}  // namespace tessera
