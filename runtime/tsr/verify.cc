// tsr verify: everything about a bundle that can be checked without running it.

#include <CLI/CLI.hpp>
#include <algorithm>

#include "runtime/format/bundle.h"
#include "runtime/format/file.h"
#include "runtime/format/launch_check.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"
#include "runtime/format/safetensors.h"
#include "runtime/format/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/terminal.h"

namespace tessera::tool {

namespace {

using format::cat;

constexpr const char* epilogue =
    "Checks the archive's one byte form, every checksum and hash, the manifest, the metadata of\n"
    "the kernels, every plan, that plans launch kernels as their metadata say, and the weights.\n"
    "Prints the bundle's identity, the XXH3-128 of its manifest, which lists the hashes of\n"
    "everything else.\n"
    "\n"
    "Exit status:\n"
    "  0   all are sound\n"
    "  1   one is not or cannot be read\n"
    "  70  an internal error";

/// The plan launches kernels of its target as their metadata say.
format::Outcome check_kernels(const format::Plan& plan, const std::vector<format::KernelMeta>& kernels) {
  std::vector<const format::KernelMeta*> launched;
  for (const std::string& name : plan.kernels) {
    auto known = std::ranges::find(kernels, name, &format::KernelMeta::name);
    if (known == kernels.end()) return format::error("it launches the unknown kernel ", format::in_quotes(name));
    launched.push_back(&*known);
  }
  return format::check_launches(plan, launched);
}

format::Outcome check_plans(const format::BundleView& bundle, format::Reflection& reflection) {
  for (const format::ManifestEntry& entry : bundle.manifest().entries) {
    for (const std::string& target : bundle.manifest().targets) {
      std::string path = format::plan_path(entry.name, target);
      const format::BundleEntry* found = bundle.find(path);
      if (!found) return format::error("there is no ", path);
      auto plan = format::decode_plan(found->bytes);
      if (!plan) return format::error(path, ": ", plan.error().text);
      if (plan->entry != entry.name || plan->target != target) {
        return format::error(path, " is the plan of another entry or target");
      }
      format::Outcome kernels = check_kernels(*plan, reflection.kernels[target]);
      if (!kernels) return format::error(path, ": ", kernels.error().text);
    }
  }
  return {};
}

format::Outcome check_contents(const format::BundleView& bundle) {
  const format::BundleEntry* reflection = bundle.find(format::reflection_name);
  if (!reflection) return format::error("there is no ", format::reflection_name);
  auto read = format::read_reflection(reflection->bytes);
  if (!read) return read.error();
  if (format::Outcome plans = check_plans(bundle, *read); !plans) return plans;
  for (const format::BundleEntry& entry : bundle.entries()) {
    if (!entry.name.starts_with("weights/")) continue;
    auto weights = format::SafetensorsView::open(entry.bytes);
    if (!weights) return format::error(entry.name, ": ", weights.error().text);
  }
  return {};
}

int verify_file(const std::string& path) {
  auto file = format::MappedFile::open(path);
  if (!file) return fail(file.error().text);
  auto bundle = format::BundleView::open(file->bytes());
  if (!bundle) return fail(cat(path, ": ", bundle.error().text));
  if (format::Outcome checked = check_contents(*bundle); !checked) {
    return fail(cat(path, ": ", checked.error().text));
  }
  put(cat(path, ": sound, ", bytes_text(file->bytes().size()), ", xxh3-128 ", bundle->identity(), "\n"));
  return exit_ok;
}

}  // namespace

void add_verify_command(CLI::App& command, int& exit_code) {
  auto paths = std::make_shared<std::vector<std::string>>();
  command.footer(epilogue);
  command.add_option("BUNDLE", *paths, "bundles to check")->required();
  command.callback([paths, &exit_code] {
    for (const std::string& path : *paths) exit_code = std::max(exit_code, verify_file(path));
  });
}

}  // namespace tessera::tool
