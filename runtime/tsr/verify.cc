// tsr verify: everything about a bundle that can be checked without running it.

#include <CLI/CLI.hpp>

#include "runtime/files/file.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/terminal.h"
#include "support/diagnostic_rows.h"
#include "support/render/units.h"
#include "tools/whole_bundle/whole_bundle.h"

namespace tessera::tool {

namespace {

using format::cat;

constexpr const char* verify_epilogue =
    "Checks the archive's one byte form, every checksum and hash, the manifest, and for each target\n"
    "the metadata of the kernels, every plan against these and the manifest, and the code; the IR,\n"
    "schedules and weights. Prints the bundle's identity, the XXH3-128 of its manifest, which lists\n"
    "the hashes of everything else.\n"
    "\n"
    "Examples:\n"
    "  tsr verify mlp.bundle\n"
    "\n"
    "Exit status:\n"
    "  0   all are sound\n"
    "  1   one is not or cannot be read\n"
    "  70  an internal error";

int verify_file(const std::string& path) {
  if (int code = check_bundle_file(path)) return code;
  auto file = format::MappedFile::map(path);
  if (!file) return fail_read(path, file.error().text);
  auto bundle = check_whole_bundle(file->bytes());
  if (!bundle) return fail_content(diag::bad_bundle, path, file->bytes(), "a bundle", bundle.error().text);
  put(cat(path, ": sound, ", bytes_text(double(file->bytes().size())), ", xxh3-128 ", bundle->identity(), "\n"));
  return exit_ok;
}

}  // namespace

void add_verify_command(CLI::App& command, int& exit_code) {
  auto paths = std::make_shared<std::vector<std::string>>();
  command.footer(verify_epilogue);
  command.add_option("BUNDLE", *paths, "bundles to check")->required();
  command.callback([paths, &exit_code] {
    for (const std::string& path : *paths) exit_code = std::max(exit_code, verify_file(path));
  });
}

}  // namespace tessera::tool
