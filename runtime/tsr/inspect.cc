// tsr inspect: a bundle for people (the default), as YAML or JSON, and the IR it carries.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "ir/text/printer.h"
#include "runtime/files/file.h"
#include "runtime/files/text.h"
#include "runtime/format/bundle.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/graph_ir.h"
#include "runtime/tsr/numbered.h"
#include "runtime/tsr/terminal.h"
#include "support/diagnostic_rows.h"
#include "support/render/units.h"
#include "tools/command_line/sizes.h"
#include "tools/report/report.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::in_quotes;
using format::ManifestEntry;
using format::ManifestTensor;

struct InspectOptions {
  std::string bundle;
  bool yaml = false;
  bool json = false;
  std::string ir;
  std::string fn;
  bool report = false;
  std::vector<std::string> dims;
  std::vector<std::string> entries;
  std::string gpu;
};

constexpr const char* inspect_epilogue =
    "Without an option: targets, entries with their symbolic shapes, parameters and sizes.\n"
    "--yaml prints the metadata of the kernels, one document a kernel; --json prints manifest and\n"
    "reflection as one object; --ir prints a stage: 'graph' (which tesserac compiles again, if it\n"
    "calls no kernels of its program), 'kernels', or 'plan', the steps that the runtime takes, for\n"
    "each entry and target. --fn prints one function of the stage. --report prints the cost of\n"
    "kernels and entries, in numbers where --dims gives the sizes, and on a GPU for the one that\n"
    "--gpu names.\n"
    "\n"
    "Examples:\n"
    "  tsr inspect mlp.bundle\n"
    "  tsr inspect mlp.bundle --ir=plan --fn mlp\n"
    "  tsr inspect mlp.bundle --report --dims B=8\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   the bundle cannot be read\n"
    "  70  an internal error";

std::string join(const std::vector<std::string>& items, std::string_view separator) {
  std::string out;
  for (const std::string& item : items) out += cat(out.empty() ? "" : separator, item);
  return out;
}

/// "-100", "0.5": in the fewest digits.
std::string number_text(double value) {
  std::array<char, 32> buffer;
  auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return std::string(buffer.data(), end);
}

std::string tensor_text(const ManifestTensor& tensor) {
  std::string out = cat(tensor.name, ": ", format::dtype_name(tensor.dtype));
  for (const std::string& policy : tensor.policies) out += cat(" @", policy);
  out += cat("[", join(tensor.shape, ", "), "]");
  if (tensor.seed) out += " = 0";
  if (!tensor.alias_of.empty()) out += cat(" in ", tensor.alias_of);
  if (!tensor.initialiser.empty()) out += cat(" = ", tensor.initialiser);
  return out;
}

std::string tensors_text(const std::vector<ManifestTensor>& tensors) {
  std::vector<Named> texts;
  for (const ManifestTensor& tensor : tensors) texts.push_back({tensor.name, tensor_text(tensor)});
  return join(fold_numbered(texts), ", ");
}

class Inspection {
 public:
  Inspection(const InspectOptions& options, const format::BundleView& bundle,
             format::Reflection reflection)
      : options_(options), bundle_(bundle), reflection_(std::move(reflection)) {}

  int print(size_t bundle_bytes) const {
    if (options_.yaml) return print_yaml();
    if (options_.json) return print_json();
    if (!options_.ir.empty()) return print_ir();
    return print_summary(bundle_bytes);
  }

 private:
  int print_summary(size_t bundle_bytes) const {
    const format::Manifest& manifest = bundle_.manifest();
    put_bold(options_.bundle);
    put(cat("  ", bytes_text(double(bundle_bytes)), "\n"));
    put(cat("identity  ", bundle_.identity(), "\n"));
    put(cat("compiler  ", manifest.compiler, ", ABI ", manifest.abi_major, ".", manifest.abi_minor,
            "\n"));
    for (const std::string& tool : manifest.tools) put(cat("with      ", tool, "\n"));
    for (const std::string& target : manifest.targets) {
      auto kernels = reflection_.kernels.find(target);
      size_t count = kernels == reflection_.kernels.end() ? 0 : kernels->second.size();
      put(cat("target    ", target, ", ", count, count == 1 ? " kernel\n" : " kernels\n"));
    }
    if (!manifest.entries.empty()) put_bold("\nEntries\n");
    for (const ManifestEntry& entry : manifest.entries) print_entry(entry);
    if (manifest.entries.empty()) print_kernels();
    if (!manifest.params.empty()) put_bold("\nParameters\n");
    std::vector<Named> params;
    for (const ManifestTensor& param : manifest.params) params.push_back({param.name, tensor_text(param)});
    for (const std::string& text : fold_numbered(params)) put(cat("  ", text, "\n"));
    put_bold("\nFiles\n");
    for (const format::BundleEntry& entry : bundle_.entries()) {
      put(cat("  ", entry.name, "  "));
      put_dim(bytes_text(double(entry.bytes.size())));
      put("\n");
    }
    return exit_ok;
  }

  /// What a bundle without entries is for; the kernels of entries are their own affair.
  void print_kernels() const {
    put_bold("\nKernels");
    put(" (tsrGetKernel; --yaml has their metadata)\n");
    std::set<std::string> known;
    for (const auto& [target, kernels] : reflection_.kernels) {
      for (const format::KernelMeta& kernel : kernels) {
        if (!known.insert(kernel.name).second) continue;
        std::vector<std::string> names;
        for (const format::KernelBuffer& buffer : kernel.buffers) names.push_back(buffer.name);
        names.insert(names.end(), kernel.dims.begin(), kernel.dims.end());
        put("  ");
        put_bold(kernel.name);
        put(cat("(", join(names, ", "), ")\n"));
      }
    }
  }

  static void print_entry(const ManifestEntry& entry) {
    put("  ");
    put_bold(entry.name);
    put(cat("(", tensors_text(entry.inputs), ") -> (", tensors_text(entry.outputs), ")\n"));
    if (!entry.effects.empty()) put(cat("      effects ", join(entry.effects, ", "), "\n"));
    std::vector<Named> params;
    for (const std::string& param : entry.params) params.push_back({param, param});
    if (!params.empty()) put(cat("      reads ", join(fold_numbered(params), ", "), "\n"));
    for (const format::ManifestGuard& guard : entry.guards) {
      put(cat("      where ", guard.condition, "\n"));
    }
    for (const format::ManifestPromise& promise : entry.numerics) {
      std::string said = promise.stable ? " stable" : "";
      if (!promise.bounds.empty()) {
        said += cat(" within [", number_text(promise.bounds[0]), ", ",
                    number_text(promise.bounds[1]), "]");
      }
      put(cat("      promises ", promise.function, said, "\n"));
    }
  }

  int print_yaml() const {
    for (const auto& [target, kernels] : reflection_.kernels) {
      for (const format::KernelMeta& kernel : kernels) {
        put(cat("---\ntarget: ", format::yaml_text(target), "\n", format::kernel_yaml(kernel)));
      }
    }
    return exit_ok;
  }

  /// Both files are JSON in canonical form, so they are put together as text.
  int print_json() const {
    auto indented = [&](std::string_view name) {
      std::string out;
      for (char c : bundle_.find(name)->bytes)
        out += c == '\n' ? std::string("\n  ") : std::string(1, c);
      return out.substr(0, out.find_last_of('}') + 1);
    };
    constexpr int json_format = 1;  // docs/stability.md
    put(cat("{\n  \"format\": ", json_format, ",\n  \"identity\": \"", bundle_.identity(),
            "\",\n  \"manifest\": ", indented(format::manifest_name),
            ",\n  \"reflection\": ", indented(format::reflection_name), "\n}\n"));
    return exit_ok;
  }

  int print_ir() const {
    if (options_.ir == "plan") return print_plans();
    if (options_.ir == "graph" && !options_.fn.empty()) return print_function();
    std::string path = cat("ir/", options_.ir, ".tir");
    if (const format::BundleEntry* found = bundle_.find(path)) {
      put(found->bytes);
      return exit_ok;
    }
    std::vector<std::string> stages;
    for (const format::BundleEntry& entry : bundle_.entries()) {
      bool is_stage = entry.name.starts_with("ir/") && entry.name.ends_with(".tir");
      if (is_stage) stages.push_back(entry.name.substr(3, entry.name.size() - 7));
    }
    stages.push_back("plan");
    return fail(
        cat("the bundle has no stage ", in_quotes(options_.ir), "; it has ", join(stages, ", ")));
  }

  int print_function() const {
    GraphIr graph;
    if (int code = graph.open(options_.bundle)) return code;
    if (Op* function = graph.function(options_.fn)) {
      put(tessera::print(function) + "\n");
      return exit_ok;
    }
    return no_function(graph.names());
  }

  int no_function(const std::vector<std::string>& known) const {
    return fail(cat("there is no function ", in_quotes(options_.fn), "; there are ",
                    join(known, ", ")));
  }

  int print_plans() const {
    std::vector<std::string> known;
    for (const ManifestEntry& entry : bundle_.manifest().entries) known.push_back(entry.name);
    bool is_known = std::find(known.begin(), known.end(), options_.fn) != known.end();
    if (!options_.fn.empty() && !is_known) return no_function(known);
    for (const ManifestEntry& entry : bundle_.manifest().entries) {
      if (!options_.fn.empty() && options_.fn != entry.name) continue;
      for (const std::string& target : bundle_.manifest().targets) {
        std::string path = format::plan_path(entry.name, target);
        const format::BundleEntry* found = bundle_.find(path);
        if (!found) return fail(diag::bad_bundle, cat(options_.bundle, ": there is no ", path));
        auto plan = format::decode_plan(found->bytes);
        if (!plan) return fail(diag::bad_bundle, cat(path, ": ", plan.error().text));
        format::print_plan(*plan, put);
      }
    }
    return exit_ok;
  }

  const InspectOptions& options_;
  const format::BundleView& bundle_;
  format::Reflection reflection_;
};

int print_report(const InspectOptions& options, const format::BundleView& view, std::string_view bundle) {
  command_line::Sizes sizes;
  std::string problem = command_line::read_sizes(options.dims, true, sizes);
  if (!problem.empty()) return fail(problem);
  if (!sizes.others) {
    auto known = report::dims_of(bundle);
    if (!known) return fail(diag::bad_bundle, cat(options.bundle, ": ", known.error().text));
    if (int code = check_sizes(sizes.named, *known)) return code;
  }
  if (std::string wrong = report::wrong_gpu(options.gpu, view.manifest().targets); !wrong.empty()) return fail(wrong);
  auto text = report::report_of(bundle, {sizes.named, sizes.others, options.entries, options.json, options.gpu});
  if (!text) return fail(cat(options.bundle, ": ", text.error().text));
  put(*text);
  return exit_ok;
}

int inspect(const InspectOptions& options) {
  if (int code = check_bundle_file(options.bundle)) return code;
  auto file = format::MappedFile::map(options.bundle);
  if (!file) return fail_read(options.bundle, file.error().text);
  auto bundle = format::BundleView::open(file->bytes());
  if (!bundle) return fail_content(diag::bad_bundle, options.bundle, file->bytes(), "a bundle", bundle.error().text);
  const format::BundleEntry* found = bundle->find(format::reflection_name);
  if (!found) return fail(diag::bad_bundle, cat(options.bundle, ": there is no ", format::reflection_name));
  auto reflection = format::read_reflection(found->bytes);
  if (!reflection) return fail(diag::bad_bundle, cat(options.bundle, ": ", reflection.error().text));
  return options.report ? print_report(options, *bundle, file->bytes())
                        : Inspection(options, *bundle, std::move(*reflection)).print(file->bytes().size());
}

}  // namespace

void add_inspect_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<InspectOptions>();
  command.footer(inspect_epilogue);
  command.add_option("BUNDLE", options->bundle, "bundle to show")->required();
  CLI::Option* yaml = command.add_flag("--yaml", options->yaml, "kernel metadata as YAML");
  CLI::Option* json =
      command.add_flag("--json", options->json, "manifest and reflection as JSON; with --report its data");
  CLI::Option* ir =
      command.add_option("--ir", options->ir, "print a stage of the IR. One of: graph, kernels, plan");
  ir->type_name("STAGE");
  command.add_option("--fn", options->fn, "print this function of the stage alone")
      ->type_name("NAME")
      ->needs(ir);
  yaml->excludes(json)->excludes(ir);
  json->excludes(ir);
  CLI::Option* report =
      command.add_flag("--report", options->report,
                       "what kernels and entries cost: work, bytes, registers, a roofline estimate,\n"
                       "live ranges of temporaries; as text or, with --json, for programs");
  report->excludes(yaml)->excludes(ir);
  command_line::add_sizes_option(command, options->dims,
                                 "sizes to report for, as B=8,S=256, or *=1024 for all that are not named")
      .needs(report);
  command.add_option("--entry", options->entries, "entries in the report; all without it")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME,...")
      ->needs(report);
  command.add_option("--gpu", options->gpu,
                     cat("the GPU that estimates are for, of a target of the bundle: ", report::known_gpu_names()))
      ->type_name("NAME")
      ->needs(report);
  command.callback([options, &exit_code] { exit_code = inspect(*options); });
}

}  // namespace tessera::tool
