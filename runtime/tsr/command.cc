#include "runtime/tsr/command.h"

#include <CLI/CLI.hpp>

#include "runtime/files/file.h"
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

int refuse_source(const std::string& path) {
  bool is_program = path.ends_with(".tsr"), is_ir = path.ends_with(".tir");
  if (!is_program && !is_ir) return exit_ok;
  auto file = format::MappedFile::open(path);
  if (!file || file->bytes().starts_with("PK")) return exit_ok;
  std::string made = path.substr(0, path.size() - 4) + ".bundle";
  errors().add(diag::command_line, format::cat(path, " is ", is_program ? "a source" : "IR", ", not a bundle"),
               format::cat("'tesserac ", path, " -o ", made, "' makes a bundle of it"));
  return exit_user_error;
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
