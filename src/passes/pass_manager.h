#pragma once
// Runs passes by name: checks levels and properties, times, verifies, prints, and leaves a reproducer
// behind when one crashes.

#include <functional>
#include <set>
#include <span>
#include <vector>

#include "passes/pass.h"

namespace tessera {

enum class Property : uint16_t {
  None = 0,
#define PROPERTY(Name, text, ...) Name##Bit,
#include "passes/properties.def"
#undef PROPERTY
};

/// A set of properties, one bit each.
using Properties = uint32_t;
namespace property {
inline constexpr Properties None = 0;
#define PROPERTY(Name, text, ...) \
  inline constexpr Properties Name = 1u << uint16_t(Property::Name##Bit);
#include "passes/properties.def"
#undef PROPERTY
}  // namespace property

/// The properties a module's attribute `properties` lists.
Properties properties_of(const Module& module);

struct PassInfo {
  std::string_view name;
  Level reads;
  Level leaves;
  Properties needs = 0;
  Properties gives = 0;
  Properties ends = 0;           ///< besides all, where the pass leaves its level
  std::string_view options;      ///< names, separated by commas
  std::string_view summary;
  Status (*run)(Module&, PassContext&) = nullptr;
};

/// One number per row of passes.def.
enum class PassId : uint16_t {
#define PASS(name, reads, leaves, needs, gives, ends, options, summary) name,
#include "passes/passes.def"
#undef PASS
};

inline constexpr PassInfo pass_table[] = {
#define PASS(name, reads, leaves, needs, gives, ends, options, summary) \
  {#name, Level::reads, Level::leaves, needs, gives, ends, options, summary, &name},
#include "passes/passes.def"
#undef PASS
    {},  // ends the table
};

/// The properties of a module after a pass that found it with these.
constexpr Properties properties_after(const PassInfo& pass, Properties before) {
  bool lowers = pass.reads != pass.leaves;
  return (lowers ? 0 : before & ~pass.ends) | pass.gives;
}

/// True if each pass of the sequence finds the level and the properties it reads, the first starting at
/// `level` with none, and the last leaves those that are `wanted`. What a pipeline asserts, so that a wrong order does
/// not compile.
constexpr bool is_well_ordered(std::span<const PassId> passes, Level level, Properties wanted = 0) {
  Properties properties = 0;
  for (PassId id : passes) {
    const PassInfo& pass = pass_table[size_t(id)];
    if (pass.reads != level || (pass.needs & ~properties)) return false;
    properties = properties_after(pass, properties);
    level = pass.leaves;
  }
  return !(wanted & ~properties);
}

/// True if nothing relies on the pass: it only makes code faster or shorter.
constexpr bool is_optional(const PassInfo& pass) { return pass.reads == pass.leaves && !(pass.gives & ~pass.needs); }

/// All passes, in the order of passes.def.
std::span<const PassInfo> all_passes();
const PassInfo* find_pass(std::string_view name);

struct PassStep {
  const PassInfo* pass;
  std::map<std::string, std::string, std::less<>> options;
};

/// Reads `a,b{x=1,y=[2,3]},c`. A name may also be a phase (passes/phases.def), which stands for its passes for the
/// machine; without a machine, for a CPU.
Result<std::vector<PassStep>> parse_pipeline(std::string_view text, DiagnosticEngine& diagnostics,
                                             const Machine* machine = nullptr);
/// Fails with a message unless each is the name of a pass or "all".
Status check_pass_names(std::span<const std::string> names, DiagnosticEngine& diagnostics);
/// The same unless those passes are run.
Status check_printed_passes(std::span<const std::string> names, std::span<const PassStep> run,
                            DiagnosticEngine& diagnostics);
/// The text that parse_pipeline reads.
std::string print_pipeline(std::span<const PassStep> steps);

struct PassTiming {
  std::string_view pass;
  double seconds;
};

struct PassManagerOptions {
  std::set<std::string, std::less<>> print_before;  ///< pass names, or "all"
  std::set<std::string, std::less<>> print_after;
  std::function<void(const std::string&)> print;    ///< where printed IR goes
  std::function<void(const PassStep&)> starts;      ///< told of each pass before it runs
  std::function<void(Module&, const PassStep&, double seconds)> ran;  ///< told of each pass that succeeded
  bool locations = true;  ///< in printed IR
  bool verify_each = false;
  /// The tool that a crash file is named after (support/reproducer.h); empty for none.
  std::string reproducer;
};

class PassManager {
 public:
  PassManager(PassManagerOptions options) : options_(std::move(options)) {}

  /// Runs the steps in order; stops at the first that fails.
  Status run(Module& module, std::span<const PassStep> steps, PassContext& context);
  const std::vector<PassTiming>& timings() const { return timings_; }

 private:
  Status run_step(Module& module, const PassStep& step, PassContext& context);
  void print(std::string_view when, const PassStep& step, Module& module);

  PassManagerOptions options_;
  std::vector<PassTiming> timings_;
};

}  // namespace tessera
