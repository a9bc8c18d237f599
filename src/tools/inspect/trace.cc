#include "tools/inspect/trace.h"

#include <fmt/format.h>

#include <algorithm>

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
  std::vector<Loc> places;
  std::string text = print(op, {.locations = false, .names = &names, .lines = &places});
  return pool_.lines(text, places);
}

}  // namespace tessera::inspect
