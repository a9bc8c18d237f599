#include "check/reduce.h"

#include <algorithm>

namespace tessera::check {

namespace {

class Reducer {
 public:
  Reducer(Program program, const std::function<bool(const Program&)>& fails, int tries)
      : best_(std::move(program)), fails_(fails), tries_(tries) {}

  Program run() {
    bool smaller = true;
    while (smaller && tries_ > 0) {
      smaller = fewer_results();
      smaller |= fewer_samples();
      smaller |= fewer_nodes();
      smaller |= plainer();
    }
    return std::move(best_);
  }

 private:
  bool try_one(Program program) {
    if (tries_-- <= 0) return false;
    Program candidate = pruned(program);
    if (!fails_(candidate)) return false;
    best_ = std::move(candidate);
    return true;
  }

  bool fewer_results() {
    for (int result : best_.results) {
      if (best_.results.size() == 1) return false;
      Program candidate = best_;
      candidate.results = {result};
      if (try_one(std::move(candidate))) return true;
    }
    return false;
  }

  bool fewer_samples() {
    for (size_t i = 0; best_.samples.size() > 1 && i < best_.samples.size(); ++i) {
      Program candidate = best_;
      candidate.samples = {best_.samples[i]};
      if (try_one(std::move(candidate))) return true;
    }
    bool any = false;
    if (best_.samples.size() > 1) return false;
    for (const auto& [name, extent] : DimValues(best_.samples[0])) {
      for (int64_t less : {int64_t(1), int64_t(2), extent / 2, extent - 1}) {
        if (less >= best_.samples[0][name] || less < 0) continue;
        Program candidate = best_;
        candidate.samples[0][name] = less;
        any |= try_one(std::move(candidate));
      }
    }
    return any;
  }

  /// Puts `by` in the place of a node, where it is used.
  static void replace(Program& program, int node, int by) {
    for (Node& each : program.nodes) std::replace(each.operands.begin(), each.operands.end(), node, by);
    std::replace(program.results.begin(), program.results.end(), node, by);
  }

  bool fewer_nodes() {
    bool any = false;
    for (int i = int(best_.nodes.size()) - 1; i >= 0; --i) {
      if (i >= int(best_.nodes.size()) || best_.nodes[size_t(i)].is_argument()) continue;
      any |= without(i);
    }
    return any;
  }

  bool without(int index) {
    const Node node = best_.nodes[size_t(index)];
    // What the result was made of is the result.
    for (int operand : node.operands) {
      if (!std::count(best_.results.begin(), best_.results.end(), index)) break;
      if (best_.nodes[size_t(operand)].is_argument()) continue;
      Program candidate = best_;
      std::replace(candidate.results.begin(), candidate.results.end(), index, operand);
      if (try_one(std::move(candidate))) return true;
    }
    for (int operand : node.operands) {
      if (best_.nodes[size_t(operand)].type != node.type) continue;
      if (best_.nodes[size_t(operand)].is_argument() && is_only_result(index)) continue;
      Program candidate = best_;
      replace(candidate, index, operand);
      if (try_one(std::move(candidate))) return true;
    }
    if (is_only_result(index)) return false;
    for (Fill fill : {Fill::Integers, Fill::Uniform}) {
      Program candidate = best_;
      candidate.nodes[size_t(index)] =
          Node{.type = node.type, .style = Style::Named, .fill = fill, .salt = uint64_t(index)};
      if (try_one(std::move(candidate))) return true;
    }
    return false;
  }

  bool is_only_result(int index) const { return best_.results.size() == 1 && best_.results[0] == index; }

  bool plainer() {
    bool any = false;
    for (size_t i = 0; best_.kernel && best_.kernel->schedules.size() > 1 && i < best_.kernel->schedules.size(); ++i) {
      Program candidate = best_;
      candidate.kernel->schedules = {best_.kernel->schedules[i]};
      any |= try_one(std::move(candidate));
    }
    for (size_t i = 0; i < best_.nodes.size(); ++i) {
      Node& node = best_.nodes[i];
      if (!node.is_argument() && node.style != Style::Named) {
        Program candidate = best_;
        candidate.nodes[i].style = Style::Named;
        any |= try_one(std::move(candidate));
      } else if (node.is_argument() &&
                 (node.fill == Fill::Wide || node.fill == Fill::Special || node.fill == Fill::Uniform)) {
        Program candidate = best_;
        candidate.nodes[i].fill = Fill::Integers;
        any |= try_one(std::move(candidate));
      }
    }
    return any;
  }

  Program best_;
  const std::function<bool(const Program&)>& fails_;
  int tries_;
};

}  // namespace

Program reduced(const Program& program, const std::function<bool(const Program&)>& fails, int tries) {
  return Reducer(program, fails, tries).run();
}

}  // namespace tessera::check
