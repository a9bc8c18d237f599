// tessera-fmt: formats .tsr files in the one style, or lists those that are not in it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>

#include "frontend/format/format.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"
#include "tools/driver/io.h"
#include "tools/driver/start.h"
#include "tools/tessera_fmt/files.h"
#include "tools/tessera_fmt/unified_diff.h"

using namespace tessera;

namespace {

constexpr int exit_unformatted = 2;
constexpr int exit_bug = 70;

struct Options {
  std::vector<std::string> inputs;
  std::vector<std::string> excluded;
  std::string range;
  std::string stdin_name = "<stdin>";
  std::optional<formatter::LineRange> lines;
  bool check = false;
  bool diff = false;
  bool to_stdout = false;
};

constexpr const char* footer =
    "Files are replaced as a whole, by a temporary file that is renamed. Comments, preprocessor lines\n"
    "and strings stay as they are. The meaning of the program stays, too: the syntax tree of the new\n"
    "text is compared with the old one before it is written. A file with syntax errors is not touched.\n"
    "\n"
    "Examples:\n"
    "  tessera-fmt model.tsr layers/        format a file, and all .tsr files below a folder\n"
    "  tessera-fmt --check --diff .         show what would change, and fail if anything does\n"
    "  tessera-fmt - < model.tsr            from standard input to standard output\n"
    "  tessera-fmt --range=10:20 model.tsr  the statements on lines 10 to 20 alone\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   a file has syntax errors or cannot be read or written, or the command line has errors\n"
    "  2   --check found a file that would change, and no errors\n"
    "  70  an internal error\n"
    "\n"
    "Environment:\n"
    "  NO_COLOR  any text disables the colours of messages";

void add_options(CLI::App& app, Options& options) {
  app.add_option("PATH", options.inputs, "files, folders of them, or - for standard input")
      ->required();
  CLI::Option* check = app.add_flag("--check", options.check,
                                    "write nothing; name the files that would change and exit with 2");
  CLI::Option* diff = app.add_flag("--diff", options.diff,
                                   "write nothing; print what would change as a unified diff");
  CLI::Option* text = app.add_flag("--stdout", options.to_stdout, "write nothing; print the formatted text");
  for (CLI::Option* option : {check, diff, text}) option->group("What is done");
  text->excludes(check)->excludes(diff);
  app.add_option("--range", options.range, "only the statements on these lines, counted from 1")
      ->type_name("LINE[:LINE]")
      ->group("What is formatted");
  app.add_option("--exclude", options.excluded,
                 "not this file or folder below the folders that are given")
      ->type_name("PATH")
      ->allow_extra_args(false)
      ->group("What is formatted");
  app.add_option("--stdin-name", options.stdin_name, "what messages call standard input")
      ->type_name("NAME")
      ->capture_default_str()
      ->group("What is formatted");
  app.footer(footer);
  driver::finish_options(app);
}

/// "10:20", or "10" for one line; false when it is no range.
bool read_range(const std::string& text, formatter::LineRange& range) {
  auto number = [](std::string_view digits, uint32_t& value) {
    bool good = !digits.empty() && digits.size() < 10 &&
                digits.find_first_not_of("0123456789") == digits.npos;
    if (good) value = uint32_t(std::stoul(std::string(digits)));
    return good && value > 0;
  };
  size_t colon = std::min(text.find(':'), text.size());
  std::string_view first = std::string_view(text).substr(0, colon);
  std::string_view last = colon < text.size() ? std::string_view(text).substr(colon + 1) : first;
  return number(first, range.first) && number(last, range.last) && range.first <= range.last;
}

class Run {
 public:
  explicit Run(const Options& options) : options_(options) {}

  int run() {
    std::vector<std::string> problems;
    std::vector<std::string> unused;
    std::vector<std::string> found = tools::find_sources(options_.inputs, options_.excluded, problems, unused);
    for (const std::string& name : found) file(name);
    for (const std::string& name : unused) report(diag::nothing_excluded, name);
    if (found.empty() && problems.empty()) {
      report(diag::nothing_formatted, fmt::format("'{}'", fmt::join(options_.inputs, "' and '")),
             options_.excluded.empty() ? "" : " that --exclude leaves");
    }
    for (const std::string& problem : problems) fail(diag::command_line, problem);
    if (is_bug_) return exit_bug;
    if (failed_) return driver::exit_user_error;
    return unformatted_ ? exit_unformatted : driver::exit_success;
  }

 private:
  template <typename Kind, typename... Args>
  void report(Kind kind, const Args&... args) {
    formatter::Messages messages;
    messages.diagnostics.report(kind, {}, args...);
    driver::show(messages.diagnostics);
  }
  template <typename Kind, typename... Args>
  void fail(Kind kind, const Args&... args) {
    report(kind, args...);
    failed_ = true;
  }
  std::string refuse_range(const std::string& name, std::string_view text) const;
  void file(const std::string& path);
  void failure(const std::string& name, const formatter::FormatResult& result);
  void success(const std::string& path, const std::string& name, const std::string& before,
               const formatter::FormatResult& result);
  void write(const std::string& path, const std::string& text);

  const Options& options_;
  bool failed_ = false;
  bool unformatted_ = false;
  bool is_bug_ = false;
};

void Run::failure(const std::string& name, const formatter::FormatResult& result) {
  failed_ = true;
  if (result.outcome == formatter::Outcome::SyntaxErrors)
    return driver::show(result.messages->diagnostics);
  is_bug_ |= result.is_bug;
  driver::write_stderr(fmt::format("{}: {}: {}; the file is as it was\n", escape_control(name),
                           result.is_bug ? "internal error" : "error", result.problem));
}

void Run::success(const std::string& path, const std::string& name, const std::string& before,
                  const formatter::FormatResult& result) {
  bool changed = result.text != before;
  if (options_.check && changed) {
    driver::write_stderr(fmt::format("{} is not formatted\n", escape_control(name)));
    unformatted_ = true;
  }
  if (options_.diff) return write("-", tools::unified_diff(name, before, result.edits));
  if (options_.check) return;
  bool to_stdout = options_.to_stdout || path == "-";
  if (changed || to_stdout) write(to_stdout ? "-" : path, result.text);
}

void Run::write(const std::string& path, const std::string& text) {
  std::string error;
  if (!write_file(path, text, error)) fail(diag::cannot_write, path == "-" ? "<stdout>" : path, error);
}

/// A range may end behind the last line, and not begin there.
std::string Run::refuse_range(const std::string& name, std::string_view text) const {
  auto lines = uint32_t(std::ranges::count(text, '\n')) + (text.empty() || text.ends_with('\n') ? 0 : 1);
  if (!options_.lines || options_.lines->first <= std::max(lines, 1u)) return "";
  return fmt::format("--range begins at line {}, and '{}' has {}", options_.lines->first, name, lines);
}

void Run::file(const std::string& path) {
  std::string text, error;
  std::string name = path == "-" ? options_.stdin_name : path;
  if (!read_file(path, text, error)) return fail(diag::cannot_read, name, error);
  if (driver::is_dump(text)) {
    return fail(diag::command_line, "'" + name + "' is IR, not source; 'tesserac --dump' and tessera-opt print IR");
  }
  if (std::string problem = refuse_range(name, text); !problem.empty()) return fail(diag::command_line, problem);
  formatter::FormatResult result = formatter::format(text, {.name = name, .lines = options_.lines});
  if (result.outcome == formatter::Outcome::Formatted) {
    success(path, name, text, result);
  } else {
    failure(name, result);
  }
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Formats Tessera source.", "tessera-fmt"};
  add_options(app, options);
  if (std::optional<int> status = driver::read_command_line(app, argc, argv)) return *status;
  if (!options.range.empty()) {
    options.lines.emplace();
    if (!read_range(options.range, *options.lines)) {
      return driver::command_line_error("tessera-fmt",
                                        "--range takes LINE[:LINE], not '" + options.range + "'");
    }
    std::error_code error;
    if (options.inputs.size() != 1 || std::filesystem::is_directory(options.inputs[0], error)) {
      return driver::command_line_error("tessera-fmt", "--range is about the lines of one file");
    }
  }
  bool has_stdin = std::ranges::find(options.inputs, "-") != options.inputs.end();
  if (app.count("--stdin-name") > 0 && !has_stdin) {
    return driver::command_line_error("tessera-fmt", "--stdin-name is about standard input, '-'");
  }
  return Run(options).run();
}
