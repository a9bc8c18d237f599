#include "tools/inspect/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ir/layout/text.h"
#include "tools/inspect/machine_code.h"

namespace tessera::inspect {

namespace {

std::vector<LineEdit> with_lines(const std::vector<Edit>& edits, const std::vector<Line>& after) {
  std::vector<LineEdit> out;
  for (const Edit& edit : edits) {
    out.push_back({edit.at, edit.removed, {after.begin() + edit.begin, after.begin() + edit.end}});
  }
  return out;
}

/// Does less than a third of the old text stay?
bool is_rewritten(const std::vector<Edit>& edits, size_t old_lines) {
  size_t removed = 0;
  for (const Edit& edit : edits) removed += edit.removed;
  return (old_lines - removed) * 3 < old_lines;
}

}  // namespace

void Trace::starts(Module& module, const Machine* machine) {
  modules_.push_back(std::make_unique<ModuleRecord>());
  ModuleRecord& record = *modules_.back();
  record.name = module.name();
  record.machine = machine;
  record.level = module.level();
  State& state = states_[&module];
  state = {};
  state.record = &record;
  take(state, module, {});
}

void Trace::ran(Module& module, const PassStep& step, double milliseconds) {
  auto state = states_.find(&module);
  if (state == states_.end()) return;
  PassRecord record;
  record.pass = step.pass;
  record.milliseconds = milliseconds;
  take(state->second, module, std::move(record));
}

void Trace::launched(std::span<Op* const> ops, std::span<Op* const> launches) {
  auto state = ops.empty() ? states_.end() : states_.find(ops.front()->module());
  if (state != states_.end() && state->second.record->graph) note_kernels(*state->second.record->graph, ops, launches);
}

void Trace::accessed(const SharedAccess& access) {
  auto state = states_.find(access.kernel->module());
  if (state == states_.end()) return;
  KernelLayouts& layouts = state->second.record->layouts[std::string(symbol_name(access.kernel))];
  AccessRecord record{.op = std::string(access.op->name()), .place = pool_.place(access.op->loc()),
                      .layout = layout::print(access.layout), .shared = layout::print(access.shared),
                      .width = access.width, .worst = {}};
  bool is_known = std::ranges::any_of(layouts.accesses, [&](const AccessRecord& known) {
    return std::tie(known.op, known.place, known.layout, known.shared, known.width) ==
           std::tie(record.op, record.place, record.layout, record.shared, record.width);
  });
  if (is_known) return;
  record.worst = layout::worst_access(access.layout, access.shared, access.width);
  layouts.accesses.push_back(std::move(record));
}

void Trace::emitted(const Machine& machine, std::span<Module* const> modules, const std::string& text) {
  code_.push_back({&machine, split_code(text, modules, sources_, pool_)});
}

void Trace::take(State& state, Module& module, PassRecord record) {
  bool lowers = record.pass && record.pass->reads != record.pass->leaves;
  std::vector<uint32_t> order;
  for (Op* op : *module.body()) {
    uint32_t number = unit_of(state, op, order.size());
    order.push_back(number);
    Unit& unit = state.units[number];
    if (lowers) unit.names = PrintNames();
    compare(unit, number, op, record);
    look_at(*state.record, number, op, module.level());
  }
  for (uint32_t number = 0; number < state.units.size(); ++number) {
    Unit& unit = state.units[number];
    if (!unit.is_there || std::ranges::find(order, number) != order.end()) continue;
    unit = {};
    record.changes.push_back({number, true, {}});
  }
  if (order != state.order) record.order = order;
  state.order = std::move(order);
  state.record->passes.push_back(std::move(record));
}

uint32_t Trace::unit_of(State& state, Op* op, size_t position) {
  bool is_named = op->info().has(Function);
  std::string name = is_named ? std::string(symbol_name(op)) : fmt::format("{} {}", op->name(), position);
  auto [it, is_new] = state.numbers.try_emplace(name, uint32_t(state.units.size()));
  if (is_new) {
    state.units.emplace_back();
    state.record->units.push_back(name);
  }
  return it->second;
}

void Trace::compare(Unit& unit, uint32_t number, Op* op, PassRecord& record) {
  std::vector<Line> lines = text_of(op, unit.names);
  if (unit.is_there && lines == unit.lines) return;
  std::vector<Edit> edits = diff_lines(unit.lines, lines);
  if (unit.is_there && is_rewritten(edits, unit.lines.size())) {
    unit.names = PrintNames();
    lines = text_of(op, unit.names);
    edits = {{0, uint32_t(unit.lines.size()), 0, uint32_t(lines.size())}};
  }
  record.changes.push_back({number, false, with_lines(edits, lines)});
  unit.lines = std::move(lines);
  unit.is_there = true;
}

std::vector<Line> Trace::text_of(Op* op, PrintNames& names) {
  lines_.clear();
  std::string text = print(op, {.locations = false, .names = &names, .lines = &lines_});
  return pool_.lines(text, lines_);
}

/// What the page draws, of the unit whose text was just taken: the graph before it is lowered, and layouts of the last
/// tiles.
void Trace::look_at(ModuleRecord& record, uint32_t unit, Op* op, Level level) {
  if (!record.machine || !op->info().has(Function)) return;
  if (level == Level::Graph && symbol_name(op) == record.name) {
    record.graph = graph_of(op, lines_);
    record.graph_unit = unit;
    record.graph_state = record.passes.size();
    record.context = &op->module()->context();
  }
  if (level == Level::Tile && record.machine->is_gpu() && op->info().level == Level::Tile) {
    record.layouts[std::string(symbol_name(op))].tiles = layouts_of(op);
  }
}

}  // namespace tessera::inspect
