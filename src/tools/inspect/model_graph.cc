#include "tools/inspect/model_graph.h"

#include <algorithm>

#include "ir/core/common_attributes.h"
#include "ir/host/ops.h"
#include "ir/text/entries.h"

namespace tessera::inspect {

namespace {

class GraphReader {
 public:
  explicit GraphReader(const std::vector<Op*>& lines) {
    for (size_t i = lines.size(); i-- > 0;) line_of_[lines[i]] = uint32_t(i);
  }

  ModelGraph run(Op* function) {
    Block* body = function->region()->front();
    const std::vector<Attr>& args = function->attr(common::Entry::args);
    for (unsigned i = 0; i < body->arg_count(); ++i) {
      GraphValue& value = graph_.values[add_value(body->arg(i), -1)];
      value.is_param = i < args.size() && entry::read(args[i], entry::Argument::kind) == "param";
    }
    read(function->region(), -1);
    return std::move(graph_);
  }

 private:
  void read(Region* region, int around) {
    for (Block* block = region->front(); block; block = block->next()) {
      for (Op* op : *block) read(op, around);
    }
  }

  void read(Op* op, int around) {
    auto number = uint32_t(graph_.ops.size());
    graph_.numbers[op] = number;
    GraphOp made{.name = std::string(op->name()), .line = line_of_[op], .call = op->loc().call, .around = around,
                 .in = {}, .out = {}};
    for (unsigned i = 0; i < op->operand_count(); ++i) made.in.push_back(values_.at(op->operand(i)));
    for (unsigned i = 0; i < op->result_count(); ++i) made.out.push_back(add_value(op->result(i), int(number)));
    graph_.ops.push_back(std::move(made));
    for (unsigned r = 0; r < op->region_count(); ++r) {
      Block* entry = op->region(r)->front();
      for (unsigned i = 0; entry && i < entry->arg_count(); ++i) add_value(entry->arg(i), int(number));
      read(op->region(r), int(number));
    }
  }

  uint32_t add_value(Value* value, int op) {
    auto number = uint32_t(graph_.values.size());
    values_[value] = number;
    graph_.values.push_back({std::string(value->name()), std::string(value->type()->text), op});
    return number;
  }

  std::unordered_map<const Op*, uint32_t> line_of_;
  std::unordered_map<const Value*, uint32_t> values_;
  ModelGraph graph_;
};

}  // namespace

ModelGraph graph_of(Op* function, const std::vector<Op*>& lines) { return GraphReader(lines).run(function); }

void note_kernels(ModelGraph& graph, std::span<Op* const> ops, std::span<Op* const> launches) {
  std::vector<std::string> kernels;
  for (Op* launch : launches) {
    kernels.emplace_back(launch->attr(host::attr::Launch::kernel));
    for (std::string_view variant : launch->attr(host::attr::Launch::variants)) kernels.emplace_back(variant);
  }
  for (Op* op : ops) {
    auto number = graph.numbers.find(op);
    if (number == graph.numbers.end()) continue;
    std::vector<std::string>& known = graph.ops[number->second].kernels;
    for (const std::string& kernel : kernels) {
      if (std::ranges::find(known, kernel) == known.end()) known.push_back(kernel);
    }
  }
}

}  // namespace tessera::inspect
