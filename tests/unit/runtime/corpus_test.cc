// What the fuzzers of formats begin with is of the formats of today: of another one a reader sees no more than the
// number.

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "runtime/format/bundle.h"
#include "runtime/format/bundle_check.h"
#include "runtime/format/kernel_image.h"
#include "runtime/format/plan.h"
#include "runtime/format/reflection.h"

using namespace tessera::format;

namespace {

const std::filesystem::path corpus = TESSERA_FUZZ_CORPUS;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("the corpus of plans has plans of this version", "[format]") {
  size_t count = 0;
  for (const auto& file : std::filesystem::directory_iterator(corpus / "plan")) {
    auto plan = decode_plan(bytes_of(file.path()));
    INFO(file.path() << (plan ? "" : ": " + plan.error().text));
    CHECK(plan);
    ++count;
  }
  CHECK(count >= 7);
}

TEST_CASE("the corpus of bundles has parts of these formats", "[format]") {
  const std::string bytes = bytes_of(corpus / "bundle/small");
  auto bundle = BundleView::open(bytes);
  REQUIRE(bundle);
  auto checked = check_bundle(*bundle);
  INFO((checked ? "" : checked.error().text));
  CHECK(checked);
  CHECK(read_manifest(bytes_of(corpus / "bundle/manifest")));
  CHECK(read_reflection(bytes_of(corpus / "bundle/reflection")));
  auto descriptors = read_reflection(bytes_of(corpus / "bundle/reflection_descriptors"));
  REQUIRE(descriptors);
  CHECK_FALSE(descriptors->kernels.begin()->second.front().descriptors.empty());
  CHECK(read_kernel_image(bytes_of(corpus / "bundle/object")));
}
