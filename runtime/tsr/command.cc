#include "runtime/tsr/command.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "runtime/files/text.h"
#include "runtime/include/tessera.h"
#include "runtime/tsr/errors.h"
#include "support/diagnostic_rows.h"

namespace tessera::tool {

namespace {

/// Levenshtein's distance, one row at a time.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      size_t change = diagonal + (a[i - 1] != b[j - 1]);
      row[j] = std::min({change, above + 1, row[j - 1] + 1});
      diagonal = above;
    }
  }
  return row[b.size()];
}

bool equal_but_case(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

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
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    if (equal_but_case(name, candidate)) best = &candidate;
  }
  if (best) return format::cat("; did you mean ", format::in_quotes(*best), "?");
  size_t least = name.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    size_t distance =
        edit_distance(name.substr(0, 256), std::string_view(candidate).substr(0, 256));
    if (distance >= least) continue;
    least = distance;
    best = &candidate;
  }
  return best ? format::cat("; did you mean ", format::in_quotes(*best), "?") : "";
}

}  // namespace tessera::tool
