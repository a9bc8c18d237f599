#include "runtime/tsr/initial_values.h"

#include <set>

#include "ir/numbers/philox.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/terminal.h"

namespace tessera::tool {

namespace {

TensorValue seed_value(uint64_t seed) {
  TensorValue value = std::move(*TensorValue::make(DType::U64, {}));
  value.set(0, {.i = int64_t(seed)});
  return value;
}

}  // namespace

int initial_values(GraphIr& graph, uint64_t seed, std::vector<InitialValue>& out) {
  std::vector<Op*> functions = graph.initialisers();
  std::set<std::string> used = graph.parameters();
  Progress progress("parameters", functions.size());
  for (Op* function : functions) {
    for (std::string_view name : function->attr(graph::attr::Func::params)) {
      // What no entry uses is no parameter of the bundle.
      if (!used.contains(std::string(name))) continue;
      std::vector<TensorValue> arguments, results;
      arguments.push_back(seed_value(seed ^ philox::stream_of(name)));
      if (int code = graph.evaluate(function, std::move(arguments), {}, results)) return code;
      out.push_back({std::string(name), std::move(results[0])});
    }
    progress.advance();
  }
  return exit_ok;
}

}  // namespace tessera::tool
