// Bundles have one byte form, and nothing else is read.

#include <catch2/catch.hpp>

#include "runtime/format/bytes.h"
#include "runtime/format/checksum.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

std::string small_bundle() {
  BundleWriter writer;
  REQUIRE(writer.add("ir/graph.tir", "module"));
  REQUIRE(writer.add("schedules.json", "{}\n"));
  Manifest manifest;
  manifest.compiler = "by hand";
  auto bundle = writer.finish(manifest);
  REQUIRE(bundle);
  return *bundle;
}

std::string refusal(const std::string& bytes) {
  auto view = BundleView::open(bytes);
  return view ? "" : view.error().text;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a bundle is read back, aligned and sorted", "[format]") {
  std::string bytes = small_bundle();
  CHECK(bytes == small_bundle());
  auto view = BundleView::open(bytes);
  INFO((view ? "" : view.error().text));
  REQUIRE(view);
  REQUIRE(view->entries().size() == 3);
  CHECK(view->entries()[0].name == "ir/graph.tir");
  CHECK(view->entries()[1].name == "manifest.json");
  CHECK(view->find("schedules.json")->bytes == "{}\n");
  CHECK(view->find("absent") == nullptr);
  CHECK(view->manifest().files.size() == 2);
  for (const BundleEntry& entry : view->entries()) {
    CHECK(size_t(entry.bytes.data() - bytes.data()) % 64 == 0);
  }
  CHECK(view->identity() == xxh3_hex(view->find("manifest.json")->bytes));
}

TEST_CASE("every changed byte of a bundle is refused", "[format]") {
  std::string bytes = small_bundle();
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int flip : {1, 0x20, 0x80}) {
      std::string changed = bytes;
      changed[i] = char(changed[i] ^ flip);
      if (refusal(changed).empty()) FAIL("byte " << i << " is not covered");
    }
  }
}

TEST_CASE("truncated and extended bundles are refused", "[format]") {
  std::string bytes = small_bundle();
  for (size_t size = 0; size < bytes.size(); ++size) {
    CHECK(refusal(bytes.substr(0, size)) != "");
  }
  CHECK(refusal(bytes + '\0') != "");
  CHECK(refusal("x" + bytes) != "");
}

TEST_CASE("names that could leave a folder are refused", "[format]") {
  BundleWriter writer;
  for (const char* name :
       {"", "/a", "a/", "a//b", "..", "a/../b", "a/.b", "a b", "a\\b", "a\n", "manifest.json"}) {
    INFO(name);
    CHECK_FALSE(writer.add(name, ""));
  }
  REQUIRE(writer.add("a", ""));
  CHECK(writer.add("a", "").error().text == "the entry 'a' is there twice");
  std::string bytes = small_bundle();
  for (size_t at = 0; (at = bytes.find("ir/graph.tir", at)) != std::string::npos;) {
    bytes.replace(at, 12, "../graph.tir");
  }
  CHECK(refusal(bytes) == "bundle: the entry name '../graph.tir' is not allowed");
}

TEST_CASE("sizes and places that do not fit are refused before anything is read", "[format]") {
  std::string bytes = small_bundle();
  size_t directory = bytes.find("PK\x01\x02");
  for (size_t field : {20u, 24u, 28u, 42u}) {  // sizes, name length, offset
    std::string changed = bytes;
    changed.replace(directory + field, 2, "\xff\xff");
    CHECK(refusal(changed) != "");
  }
  size_t end = bytes.find("PK\x05\x06");
  for (size_t field : {8u, 10u, 12u, 16u}) {
    std::string changed = bytes;
    changed.replace(end + field, 2, "\xff\xff");
    CHECK(refusal(changed) != "");
  }
}

TEST_CASE("checksums bind contents, manifest and bundle", "[format]") {
  CHECK(crc32("123456789") == 0xcbf43926);
  CHECK(crc32("") == 0);
  CHECK(refusal(replaced(small_bundle(), "module", "modulf")) ==
        "bundle: 'ir/graph.tir' does not have its checksum");
}

TEST_CASE("the manifest has one form", "[format]") {
  Manifest manifest = manifest_for({});
  manifest.entries.push_back({"f",
                              {"B"},
                              {{"x", Dtype::Bf16, {"accum(f32)"}, {"B", "2*B"}}},
                              {},
                              {},
                              {"rng"},
                              {{"B > 0", "where B > 0"}}});
  std::string json = write_manifest(manifest);
  auto again = read_manifest(json);
  INFO((again ? "" : again.error().text));
  REQUIRE(again);
  CHECK(*again == manifest);
  auto why = [](const std::string& text) {
    auto read = read_manifest(text);
    return read ? "" : read.error().text;
  };
  CHECK(why(json + " ") == "manifest.json: it is not in its one form");
  CHECK(why(replaced(json, "\"format\": 1", "\"format\": 2")) ==
        "the bundle has format 2; this build reads 1");
  CHECK(why(replaced(json, "2*B", "2*C")) ==
        "manifest.json: entries[0].inputs[0].shape[1]: expression '2*C': the dimension 'C' is not "
        "known at byte 2");
  CHECK(why(replaced(json, "2*B", "B*(2)")) ==
        "manifest.json: entries[0].inputs[0].shape[1]: an expression is not in its one form");
  CHECK(why(replaced(json, "bf16", "bf17")) ==
        "manifest.json: entries[0].inputs[0].dtype: the dtype is not known");
  CHECK(why(replaced(json, "\"seed\": false", "\"seed\": 0")) ==
        "manifest.json: entries[0].inputs[0].seed: true or false is expected");
  CHECK(why(std::string(100000, '[')) == "manifest.json: it nests too deeply");
  CHECK(why("{\"a\": \"\xff\"}") == "manifest.json: it is not JSON");
  CHECK(why("[]") == "manifest.json: an object is expected");
}

TEST_CASE("reflection has one form and prints as YAML", "[format]") {
  Reflection reflection;
  KernelMeta kernel = sample_kernels()[5];
  kernel.tile = {{"M", 128}, {"N", 128}, {"K", 64}, {"stages", 3}};
  kernel.fragments = {"16x16x16", "bf16", "f32"};
  kernel.regs_per_thread = 96;
  kernel.smem_per_cta = 49152;
  kernel.block = {256, 1, 1};
  kernel.epilogue = {"bias", "gelu"};
  reflection.kernels["cuda:sm_90a"] = {kernel};
  std::string json = write_reflection(reflection);
  auto again = read_reflection(json);
  INFO((again ? "" : again.error().text));
  REQUIRE(again);
  CHECK(*again == reflection);
  CHECK_FALSE(read_reflection(json + "\n"));
  CHECK(
      kernel_yaml(kernel).find("name: tile_linear\n"
                               "tile: {K: 64, M: 128, N: 128, stages: 3}\n"
                               "fragments: {mma: 16x16x16, dtype_in: bf16, dtype_acc: f32}\n"
                               "resources: {regs_per_thread: 96, smem_per_cta: 48KB, scratch: 0}\n"
                               "launch: {grid: [(M + 3) // 4, (N + 3) // 4], block: [256, 1, 1]}\n"
                               "epilogue: [bias, gelu]\n") == 0);
}
