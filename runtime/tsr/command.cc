#include "runtime/tsr/command.h"

#include <algorithm>

#include "runtime/files/file.h"
#include "runtime/files/text.h"
#include "runtime/include/tessera.h"
#include "runtime/tsr/errors.h"
#include "support/diagnostic_rows.h"
#include "support/file_kind.h"
#include "tools/command_line/sizes.h"

namespace tessera::tool {

int fail(std::string_view text) { return fail(diag::command_line, text); }

int fail(DiagKind<1> tag, std::string_view text, std::string_view help) {
  errors().add(tag, help, text);
  return exit_user_error;
}

int fail_read(std::string_view path, std::string_view problem) {
  errors().add(diag::cannot_read, {}, path, problem);
  return exit_user_error;
}

int fail_write(std::string_view path, std::string_view problem) {
  errors().add(diag::cannot_write, {}, path, problem);
  return exit_user_error;
}

int fail_content(DiagKind<1> tag, const std::string& path, std::string_view bytes, std::string_view wanted,
                 std::string_view problem) {
  std::string_view kind = foreign_kind(bytes);
  if (kind.empty() || kind.starts_with(wanted)) return fail(tag, format::cat(path, ": ", problem));
  return fail(tag, format::cat(format::in_quotes(path), " seems to be ", kind, ", not ", wanted));
}

int fail_command_line(std::string_view text, std::string_view command) {
  return fail(diag::command_line, text, format::cat("'", command, " --help' shows how it is used"));
}

void warn(std::string_view text) { errors().warn(text); }

namespace {

DiagKind<1> tag_of(int status) {
  switch (status) {
    case TSR_EOOM: return diag::memory_ran_out;
    case TSR_EINVAL: return diag::call_refused;
    case TSR_ETIMEOUT: return diag::call_ended;
    case TSR_EIMAGE: return diag::bad_bundle;
    case TSR_EUNSUPPORTED: return diag::not_on_this_machine;
    case TSR_EINTERNAL: return diag::internal_error;
    case TSR_ECHECK: return diag::check_failed;
    default: return diag::command_line;  // a name that there is not
  }
}

}  // namespace

int fail_status(int status, std::string_view subject) {
  std::string text = tsrGetLastError();
  fail(tag_of(status), subject.empty() ? text : format::cat(subject, ": ", text));
  return status == TSR_EINTERNAL ? exit_internal : exit_user_error;
}

int check_bundle_file(const std::string& path) {
  auto file = format::MappedFile::map(path);
  if (!file) return fail_read(path, file.error().text);
  bool is_program = path.ends_with(".tsr"), is_ir = path.ends_with(".tir");
  if ((!is_program && !is_ir) || file->bytes().starts_with("PK")) return exit_ok;
  std::string made = path.substr(0, path.size() - 4) + ".bundle";
  return fail(diag::command_line, format::cat(path, " is ", is_program ? "a source" : "IR", ", not a bundle"),
              format::cat("'tesserac ", path, " -o ", made, "' makes a bundle of it"));
}

int check_sizes(const std::map<std::string, int64_t>& sizes, const std::vector<std::string>& known) {
  for (const auto& [name, size] : sizes) {
    if (std::ranges::find(known, name) == known.end()) {
      return fail(diag::unknown_size, name, command_line::size_help(name, known));
    }
  }
  return exit_ok;
}

}  // namespace tessera::tool
