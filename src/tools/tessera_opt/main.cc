// tessera-opt: reads IR of any level, runs passes by name, writes IR.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "codegen/ptx/emit_ptx.h"
#include "frontend/frontend.h"
#include "ir/core/check_sizes.h"
#include "ir/core/common_attributes.h"
#include "ir/layout/text.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/verifier.h"
#include "passes/phases.h"
#include "support/diagnostic_rows.h"
#include "tools/driver/compile.h"
#include "tools/driver/io.h"
#include "tools/driver/levels.h"
#include "tools/driver/outputs.h"
#include "tools/driver/start.h"

using namespace tessera;

namespace {

struct Options {
  std::string input = "-";
  std::string output = "-";
  std::string passes;
  std::string target;
  std::string entry;
  std::optional<std::string> layout;
  std::vector<std::string> print_before;
  std::vector<std::string> print_after;
  bool time = false;
  bool no_verify = false;
  bool no_locations = false;
  bool list_passes = false;
  bool list_ops = false;
  driver::DiagnosticOptions diagnostics;
};

std::string list_of_passes() {
  std::string text;
  for (const PassInfo& pass : all_passes()) {
    std::string levels = pass.reads == pass.leaves
                             ? std::string(to_string(pass.reads))
                             : fmt::format("{} -> {}", to_string(pass.reads), to_string(pass.leaves));
    text += fmt::format("{:<24} {:<18} {}\n", pass.name, levels, pass.summary);
    if (!pass.options.empty()) text += fmt::format("{:<24} {:<18} options: {}\n", "", "", pass.options);
  }
  text += "\nphases, each some of these passes:\n";
  for (const Phase& phase : all_phases()) {
    text += fmt::format("{:<30} {}\n", phase.name, phase.summary);
    if (phase.options.empty()) continue;
    text += fmt::format("{:<30} options: {}\n", "", phase.options.substr(0, phase.options.find('=')));
  }
  return text;
}

std::string list_of_ops(const Context& context) {
  std::string text;
  for (const OpInfo* info : context.all_ops()) text += fmt::format("{}\n", info->name);
  return text;
}

/// An option that is about passes where none is run; empty where there is none.
std::string check_needs_passes(const CLI::App& app, const Options& options) {
  if (!options.passes.empty()) return "";
  for (const char* option : {"--target", "--entry", "--print-before", "--print-after", "--time", "--no-verify"}) {
    if (app.count(option) > 0) return fmt::format("{} needs --passes", option);
  }
  return "";
}

/// The conflict between options; empty when there is none.
std::string check_options(const CLI::App& app, const Options& options) {
  bool is_mixed = options.time && options.diagnostics.format != driver::ErrorFormat::Human;
  if (is_mixed) return "--time is for people, and does not go with --error-format";
  bool lists = options.layout || options.list_passes || options.list_ops;
  if (lists && options.no_locations) return "--no-locations is about IR that is printed";
  for (const char* option : {"--show-layout", "--list-passes", "--list-ops"}) {
    if (app.count(option) > 0 && app.count("FILE") > 0) return fmt::format("{} reads no file", option);
  }
  if (std::string problem = check_needs_passes(app, options); !problem.empty()) return problem;
  const driver::Output result[] = {{"the result", options.output}};
  return driver::check_outputs(options.input, result);
}

/// Draws a layout that was read, unless it is too large.
template <typename L>
Status draw(const std::optional<L>& read, int64_t elements, const layout::TextError& error, FileId file,
            DiagnosticEngine& diagnostics) {
  const SourceFile& text = diagnostics.sources().file(file);
  if (!read) {
    diagnostics.report(diag::layout_text, text.locate(file, uint32_t(error.position), 1), error.message)
        .help("families of layouts are wgmma, mma, amx, blocked, layout and shared; docs/layouts.md shows each");
    return failure;
  }
  if (read->rank() > 2 || elements > layout::max_drawn_elements) {
    Loc whole = text.locate(file, 0, uint32_t(text.text().size()));
    diagnostics.report(diag::unsupported_drawing, whole, read->rank(), elements)
        .help(fmt::format("rows and columns of at most {} elements can", layout::max_drawn_elements));
    return failure;
  }
  return driver::write_text("-", layout::draw(*read), diagnostics);
}

Status show_layout(const std::string& text, SourceManager& sources, DiagnosticEngine& diagnostics) {
  FileId file = sources.add("--show-layout", text);
  layout::TextError error;
  if (text.starts_with("#shared<")) {
    std::optional<layout::SharedLayout> read = layout::parse_shared_layout(text, &error);
    int64_t elements = 1;
    for (int axis = 0; read && axis < read->rank(); ++axis) elements *= read->extents()[size_t(axis)];
    return draw(read, elements, error, file, diagnostics);
  }
  std::optional<layout::Layout> read = layout::parse_layout(text, &error);
  return draw(read, read ? read->element_count() : 0, error, file, diagnostics);
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("FILE", options.input, "IR text of any level (- for standard input, which is the default)");
  app.add_option("-o,--output", options.output, "where the result goes (- for standard output)")
      ->type_name("FILE")
      ->capture_default_str();
  app.add_option("--passes", options.passes, "passes or phases to run, in order: a,b{x=1},c; --list-passes lists both")
      ->type_name("PASS,...")
      ->group("Passes");
  app.add_option("--target", options.target, "target that passes below Graph level lower to, such as cuda:sm_90a")
      ->type_name("TARGET")
      ->group("Passes");
  app.add_option("--entry", options.entry, "entry that graph_to_schedule lowers (the only one otherwise)")
      ->type_name("NAME")
      ->group("Passes");
  app.add_option("--print-before", options.print_before, "print the IR before these passes (or all)")
      ->type_name("PASS,...")
      ->group("What is printed")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--print-after", options.print_after, "print the IR after these passes (or all)")
      ->type_name("PASS,...")
      ->group("What is printed")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_flag("--time", options.time, "print the time of each pass to standard error")
      ->group("What is printed");
  app.add_flag("--no-verify", options.no_verify, "do not verify after each pass")->group("Passes");
  app.add_flag("--no-locations", options.no_locations, "print IR without locations in the source")
      ->group("What is printed");
  app.add_option("--show-layout", options.layout, "draw a layout and exit: each element's place")
      ->type_name("LAYOUT")
      ->group("Other things to do");
  app.add_flag("--list-passes", options.list_passes, "list all passes and exit")
      ->group("Other things to do");
  app.add_flag("--list-ops", options.list_ops, "list all ops and exit")->group("Other things to do");
  driver::add_diagnostic_options(app, options.diagnostics);
  app.footer(
      "Examples:\n"
      "  tesserac mlp.tsr --dump=graph -o graph.tir\n"
      "  tessera-opt --passes=canonicalize,cse graph.tir -o simpler.tir\n"
      "  tessera-opt --passes=canonicalize --print-after=all graph.tir\n"
      "  tessera-opt --show-layout='#wgmma<acc, 64 x 32, warps = 4>'\n"
      "\n"
      "Exit status:\n"
      "  0   success\n"
      "  1   the command line has errors, or the input or a pass reported errors\n"
      "  70  an internal error; a file that shows it is named\n"
      "\n"
      "Environment:\n"
      "  NO_COLOR  any text disables the colours of messages");
  driver::finish_options(app);
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int run() {
    bool ok = driver::configure(options_.diagnostics, diagnostics_) && work();
    driver::show(diagnostics_, options_.diagnostics.format, "tessera-opt");
    return ok ? driver::exit_success : driver::exit_user_error;
  }

 private:
  Status work() {
    if (options_.layout) return show_layout(*options_.layout, sources_, diagnostics_);
    driver::register_all_levels(context_);
    if (options_.list_passes) return driver::write_text("-", list_of_passes(), diagnostics_);
    if (options_.list_ops) return driver::write_text("-", list_of_ops(context_), diagnostics_);
    if (!check_pass_names(options_.print_before, diagnostics_)) return failure;
    if (!check_pass_names(options_.print_after, diagnostics_)) return failure;
    const Machine* machine = nullptr;
    if (!options_.target.empty() && !(machine = driver::target_named(options_.target, diagnostics_))) {
      return failure;
    }
    Result<std::vector<PassStep>> steps = parse_pipeline(options_.passes, diagnostics_, machine);
    if (!steps || !check_printed_passes(options_.print_before, *steps, diagnostics_)) return failure;
    if (!check_printed_passes(options_.print_after, *steps, diagnostics_)) return failure;
    Result<FileId> file = driver::read_source(options_.input, driver::stdin_name, diagnostics_);
    if (!file || refuse_source(*file).failed()) return failure;
    auto modules = parse_modules(context_, *file, diagnostics_);
    if (!modules) return failure;
    if (modules->empty()) return refuse_empty(*file);
    auto lowers = [](const PassStep& step) { return step.pass->name == "graph_to_schedule"; };
    if (!options_.entry.empty() && std::ranges::none_of(*steps, lowers)) {
      diagnostics_.report(diag::command_line, {}, "--entry is for graph_to_schedule, which is not among the passes");
      return failure;
    }
    // The standard library, for the lowering that instantiates its kernels.
    if (!steps->empty()) library_ = frontend::library_only(context_, diagnostics_);
    bool prints_code = machine && machine->is_gpu() && options_.passes.ends_with("LowerToPTXPass");
    std::string text;
    for (const auto& module : *modules) {
      if (machine && !steps->empty() && take_target(*module, *file, *machine).failed()) return failure;
      if (run_passes(*module, *steps, machine).failed()) return failure;
      if (!prints_code) text += print(*module, {.locations = !options_.no_locations});
    }
    if (prints_code) {
      Result<std::string> ptx = ptx_of(*modules, *machine);
      if (!ptx) return failure;
      text = std::move(*ptx);
    }
    if (diagnostics_.has_errors()) return failure;  // a warning that is an error
    return driver::write_text(options_.output, text, diagnostics_);
  }

  /// A program that is given for IR.
  Status refuse_source(FileId file) {
    const SourceFile& source = sources_.file(file);
    if (driver::is_dump(source.text()) || !source.name().ends_with(".tsr")) return success;
    diagnostics_.report(diag::command_line, {}, fmt::format("'{}' is a program, not IR", source.name()))
        .help(fmt::format("'tesserac --dump=graph {}' writes its IR", source.name()));
    return failure;
  }

  Status refuse_empty(FileId file) {
    diagnostics_.report(diag::not_source, {}, sources_.file(file).name(), "a file without a module")
        .help("'tesserac --dump=graph FILE' writes the modules of a program");
    return failure;
  }

  /// What a module says of itself is to hold for the target that it is lowered to.
  Status take_target(Module& module, FileId file, const Machine& machine) {
    std::optional<std::string_view> held = module.attr(common::Module::target);
    if (held && *held != machine.name) {
      diagnostics_.report(diag::dump_of_other_target, {}, sources_.file(file).name(), *held, machine.name);
      return failure;
    }
    module.set(common::Module::target, machine.name);
    return held ? success : verify(module, diagnostics_);
  }

  /// The modules, of level target, as the code of a GPU.
  Result<std::string> ptx_of(const std::vector<std::unique_ptr<Module>>& modules, const Machine& machine) {
    std::vector<Module*> all;
    for (const auto& module : modules) {
      if (check_sizes(*module, diagnostics_).failed()) return failure;
      all.push_back(module.get());
    }
    return codegen::emit_ptx(all, machine, diagnostics_);
  }

  Status run_passes(Module& module, std::span<const PassStep> steps, const Machine* machine) {
    PassManagerOptions manager_options;
    manager_options.print_before = {options_.print_before.begin(), options_.print_before.end()};
    manager_options.print_after = {options_.print_after.begin(), options_.print_after.end()};
    manager_options.print = [](const std::string& text) { std::fputs(text.c_str(), stderr); };
    manager_options.locations = !options_.no_locations;
    manager_options.verify_each = !options_.no_verify;
    manager_options.reproducer = "tessera-opt";
    PassManager manager(std::move(manager_options));
    PassContext context{diagnostics_, machine, library_.library.get(), options_.entry, {}};
    Status status = manager.run(module, steps, context);
    if (!options_.time) return status;
    for (const PassTiming& t : manager.timings()) {
      driver::write_stderr(fmt::format("{:<24} {:9.3f} ms\n", t.pass, t.seconds * 1e3));
    }
    return status;
  }

  const Options& options_;
  Context context_;
  SourceManager sources_;
  DiagnosticEngine diagnostics_{sources_};
  frontend::FrontendResult library_;
};

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Runs passes on Tessera IR.", "tessera-opt"};
  add_options(app, options);
  if (std::optional<int> status = driver::read_command_line(app, argc, argv)) return *status;
  if (std::string problem = check_options(app, options); !problem.empty()) {
    return driver::command_line_error("tessera-opt", problem, options.diagnostics.format);
  }
  return Run(options).run();
}
