#pragma once
// Diagnostics: what is said to the user, as data. One row per message in diagnostics.def.

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace tessera {

enum class Severity : uint8_t { Error, Warning, Note };

enum class DiagId : uint16_t {
#define DIAG(name, severity, text) name,
#include "support/diagnostics.def"
#undef DIAG
};

/// Facts of one row of diagnostics.def.
struct DiagInfo {
  std::string_view name;  ///< as in the table, with underscores
  Severity severity;
  std::string_view text;
};
const DiagInfo& diag_info(DiagId id);
/// All rows, in order.
std::vector<DiagId> all_diagnostics();
/// The printed tag: the name with dashes.
std::string diag_tag(DiagId id);

/// Number of arguments a text takes: one more than its largest {n}.
consteval int count_arguments(std::string_view text) {
  int count = 0;
  for (size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] >= '0' && text[i + 1] <= '9' && text[i + 2] == '}') {
      count = std::max(count, text[i + 1] - '0' + 1);
    }
  }
  return count;
}
/// The mechanical part of the wording rules, checked when this header is compiled.
consteval bool is_well_worded(std::string_view text) {
  return !text.empty() && !(text[0] >= 'A' && text[0] <= 'Z') && text.back() != '.';
}

template <int N>
struct DiagKind {
  DiagId id;
};

namespace diag {
#define DIAG(name, severity, text)                                                \
  static_assert(is_well_worded(text), "diagnostic " #name " breaks the wording rules"); \
  inline constexpr DiagKind<count_arguments(text)> name{DiagId::name};
#include "support/diagnostics.def"
#undef DIAG
}  // namespace diag

/// A secondary line below a diagnostic.
struct DiagnosticNote {
  Loc loc;
  std::string message;
};

struct Diagnostic {
  DiagId id;
  Severity severity;
  Loc loc;
  std::string message;
  std::vector<DiagnosticNote> notes;
  std::vector<std::string> helps;
};

class DiagnosticEngine {
 public:
  explicit DiagnosticEngine(SourceManager& sources) : sources_(&sources) {}

  /// Adds notes and helps to the diagnostic just reported; valid until the next report.
  class Builder {
   public:
    explicit Builder(Diagnostic* diagnostic) : diagnostic_(diagnostic) {}
    Builder& note(Loc loc, std::string message) {
      diagnostic_->notes.push_back({loc, std::move(message)});
      return *this;
    }
    Builder& help(std::string message) {
      diagnostic_->helps.push_back(std::move(message));
      return *this;
    }

   private:
    Diagnostic* diagnostic_;
  };

  template <int N, typename... Args>
    requires(sizeof...(Args) == N)
  Builder report(DiagKind<N> kind, Loc loc, const Args&... args) {
    return add(kind.id, loc, fmt::format(fmt::runtime(diag_info(kind.id).text), args...));
  }

  bool has_errors() const { return errors_ != 0; }
  size_t error_count() const { return errors_; }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }
  SourceManager& sources() const { return *sources_; }
  /// Errors beyond this many are counted and not kept; 0 means no limit.
  void set_error_limit(size_t limit) { error_limit_ = limit; }
  /// Puts the diagnostics from number `first` on in the order of their places.
  void sort_from(size_t first);

 private:
  Builder add(DiagId id, Loc loc, std::string message);

  SourceManager* sources_;
  std::vector<Diagnostic> diagnostics_;
  Diagnostic dropped_{};
  size_t errors_ = 0;
  size_t error_limit_ = 20;
};

/// How diagnostics are shown.
struct RenderOptions {
  bool colour = false;
};

/// The human form: message with place and tag, source line with carets, notes, helps.
/// Control characters of user text are escaped.
std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                   const RenderOptions& options);
/// All of them, in order; what was reported of several variants of one thing is said once.
std::string render_all(const DiagnosticEngine& engine, const RenderOptions& options);

/// Text with control characters written as \xNN, so that it cannot steer a terminal.
std::string escape_control(std::string_view text);

/// The candidate nearest to `name` by edit distance (optimal string alignment: two letters that
/// change places count once; limit a third of its length, so that names of one or two letters have
/// none) or one that differs in the case of letters only, or empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tessera
