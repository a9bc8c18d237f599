#pragma once
// Shared by all command-line tools: read a file or standard input, write text, show diagnostics.

#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "support/file.h"
#include "support/result.h"
#include "tools/driver/diagnostic_options.h"

namespace tessera::driver {

// Exit codes of every tool.
inline constexpr int exit_success = 0;
inline constexpr int exit_user_error = 1;

inline constexpr std::string_view stdin_name = "<stdin>";
/// Text that starts with a module, after comments, is a dump.
bool is_dump(std::string_view text);
/// Reads a file, or standard input for "-", which is called `stdin_name`; a failure is reported.
Result<FileId> read_source(const std::string& path, std::string_view stdin_name, DiagnosticEngine& diagnostics);
/// Writes text to a file, aside first; "-" is standard output. A failure is reported, and nothing is thrown.
Status write_text(const std::string& path, std::string_view text, DiagnosticEngine& diagnostics);
/// The same, for files that are put in place together; `commit` does that.
Status write_text(PendingFiles& files, const std::string& path, std::string_view text, DiagnosticEngine& diagnostics);
Status commit(PendingFiles& files, DiagnosticEngine& diagnostics);
/// Prints all diagnostics to standard error; of the human form, in colour on a terminal unless NO_COLOR is set.
void show(const DiagnosticEngine& diagnostics, ErrorFormat format = ErrorFormat::Human, std::string_view tool = {});
/// Writes text to standard error as it is.
void write_stderr(std::string_view text);
/// Says what is wrong with the command line; returns the exit code.
int command_line_error(std::string_view tool, std::string_view problem, ErrorFormat format = ErrorFormat::Human);

}  // namespace tessera::driver
