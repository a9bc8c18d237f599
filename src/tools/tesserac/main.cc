// tesserac: compiles a .tsr file, or a dump of its IR, to a bundle.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "frontend/syntax/preprocessor.h"
#include "ir/numbers/machine.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"
#include "support/same_file.h"
#include "tools/command_line/help.h"
#include "tools/command_line/sizes.h"
#include "tools/command_line/values.h"
#include "tools/driver/compile.h"
#include "tools/driver/diagnostic_options.h"
#include "tools/driver/explain.h"
#include "tools/driver/io.h"
#include "tools/driver/outputs.h"
#include "tools/driver/remapped_files.h"
#include "tools/driver/shape_policy.h"
#include "tools/driver/show_shapes.h"
#include "tools/driver/start.h"
#include "tools/inspect/inspection.h"
#include "tools/report/report.h"

using namespace tessera;

namespace {

struct Options {
  driver::CompileOptions compile;
  std::vector<std::string> defines;
  bool report = false;
  bool shapes = false;
  bool json = false;
  std::string inspect;
  std::vector<std::string> shape_rules;
  std::vector<std::string> dims;
  report::Options sizes;
  bool time = false;
  std::string time_json;
  driver::DiagnosticOptions diagnostics;
  std::string explained;
};

constexpr const char* footer =
    "A bundle holds the code of each target. Without --target these are cpu:x86-64-v3 and cpu:x86-64-v4,\n"
    "and cpu:x86-64-v4-bf16 and cpu:x86-64-v4-amx where the program multiplies bf16. The runtime takes\n"
    "the best one that the processor supports. 'host' is the best target of this machine.\n"
    "\n"
    "In --dump, tirh stands for graph and sched, and tirt for tile and target. A target for GPUs has\n"
    "pipeline, ptx and cubin instead of llvm and asm; pipeline shows what bounds each loop. You can edit\n"
    "a dump of IR and compile it further.\n"
    "\n"
    "Output goes to a temporary file that is then renamed: a failure leaves no partial output.\n"
    "\n"
    "Examples:\n"
    "  tesserac mlp.tsr -o mlp.bundle\n"
    "  tesserac mlp.tsr --target=cpu:x86-64-v4,cuda:sm_90a\n"
    "  tesserac mlp.tsr --dump=tirh,tirt,llvm --target=cpu:x86-64-v4\n"
    "  tesserac mlp.tsr --dump=graph -o g.tir && tesserac g.tir -o mlp.bundle\n"
    "  tesserac mlp.tsr --report --dims B=8 --target=cpu:x86-64-v4\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   the source or the command line has errors\n"
    "  70  an internal error; a file that shows it is named\n"
    "\n"
    "Environment:\n"
    "  NO_COLOR  any text disables the colours of messages";

// Sections of --help.
constexpr const char* input_group = "Input";
constexpr const char* output_group = "Output";
constexpr const char* code_group = "Code";
constexpr const char* pass_group = "Passes";
constexpr const char* report_group = "Reports";

std::vector<std::string> target_names() {
  std::vector<std::string> names;
  for (const Machine* machine : all_machines()) names.emplace_back(machine->name);
  names.push_back("host");
  return names;
}

/// Why a text is no definition; empty when it is one.
std::string refuse_define(const std::string& define) {
  std::string name = define.substr(0, define.find('='));
  if (is_macro_name(name)) return "";
  return "'" + name + "' is not a name; it takes NAME or NAME=VALUE";
}

void add_input_options(CLI::App& app, Options& options) {
  driver::CompileOptions& compile = options.compile;
  CLI::Option* include = app.add_option("-I,--include", compile.include_paths,
                                        "also look here for includes and imports; may be given several times");
  command_line::take_folder(*include->group(input_group)->allow_extra_args(false));
  CLI::Option* root =
      app.add_option("--include-root", compile.include_roots,
                     "restrict imports and includes to '.tsr' files in this folder and below; may be given several\n"
                     "times. Without it they may read any file; docs/debugging.md");
  command_line::take_existing(*root->type_name("DIR")->group(input_group)->allow_extra_args(false), "folder");
  app.add_option("-D,--define", options.defines, "define a name for %if; its value is 1 if none is given")
      ->type_name("NAME[=VALUE]")
      ->group(input_group)
      ->allow_extra_args(false)
      ->check(CLI::Validator(refuse_define, ""));
  app.add_option("--remap", compile.remapped,
                 "read this text in place of the file where it is included or imported, such as the unsaved text of\n"
                 "an editor; may be given several times")
      ->type_name("FILE=TEXT")
      ->group(input_group)
      ->allow_extra_args(false)
      ->check(CLI::Validator(driver::refuse_remap, ""));
  CLI::Option* memory = app.add_option("--max-eval-memory", compile.limits.memory,
                                       "memory limit of the compile-time part of the source: bytes, or a size such as\n"
                                       "500MB (of 1000) or 2GiB (of 1024)");
  memory->default_str("1GB")->group(input_group);
  command_line::take_byte_size(*memory);
  CLI::Option* steps = app.add_option("--max-eval-steps", compile.limits.steps,
                                      "step limit of the compile-time part of the source");
  steps->type_name("COUNT")->capture_default_str()->group(input_group);
  command_line::take_count(*steps, 1);
  app.add_option("--stdin-name", compile.stdin_name, "what messages and dumps call standard input")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(input_group);
}

void add_report_options(CLI::App& app, Options& options) {
  app.add_flag("--report", options.report,
               "print the cost of each kernel and entry: work, bytes, registers, a roofline estimate, and the live\n"
               "ranges of temporaries. Writes a bundle only with -o")
      ->group(report_group);
  app.add_flag("--shapes", options.shapes,
               "print the source with the shapes of its values beside each line, and for each entry the sizes that\n"
               "calls choose and the guards that are checked at run time; compile no further;\n"
               "docs/debugging.md")
      ->group(report_group);
  app.add_flag("--json", options.json, "print the data of --report or --shapes as JSON, for programs")
      ->group(report_group);
  CLI::Option* policy =
      app.add_option("--shape-policy", options.shape_rules,
                     "report an error for sizes that calls choose, or for guards that are checked at run time, unless\n"
                     "--dims decides them; strict: for extents that are negative or rounded down for some sizes;\n"
                     "docs/debugging.md")
          ->type_name("RULE,...")
          ->group(report_group)
          ->delimiter(',')
          ->allow_extra_args(false);
  command_line::take_one_of(*policy, driver::shape_rules());
  app.add_option("--inspect", options.inspect,
                 "write a page for a browser that shows the lowering: each stage beside the source, the changes of\n"
                 "each pass, memory and kernels; a file named .json gets the data. Writes a bundle only with -o;\n"
                 "docs/inspector.md")
      ->type_name("FILE")
      ->group(report_group);
  command_line::add_sizes_option(
      app, options.dims,
      "sizes to report for and to check, as B=8,S=256, or *=1024 for all that are not named. A report has\n"
      "numbers for the entries whose sizes are all given and fit")
      .group(report_group);
  app.add_option("--entry", options.sizes.entries, "entries in the report; all without it")
      ->type_name("NAME,...")
      ->group(report_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--gpu", options.sizes.gpu,
                 fmt::format("the GPU that the report estimates times for, of its target: {}; a typical one without it",
                             report::known_gpu_names()))
      ->type_name("NAME")
      ->group(report_group);
  app.add_flag("--time", options.time, "print how long each stage took to standard error")
      ->group(report_group);
  app.add_option("--time-json", options.time_json, "write the times of the stages to this file")
      ->type_name("FILE")
      ->group(report_group);
}

void add_options(CLI::App& app, Options& options) {
  driver::CompileOptions& compile = options.compile;
  app.add_option("FILE", compile.input, "source (.tsr) or dump of IR (- for standard input)");
  app.add_option("-o,--output", compile.output,
                 "the bundle, or the text of --dump (- for standard output); the input's name with .bundle\n"
                 "otherwise")
      ->type_name("FILE")
      ->group(output_group);
  app.add_option("--target", compile.targets, command_line::one_of("what to compile for", target_names()))
      ->type_name("TARGET,...")
      ->group(code_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--dump", compile.stages,
                 command_line::one_of("print these stages instead of writing a bundle", driver::stage_spellings()))
      ->type_name("STAGE,...")
      ->group(output_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  add_input_options(app, options);
  app.add_option("--print-before", compile.print_before, "print the IR before these passes (or all)")
      ->type_name("PASS,...")
      ->group(pass_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--print-after", compile.print_after, "print the IR after these passes (or all)")
      ->type_name("PASS,...")
      ->group(pass_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag_callback(
         "--no-locations", [&compile] { compile.locations = false; },
         "omit the locations in the source from IR that --dump, --print-before and --print-after print")
      ->group(pass_group);
  app.add_option("--disable-pass", compile.disabled_passes, "omit these passes; results stay within their bounds")
      ->type_name("PASS,...")
      ->group(pass_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--fast", compile.fast,
                 command_line::one_of("relax rules by name: nondet lets kernels accumulate in memory in a "
                                      "nondeterministic order", {"nondet"}))
      ->type_name("RULE,...")
      ->group(code_group)
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--cubin", compile.cubin, "assemble code for GPUs with ptxas; without it the bundle holds PTX alone")
      ->group(code_group);
  app.add_flag("--lineinfo", compile.line_info,
               "with --cubin: record the source's lines in the cubin, for profilers; the cubin grows. With\n"
               "--dump=asm: show the source's lines in the assembly")
      ->group(code_group);
  app.add_flag_callback(
         "--no-cache", [&compile] { compile.cache = false; },
         "compile every kernel again. Without it tesserac takes kernels that it has compiled before from a\n"
         "cache: the folder TESSERA_CACHE, else tessera in XDG_CACHE_HOME, else ~/.cache/tessera")
      ->group(code_group);
  app.add_flag("--debug", compile.debug,
               "check every access to memory before it happens. An access outside of its tensor is skipped, and the\n"
               "runtime reports its place in the source. Slow; docs/debugging.md")
      ->group(code_group);
  add_report_options(app, options);
  app.add_flag("--verify-each", compile.verify_each, "verify the IR after each pass")->group(pass_group);
  driver::add_diagnostic_options(app, options.diagnostics);
  app.add_option("--explain", options.explained,
                 "print what the tag at the end of a message means; without one, list all")
      ->expected(0, 1)
      ->type_name("TAG")
      ->group(driver::diagnostic_group);
  app.footer(footer);
  driver::finish_options(app);
}

void read_defines(Options& options) {
  for (const std::string& define : options.defines) {
    size_t equals = define.find('=');
    bool has_value = equals != std::string::npos;
    options.compile.defines.emplace_back(define.substr(0, equals), has_value ? define.substr(equals + 1) : "1");
  }
}

void print_times(const std::vector<driver::StageTime>& times) {
  double total = 0;
  std::string text;
  for (const driver::StageTime& t : times) {
    text += fmt::format("{:<28} {:9.1f} ms\n", t.stage, t.milliseconds);
    total += t.milliseconds;
  }
  driver::write_stderr(text + fmt::format("{:<28} {:9.1f} ms\n", "total", total));
}

Status write_times(const std::vector<driver::StageTime>& times, const std::string& path, PendingFiles& files,
                   DiagnosticEngine& diagnostics) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const driver::StageTime& t : times) json.push_back({{"stage", t.stage}, {"ms", t.milliseconds}});
  return driver::write_text(files, path, json.dump(1) + "\n", diagnostics);
}

api::ShapePolicy read_shape_policy(const Options& options) {
  api::ShapePolicy policy;
  policy.dims.insert(options.sizes.dims.begin(), options.sizes.dims.end());
  policy.other_dims = options.sizes.other_dims;
  for (const std::string& rule : options.shape_rules) driver::add_shape_rule(rule, policy);
  return policy;
}

/// What is wrong with them; empty when nothing is.
std::string read_report_options(Options& options, bool is_reported) {
  driver::CompileOptions& compile = options.compile;
  bool is_inspected = !options.inspect.empty(), is_wanted = is_reported || is_inspected;
  compile.keep_bundle = is_wanted;
  bool has_policy = !options.shape_rules.empty() || options.shapes;
  if (!options.dims.empty() && !is_wanted && !has_policy) {
    return "--dims needs --report, --inspect, --shapes or --shape-policy";
  }
  if (!options.sizes.entries.empty() && !is_reported) return "--entry needs --report";
  if (!options.sizes.gpu.empty() && !is_reported) return "--gpu needs --report";
  if (std::string problem = report::wrong_gpu(options.sizes.gpu, compile.targets); !problem.empty()) return problem;
  if (options.json && !is_reported && !options.shapes) return "--json needs --report or --shapes";
  command_line::Sizes sizes;
  if (std::string problem = command_line::read_sizes(options.dims, true, sizes); !problem.empty()) return problem;
  options.sizes.dims = sizes.named;
  options.sizes.other_dims = sizes.others;
  if (has_policy) compile.shape_policy = read_shape_policy(options);
  options.sizes.json = options.json;
  const char* option = is_reported ? "--report" : "--inspect";
  if (is_wanted && !compile.stages.empty()) return fmt::format("{} is about a bundle; --dump makes none", option);
  return {};
}

/// The same of --shapes, which makes no bundle.
std::string check_shapes_options(const Options& options, bool is_reported) {
  bool is_alone = options.compile.stages.empty() && !is_reported && options.inspect.empty();
  if (is_alone) return "";
  return "--shapes compiles no further than the source; it goes with neither --dump, --report nor --inspect";
}

Result<std::string> make_report(const std::string& bundle, const report::Options& options,
                                DiagnosticEngine& diagnostics) {
  format::Result<std::vector<std::string>> known = report::dims_of(bundle);
  bool has_others = options.other_dims.has_value();
  if (known && !has_others && !driver::check_sizes(options.dims, *known, diagnostics)) return failure;
  format::Result<std::string> text = report::report_of(bundle, options);
  if (text) return std::move(*text);
  diagnostics.report(diag::command_line, {}, "there is no report: " + text.error().text)
      .help("'tesserac --help' shows how it is used");
  return failure;
}

/// Makes what is wanted of a bundle: the page or its data, and the report, which the caller prints.
Status write_all(inspect::Trace& trace, const driver::Compiler& compiler, const Options& options, PendingFiles& files,
                 std::string& text, DiagnosticEngine& diagnostics) {
  const std::string& bundle = compiler.bundle();
  if (options.report) {
    Result<std::string> report = make_report(bundle, options.sizes, diagnostics);
    if (!report) return failure;
    text = std::move(*report);
  }
  if (!options.inspect.empty()) {
    report::Options sizes = options.sizes;
    sizes.json = true;
    sizes.entries.clear();
    Result<std::string> report = make_report(bundle, sizes, diagnostics);
    if (!report) return failure;
    std::string page = inspect::json_of(trace, {compiler.input(), compiler.times(), std::move(*report)});
    if (!options.inspect.ends_with(".json")) page = inspect::page_of(page);
    if (!driver::write_text(files, options.inspect, page, diagnostics)) return failure;
  }
  const std::string& output = options.compile.output;
  return output.empty() ? Status(success) : driver::write_text(files, output, bundle, diagnostics);
}

/// The files that are written.
std::string check_files(const Options& options, bool is_reported) {
  const driver::CompileOptions& compile = options.compile;
  bool has_bundle = !compile.keep_bundle && compile.stages.empty() && !options.shapes;
  std::string named = has_bundle && compile.output.empty() ? driver::default_output(compile.input) : compile.output;
  if (has_bundle && compile.output.empty() && is_same_file(compile.input, named)) {
    return fmt::format("'{0}' has the name of a bundle: 'tsr run {0} ENTRY' runs one, 'tsr inspect {0}' shows what it "
                       "has; a source of that name needs -o", compile.input);
  }
  bool is_text = !compile.stages.empty() || options.shapes;
  if (is_text && named.empty()) named = "-";
  std::string_view what = !compile.stages.empty() ? "the dump" : is_text ? "the source" : "the bundle";
  const driver::Output outputs[] = {{what, named},
                                    {"the report", is_reported ? "-" : ""},
                                    {"the page", options.inspect},
                                    {"the file of times", options.time_json}};
  return driver::check_outputs(compile.input, outputs);
}

/// An option that nothing of what is made heeds; empty where there is none.
std::string check_heeded(const CLI::App& app, const Options& options) {
  const driver::CompileOptions& compile = options.compile;
  bool prints_ir = !compile.stages.empty() || !compile.print_before.empty() || !compile.print_after.empty();
  if (app.count("--no-locations") > 0 && !prints_ir)
    return "--no-locations needs --dump, --print-before or --print-after";
  bool is_asm = std::ranges::find(compile.stages, "asm") != compile.stages.end();
  bool is_cubin = compile.cubin || std::ranges::find(compile.stages, "cubin") != compile.stages.end();
  if (compile.line_info && !is_asm && !is_cubin) return "--lineinfo needs --cubin or --dump=asm";
  if (compile.cubin && !compile.stages.empty()) return "--cubin is for a bundle; --dump=cubin shows machine code";
  if (app.count("--stdin-name") > 0 && compile.input != "-") return "--stdin-name is about standard input, '-'";
  return "";
}

/// A table is no part of the diagnostics that programs read.
std::string check_format(const Options& options) {
  bool is_mixed = options.time && options.diagnostics.format != driver::ErrorFormat::Human;
  return is_mixed ? "--time is for people; with --error-format, --time-json=FILE has the times" : "";
}

/// The conflict between options; empty when there is none.
std::string check_options(CLI::App& app, Options& options) {
  const driver::CompileOptions& compile = options.compile;
  if (compile.input.empty()) return "no input file is given";
  for (const char* option : {"--output", "--inspect", "--time-json"}) {
    bool is_named = app.count(option) == 0 || !app[option]->as<std::string>().empty();
    if (!is_named) return fmt::format("{} is given no name", option);
  }
  bool is_reported = options.report;
  bool is_wanted = is_reported || !options.inspect.empty() || options.shapes;
  if (compile.input == "-" && compile.output.empty() && compile.stages.empty() && !is_wanted) {
    return "the bundle of a source from standard input needs a name: -o";
  }
  std::string problem = read_report_options(options, is_reported);
  if (problem.empty() && options.shapes) problem = check_shapes_options(options, is_reported);
  if (problem.empty()) problem = check_format(options);
  if (problem.empty()) problem = check_heeded(app, options);
  return problem.empty() ? check_files(options, is_reported) : problem;
}

int show_shapes(const Options& options) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  bool ok = driver::configure(options.diagnostics, diagnostics) &&
            driver::show_shapes(options.compile, options.json, diagnostics);
  driver::show(diagnostics, options.diagnostics.format, "tesserac");
  return ok ? driver::exit_success : driver::exit_user_error;
}

/// IR that is printed while passes run, and diagnostics for programs, go to the same place.
std::unique_ptr<driver::Progress> progress_of(const Options& options) {
  const driver::CompileOptions& compile = options.compile;
  bool is_mixed = !compile.print_before.empty() || !compile.print_after.empty() ||
                  options.diagnostics.format != driver::ErrorFormat::Human;
  return is_mixed ? nullptr : driver::Progress::on_terminal();
}

int run(Options& options) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  inspect::Trace trace(sources);
  if (!options.inspect.empty()) options.compile.observer = &trace;
  std::unique_ptr<driver::Progress> progress = progress_of(options);
  options.compile.progress = progress.get();
  PendingFiles files;  // none is there unless all can be
  options.compile.files = &files;
  std::string report;
  driver::Compiler compiler(options.compile, diagnostics);
  bool ok = driver::configure(options.diagnostics, diagnostics) && compiler.run();
  progress.reset();
  if (options.time) print_times(compiler.times());
  ok = ok && (options.time_json.empty() || write_times(compiler.times(), options.time_json, files, diagnostics));
  ok = ok && (!options.compile.keep_bundle || write_all(trace, compiler, options, files, report, diagnostics));
  ok = ok && driver::commit(files, diagnostics) && (!options.report || driver::write_text("-", report, diagnostics));
  driver::show(diagnostics, options.diagnostics.format, "tesserac");
  return ok ? driver::exit_success : driver::exit_user_error;
}

int explain(const Options& options) {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  bool ok = bool(driver::explain(options.explained, diagnostics));
  if (!ok) driver::show(diagnostics, options.diagnostics.format, "tesserac");
  return ok ? driver::exit_success : driver::exit_user_error;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Compiles Tessera source to a bundle.", "tesserac"};
  add_options(app, options);
  if (std::optional<int> status = driver::read_command_line(app, argc, argv)) return *status;
  if (app.count("--explain") > 0) {
    if (options.compile.input.empty()) return explain(options);
    return driver::command_line_error("tesserac", "--explain is about one tag, and reads no file",
                                      options.diagnostics.format);
  }
  if (std::string problem = check_options(app, options); !problem.empty()) {
    return driver::command_line_error("tesserac", problem, options.diagnostics.format);
  }
  read_defines(options);
  return options.shapes ? show_shapes(options) : run(options);
}
