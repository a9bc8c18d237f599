// Bundles have one byte form, and nothing else is read.

#include <catch2/catch.hpp>
#include <regex>

#include "runtime/files/bytes.h"
#include "runtime/files/checksum.h"
#include "runtime/files/text.h"
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
  CHECK(why(json + " ") ==
        "manifest.json: it is not in the one form that this version of tesserac writes; compile the source again");
  CHECK(why(replaced(json, "\"format\": 2", "\"format\": 3")) ==
        "the bundle has format 3; this build reads 2: compile the source again");
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

TEST_CASE("a manifest has each target once, and not too many", "[format]") {
  auto why = [](std::vector<std::string> targets) {
    Manifest manifest = manifest_for({});
    manifest.targets = std::move(targets);
    auto read = read_manifest(write_manifest(manifest));
    return read ? "" : read.error().text;
  };
  std::vector<std::string> many;
  for (int i = 0; i < 4096; ++i) many.push_back("cpu:" + std::to_string(i));
  CHECK(why(many) == "");
  many.push_back("cpu:x");
  CHECK(why(many) == "manifest.json: there are more than 4096 targets");
  CHECK(why({"cpu:a", "cpu:b", "cpu:a"}) == "manifest.json: the target 'cpu:a' is there twice");
}

TEST_CASE("characters that deceive are shown as escapes", "[format]") {
  CHECK(printable("a\nb\tc\x7f") == "a\nb\\x09c\\u007f");
  CHECK(one_line("a\nb") == "a\\x0ab");
  CHECK(printable("\xff\xc3") == "\\xff\\xc3");
  CHECK(printable("\u00e9\u4e2d\U0001f600") == "\u00e9\u4e2d\U0001f600");
  CHECK(printable("soft\u00adhyphen, \u200d, \u3164, \ufff9") == "soft\\u00adhyphen, \\u200d, \\u3164, \\ufff9");
  CHECK(printable("\u202e\u2066\u200b\u2060") == "\\u202e\\u2066\\u200b\\u2060");
  CHECK(one_line("\U000e0041") == "\\udb40\\udc41");  // a tag
  CHECK(is_printable_name("\u00e9"));
  for (const char* name : {"", "\n", "\u00ad", "\u115f", "\U000e0041", "\xff"}) CHECK_FALSE(is_printable_name(name));
  CHECK(is_one_line("\u202e"));
}

TEST_CASE("texts of manifest and reflection are of one line", "[format]") {
  for (std::string_view odd : {"\n", "\r", "\t", "\x1b", "\x7f", "\u0085", "\u2028"}) {
    std::string text = "one" + std::string(odd) + "name: two";
    auto manifest_error = [&](auto change) {
      Manifest manifest = manifest_for({});
      manifest.entries = {{"f", {"B"}, {}, {}, {}, {}, {{"B > 0", "B > 0"}}}};
      change(manifest);
      auto read = read_manifest(write_manifest(manifest));
      return read ? "" : read.error().text;
    };
    CHECK(manifest_error([](Manifest&) {}) == "");
    CHECK(manifest_error([&](Manifest& m) { m.compiler = text; }) ==
          "manifest.json: compiler: it has control characters");
    CHECK(manifest_error([&](Manifest& m) { m.tools = {"a", text}; }) ==
          "manifest.json: tools[1]: it has control characters");
    CHECK(manifest_error([&](Manifest& m) { m.entries[0].guards[0].message = text; }) ==
          "manifest.json: entries[0].guards[0].message: it has control characters");
    auto reflection_error = [&](auto change) {
      Reflection reflection;
      reflection.kernels["cpu:x"] = {sample_kernel("add_one")};
      change(reflection);
      auto read = read_reflection(write_reflection(reflection));
      return read ? "" : read.error().text;
    };
    CHECK(reflection_error([](Reflection&) {}) == "");
    CHECK(reflection_error([&](Reflection& r) { r.kernels["cpu:x"][0].source = text; }) ==
          "reflection.json: kernels['cpu:x'][0].source: it has control characters");
    CHECK(reflection_error([&](Reflection& r) { r.kernels["cpu:x"][0].tile[text] = 1; }) ==
          "reflection.json: kernels['cpu:x'][0].tile: a key has control characters");
    CHECK(reflection_error([&](Reflection& r) { r.kernels[text]; }) ==
          "reflection.json: kernels: a key has control characters");
  }
}

TEST_CASE("texts that mean something in YAML are in quotes there", "[format]") {
  for (const char* plain : {"f.0", "cpu:x86-64-v3", "f.tsr:1:2", "(M + 3) // 4", "2*M*N", "-1", "\u00e9"}) {
    CHECK(yaml_text(plain) == plain);
  }
  for (const char* other : {"", " ", "a, b", "a: b", "a:", "a #b", "[a", "a]", "a}", "{a", "*a", "&a", "!a", "- a",
                            "'a", "|", "min(M, 4)", "a\u202eb"}) {
    CHECK(yaml_text(other) == "\"" + std::string(other) + "\"");
  }
  CHECK(yaml_text("\"") == "\"\\\"\"");
  KernelMeta kernel = sample_kernel("add_one");
  kernel.buffers[0].name = "x, role: result}";
  CHECK(kernel_yaml(kernel).find("  - {name: \"x, role: result}\", dtype: f32") != std::string::npos);
}

TEST_CASE("dims of a kernel are there once, and not too many", "[format]") {
  auto why = [](size_t count, const std::string& last) {
    Reflection reflection;
    KernelMeta& kernel = reflection.kernels["cpu:x"].emplace_back(sample_kernel("add_one"));
    while (kernel.dims.size() < count) kernel.dims.push_back("d" + std::to_string(kernel.dims.size()));
    kernel.dims.back() = last;
    kernel.grid = {dim_expr(uint32_t(count - 1))};
    auto read = read_reflection(write_reflection(reflection));
    return read ? "" : read.error().text;
  };
  CHECK(why(4096, "last") == "");
  CHECK(why(4097, "last") == "reflection.json: kernels['cpu:x'][0].dims: there are more than 4096");
  CHECK(why(9, "d3") == "reflection.json: kernels['cpu:x'][0].dims: a dimension is there twice");
}

TEST_CASE("reflection has one form and prints as YAML", "[format]") {
  Reflection reflection;
  KernelMeta kernel = sample_kernel("tile_linear");
  kernel.tile = {{"M", 128}, {"N", 128}, {"K", 64}, {"stages", 3}};
  kernel.fragments = {"16x16x16", "bf16", "f32"};
  kernel.regs_per_thread = 96;
  kernel.smem_per_cta = 49152;
  kernel.block = {256, 1, 1};
  kernel.epilogue = {"bias", "gelu"};
  kernel.source = "linear.tsr:5:1";
  kernel.title = "linear";
  auto expr = [&](const char* text) { return *parse_expr(text, kernel.dims); };
  kernel.work = {expr("2*M*N*K"), expr("2*M*N*K"), "bf16", true, true, expr("4*M*K"), expr("4*M*N")};
  kernel.checks = {{"load", 0, "linear.tsr:6:3"}, {"store", -1, ""}};
  reflection.kernels["cuda:sm_90a"] = {kernel};
  reflection.steps["cuda:sm_90a"]["f"] = {"f.tsr:1:2", ""};
  std::string json = write_reflection(reflection);
  auto again = read_reflection(json);
  INFO((again ? "" : again.error().text));
  REQUIRE(again);
  CHECK(*again == reflection);
  CHECK_FALSE(read_reflection(json + "\n"));
  // Metadata of another build have other keys: the number is read first.
  for (const char* number : {"2", "4"}) {
    std::string other = std::regex_replace(json, std::regex("\"format\": \\d+"), cat("\"format\": ", number));
    auto refused = read_reflection(std::regex_replace(other, std::regex("dot_flops"), "products"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().text == cat("reflection.json: it has format ", number,
                                      "; this build reads 3: compile the source again"));
  }
  CHECK(
      kernel_yaml(kernel).find("name: tile_linear\n"
                               "tile: {K: 64, M: 128, N: 128, stages: 3}\n"
                               "fragments: {mma: 16x16x16, dtype_in: bf16, dtype_acc: f32}\n"
                               "resources: {regs_per_thread: 96, smem_per_cta: 48KB, scratch: 0, "
                               "spills: 0}\n"
                               "launch: {grid: [(M + 3) // 4, (N + 3) // 4], block: [256, 1, 1], "
                               "cluster: [1, 1, 1], persistent: false, waits: false}\n"
                               "epilogue: [bias, gelu]\n") == 0);
}

namespace {

/// A kernel that copies boxes of its first buffer by a tensor map.
KernelMeta kernel_with_descriptor() {
  KernelMeta kernel = sample_kernel("tile_linear");
  kernel.block = {384, 1, 1};
  kernel.cluster = {2, 1, 1};
  kernel.persistent = true;
  kernel.waits = true;
  auto expr = [&](const char* text) { return *parse_expr(text, kernel.dims); };
  kernel.descriptors.push_back(
      {0, Dtype::Bf16, {expr("K"), expr("M")}, {expr("2*K")}, expr("0"), {64, 128}, 128});
  return kernel;
}

/// Why read_reflection refuses a bundle with this kernel; "" when it does not.
std::string refusal_of(const KernelMeta& kernel) {
  Reflection reflection;
  reflection.kernels["cuda:sm_90a"] = {kernel};
  auto read = read_reflection(write_reflection(reflection));
  if (!read) return read.error().text;
  CHECK(*read == reflection);
  return "";
}

}  // namespace

TEST_CASE("clusters, persistence and descriptors are read back and printed", "[format]") {
  KernelMeta kernel = kernel_with_descriptor();
  CHECK(refusal_of(kernel) == "");
  std::string yaml = kernel_yaml(kernel);
  CHECK(yaml.find("block: [384, 1, 1], cluster: [2, 1, 1], persistent: true, waits: true}\n") != yaml.npos);
  CHECK(
      yaml.ends_with("descriptors:\n"
                     "  - {buffer: a, dtype: bf16, dims: [K, M], strides: [2*K], offset: 0, "
                     "box: [64, 128], swizzle: 128}\n"));
}

TEST_CASE("descriptors of windows are read back, printed and checked", "[format]") {
  KernelMeta kernel = kernel_with_descriptor();
  KernelDescriptor& map = kernel.descriptors[0];
  map.dims.push_back(const_expr(3));
  map.strides.push_back(const_expr(4096));
  map.lower = {-1};
  map.upper = {1};
  map.steps = {2};
  CHECK(refusal_of(kernel) == "");
  CHECK(kernel_yaml(kernel).ends_with("box: [64, 128], swizzle: 128, lower: [-1], upper: [1], steps: [2]}\n"));
  const std::string place = "reflection.json: kernels['cuda:sm_90a'][0]: descriptor 0: ";
  map.steps = {9};
  CHECK(refusal_of(kernel) == place + "windows begin 9 from each other");
  map.steps = {2};
  map.lower = {-40000};
  CHECK(refusal_of(kernel) == place + "windows begin -40000 from the end of an image");
  map.lower = {-1, -1};
  CHECK(refusal_of(kernel) == place + "its windows disagree about the rank");
  map.lower = {-1};
  map.dims.pop_back();
  map.strides.pop_back();
  CHECK(refusal_of(kernel) == place + "it has windows along 1 axes");
}

TEST_CASE("kernel metadata that no machine could follow is refused", "[format]") {
  const std::string place = "reflection.json: kernels['cuda:sm_90a'][0]: ";
  auto refused = [&](auto change) {
    KernelMeta kernel = kernel_with_descriptor();
    change(kernel);
    return refusal_of(kernel);
  };
  using Meta = KernelMeta;
  CHECK(refused([](Meta& k) {
          k.block = {1024, 2, 1};
        }) == place + "the block is none of 1 to 1024 threads");
  CHECK(refused([](Meta& k) { k.block = {32}; }) != "");
  CHECK(refused([](Meta& k) { k.block = {INT64_MAX, INT64_MAX, 1}; }) != "");
  CHECK(refused([](Meta& k) {
          k.cluster = {0, 1, 1};
        }) == place + "the cluster is none of 1 to 16 blocks");
  CHECK(refused([](Meta& k) { k.smem_per_cta = -1; }) ==
        place + "there is no machine with -1 bytes of shared memory");
  CHECK(refused([](Meta& k) { k.descriptors[0].buffer = 3; }) ==
        place + "descriptor 0: it names no buffer");
  CHECK(refused([](Meta& k) { k.descriptors[0].dtype = Dtype::I4; }) ==
        place + "descriptor 0: tensor maps have no such dtype");
  CHECK(refused([](Meta& k) { k.descriptors[0].strides.clear(); }) ==
        place + "descriptor 0: its dims, strides and box disagree about the rank");
  CHECK(refused([](Meta& k) { k.descriptors[0].box[1] = 257; }) ==
        place + "descriptor 0: the box extent 257 is beyond 256");
  CHECK(refused([](Meta& k) { k.descriptors[0].box[0] = 4; }) ==
        place + "descriptor 0: a row of its box is not a multiple of 16 bytes");
  CHECK(refused([](Meta& k) { k.descriptors[0].box[0] = 128; }) ==
        place + "descriptor 0: a row of its box is longer than its swizzle");
  CHECK(refused([](Meta& k) { k.descriptors[0].swizzle = 16; }) ==
        place + "descriptor 0: there is no swizzle of 16 bytes");
  CHECK(refused([](Meta& k) { k.descriptors.assign(17, k.descriptors[0]); }) ==
        place + "there are too many descriptors");
  CHECK(refused([](Meta& k) { k.descriptors[0].dims.assign(6, const_expr(1)); }) ==
        place + "descriptor 0: it has 6 dims");
}
