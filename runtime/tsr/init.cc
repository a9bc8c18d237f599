// tsr init: the initial values of a bundle's parameters into a safetensors file.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/graph_ir.h"
#include "runtime/tsr/tensor_files.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"
#include "support/same_file.h"
#include "tools/command_line/values.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::in_quotes;

struct InitOptions {
  std::string bundle;
  std::string output;
  uint64_t seed = 0;
  bool skip_missing = false;
};

constexpr const char* init_epilogue =
    "A parameter whose declaration has no initial value is an error, unless --skip-missing omits it;\n"
    "'tsr run' can take it from another file.\n"
    "\n"
    "The file's tensors have the names and dtypes of the bundle's parameters, as 'tsr run "
    "--params'\n"
    "and 'tsr bench --params' take them. The same bundle and seed give the same bytes.\n"
    "\n"
    "Examples:\n"
    "  tsr init mlp.bundle --seed 42 -o w.safetensors\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   an error in command line or files\n"
    "  70  an internal error";

/// Says which parameters of the entries nothing initialises.
int require_all(const GraphIr& graph, const std::vector<InitialValue>& known) {
  std::vector<std::string> missing;
  for (const std::string& name : graph.parameters()) {
    auto is_it = [&](const InitialValue& each) { return each.name == name; };
    if (std::none_of(known.begin(), known.end(), is_it)) missing.push_back(in_quotes(name));
  }
  if (missing.empty()) return exit_ok;
  return fail(cat(missing.size() == 1 ? "the parameter " : "the parameters ", listed(missing),
                  missing.size() == 1 ? " has" : " have",
                  " no initial value; --skip-missing writes the others"));
}

int init(const InitOptions& options) {
  if (is_same_file(options.bundle, options.output)) {
    return fail(cat(in_quotes(options.output), " is what is read; the parameters need another name"));
  }
  if (options.output != "-") {
    if (int code = require_safetensors("--output", options.output)) return code;
  }
  GraphIr graph;
  if (int code = graph.open(options.bundle)) return code;
  std::vector<InitialValue> parameters;
  if (int code = initial_values(graph, options.seed, parameters)) return code;
  if (!options.skip_missing) {
    if (int code = require_all(graph, parameters)) return code;
  }
  if (parameters.empty()) {
    return fail(cat(options.bundle, " has no parameter with an initialiser"));
  }
  std::vector<format::TensorView> tensors;
  for (const InitialValue& parameter : parameters) {
    tensors.push_back(to_view(parameter.name, parameter.value));
  }
  auto bytes = format::write_safetensors(std::move(tensors));
  if (!bytes) return fail(diag::bad_tensor_file, cat(options.output, ": ", bytes.error().text));
  std::string problem;
  return write_file(options.output, *bytes, problem) ? exit_ok : fail_write(options.output, problem);
}

}  // namespace

void add_init_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<InitOptions>();
  command.footer(init_epilogue);
  command.add_option("BUNDLE", options->bundle, "bundle whose parameters are wanted")->required();
  CLI::Option* seed = command.add_option("--seed", options->seed, "seed of the random numbers");
  command_line::take_count(*seed->type_name("N")->capture_default_str(), 0);
  command.add_option("-o,--output", options->output, "the file to write; - for standard output")
      ->type_name("FILE")
      ->required();
  command.add_flag("--skip-missing", options->skip_missing,
                   "omit parameters that have no initial value");
  command.callback([options, &exit_code] { exit_code = init(*options); });
}

}  // namespace tessera::tool
