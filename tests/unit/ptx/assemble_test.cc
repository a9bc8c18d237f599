// ptxas on our PTX: what it is asked for, what of it is kept, and what its refusals say.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

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

TEST_CASE("kernels are assembled in groups, and each group once") {
  if (codegen::find_ptxas().empty()) {
    WARN("there is no ptxas: there is nothing to keep");
    return;
  }
  const Machine& machine = *find_machine("cuda:sm_90a");
  TemporaryFolder folder("cache-test");
  REQUIRE(folder.problem().empty());
  Cache cache(folder.path());
  auto kernel = [](int number, int value, int line) {
    std::string name = "kernel" + std::to_string(number);
    return "\n.visible .entry " + name + "(\n\t.param .u64 " + name + "_param_0)\n.maxntid 128, 1, 1\n{\n" +
           "\t.reg .b64 %r;\n\t.loc\t1 " + std::to_string(line) + " 1\n\tld.param.u64 %r, [" + name +
           "_param_0];\n\tst.global.u32 [%r], " + std::to_string(value) + ";\n\tret;\n}\n";
  };
  constexpr int count = 80, changed = 40;
  auto module = [&](int value, int line) {
    std::string ptx = ".version 8.3\n.target sm_90a\n.address_size 64\n\n.file\t1 \"a.tsr\"\n";
    for (int i = 0; i < count; ++i) ptx += kernel(i, i == changed ? value : i, line + i);
    return ptx;
  };
  auto assembled = [&](std::string ptx, const Cache* kept) {
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    Result<codegen::Cubin> cubin = codegen::assemble_ptx(ptx, machine, {}, diagnostics, {.cache = kept});
    INFO(render_all(diagnostics, {}));
    REQUIRE(cubin);
    return *cubin;
  };
  auto entries = [&] {
    size_t files = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder.path())) {
      files += each.is_regular_file() && each.path().filename().string().front() != '.';
    }
    return files;
  };
  codegen::Cubin fresh = assembled(module(1, 1), nullptr);
  CHECK(entries() == 0);
  CHECK(fresh.assembler.starts_with("ptxas 1"));
  auto parts = format::cubin_parts(fresh.bytes);
  REQUIRE(parts);
  CHECK(parts->size() > 2);
  CHECK(parts->size() < count / 2);
  std::set<std::string> names;
  for (const format::CubinPart& part : *parts) names.insert(part.functions.begin(), part.functions.end());
  CHECK(names.size() == count);
  REQUIRE(fresh.kernels.size() == count);
  for (const codegen::KernelResources& each : fresh.kernels) CHECK(names.contains(each.name));

  CHECK(assembled(module(1, 1), &cache).bytes == fresh.bytes);
  size_t kept = entries();
  CHECK(kept >= parts->size());
  CHECK(kept <= parts->size() + 1);  // and the version, where ptxas is no script
  codegen::Cubin again = assembled(module(1, 1), &cache);
  CHECK(again.bytes == fresh.bytes);
  CHECK(again.assembler == fresh.assembler);
  CHECK(again.kernels.at(1).registers == fresh.kernels.at(1).registers);
  // Other places in the source are the same code.
  CHECK(assembled(module(1, 7), &cache).bytes == fresh.bytes);
  CHECK(entries() == kept);
  // Another kernel is its group anew, or that one and its neighbour.
  CHECK(assembled(module(2, 1), &cache).bytes != fresh.bytes);
  CHECK(entries() > kept);
  CHECK(entries() <= kept + 2);
}

TEST_CASE("what ptxas did not write whole is an error, and is not kept") {
  if (codegen::find_ptxas().empty()) {
    WARN("there is no ptxas: nothing is written");
    return;
  }
  TemporaryFolder folder("cache-test");
  Cache cache(folder.file("cache"));
  const std::string real = codegen::find_ptxas(), before = std::getenv("PATH");
  auto assembled = [&](std::string& said) {
    SourceManager sources;
    DiagnosticEngine diagnostics(sources);
    std::string ptx = PtxFixture().emit(ptx_kernel("%a: f32 = target.load %x\ntarget.store %a, %y\ntarget.return"),
                                        "cuda:sm_90a");
    auto cubin = codegen::assemble_ptx(ptx, *find_machine("cuda:sm_90a"), {}, diagnostics, {.cache = &cache});
    said = render_all(diagnostics, {});
    return bool(cubin);
  };
  // $7 is the object: -v --gpu-name G --suppress-debug-info SOURCE -o OBJECT.
  const std::pair<const char*, const char*> scripts[] = {
      {": > $7", "not complete"},
      {"echo text > $7", "not complete"},
      {"REAL \"$@\"; truncate -s 2000 $7", "not complete"},
      {"REAL \"$@\" > /dev/null 2>&1", "not complete"},
      {"exit 0", "not complete"},
      {"exit 3", "it ended with status 3 and said nothing"},
      {"echo no; exit 1", "[assembler-refused]"}};
  for (auto [script, wanted] : scripts) {
    std::string text = script;
    if (size_t at = text.find("REAL"); at != std::string::npos) text.replace(at, 4, real);
    std::ofstream(folder.file("ptxas")) << "#!/bin/sh\nif [ \"$1\" = --version ]; then exec " << real
                                        << " --version; fi\n" << text << "\n";
    std::filesystem::permissions(folder.file("ptxas"), std::filesystem::perms::owner_all);
    ::setenv("PATH", (folder.path() + ":" + before).c_str(), 1);
    std::string said;
    bool ok = assembled(said);
    ::setenv("PATH", before.c_str(), 1);
    INFO(script << "\n" << said);
    CHECK(!ok);
    CHECK(said.find(wanted) != std::string::npos);
  }
  std::string said;
  CHECK(assembled(said));
}
