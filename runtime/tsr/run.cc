// tsr run: tensors from files through an entry into files.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <set>

#include "runtime/files/text.h"
#include "runtime/format/check_names.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/interpret.h"
#include "runtime/tsr/state_files.h"
#include "runtime/tsr/tensor_files.h"
#include "runtime/tsr/terminal.h"
#include "runtime/tsr/trace_shapes.h"
#include "runtime/tsr/value_text.h"
#include "support/render/units.h"
#include "support/same_file.h"
#include "tools/command_line/sizes.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::in_quotes;

struct RunOptions {
  std::string bundle;
  std::string entry;
  std::vector<std::string> params;
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  std::vector<std::string> states;
  std::vector<std::string> dims;
  DeviceOptions device;
  int repeat = 1;
  bool time = false;
  bool trace_shapes = false;
  std::string interpret;
};

constexpr const char* run_epilogue =
    "Files:\n"
    "  .npy          NumPy arrays of version 1 or 2, little-endian, C order. bf16 is stored as\n"
    "                the dtype V2: .view(ml_dtypes.bfloat16) shows the numbers.\n"
    "  .safetensors  the tensor of the input's or output's name.\n"
    "  An input of rank 0 may be a number instead: --input seed=7. A seed that is not given is 0.\n"
    "  Output files appear only when the run has succeeded. An output without a file is printed: its\n"
    "  type, and its value where that has at most eight numbers. '--output y=-' writes the .npy file to\n"
    "  standard output, where nothing else is printed then.\n"
    "\n"
    "State:\n"
    "  An entry with a parameter 'cache: KVCache[…]' has the inputs cache.K, cache.V and cache.length,\n"
    "  which it updates. --state cache=FILE.safetensors reads these inputs from the file and writes their\n"
    "  new values back. When there is no such file, they start as zeros. With --repeat each run starts\n"
    "  from the state that the run before has left.\n"
    "\n"
    "--interpret computes with the interpreter instead of the compiled code. 'exact' rounds as the types\n"
    "say. 'f64' keeps every float in double precision and rounds only the outputs.\n"
    "\n"
    "Examples:\n"
    "  tsr run mlp.bundle mlp --params w.safetensors --input x=x.npy --output mlp=y.npy\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   an error in command line, files or tensors\n"
    "  70  an internal error";

std::vector<std::string> names_of(const std::vector<tsr_tensor_info_t>& infos) {
  std::vector<std::string> names;
  for (const tsr_tensor_info_t& info : infos) names.push_back(info.name);
  return names;
}

/// One run: what was asked, and the tensors in the order of the signature.
class Run {
 public:
  explicit Run(const RunOptions& options) : options_(options) {}

  /// Leaves what it writes in `files`, to be committed when the session is closed: closing may fail too.
  int execute(PendingFiles& files) {
    if (int code = check_interpreted()) return code;
    DeviceOptions device = options_.device;
    device.no_code = !options_.interpret.empty();  // then the bundle may be for any machine
    if (int code = session_.open(options_.bundle, device)) return code;
    if (int code = session_.find(options_.entry, function_)) return code;
    input_infos_ = input_infos(function_);
    output_infos_ = output_infos(function_);
    if (int code = check_outputs()) return code;
    if (int code = check_inputs()) return code;
    if (int code = find_states(options_.entry, options_.states, input_infos_, states_)) return code;
    if (int code = check_files()) return code;
    if (int code = session_.bind_files(options_.params)) return code;
    if (int code = session_.require_parameters(function_, options_.params)) return code;
    if (int code = read_inputs()) return code;
    if (int code = read_states()) return code;
    if (int code = require_inputs()) return code;
    warn_without_effect();
    if (int code = make_outputs()) return code;
    if (options_.trace_shapes) {
      tsr_status_t status = tsrSetTrace(session_.context(), ShapePrinter::print, &shapes_);
      if (status != TSR_SUCCESS) return fail_status(status);
    }
    if (int code = call()) return code;
    return write_outputs(files);
  }

 private:
  /// Says which options are none of --interpret's.
  int check_interpreted() const {
    if (options_.interpret.empty()) return exit_ok;
    int code = exit_ok;
    const DeviceOptions& device = options_.device;
    if (device.device != "cpu") code = fail(cat("--interpret runs on the CPU, not on ", device.device));
    std::vector<std::string> idle;
    if (device.threads != 0) idle.push_back("--threads");
    if (!device.checks.empty()) idle.push_back("--debug");
    if (options_.trace_shapes) idle.push_back("--trace-shapes");
    if (idle.empty()) return code;
    return fail(cat(listed(idle), idle.size() == 1 ? " is" : " are", " for compiled code, and --interpret runs none"));
  }

  /// Options that the entry makes idle: other entries of the bundle may not.
  void warn_without_effect() const {
    size_t parameters = 0;
    tsrGetFunctionParameterCount(function_, &parameters);
    if (!options_.params.empty() && parameters == 0) {
      warn(cat("--params has no effect: ", options_.entry, " takes no parameter"));
    }
    format::Result<uint32_t> checks = format::parse_checks(options_.device.checks);
    if (!checks || *checks != TSR_CHECK_NUMERICS) return;
    auto manifest = manifest_entry(options_.bundle, options_.entry);
    if (!manifest || !manifest->numerics.empty()) return;
    warn(cat("--debug=numerics has no effect: ", options_.entry,
             " promises nothing; @verify.numerics makes a promise"));
  }

  int place_of(const std::string& name, const std::vector<tsr_tensor_info_t>& infos,
               std::string_view kind, size_t& index) const {
    std::vector<std::string> names = names_of(infos);
    index = size_t(std::find(names.begin(), names.end(), name) - names.begin());
    if (index != names.size()) return exit_ok;
    std::string help = suggestion(name, names);
    // Results without a name are numbered, and one number is as near as another.
    if (kind == "output") help.clear();
    if (help.empty() && names.size() == 1) help = cat("; its only ", kind, " is ", names[0]);
    if (help.empty() && !names.empty()) help = cat("; its ", kind, "s are ", listed(names));
    return fail(cat(options_.entry, " has no ", kind, " ", in_quotes(name), help));
  }

  /// A parameter is no input, though it is given to the entry, too.
  int refuse_parameter(const std::string& name) const {
    std::vector<std::string> inputs = names_of(input_infos_), parameters = session_.parameter_names();
    bool is_parameter = std::ranges::find(parameters, name) != parameters.end();
    if (!is_parameter || std::ranges::find(inputs, name) != inputs.end()) return exit_ok;
    return fail(cat(in_quotes(name), " is a parameter, which --params FILE.safetensors gives"));
  }

  int check_outputs() {
    targets_.resize(output_infos_.size());
    for (const std::string& text : options_.outputs) {
      Assignment to;
      size_t index = 0;
      if (int code = split_assignment(text, "--output", to)) return code;
      if (int code = place_of(to.name, output_infos_, "output", index)) return code;
      if (!targets_[index].name.empty()) {
        return fail(cat("output ", in_quotes(to.name), " is given twice"));
      }
      if (to.value == "-") {
        if (is_piped_) return fail(cat("output ", in_quotes(to.name), " and another one go to the same file '-'"));
        if (options_.trace_shapes) return fail("--trace-shapes prints to standard output, where '-' writes a file");
        is_piped_ = true;
      } else if (!is_tensor_file(to.value)) {
        return fail(cat("output ", in_quotes(to.name), " cannot be written to ",
                        in_quotes(to.value), ": only .npy and .safetensors files are written"));
      }
      targets_[index] = to;
    }
    return exit_ok;
  }

  int check_inputs() {
    sources_.resize(input_infos_.size());
    for (const std::string& text : options_.inputs) {
      Assignment from;
      size_t index = 0;
      if (int code = split_assignment(text, "--input", from)) return code;
      if (int code = refuse_parameter(from.name)) return code;
      if (int code = place_of(from.name, input_infos_, "input", index)) return code;
      if (!sources_[index].name.empty()) return fail(cat("input ", in_quotes(from.name), " is given twice"));
      sources_[index] = from;
    }
    return exit_ok;
  }

  /// A file that the run writes: what for, and its path.
  struct Written {
    std::string what;
    std::string path;
  };
  std::vector<Written> written() const {
    std::vector<Written> files;
    for (const StateFile& state : states_) files.push_back({cat("state ", in_quotes(state.name)), state.path});
    for (const Assignment& to : targets_) {
      if (!to.name.empty() && to.value != "-") files.push_back({cat("output ", in_quotes(to.name)), to.value});
    }
    return files;
  }

  /// No file that is read is written, but that of a state, and none is written twice, however its path is spelt.
  int check_files() const {
    std::vector<std::string> read = options_.params;
    read.push_back(options_.bundle);
    for (const Assignment& from : sources_) {
      if (!from.name.empty()) read.push_back(from.value);
    }
    std::vector<Written> files = written();
    for (size_t i = 0; i < files.size(); ++i) {
      const auto& [what, path] = files[i];
      auto is_this = [&](const std::string& each) { return is_same_file(each, path); };
      if (std::ranges::any_of(read, is_this)) {
        return fail(cat(in_quotes(path), " is what is read; ", what, " needs another name"));
      }
      for (size_t k = 0; k < i; ++k) {
        if (files[k].path != path && !is_this(files[k].path)) continue;
        return fail(cat(files[k].what, " and ", what, " go to the same file ", in_quotes(path)));
      }
    }
    return exit_ok;
  }

  int read_inputs() {
    inputs_.assign(input_infos_.size(), nullptr);
    input_tensors_.assign(input_infos_.size(), nullptr);
    std::set<std::string> donated = donated_inputs(function_);
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Assignment& from = sources_[i];
      if (from.name.empty()) continue;
      OwnedTensor* tensor = nullptr;
      if (int code = read_input(session_, from, input_infos_[i], donated.contains(from.name), tensor)) return code;
      inputs_[i] = &tensor->tensor;
      input_tensors_[i] = tensor;
    }
    return exit_ok;
  }

  int read_states() {
    SizeTable sizes;
    if (int code = sizes.add_options(options_.dims)) return code;
    if (int code = sizes.check_options(input_infos_, output_infos_)) return code;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!input_tensors_[i]) continue;
      if (int code = sizes.add(input_infos_[i], input_tensors_[i]->shape)) return code;
    }
    for (const StateFile& state : states_) {
      for (size_t index : state.inputs) {
        const tsr_tensor_info_t& info = input_infos_[index];
        if (inputs_[index]) return fail(cat("input ", in_quotes(info.name), " is given twice"));
        OwnedTensor* tensor = nullptr;
        if (int code = read_state(session_, state, info, sizes, tensor)) return code;
        if (int code = sizes.add(info, tensor->shape)) return code;
        inputs_[index] = &tensor->tensor;
        input_tensors_[index] = tensor;
      }
    }
    return exit_ok;
  }

  int require_inputs() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] || (input_infos_[i].flags & TSR_TENSOR_SEED)) continue;
      const tsr_tensor_info_t& info = input_infos_[i];
      std::string name = info.name;
      std::string state = donated_inputs(function_).contains(name) ? name.substr(0, name.find('.')) : name;
      std::string number;
      format::Dtype dtype = *format::find_dtype(info.dtype);
      bool takes_number = info.ndim == 0 && encode_number("1", dtype, number);
      const char* value = !takes_number ? "FILE" : dtype == format::Dtype::Bool ? "true" : "NUMBER";
      std::string help = cat("--input ", name, "=", value, " gives it");
      if (state != name) help = cat("--state ", state, "=FILE.safetensors keeps all of ", in_quotes(state));
      return fail(cat("input ", in_quotes(name), ", ", info.dtype, info.shape, ", is missing; ", help));
    }
    return exit_ok;
  }

  int make_outputs() {
    for (size_t i = 0; i < output_infos_.size(); ++i) {
      std::vector<int64_t> shape(size_t(output_infos_[i].ndim));
      int32_t ndim = 0;
      tsr_status_t status = tsrGetOutputShape(function_, i, inputs_.data(), inputs_.size(),
                                              shape.data(), int32_t(shape.size()), &ndim);
      if (status != TSR_SUCCESS) return fail_status(status);
      OwnedTensor* tensor = nullptr;
      format::Dtype dtype = *format::find_dtype(output_infos_[i].dtype);
      if (int code = session_.make_tensor(dtype, shape, "", tensor)) return code;
      bool aliased = (output_infos_[i].flags & TSR_TENSOR_DONATED) && options_.interpret.empty();
      if (aliased) tensor->tensor.data = nullptr;
      outputs_.push_back(tensor);
      output_tensors_.push_back(&tensor->tensor);
    }
    return exit_ok;
  }

  /// What the call has not used of its time is there for a GPU to end in.
  int call_once() {
    auto begin = std::chrono::steady_clock::now();
    tsr_status_t status = tsrCall(function_, nullptr, inputs_.data(), inputs_.size(),
                                  output_tensors_.data(), output_tensors_.size(), nullptr);
    if (status == TSR_SUCCESS) {
      std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
      double left = std::max(options_.device.timeout - taken.count(), 0.0) * 1000;
      bool limited = options_.device.timeout > 0 && left < TSR_FOREVER;
      status = tsrSynchronize(session_.context(), nullptr, limited ? uint32_t(left) : TSR_FOREVER);
    }
    return status == TSR_SUCCESS ? exit_ok : fail_status(status);
  }

  int interpret() {
    std::vector<NamedTensor> arguments, results;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (input_tensors_[i]) arguments.push_back({input_infos_[i].name, input_tensors_[i]});
    }
    for (const std::string& name : session_.parameter_names()) {
      if (const OwnedTensor* tensor = session_.bound(name)) arguments.push_back({name, tensor});
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
      results.push_back({output_infos_[i].name, outputs_[i]});
    }
    if (int code = interpret_entry({options_.bundle, options_.entry, options_.interpret, options_.device},
                                   arguments, results)) {
      return code;
    }
    return update_states();
  }

  /// Interpreted results have memory of their own: state goes back to its input for the next run.
  int update_states() {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      for (size_t k = 0; k < inputs_.size(); ++k) {
        bool donor = std::string_view(output_infos_[i].alias_of) == input_infos_[k].name;
        if (!donor || !input_tensors_[k]) continue;
        if (int code = session_.write(*input_tensors_[k], outputs_[i]->content())) return code;
      }
    }
    return exit_ok;
  }

  int call() {
    std::vector<double> seconds;
    Progress progress("run", size_t(options_.repeat));
    for (int i = 0; i < options_.repeat; ++i) {
      auto begin = std::chrono::steady_clock::now();
      if (int code = options_.interpret.empty() ? call_once() : interpret()) return code;
      auto end = std::chrono::steady_clock::now();
      seconds.push_back(std::chrono::duration<double>(end - begin).count());
      progress.advance();
    }
    if (options_.time) {
      std::nth_element(seconds.begin(), seconds.begin() + long(seconds.size() / 2), seconds.end());
      double median = seconds[seconds.size() / 2];
      double least = *std::min_element(seconds.begin(), seconds.end());
      std::fprintf(stderr, "%s: median %s, minimum %s of %zu\n", options_.entry.c_str(),
                   seconds_text(median).c_str(), seconds_text(least).c_str(), seconds.size());
    }
    return exit_ok;
  }

  /// An output that goes to no file: its type, and its value where that is short.
  int print_output(const char* name, const OwnedTensor& tensor) const {
    std::string storage, value;
    std::string_view content;
    if (is_short(tensor.shape) && tensor.tensor.data) {
      if (int code = session_.read(tensor, storage, content)) return code;
      value = value_text({name, tensor.dtype, tensor.shape, content});
    }
    std::string type = cat(format::dtype_name(tensor.dtype), format::shape_text(tensor.shape));
    put(cat(name, ": ", type, value.empty() ? "" : " = ", value, "\n"));
    return exit_ok;
  }

  int write_outputs(PendingFiles& files) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      if (targets_[i].name.empty()) {
        if (is_piped_) continue;
        if (int code = print_output(output_infos_[i].name, *outputs_[i])) return code;
      } else if (int code = write_output(session_, files, targets_[i], *outputs_[i])) {
        return code;
      }
    }
    for (const StateFile& state : states_) {
      std::map<std::string, const OwnedTensor*> tensors;
      for (size_t index : state.inputs) tensors[input_infos_[index].name] = input_tensors_[index];
      if (int code = write_state(session_, files, state, tensors)) return code;
    }
    return exit_ok;
  }

  const RunOptions& options_;
  ShapePrinter shapes_;
  Session session_;
  tsr_function_t function_ = nullptr;
  std::vector<tsr_tensor_info_t> input_infos_;
  std::vector<tsr_tensor_info_t> output_infos_;
  std::vector<StateFile> states_;
  std::vector<Assignment> sources_;  ///< beside the inputs; an empty name means not given
  std::vector<Assignment> targets_;  ///< beside the outputs; an empty name means not wanted
  bool is_piped_ = false;            ///< an output is written to standard output
  std::vector<const tsr_tensor_t*> inputs_;
  std::vector<const OwnedTensor*> input_tensors_;  ///< beside inputs_
  std::vector<OwnedTensor*> outputs_;
  std::vector<tsr_tensor_t*> output_tensors_;
};

}  // namespace

void add_run_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<RunOptions>();
  command.footer(run_epilogue);
  command.add_option("BUNDLE", options->bundle, "bundle that has the entry")->required();
  command.add_option("ENTRY", options->entry, "name of the entry; 'tsr inspect' lists them")
      ->required();
  command
      .add_option("--params", options->params,
                  "safetensors file with parameters, by name; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_option("--input", options->inputs, "an input's value; may be given several times")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command
      .add_option("--output", options->outputs, "where an output goes; may be given several times")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command
      .add_option("--state", options->states,
                  "file that holds a state object between runs; may be given several times")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  command_line::add_sizes_option(command, options->dims,
                                 "sizes that no input has, as B=8,S=256, for state that begins with zeros");
  add_device_options(command, options->device);
  add_debug_option(command, options->device);
  add_limit_options(command, options->device);
  CLI::Option* repeat =
      command.add_option("--repeat", options->repeat, "how many times to run; the results are those of the last run");
  command_line::take_count(*repeat->type_name("N"), 1, 1'000'000);
  command.add_flag("--time", options->time, "print how long the entry took to standard error");
  command.add_flag("--trace-shapes", options->trace_shapes,
                   "print each tensor's shape as it flows, and the kernel that reads or makes it");
  CLI::Option* interpret =
      command.add_option("--interpret", options->interpret, "interpret the graph instead of running compiled code");
  command_line::take_one_of(*interpret->type_name("MODE"), {"f64", "exact"});
  command.callback([options, &exit_code] {
    PendingFiles files;
    exit_code = Run(*options).execute(files);
    std::string path, problem;
    if (exit_code == exit_ok && !files.commit(path, problem)) exit_code = fail_write(path, problem);
  });
}

}  // namespace tessera::tool
