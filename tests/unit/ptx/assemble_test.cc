// ptxas on our PTX: what it is asked for, what of it is kept, and what its refusals say.

#include <filesystem>

#include "codegen/ptx/assembler.h"
#include "runtime/format/cuda_image.h"
#include "support/cache.h"
#include "support/temporary.h"
#include "unit/ptx/ptx_fixture.h"

using namespace tessera;

TEST_CASE("what ptxas does not take, and its absence, are reported") {
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  std::string nothing = "nothing\n";
  CHECK(!codegen::assemble_ptx(nothing, *find_machine("cuda:sm_90a"), {}, diagnostics));
  std::string text = render_all(diagnostics, {});
  INFO(text);
  CHECK(text.find(codegen::find_ptxas().empty() ? "[no-ptxas]" : "[assembler-refused]") != std::string::npos);
  CHECK(text.find("/tmp") == std::string::npos);
}

TEST_CASE("a cubin has the lines of the source where they are asked for, and no PTX where not") {
  if (codegen::find_ptxas().empty()) {
    WARN("there is no ptxas: no cubin has lines");
    return;
  }
  std::string ptx = PtxFixture().emit(ptx_kernel("%a: f32 = target.load %x\ntarget.store %a, %y\ntarget.return"),
                                      "cuda:sm_90a");
  auto sections = [&](bool line_info) {
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    Result<codegen::Cubin> cubin =
        codegen::assemble_ptx(ptx, *find_machine("cuda:sm_90a"), {}, diagnostics, {.line_info = line_info});
    INFO(render_all(diagnostics, {}));
    REQUIRE(cubin);
    return codegen::describe_cubin(*cubin);
  };
  CHECK(sections(true).find(".nv_debug_ptx_txt") != std::string::npos);
  CHECK(sections(false).find(".nv_debug_ptx_txt") == std::string::npos);
}

TEST_CASE("each kernel is assembled by itself, and once") {
  if (codegen::find_ptxas().empty()) {
    WARN("there is no ptxas: there is nothing to keep");
    return;
  }
  const Machine& machine = *find_machine("cuda:sm_90a");
  TemporaryFolder folder("cache-test");
  REQUIRE(folder.problem().empty());
  Cache cache(folder.path());
  auto kernel = [](const std::string& name, int value) {
    return "\n.visible .entry " + name + "(\n\t.param .u64 " + name + "_param_0)\n.maxntid 128, 1, 1\n{\n" +
           "\t.reg .b64 %r;\n\t.loc\t1 " + std::to_string(value) + " 1\n\tld.param.u64 %r, [" + name +
           "_param_0];\n\tst.global.u32 [%r], " + std::to_string(value) + ";\n\tret;\n}\n";
  };
  const std::string head = ".version 8.3\n.target sm_90a\n.address_size 64\n\n.file\t1 \"a.tsr\"\n";
  auto assembled = [&](std::string ptx, const Cache* kept) {
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    Result<codegen::Cubin> cubin = codegen::assemble_ptx(ptx, machine, {}, diagnostics, {.cache = kept});
    INFO(render_all(diagnostics, {}));
    REQUIRE(cubin);
    return *cubin;
  };
  auto entries = [&] {
    size_t count = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder.path())) {
      count += each.is_regular_file() && each.path().filename().string().front() != '.';
    }
    return count;
  };
  const std::string both = head + kernel("one", 1) + kernel("two", 2);
  codegen::Cubin fresh = assembled(both, nullptr);
  CHECK(entries() == 0);
  auto parts = format::cubin_parts(fresh.bytes);
  REQUIRE(parts);
  REQUIRE(parts->size() == 2);
  CHECK(parts->at(0).functions == std::vector<std::string_view>{"one"});
  CHECK(parts->at(1).functions == std::vector<std::string_view>{"two"});
  CHECK(fresh.assembler.starts_with("ptxas 1"));

  CHECK(assembled(both, &cache).bytes == fresh.bytes);
  CHECK(entries() == 3);  // two kernels, and the version
  codegen::Cubin kept = assembled(both, &cache);
  CHECK(kept.bytes == fresh.bytes);
  CHECK(kept.assembler == fresh.assembler);
  CHECK(kept.kernels.at(1).registers == fresh.kernels.at(1).registers);
  CHECK(entries() == 3);
  // Another place in the source is the same code; another kernel is not.
  std::string moved = both;
  moved.replace(moved.find(".loc\t1 2"), 8, ".loc\t1 9");
  CHECK(assembled(moved, &cache).bytes == fresh.bytes);
  CHECK(entries() == 3);
  CHECK(assembled(head + kernel("one", 1) + kernel("two", 3), &cache).bytes != fresh.bytes);
  CHECK(entries() == 4);
}
