// Names as frontend/binding reads them from text, beside what the evaluation did with them.

#include <catch2/catch.hpp>
#include <filesystem>

#include "check/names.h"
#include "check/random_files.h"
#include "frontend/values/embedded.h"
#include "unit/frontend/fixture.h"

using namespace tessera;
using namespace tessera::frontend;

namespace {

void check_same(const std::string& path, const std::string& text, size_t& lookups) {
  SourceManager sources;
  check::NameComparison found =
      check::compare_names(sources, {.file = sources.add(path, text), .kernels_for = "cpu:x86-64-v3"});
  lookups += found.lookups;
  for (const std::string& difference : found.differences) FAIL_CHECK(difference);
}

}  // namespace

TEST_CASE("names of the standard library and of the examples are those of the evaluation") {
  size_t lookups = 0;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.path.ends_with(".tsr")) check_same(std::string(file.path), std::string(file.text), lookups);
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(TESSERA_SOURCE_DIR "/examples")) {
    std::string path = entry.path(), text, error;
    if (path.ends_with(".tsr") && read_file(path, text, error)) check_same(path, text, lookups);
  }
  CHECK(lookups > 1000);
}

TEST_CASE("names in random scopes are those of the evaluation") {
  check::NameComparison all;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SourceManager sources;
    std::string text = check::random_scopes(seed);
    check::NameComparison found = check::compare_names(sources, {.file = sources.add("scopes.tsr", text)});
    INFO("seed " << seed << "\n" << text);
    for (const std::string& difference : found.differences) FAIL_CHECK(difference);
    all.lookups += found.lookups;
    all.uncertain += found.uncertain;
    all.unknown += found.unknown;
  }
  CHECK(all.lookups > 4000);
  CHECK(all.uncertain > 50);
  CHECK(all.unknown > 50);
}

TEST_CASE("names of random programs of several files lead to what the evaluation finds") {
  size_t links = 0, lacking = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    check::RandomFiles program = check::random_files(seed);
    SourceManager sources;
    FileId main = sources.add("main.tsr", program.texts["main.tsr"]);
    check::NameComparison found =
        check::compare_names(sources, {.file = main, .texts = &program.texts, .values = &program.values});
    INFO("seed " << seed);
    for (const std::string& difference : found.differences) FAIL_CHECK(difference);
    links += found.links;
    for (const auto& [name, value] : program.values) lacking += value.empty();
  }
  CHECK(links > 4000);
  CHECK(lacking > 300);
}
