#pragma once
// Programs in tests: their compile-time values, and their diagnostics.

#include <map>
#include <string>

#include "frontend/evaluate/evaluate.h"
#include "frontend/evaluate/session.h"
#include "support/source.h"

namespace tessera::test {

using Files = std::map<std::string, std::string>;

/// A program in main.tsr whose imports are found in `files`, run by an evaluator that knows
/// compile-time values only.
class Program {
 public:
  explicit Program(const std::string& text, Files files = {})
      : files_(std::move(files)),
        diagnostics_(sources_),
        session_(context_, diagnostics_, options()),
        evaluator_(session_) {
    main_ = session_.load_file(sources_.add("main.tsr", text));
  }

  /// The value of a name of the file, as text; "?" when an error was reported.
  std::string value(std::string_view name) {
    return frontend::to_text(evaluator_.lookup(name, *main_->scope, Loc{}));
  }
  /// "tag@line:column" of each message, space separated.
  std::string tags() const {
    std::string text;
    for (const Diagnostic& diagnostic : diagnostics_.all()) {
      if (!text.empty()) text += ' ';
      text += fmt::format("{}@{}:{}", diag_tag(diagnostic.id), diagnostic.loc.line,
                          diagnostic.loc.column);
    }
    return text;
  }
  std::string messages() const { return render_all(diagnostics_, {}); }

  Context& context() { return context_; }
  frontend::Session& session() { return session_; }
  frontend::Evaluator& evaluator() { return evaluator_; }
  frontend::Scope& scope() { return *main_->scope; }
  const frontend::Function& function(std::string_view name) {
    return evaluator_.lookup(name, *main_->scope, Loc{}).as_function();
  }

 private:
  frontend::SessionOptions options() {
    frontend::SessionOptions options;
    options.parse.read = [this](const std::string& path, std::string& text, std::string& error) {
      auto found = files_.find(path);
      if (found == files_.end()) error = "no such file";
      if (found != files_.end()) text = found->second;
      return found != files_.end();
    };
    return options;
  }

  Files files_;
  Context context_;
  SourceManager sources_;
  DiagnosticEngine diagnostics_;
  frontend::Session session_;
  frontend::Evaluator evaluator_;
  frontend::SourceModule* main_ = nullptr;
};

/// The value of `const X = <expression>`, or the tags of the messages when there are any.
inline std::string constant(const std::string& expression) {
  Program program("const X = " + expression + "\n");
  std::string value = program.value("X");
  return program.tags().empty() ? value : program.tags();
}

}  // namespace tessera::test
