#include "passes/phases.h"

#include <algorithm>

#include "passes/pipeline.h"
#include "support/check.h"

namespace tessera {

namespace {

constexpr std::string_view none = "none";

constexpr Phase phases[] = {
#define PHASE(Name, cpu, gpu, options, summary) {#Name, options, summary, #cpu != none || #gpu != none},
#include "passes/phases.def"
#undef PHASE
};

/// The last pass of each phase, `none` for a phase without passes.
struct LastPasses {
  std::string_view cpu;
  std::string_view gpu;
};

constexpr LastPasses last_passes[] = {
#define PHASE(Name, cpu, gpu, options, summary) {#cpu, #gpu},
#include "passes/phases.def"
#undef PHASE
};

/// A target's whole pipeline, from the graph as the front end builds it.
std::vector<PassId> whole_pipeline(const Machine* machine) {
  std::span<const PassId> graph = graph_pipeline();
  std::span<const PassId> rest = machine ? pipeline_for(*machine) : cpu_pipeline();
  std::vector<PassId> all(graph.begin(), graph.end());
  all.insert(all.end(), rest.begin(), rest.end());
  return all;
}

}  // namespace

std::span<const Phase> all_phases() { return phases; }

std::optional<std::vector<PassStep>> steps_of_phase(std::string_view name, const Machine* machine) {
  std::vector<PassId> pipeline = whole_pipeline(machine);
  auto begin = pipeline.begin();
  for (size_t i = 0; i < std::size(phases); ++i) {
    std::string_view last = machine && machine->is_gpu() ? last_passes[i].gpu : last_passes[i].cpu;
    auto end = begin;
    if (last != none) {
      auto is_last = [&](PassId id) { return pass_table[size_t(id)].name == last; };
      end = std::find_if(begin, pipeline.end(), is_last);
      TSR_CHECK(end != pipeline.end(), "a phase ends in a pass that its pipeline does not have");
      ++end;
    }
    if (phases[i].name == name) return steps_of({&*begin, size_t(end - begin)});
    begin = end;
  }
  return std::nullopt;
}

std::optional<PhaseOption> find_phase_option(std::string_view phase, std::string_view option) {
  auto found = std::find_if(std::begin(phases), std::end(phases), [&](const Phase& p) { return p.name == phase; });
  if (found == std::end(phases)) return std::nullopt;
  std::string_view rest = found->options;
  while (!rest.empty()) {
    std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    size_t equals = one.find('='), dot = one.find('.');
    if (one.substr(0, equals) != option) continue;
    return PhaseOption{one.substr(equals + 1, dot - equals - 1), one.substr(dot + 1)};
  }
  return std::nullopt;
}

}  // namespace tessera
