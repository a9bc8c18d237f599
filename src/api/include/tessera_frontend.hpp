// The interface of tessera_frontend.h for C++17: handles that free themselves, strings and vectors.
// Header only. What fails for lack of memory, or because an argument breaks a rule of the C interface,
// gives an object without a handle, which is false.
#ifndef TESSERA_FRONTEND_HPP
#define TESSERA_FRONTEND_HPP

#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera_frontend.h"

namespace tessera_frontend {

enum class Severity { Note = TESSERA_NOTE, Warning = TESSERA_WARNING, Error = TESSERA_ERROR };

struct Place {
  std::string file;
  uint32_t line = 0;  ///< from 1; 0: unknown
  uint32_t column = 0;
  uint32_t length = 0;
};

struct Note {
  std::string message;
  Place place;
};

struct Edit {
  Place place;
  std::string text;  ///< that takes its place
};

struct Fix {
  std::string message;
  std::vector<Edit> edits;
};

struct Diagnostic {
  Severity severity;
  std::string tag;
  std::string message;
  Place place;
  std::vector<Note> notes;
  std::vector<std::string> helps;
  std::vector<Fix> fixes;
};

struct Options {
  std::vector<std::string> include_paths;
  std::vector<std::string> defines;  ///< NAME or NAME=VALUE
  /// The text of an import or include; none with a reason in `error`. Empty: from disk. What it throws ends the
  /// compilation and is thrown by frontend_compile.
  std::function<std::optional<std::string>(const std::string& path, std::string& error)> read;
  std::string kernels_for;  ///< a target for which kernels are checked; empty: they are not
  size_t error_limit = 0;   ///< 0: all errors are kept
  std::vector<std::string> include_roots;  ///< imports and includes read '.tsr' in and below them; none: any file
  size_t max_eval_memory = 0;              ///< bytes that the evaluation may hold; 0: 1,000,000,000
  size_t max_eval_steps = 0;               ///< steps that it may take; 0: 4,000,000
};

struct ShapePolicy {
  uint32_t run_time_guards = TESSERA_GUARD_ALL;
  bool symbolic_dims = true;
  bool strict = false;
  std::map<std::string, int64_t> dims;
};

struct Finding {
  Severity severity;
  std::string kind;
  std::string entry;
  std::string subject;
  std::string message;
  Place place;
};

namespace detail {

inline Place place_of(const tessera_place& place) {
  return {place.file, place.line, place.column, place.length};
}

struct Free {
  void operator()(tessera_module_ir* ir) const { tessera_module_ir_free(ir); }
  void operator()(tessera_report* report) const { tessera_report_free(report); }
};

/// What the C interface reads with, and the text that it keeps until the next call.
struct Reader {
  const Options* options;
  std::string text;
  std::exception_ptr thrown;  // C has no exceptions to be thrown through it

  static int read(void* user, const char* path, const char** text, size_t* length) {
    auto& reader = *static_cast<Reader*>(user);
    std::string error;
    std::optional<std::string> found;
    try {
      if (!reader.thrown) found = reader.options->read(path, error);
    } catch (...) {
      reader.thrown = std::current_exception();
    }
    reader.text = found ? std::move(*found) : std::move(error);
    *text = reader.text.c_str();
    *length = reader.text.size();
    return found ? 1 : 0;
  }
};

inline std::vector<const char*> pointers(const std::vector<std::string>& strings) {
  std::vector<const char*> pointers;
  for (const std::string& string : strings) pointers.push_back(string.c_str());
  return pointers;
}

}  // namespace detail

/// A graph with what was said about its source.
class ModuleIr {
 public:
  explicit ModuleIr(tessera_module_ir* ir) : ir_(ir) {}
  explicit operator bool() const { return ir_ != nullptr; }
  const tessera_module_ir* get() const { return ir_.get(); }

  bool ok() const { return tessera_module_ir_ok(get()) != 0; }
  std::string text() const { return tessera_module_ir_text(get()); }
  std::string rendered() const { return tessera_module_ir_rendered(get()); }

  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (size_t i = 0; i < tessera_module_ir_entry_count(get()); ++i) {
      names.emplace_back(tessera_module_ir_entry(get(), i));
    }
    return names;
  }

  std::vector<Diagnostic> diagnostics() const {
    std::vector<Diagnostic> all;
    tessera_diagnostic raw;
    for (size_t i = 0; tessera_module_ir_diagnostic(get(), i, &raw); ++i) {
      Diagnostic diagnostic{Severity(raw.severity), raw.tag, raw.message, detail::place_of(raw.place), {}, {}, {}};
      for (size_t n = 0; n < raw.note_count; ++n) {
        const char* message = nullptr;
        tessera_place place;
        tessera_module_ir_note(get(), i, n, &message, &place);
        diagnostic.notes.push_back({message, detail::place_of(place)});
      }
      for (size_t n = 0; n < raw.help_count; ++n) {
        diagnostic.helps.emplace_back(tessera_module_ir_help(get(), i, n));
      }
      for (size_t n = 0; n < tessera_module_ir_fix_count(get(), i); ++n) diagnostic.fixes.push_back(fix(i, n));
      all.push_back(std::move(diagnostic));
    }
    return all;
  }

 private:
  Fix fix(size_t diagnostic, size_t index) const {
    const char* text = "";
    size_t count = 0;
    tessera_module_ir_fix(get(), diagnostic, index, &text, &count);
    Fix fix{text, {}};
    tessera_place place;
    for (size_t i = 0; tessera_module_ir_edit(get(), diagnostic, index, i, &place, &text); ++i) {
      fix.edits.push_back({detail::place_of(place), text});
    }
    return fix;
  }

  std::unique_ptr<tessera_module_ir, detail::Free> ir_;
};

/// What is known of a graph's shapes.
class Report {
 public:
  explicit Report(tessera_report* report) : report_(report) {}
  explicit operator bool() const { return report_ != nullptr; }

  bool ok() const { return tessera_report_ok(report_.get()) != 0; }
  size_t guard_count() const { return tessera_report_guard_count(report_.get()); }
  size_t open_dim_count() const { return tessera_report_open_dim_count(report_.get()); }

  std::vector<Finding> findings() const {
    std::vector<Finding> all;
    tessera_finding raw;
    for (size_t i = 0; tessera_report_finding(report_.get(), i, &raw); ++i) {
      all.push_back({Severity(raw.severity), raw.kind, raw.entry, raw.subject, raw.message,
                     detail::place_of(raw.place)});
    }
    return all;
  }

 private:
  std::unique_ptr<tessera_report, detail::Free> report_;
};

/// Compiles the text of a file of that name.
inline ModuleIr frontend_compile(const std::string& name, std::string_view text,
                                 const Options& options = {}) {
  std::vector<const char*> paths = detail::pointers(options.include_paths);
  std::vector<const char*> defines = detail::pointers(options.defines);
  detail::Reader reader{&options, {}, nullptr};
  tessera_frontend_options raw = {};
  raw.size = sizeof raw;
  raw.include_paths = paths.data();
  raw.include_path_count = paths.size();
  raw.defines = defines.data();
  raw.define_count = defines.size();
  if (options.read) {
    raw.read = detail::Reader::read;
    raw.user = &reader;
  }
  if (!options.kernels_for.empty()) raw.kernels_for = options.kernels_for.c_str();
  raw.error_limit = options.error_limit;
  std::vector<const char*> roots = detail::pointers(options.include_roots);
  raw.include_roots = roots.data();
  raw.include_root_count = roots.size();
  raw.max_eval_memory = options.max_eval_memory;
  raw.max_eval_steps = options.max_eval_steps;
  tessera_source source = {name.c_str(), text.data(), text.size()};
  ModuleIr ir(tessera_frontend_compile(&source, &raw));
  if (reader.thrown) std::rethrow_exception(reader.thrown);
  return ir;
}

/// Reads a graph from its text.
inline ModuleIr frontend_read(const std::string& name, std::string_view text) {
  tessera_source source = {name.c_str(), text.data(), text.size()};
  return ModuleIr(tessera_frontend_read(&source));
}

inline Report validate_shapes(const ModuleIr& ir, const ShapePolicy& policy = {}) {
  std::vector<tessera_dim> dims;
  for (const auto& [name, value] : policy.dims) dims.push_back({name.c_str(), value});
  tessera_shape_policy raw = {};
  raw.size = sizeof raw;
  raw.run_time_guards = policy.run_time_guards;
  raw.symbolic_dims = policy.symbolic_dims ? 1 : 0;
  raw.strict = policy.strict ? 1 : 0;
  raw.dims = dims.data();
  raw.dim_count = dims.size();
  return Report(tessera_validate_shapes(ir.get(), &raw));
}

}  // namespace tessera_frontend

#endif
