#pragma once
// Diagnostics as data. One row per message in diagnostics.def (diagnostic_rows.h).

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/source.h"

namespace tessera {

/// A note of its own is no fault of anything: -Werror leaves it as it is, and it is not counted.
enum class Severity : uint8_t { Error, Warning, Note };

/// A row of diagnostics.def; diagnostic_rows.h has the names, for those who report.
enum class DiagId : uint16_t;

/// Facts of one row of diagnostics.def.
struct DiagInfo {
  std::string_view name;  ///< as in the table, with underscores
  Severity severity;
  std::string_view text;
};
const DiagInfo& diag_info(DiagId id);
/// "error", "warning", "note".
std::string_view to_string(Severity severity);
/// All rows, in order.
std::vector<DiagId> all_diagnostics();
/// The printed tag: the name with dashes.
std::string diag_tag(DiagId id);
/// The row with that tag.
std::optional<DiagId> find_diagnostic(std::string_view tag);

/// A row whose text takes N arguments.
template <int N>
struct DiagKind {
  DiagId id;
};

/// A second place of the situation, with what is the case there: "'K' is 64".
struct Label {
  Loc loc;
  std::string message;
};

/// The group that a note belongs to: a chain has a link for each call, include or import, the
/// innermost first.
enum class NoteKind : uint8_t { Note, Call, Include, Import };

/// A line below a diagnostic, with a place where that is known.
struct DiagnosticNote {
  Loc loc;
  std::string message;
  NoteKind kind = NoteKind::Note;
};

/// Text that takes the place of a span; a span of length 0 is the point before its column.
struct Edit {
  Loc loc;
  std::string replacement;
};

/// A change to the source that fixes the error, as far as the compiler knows. Its edits are of one
/// file and do not overlap; a span lies on one line, but for a last column that takes the end of
/// the line along.
struct Fix {
  std::string message;
  std::vector<Edit> edits;
};

struct Diagnostic {
  DiagId id;
  Severity severity;
  Loc loc;
  std::string message;
  std::vector<Label> labels;
  std::vector<DiagnosticNote> notes;
  std::vector<std::string> helps;
  std::vector<Fix> fixes;
};

/// How a warning or a note is reported.
enum class WarningLevel : uint8_t { On, Off, Error };

class DiagnosticEngine {
 public:
  explicit DiagnosticEngine(SourceManager& sources) : sources_(&sources) {}

  /// Adds to the diagnostic just reported; valid until the next report.
  class Builder {
   public:
    explicit Builder(Diagnostic* diagnostic) : diagnostic_(diagnostic) {}
    Builder& label(Loc loc, std::string message) {
      diagnostic_->labels.push_back({loc, std::move(message)});
      return *this;
    }
    Builder& note(Loc loc, std::string message, NoteKind kind = NoteKind::Note) {
      diagnostic_->notes.push_back({loc, std::move(message), kind});
      return *this;
    }
    Builder& help(std::string message) {
      diagnostic_->helps.push_back(std::move(message));
      return *this;
    }
    Builder& fix(std::string message, std::vector<Edit> edits) {
      diagnostic_->fixes.push_back({std::move(message), std::move(edits)});
      return *this;
    }
    /// A fix that replaces one span.
    Builder& fix(std::string message, Loc loc, std::string replacement) {
      return fix(std::move(message), {{loc, std::move(replacement)}});
    }
    /// "did you mean …?" for the candidate nearest to a name that the source has at `loc` (which may be wider), as a
    /// fix if it stands there as it is spelt. False when no candidate is near.
    bool suggest(const SourceManager& sources, Loc loc, std::string_view name,
                 const std::vector<std::string>& candidates);

   private:
    Diagnostic* diagnostic_;
  };

  template <int N, typename... Args>
    requires(sizeof...(Args) == N)
  Builder report(DiagKind<N> kind, Loc loc, const Args&... args) {
    return add(kind.id, loc, fmt::format(fmt::runtime(diag_info(kind.id).text), args...));
  }

  bool has_errors() const { return errors_ != 0; }
  /// All that were reported, those that are not kept included.
  size_t error_count() const { return errors_; }
  size_t warning_count() const { return warnings_; }
  const std::vector<Diagnostic>& all() const { return diagnostics_; }
  SourceManager& sources() const { return *sources_; }
  /// Errors beyond this many are counted and not kept, and so are warnings; 0 means no limit.
  void set_error_limit(size_t limit) { limit_ = limit; }
  /// How a warning or a note is reported from now on; errors stay errors.
  void set_warning(DiagId id, WarningLevel level) { levels_[id] = level; }
  /// Puts the diagnostics from number `first` on in the order of their places.
  void sort_from(size_t first);

 private:
  Builder add(DiagId id, Loc loc, std::string message);
  Builder drop(Diagnostic diagnostic);
  void add_includes(Diagnostic& diagnostic) const;

  SourceManager* sources_;
  std::vector<Diagnostic> diagnostics_;
  std::map<DiagId, WarningLevel> levels_;
  Diagnostic dropped_{};
  size_t errors_ = 0;
  size_t warnings_ = 0;
  size_t limit_ = 20;
};

/// How diagnostics are shown.
struct RenderOptions {
  bool colour = false;
  size_t width = 160;  ///< columns; longer lines of the source are cut around what is marked
};
/// The style that suits the file of a descriptor: colours on a terminal where NO_COLOR is not set,
/// and its width.
RenderOptions render_options(int descriptor);

/// The human form: message with place and tag, the source lines with what is marked in them, notes, helps with what
/// fixes make of the source. Control characters of user text are escaped.
std::string render(const Diagnostic& diagnostic, const SourceManager& sources,
                   const RenderOptions& options);
/// All of them, in order; what was reported of several variants of one thing is said once.
std::string render_all(const DiagnosticEngine& engine, const RenderOptions& options);

/// Text with control characters, marks that turn the direction of writing and bytes that are no UTF-8 written as
/// escapes, so that it cannot steer a terminal.
std::string escape_control(std::string_view text);

/// "1 name", "2 names", "2 axes".
std::string counted(size_t count, std::string_view one, std::string_view many = {});
/// The same with its verb: "1 is", "2 are".
std::string counted_verb(size_t count, std::string_view one = {});

/// The candidate nearest to `name` by edit distance (optimal string alignment: two letters that
/// change places count once; limit a third of its length, so that names of one or two letters have
/// none) or one that differs in the case of letters and in underscores only, or empty.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace tessera
