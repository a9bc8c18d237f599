#pragma once
// How tsr reports errors: at once, as text, or at the end, as lines of JSON.

#include <string_view>

#include "runtime/files/text.h"
#include "support/diagnostic.h"

namespace tessera::tool {

class Errors {
 public:
  Errors() : engine_(sources_) {}
  Errors(const Errors&) = delete;

  /// From now on errors are kept for finish().
  void keep_for_json() { is_json_ = true; }
  /// "tsr: error: ...", and where there is one a line that helps.
  template <typename Kind>
  void add(Kind kind, std::string_view text, std::string_view help = {}) {
    std::string shown = format::printable(text), helps = format::printable(help);
    auto builder = engine_.report(kind, {}, shown);
    if (!help.empty()) builder.help(helps);
    if (!is_json_) print(shown, helps);
    shown_ = engine_.all().size();
  }
  /// Files and errors of IR; show() prints what was reported since its last call.
  SourceManager& sources() { return sources_; }
  DiagnosticEngine& engine() { return engine_; }
  void show();
  /// Writes the lines of JSON, if they are asked for.
  void finish() const;

 private:
  static void print(std::string_view text, std::string_view help);

  SourceManager sources_;
  DiagnosticEngine engine_;
  size_t shown_ = 0;
  bool is_json_ = false;
};

/// Those of this process.
Errors& errors();

}  // namespace tessera::tool
