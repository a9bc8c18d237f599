#include "runtime/format/plan_views.h"

namespace tessera::format {

namespace {

/// The alias steps whose buffers exist: plans that are still being checked may name others.
std::vector<AliasStep> alias_steps(const Plan& plan) {
  std::vector<AliasStep> found;
  for (const PlanStep& step : plan.steps) {
    const auto* alias = std::get_if<AliasStep>(&step);
    if (!alias || alias->view >= plan.buffers.size() || alias->of >= plan.buffers.size()) continue;
    found.push_back(*alias);
  }
  return found;
}

}  // namespace

std::vector<uint32_t> accessed_buffers(const PlanStep& step) {
  struct Accessed {
    std::vector<uint32_t> operator()(const LaunchStep& step) const { return step.buffers; }
    std::vector<uint32_t> operator()(const SelectStep&) const { return {}; }
    std::vector<uint32_t> operator()(const IfStep& step) const { return {step.buffer}; }
    std::vector<uint32_t> operator()(const ForStep&) const { return {}; }
    std::vector<uint32_t> operator()(const CopyStep& step) const { return {step.to, step.from}; }
    std::vector<uint32_t> operator()(const FillStep& step) const { return {step.buffer}; }
    std::vector<uint32_t> operator()(const AliasStep&) const { return {}; }
    std::vector<uint32_t> operator()(const CheckStep& step) const { return {step.buffer}; }
    std::vector<uint32_t> operator()(const WhileStep& step) const { return {step.buffer}; }
    std::vector<uint32_t> operator()(const SwapStep& step) const { return {step.a, step.b}; }
    std::vector<uint32_t> operator()(const PrintStep& step) const {
      std::vector<uint32_t> buffers;
      for (const PrintItem& item : step.items) buffers.insert(buffers.end(), {item.values, item.shown});
      return buffers;
    }
    std::vector<uint32_t> operator()(const RecordStep&) const { return {}; }
    std::vector<uint32_t> operator()(const WaitStep&) const { return {}; }
    std::vector<uint32_t> operator()(const PeerCopyStep& step) const { return {step.to, step.from}; }
    std::vector<uint32_t> operator()(const HostCallStep& step) const { return step.buffers; }
    std::vector<uint32_t> operator()(const ExternalStep& step) const { return step.buffers; }
    std::vector<uint32_t> operator()(const CollectiveStep& step) const { return {step.to, step.from}; }
  };
  return std::visit(Accessed(), step);
}

std::vector<bool> find_views(const Plan& plan) {
  std::vector<bool> is_view(plan.buffers.size());
  for (const AliasStep& alias : alias_steps(plan)) is_view[alias.view] = true;
  return is_view;
}

std::vector<bool> find_read_only(const Plan& plan) {
  std::vector<AliasStep> aliases = alias_steps(plan);
  std::vector<bool> donated(plan.buffers.size());
  std::vector<std::vector<uint32_t>> views(plan.buffers.size());
  for (const AliasStep& alias : aliases) {
    bool takes_over = plan.buffers[alias.view].kind == BufferKind::Output;
    if (takes_over) donated[alias.of] = true;
    if (!takes_over) views[alias.of].push_back(alias.view);
  }
  std::vector<bool> read_only(plan.buffers.size());
  std::vector<uint32_t> waiting;
  for (uint32_t i = 0; i < plan.buffers.size(); ++i) {
    BufferKind kind = plan.buffers[i].kind;
    bool is_argument = kind == BufferKind::Input || kind == BufferKind::Param;
    bool kept = kind == BufferKind::Constant || (is_argument && !donated[i]);
    if (kept) waiting.push_back(i);
  }
  while (!waiting.empty()) {
    uint32_t next = waiting.back();
    waiting.pop_back();
    if (read_only[next]) continue;
    read_only[next] = true;
    waiting.insert(waiting.end(), views[next].begin(), views[next].end());
  }
  return read_only;
}

}  // namespace tessera::format
