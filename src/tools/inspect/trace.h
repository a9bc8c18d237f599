#pragma once
// Records the changes of a run of the compiler to each module: its text at the start, and the edits
// of each pass.
//
// The first text of a unit is kept whole; every later one is stored as edits. Units are top-level
// ops: an entry's function or host program, a kernel. Values keep their numbers from pass to pass,
// so that an edit shows the change of the pass and no renumbering. They are numbered anew where a
// pass lowers the module, and where it keeps less than a third of a unit.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/index/collector.h"
#include "ir/text/printer.h"
#include "tools/driver/observer.h"
#include "tools/inspect/line_diff.h"
#include "tools/inspect/layout_tables.h"
#include "tools/inspect/line_pool.h"
#include "tools/inspect/model_graph.h"

namespace tessera::inspect {

struct LineEdit {
  uint32_t at = 0;
  uint32_t removed = 0;
  std::vector<Line> added;
};

struct UnitChange {
  uint32_t unit = 0;
  bool is_gone = false;
  std::vector<LineEdit> edits;
};

struct PassRecord {
  const PassInfo* pass = nullptr;  ///< null for the state before the first pass
  double milliseconds = 0;
  std::vector<UnitChange> changes;
  std::vector<uint32_t> order;  ///< of the units that are there afterwards; empty where it is as it was
};

struct ModuleRecord {
  std::string name;
  const Machine* machine = nullptr;  ///< null for the graph of the file
  Level level = Level::Graph;        ///< at the start
  std::vector<std::string> units;    ///< by number; a name may come back after it was gone
  std::vector<PassRecord> passes;    ///< the first is the state before any pass
  /// Of a module for a target: the last state of the graph, its unit, and the module's context.
  std::optional<ModelGraph> graph;
  uint32_t graph_unit = 0;
  size_t graph_state = 0;
  const Context* context = nullptr;
  std::map<std::string, KernelLayouts> layouts;  ///< of a GPU, by kernel: those of the last tiles
};

struct CodeRecord {
  const Machine* machine = nullptr;
  struct Kernel {
    std::string name;
    std::string same_as;  ///< the kernel whose code it shares; empty for one of its own
    std::vector<Line> lines;
  };
  std::vector<Kernel> kernels;
};

/// Watches a compile. Sources must outlive it.
class Trace : public driver::CompileObserver {
 public:
  explicit Trace(SourceManager& sources) : sources_(sources) {}

  frontend::EvaluationObserver* evaluation() override { return &collector_; }
  void starts(Module& module, const Machine* machine) override;
  void launched(std::span<Op* const> ops, std::span<Op* const> launches) override;
  void accessed(const SharedAccess& access) override;
  void ran(Module& module, const PassStep& step, double milliseconds) override;
  void emitted(const Machine& machine, std::span<Module* const> modules, const std::string& text) override;

  const LinePool& pool() const { return pool_; }
  const std::vector<std::unique_ptr<ModuleRecord>>& modules() const { return modules_; }
  const std::vector<CodeRecord>& code() const { return code_; }
  /// What is called where; empty where a dump was compiled on. Can be asked for once.
  frontend::SemanticIndex take_index() { return collector_.take(); }
  SourceManager& sources() const { return sources_; }

 private:
  struct Unit {
    std::vector<Line> lines;
    PrintNames names;
    bool is_there = false;
  };
  struct State {
    ModuleRecord* record = nullptr;
    std::unordered_map<std::string, uint32_t> numbers;
    std::vector<Unit> units;
    std::vector<uint32_t> order;
  };
  void take(State& state, Module& module, PassRecord record);
  uint32_t unit_of(State& state, Op* op, size_t position);
  void compare(Unit& unit, uint32_t number, Op* op, PassRecord& record);
  std::vector<Line> text_of(Op* op, PrintNames& names);
  void look_at(ModuleRecord& record, uint32_t unit, Op* op, Level level);

  SourceManager& sources_;
  frontend::IndexCollector collector_;
  LinePool pool_;
  std::vector<std::unique_ptr<ModuleRecord>> modules_;
  std::unordered_map<const Module*, State> states_;
  std::vector<CodeRecord> code_;
  std::vector<Op*> lines_;  ///< of the text that was taken last
};

}  // namespace tessera::inspect
