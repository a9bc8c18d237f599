// The C interface of the front end, tessera_frontend.h.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "api/frontend_compile.h"
#include "api/include/tessera_frontend.h"
#include "api/validate_shapes.h"
#include "frontend/syntax/preprocessor.h"
#include "ir/text/printer.h"
#include "support/diagnostic_rows.h"
#include "support/render/remarks.h"

namespace api = tessera::api;

// The order is that of making: what comes later uses what comes before.
struct tessera_module_ir {
  tessera::SourceManager sources;
  tessera::DiagnosticEngine diagnostics{sources};
  tessera::Context context;
  api::ModuleIr module;  ///< without a graph when there are errors
  std::string text;
  std::string rendered;
  std::vector<std::string> tags;  ///< beside the diagnostics
  std::vector<std::vector<tessera::DiagnosticNote>> remarks;  ///< the same
  std::vector<std::vector<std::string>> advice;               ///< the same
  std::vector<std::string> entries;
  mutable std::mutex mutex;  ///< of the context's dims, which grow when shapes are looked at
  mutable std::string bug;   ///< of ours, found when shapes were looked at
};

struct tessera_report {
  std::vector<std::string> files;         ///< beside the findings; the module may go first
  std::vector<std::string> kinds;
  api::ShapeReport report;
};

namespace {

constexpr size_t text_limit = size_t(1) << 31;  // places count in 32 bits

bool is_valid(const tessera_source* source) {
  return source && source->name && *source->name && (source->text || source->length == 0) &&
         source->length < text_limit;
}

/// Whether an array of strings is there.
bool has_strings(const char* const* strings, size_t count) {
  if (count != 0 && !strings) return false;
  for (size_t i = 0; i < count; ++i) {
    if (!strings[i]) return false;
  }
  return true;
}

/// The sizes of these structures in 1.0.
constexpr size_t first_options_size = offsetof(tessera_frontend_options, error_limit) + sizeof(size_t);
constexpr size_t first_policy_size = offsetof(tessera_shape_policy, dim_count) + sizeof(size_t);

/// What a program gave that may have been compiled with an older header: fields that it does not know are 0. Nothing
/// where the size is none that there ever was.
template <typename Struct>
std::optional<Struct> completed(const Struct* given, size_t first_size) {
  if (given->size < first_size || given->size > sizeof(Struct)) return std::nullopt;
  Struct all = {};
  std::memcpy(&all, given, given->size);
  return all;
}

bool is_valid(const tessera_frontend_options& options) {
  auto names = [](const char* define) {
    std::string_view text = define;
    return tessera::is_macro_name(text.substr(0, text.find('=')));
  };
  return has_strings(options.include_paths, options.include_path_count) &&
         has_strings(options.defines, options.define_count) &&
         has_strings(options.include_roots, options.include_root_count) &&
         std::all_of(options.defines, options.defines + options.define_count, names);
}

tessera_place place_of(const tessera::SourceManager& sources, tessera::Loc loc) {
  return {sources.file(loc.file).name().c_str(), loc.line, loc.column, loc.length};
}

std::pair<std::string, std::string> split_define(const std::string& define) {
  size_t equals = define.find('=');
  if (equals == define.npos) return {define, "1"};
  return {define.substr(0, equals), define.substr(equals + 1)};
}

tessera::frontend::FrontendOptions options_of(const tessera_frontend_options& raw) {
  tessera::frontend::FrontendOptions options;
  for (size_t i = 0; i < raw.include_path_count; ++i) options.include_paths.emplace_back(raw.include_paths[i]);
  for (size_t i = 0; i < raw.define_count; ++i) options.defines.push_back(split_define(raw.defines[i]));
  if (raw.kernels_for) options.kernels_for = raw.kernels_for;
  options.include_roots.assign(raw.include_roots, raw.include_roots + raw.include_root_count);
  if (raw.max_eval_memory != 0) options.limits.memory = raw.max_eval_memory;
  if (raw.max_eval_steps != 0) options.limits.steps = raw.max_eval_steps;
  if (!raw.read) return options;
  options.read = [read = raw.read, user = raw.user](const std::string& path, std::string& text,
                                                    std::string& error) {
    const char* bytes = nullptr;
    size_t length = 0;
    bool found = read(user, path.c_str(), &bytes, &length) != 0;
    if (!bytes) length = 0;
    bool fits = length < text_limit;
    if (found && fits && bytes) text.assign(bytes, length);
    if (!found && bytes) error.assign(bytes, fits ? length : 0);
    if (error.empty() && !found) error = "it cannot be read";
    if (!fits) error = "it is too long";
    return found && fits;
  };
  return options;
}

/// Computes the results of later queries. The functions that only read then allocate nothing, so
/// that several threads can read a handle.
void fill_results(tessera_module_ir& ir) {
  for (auto* list : {&ir.tags, &ir.entries}) list->clear();
  ir.remarks.clear();
  ir.advice.clear();
  ir.text.clear();
  ir.rendered = render_all(ir.diagnostics, {});
  for (const tessera::Diagnostic& diagnostic : ir.diagnostics.all()) {
    ir.tags.push_back(diag_tag(diagnostic.id));
    ir.remarks.push_back(remarks(diagnostic));
    ir.advice.push_back(advice(diagnostic));
  }
  if (!ir.module.graph) return;
  ir.text = print(*ir.module.graph);
  ir.entries = api::entries_of(ir.module);
}

/// Reports a bug of ours in place of the module.
void report(tessera_module_ir& ir, const tessera::InternalError& error, tessera::FileId file, std::string_view how) {
  ir.module = {};
  ir.diagnostics.set_error_limit(0);
  auto builder = ir.diagnostics.report(tessera::diag::internal_error, {file, 0, 0, 0}, error.message);
  for (const std::string& fact : error.facts) builder.note({}, fact);
  builder.help(fmt::format("this is a bug in Tessera; please report it with the text, which `{}` compiles, too", how));
  fill_results(ir);
}

/// A module of what `make` makes of a text; `how` is a command that does the same.
template <typename F>
std::unique_ptr<tessera_module_ir> module_of(const tessera_source& source, std::string_view how, F&& make) {
  auto ir = std::make_unique<tessera_module_ir>();
  tessera::FileId file = ir->sources.add(source.name, std::string(source.text ? source.text : "", source.length));
  try {
    tessera::Result<api::ModuleIr> made = make(ir->context, file, ir->diagnostics);
    if (made) ir->module = std::move(*made);
    fill_results(*ir);
  } catch (const tessera::InternalError& error) {
    report(*ir, error, file, how);
  }
  return ir;
}

/// How tesserac makes the same of a source.
std::string command_of(const tessera_source& source, const tessera_frontend_options& options) {
  std::string command = fmt::format("tesserac {} ", source.name);
  command += options.kernels_for ? fmt::format("--shapes --target={}", options.kernels_for) : "--dump=graph";
  for (size_t i = 0; i < options.include_path_count; ++i) command += fmt::format(" -I{}", options.include_paths[i]);
  for (size_t i = 0; i < options.define_count; ++i) command += fmt::format(" -D{}", options.defines[i]);
  return command;
}

/// A finding for each error of a source that has no graph.
api::ShapeReport errors_of(const tessera_module_ir& ir) {
  api::ShapeReport report;
  for (const tessera::Diagnostic& diagnostic : ir.diagnostics.all()) {
    if (diagnostic.severity != tessera::Severity::Error) continue;
    report.findings.push_back({api::FindingKind::Malformed, api::FindingSeverity::Error, "", "",
                               diagnostic.message, diagnostic.loc, {}});
  }
  return report;
}

bool is_valid(const tessera_shape_policy& policy) {
  if (policy.dim_count != 0 && !policy.dims) return false;
  for (size_t i = 0; i < policy.dim_count; ++i) {
    if (!policy.dims[i].name || policy.dims[i].value < 0) return false;
  }
  return true;
}

api::ShapePolicy policy_of(const tessera_shape_policy& raw) {
  api::ShapePolicy policy;
  policy.run_time_guards = raw.run_time_guards;
  policy.symbolic_dims = raw.symbolic_dims != 0;
  policy.strict = raw.strict != 0;
  for (size_t i = 0; i < raw.dim_count; ++i) policy.dims[raw.dims[i].name] = raw.dims[i].value;
  return policy;
}

/// The caller learns that memory ran out, and of a bug that prevents the report of another one.
template <typename F>
auto guarded(F&& work) -> decltype(work()) {
  tessera::ThrowInternalErrors thrown;
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return nullptr;
  } catch (const tessera::InternalError&) {
    return nullptr;
  }
}

/// What is known of a module's shapes. After a bug of ours nothing more is asked of its tables.
api::ShapeReport shapes_of(const tessera_module_ir& ir, const api::ShapePolicy& policy) {
  if (!ir.module.graph) return errors_of(ir);
  try {
    if (ir.bug.empty()) return api::validate_shapes(*ir.module.graph, policy);
  } catch (const tessera::InternalError& error) {
    ir.bug = fmt::format("internal error: {}; {}", error.message, fmt::join(error.facts, "; "));
  }
  api::ShapeReport report;
  report.findings.push_back({api::FindingKind::InternalError, api::FindingSeverity::Error, "", "", ir.bug, {}, {}});
  return report;
}

}  // namespace

extern "C" {

void tessera_frontend_version(uint32_t* major, uint32_t* minor) {
  if (major) *major = TESSERA_FRONTEND_MAJOR;
  if (minor) *minor = TESSERA_FRONTEND_MINOR;
}

tessera_module_ir* tessera_frontend_compile(const tessera_source* source,
                                            const tessera_frontend_options* options) {
  tessera_frontend_options defaults = {};
  defaults.size = sizeof defaults;
  auto all = completed(options ? options : &defaults, first_options_size);
  if (!is_valid(source) || !all || !is_valid(*all)) return nullptr;
  return guarded([&] {
    auto make = [&](tessera::Context& context, tessera::FileId file, tessera::DiagnosticEngine& diagnostics) {
      diagnostics.set_error_limit(all->error_limit);
      return api::frontend_compile(context, file, options_of(*all), diagnostics);
    };
    return module_of(*source, command_of(*source, *all), make).release();
  });
}

tessera_module_ir* tessera_frontend_read(const tessera_source* ir) {
  if (!is_valid(ir)) return nullptr;
  return guarded([&] {
    return module_of(*ir, fmt::format("tesserac {} --dump=graph", ir->name), api::frontend_read).release();
  });
}

void tessera_module_ir_free(tessera_module_ir* ir) { delete ir; }

int tessera_module_ir_ok(const tessera_module_ir* ir) { return ir && ir->module.graph ? 1 : 0; }

const char* tessera_module_ir_text(const tessera_module_ir* ir) { return ir ? ir->text.c_str() : ""; }

size_t tessera_module_ir_entry_count(const tessera_module_ir* ir) { return ir ? ir->entries.size() : 0; }

const char* tessera_module_ir_entry(const tessera_module_ir* ir, size_t index) {
  return ir && index < ir->entries.size() ? ir->entries[index].c_str() : nullptr;
}

size_t tessera_module_ir_diagnostic_count(const tessera_module_ir* ir) {
  return ir ? ir->diagnostics.all().size() : 0;
}

int tessera_module_ir_diagnostic(const tessera_module_ir* ir, size_t index, tessera_diagnostic* diagnostic) {
  if (!ir || !diagnostic || index >= ir->diagnostics.all().size()) return 0;
  const tessera::Diagnostic& from = ir->diagnostics.all()[index];
  diagnostic->severity = from.severity == tessera::Severity::Error     ? TESSERA_ERROR
                         : from.severity == tessera::Severity::Warning ? TESSERA_WARNING
                                                                       : TESSERA_NOTE;
  diagnostic->tag = ir->tags[index].c_str();
  diagnostic->message = from.message.c_str();
  diagnostic->place = place_of(ir->sources, from.loc);
  diagnostic->note_count = ir->remarks[index].size();
  diagnostic->help_count = ir->advice[index].size();
  return 1;
}

int tessera_module_ir_note(const tessera_module_ir* ir, size_t diagnostic, size_t index, const char** message,
                           tessera_place* place) {
  if (!ir || diagnostic >= ir->remarks.size()) return 0;
  const auto& notes = ir->remarks[diagnostic];
  if (index >= notes.size()) return 0;
  if (message) *message = notes[index].message.c_str();
  if (place) *place = place_of(ir->sources, notes[index].loc);
  return 1;
}

const char* tessera_module_ir_help(const tessera_module_ir* ir, size_t diagnostic, size_t index) {
  if (!ir || diagnostic >= ir->advice.size()) return nullptr;
  const auto& helps = ir->advice[diagnostic];
  return index < helps.size() ? helps[index].c_str() : nullptr;
}

size_t tessera_module_ir_fix_count(const tessera_module_ir* ir, size_t diagnostic) {
  return ir && diagnostic < ir->diagnostics.all().size() ? ir->diagnostics.all()[diagnostic].fixes.size() : 0;
}

int tessera_module_ir_fix(const tessera_module_ir* ir, size_t diagnostic, size_t index, const char** message,
                          size_t* edit_count) {
  if (index >= tessera_module_ir_fix_count(ir, diagnostic)) return 0;
  const tessera::Fix& fix = ir->diagnostics.all()[diagnostic].fixes[index];
  if (message) *message = fix.message.c_str();
  if (edit_count) *edit_count = fix.edits.size();
  return 1;
}

int tessera_module_ir_edit(const tessera_module_ir* ir, size_t diagnostic, size_t fix, size_t index,
                           tessera_place* place, const char** text) {
  size_t count = 0;
  if (!tessera_module_ir_fix(ir, diagnostic, fix, nullptr, &count) || index >= count) return 0;
  const tessera::Edit& edit = ir->diagnostics.all()[diagnostic].fixes[fix].edits[index];
  if (place) *place = place_of(ir->sources, edit.loc);
  if (text) *text = edit.replacement.c_str();
  return 1;
}

const char* tessera_module_ir_rendered(const tessera_module_ir* ir) { return ir ? ir->rendered.c_str() : ""; }

tessera_report* tessera_validate_shapes(const tessera_module_ir* ir, const tessera_shape_policy* policy) {
  auto all = policy ? completed(policy, first_policy_size) : std::nullopt;
  if (!ir || (policy && (!all || !is_valid(*all)))) return nullptr;
  return guarded([&] {
    auto report = std::make_unique<tessera_report>();
    std::lock_guard<std::mutex> lock(ir->mutex);
    report->report = shapes_of(*ir, all ? policy_of(*all) : api::ShapePolicy());
    for (const api::ShapeFinding& finding : report->report.findings) {
      report->files.push_back(ir->sources.file(finding.loc.file).name());
      report->kinds.emplace_back(to_string(finding.kind));
    }
    return report.release();
  });
}

void tessera_report_free(tessera_report* report) { delete report; }

int tessera_report_ok(const tessera_report* report) { return report && report->report.ok() ? 1 : 0; }

size_t tessera_report_guard_count(const tessera_report* report) { return report ? report->report.guards : 0; }

size_t tessera_report_open_dim_count(const tessera_report* report) {
  return report ? report->report.open_dims : 0;
}

size_t tessera_report_finding_count(const tessera_report* report) {
  return report ? report->report.findings.size() : 0;
}

int tessera_report_finding(const tessera_report* report, size_t index, tessera_finding* finding) {
  if (!report || !finding || index >= report->report.findings.size()) return 0;
  const api::ShapeFinding& from = report->report.findings[index];
  finding->severity = tessera_severity(from.severity);
  finding->kind = report->kinds[index].c_str();
  finding->entry = from.entry.c_str();
  finding->subject = from.subject.c_str();
  finding->message = from.message.c_str();
  finding->place = {report->files[index].c_str(), from.loc.line, from.loc.column, from.loc.length};
  return 1;
}

}  // extern "C"
