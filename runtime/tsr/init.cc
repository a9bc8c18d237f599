// tsr init: the initial values of a bundle's parameters into a safetensors file. The bundle's graph
// has a function for each, from the seed alone; Philox numbers are keyed by parameter and element,
// so that a seed gives the same file on every machine.

#include <CLI/CLI.hpp>

#include "runtime/format/file.h"
#include "runtime/format/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/graph_ir.h"
#include "runtime/tsr/terminal.h"

namespace tessera::tool {

namespace {

using format::cat;

struct InitOptions {
  std::string bundle;
  std::string output;
  uint64_t seed = 0;
};

constexpr const char* epilogue =
    "The file's tensors have the names and dtypes of the bundle's parameters, as 'tsr run "
    "--params'\n"
    "and 'tsr train' take them. The same bundle and seed give the same bytes.\n"
    "\n"
    "Example:\n"
    "  tsr init model.bundle --seed 42 -o w.safetensors\n"
    "\n"
    "Exit status: 0 success, 1 an error in command line or files, 70 internal error.";

TensorValue scalar(uint64_t seed) {
  TensorValue value = std::move(*TensorValue::make(DType::U64, {}));
  value.set(0, {.i = int64_t(seed)});
  return value;
}

/// One evaluated initialiser, with the parameter's name.
struct Initialised {
  std::string name;
  TensorValue value;
};

int evaluate_all(GraphIr& graph, uint64_t seed, std::vector<Initialised>& out) {
  std::vector<Op*> functions = graph.initialisers();
  Progress progress("parameters", functions.size());
  for (Op* function : functions) {
    std::vector<TensorValue> arguments, results;
    arguments.push_back(scalar(seed));
    if (int code = graph.evaluate(function, std::move(arguments), {}, results)) return code;
    out.push_back({std::string(function->string_attr("param")), std::move(results[0])});
    progress.advance();
  }
  return exit_ok;
}

int init(const InitOptions& options) {
  GraphIr graph;
  if (int code = graph.open(options.bundle)) return code;
  std::vector<Initialised> parameters;
  if (int code = evaluate_all(graph, options.seed, parameters)) return code;
  if (parameters.empty()) {
    return fail(cat(options.bundle, " has no parameter with an initialiser"));
  }
  std::vector<format::TensorView> tensors;
  for (const Initialised& parameter : parameters) {
    tensors.push_back(to_view(parameter.name, parameter.value));
  }
  auto bytes = format::write_safetensors(std::move(tensors));
  if (!bytes) return fail(cat(options.output, ": ", bytes.error().text));
  format::PendingFiles files;
  format::Outcome written = files.write(options.output, *bytes);
  if (written) written = files.commit();
  return written ? exit_ok : fail(written.error().text);
}

}  // namespace

void add_init_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<InitOptions>();
  command.footer(epilogue);
  command.add_option("BUNDLE", options->bundle, "Bundle whose parameters are wanted")->required();
  command.add_option("--seed", options->seed, "Seed of the random numbers")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("-o,--output", options->output, "The file to write")
      ->type_name("FILE")
      ->required();
  command.callback([options, &exit_code] { exit_code = init(*options); });
}

}  // namespace tessera::tool
