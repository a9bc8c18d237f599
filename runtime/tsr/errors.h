#pragma once
// How tsr reports errors: at once, as text, or at the end, as lines of JSON.

#include <string_view>

#include "runtime/files/text.h"
#include "support/diagnostic.h"

namespace tessera::tool {

class Errors {
 public:
  Errors() : engine_(sources_) { engine_.set_error_limit(0); }
  Errors(const Errors&) = delete;

  /// From now on errors are kept for finish().
  void keep_for_json() { is_json_ = true; }
  /// "tsr: error: … [tag]", and where there is one a line that helps.
  template <int N, typename... Texts>
  void add(DiagKind<N> kind, std::string_view help, const Texts&... texts) {
    auto builder = engine_.report(kind, {}, format::printable(texts)...);
    if (!help.empty()) builder.help(format::printable(help));
    if (!is_json_) print(engine_.all().back());
    shown_ = engine_.all().size();
  }
  /// "tsr: warning: …", for people: lines of JSON have no place for it.
  void warn(std::string_view text) const;
  /// What is printed before an error: what wipes a line of progress, while there is one.
  void begin_with(std::string_view prelude) { prelude_ = prelude; }
  /// Files and errors of IR; show() prints what was reported since its last call.
  SourceManager& sources() { return sources_; }
  DiagnosticEngine& engine() { return engine_; }
  void show();
  /// Writes the lines of JSON, if they are asked for.
  void finish() const;

 private:
  void print(const Diagnostic& diagnostic) const;

  SourceManager sources_;
  DiagnosticEngine engine_;
  size_t shown_ = 0;
  std::string_view prelude_;  ///< a literal
  bool is_json_ = false;
};

/// Those of this process.
Errors& errors();

}  // namespace tessera::tool
