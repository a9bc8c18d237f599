#include "runtime/tsr/command.h"

#include <CLI/CLI.hpp>

#include "runtime/files/text.h"
#include "runtime/include/tessera.h"
#include "runtime/tsr/errors.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool {

int fail(std::string_view text) {
  errors().add(diag::command_line, text);
  return exit_user_error;
}

int fail_write(std::string_view path, std::string_view problem) {
  return fail(format::cat("cannot write ", format::in_quotes(path), ": ", problem));
}

int fail_command_line(std::string_view text, std::string_view command) {
  errors().add(diag::command_line, text, format::cat("'", command, " --help' shows how it is used"));
  return exit_user_error;
}

int fail_status(int status, std::string_view subject) {
  fail(subject.empty() ? std::string(tsrGetLastError())
                       : format::cat(subject, ": ", tsrGetLastError()));
  return status == TSR_EINTERNAL ? exit_internal : exit_user_error;
}

CLI::Option& add_dims_option(CLI::App& command, std::vector<std::string>& dims, const std::string& description) {
  CLI::Option* option = command.add_option("--dims", dims, description);
  return *option->delimiter(',')->allow_extra_args(false)->type_name("NAME=SIZE,...");
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += names[i];
  }
  return text;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates) {
  std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : format::cat("; did you mean ", format::in_quotes(nearest), "?");
}

}  // namespace tessera::tool
