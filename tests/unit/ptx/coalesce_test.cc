// Registers of loops and of tensor cores: nothing is copied that need not be, and what must be is right.

#include "unit/ptx/gemm_kernel.h"
#include "unit/ptx/ptx_fixture.h"

using namespace tessera;

namespace {

/// The lines from the label that the last backward branch goes to up to that branch.
std::string last_loop(const std::string& ptx) {
  size_t best = std::string::npos, end = 0;
  for (size_t at = ptx.find("bra BB_"); at != std::string::npos; at = ptx.find("bra BB_", at + 1)) {
    std::string label = ptx.substr(at + 4, ptx.find(';', at) - at - 4);
    size_t target = ptx.find("\n" + label + ":");
    if (target < at) {
      best = target;
      end = at;
    }
  }
  return best == std::string::npos ? "" : ptx.substr(best, end - best);
}

}  // namespace

TEST_CASE("a ring of MMAs keeps its accumulator in place") {
  std::string ptx = PtxFixture().emit(wgmma_kernel(), "cuda:sm_90a");
  INFO(ptx);
  REQUIRE(ptx.find(".entry gemm(") != std::string::npos);
  CHECK(ptx.find(".reqnctapercluster 2, 1, 1") != std::string::npos);
  CHECK(ptx.find(".maxntid 384, 1, 1\n.minnctapersm 1") != std::string::npos);
  std::string loop = last_loop(ptx);
  CHECK(count_of(loop, "wgmma.mma_async") == 4);
  CHECK(count_of(loop, "mov.") == 0);
  // The accumulator is set once, before the loop; beside it two counters and the mask of the multicast.
  CHECK(count_of(ptx, "mov.b32") == 128 + 3);
  check_assembles(ptx, "cuda:sm_90a");
}

TEST_CASE("an accumulator that must be copied is an error") {
  std::string message = PtxFixture().emit(wgmma_kernel(true), "cuda:sm_90a");
  INFO(message);
  CHECK(message.find("codegen/ptx: 'nv.wgmma' copies 128 words of an accumulator") != std::string::npos);
  CHECK(message.find("[accumulator-copied]") != std::string::npos);
}

TEST_CASE("fragments, ldmatrix and cp.async assemble for sm_80") {
  for (const char* machine : {"cuda:sm_80", "cuda:sm_90a"}) {
    std::string ptx = PtxFixture().emit(mma_sync_kernel(), machine);
    INFO(ptx);
    REQUIRE(ptx.find(".entry gemm80(") != std::string::npos);
    CHECK(count_of(ptx, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") == 1);
    check_assembles(ptx, machine);
  }
}

TEST_CASE("a loop carries values in their registers") {
  std::string ptx = PtxFixture().emit(ptx_kernel(R"(
    %zero: i32 = target.constant {value = 0}
    %one: i32 = target.constant {value = 1}
    %v: reg<f32 x 4> = target.load %x
    %end: i32 = target.cast %n
    target.branch ^loop(%zero, %v)
  ^loop(%i: i32, %a: reg<f32 x 4>):
    %b: reg<f32 x 4> = target.mul %a, %v
    %j: i32 = target.add %i, %one
    %more: bool = target.lt %j, %end
    target.cond_branch %more, ^loop(%j, %b), ^out
  ^out:
    target.store %b, %y
    target.return)"), "cuda:sm_90a");
  INFO(ptx);
  CHECK(count_of(last_loop(ptx), "mov.") == 0);
  // %v is read in the loop and after it starts, so its copy is the accumulator.
  CHECK(count_of(ptx, "mov.b32") == 5);
  check_assembles(ptx, "cuda:sm_90a");
}

TEST_CASE("values that change places in a loop go through one more register") {
  std::string ptx = PtxFixture().emit(ptx_kernel(R"(
    %one: i32 = target.constant {value = 1}
    %a0: f32 = target.load %x
    %b0: f32 = target.load %y
    %end: i32 = target.cast %n
    target.branch ^loop(%t, %a0, %b0)
  ^loop(%i: i32, %a: f32, %b: f32):
    %j: i32 = target.add %i, %one
    %more: bool = target.lt %j, %end
    target.cond_branch %more, ^loop(%j, %b, %a), ^out
  ^out:
    target.store %a, %x
    target.store %b, %y
    target.return)"), "cuda:sm_90a");
  INFO(ptx);
  CHECK(count_of(ptx, "%rsaved0") == 3);
  CHECK(count_of(last_loop(ptx), "mov.b32") == 3);
  check_assembles(ptx, "cuda:sm_90a");
}

TEST_CASE("predicates and addresses are carried too") {
  std::string ptx = PtxFixture().emit(ptx_kernel(R"(
    %no: reg<bool x 2> = target.constant {value = 0}
    %four: i32 = target.constant {value = 4}
    %one: i32 = target.constant {value = 1}
    %s: ptr<shared> = nv.shared_base
    target.branch ^loop(%t, %no, %x, %s)
  ^loop(%i: i32, %m: reg<bool x 2>, %p: ptr, %q: ptr<shared>):
    %f: reg<f32 x 2> = target.load %p
    %z: reg<f32 x 2> = target.load_masked %q, %m, %f
    %m2: reg<bool x 2> = target.lt %z, %f
    %p2: ptr = target.offset %p, %four
    %q2: ptr<shared> = target.offset %q, %four
    %j: i32 = target.sub %i, %one
    %more: bool = target.gt %j, %one
    target.cond_branch %more, ^loop(%j, %m2, %p2, %q2), ^out
  ^out:
    target.store_masked %f, %p2, %m2
    target.return)", "shared = 1024, threads = 128"), "cuda:sm_90a");
  INFO(ptx);
  CHECK(ptx.find("setp.ne.b32 %p") != std::string::npos);
  check_assembles(ptx, "cuda:sm_90a");
}

TEST_CASE("the ops of clusters, bulk stores and matrices assemble") {
  std::string ptx = PtxFixture().emit(R"(module @m level(target) version(1) {
  target.func @k(%x: ptr, %map: ptr) {descriptors = [{box = [8, 8, 2], buffer = 0, dims = [64, 64, 4], dtype = bf16,
offset = 0, strides = [128, 8192], swizzle = 0}], dims = [], grid = [1], outputs = 0, params = [!tensor<16384, bf16>],
registers = 96, schedule = {}, scratch = 0, shared = 4096, threads = 256} {
    %t: i32 = nv.thread_id
    %s: ptr<shared> = nv.shared_base
    %block: i32 = nv.cta_id
    %blocks: i32 = nv.cta_count
    %rank: i32 = nv.cluster_rank
    %sum: i32 = target.add %block, %blocks
    %lane: i32 = nv.shuffle_index %sum, %rank
    %eight: i32 = target.constant {value = 8}
    %other: ptr<shared> = nv.map_shared %s, %lane
    %next: ptr<shared> = target.offset %other, %eight
    nv.mbarrier_arrive %next
    nv.mbarrier_arrive %s
    nv.barrier_arrive {id = 2, threads = 256}
    nv.fence_async
    %one: bool = nv.elect
    target.cond_branch %one, ^store, ^out
  ^store:
    nv.prefetch_descriptor %map
    nv.tma_store %map, [%t, %lane, %rank], %s
    nv.bulk_commit
    nv.bulk_wait {pending = 0, read = true}
    nv.bulk_wait {pending = 0}
    target.branch ^out
  ^out:
    %h: reg<bf16 x 8> = nv.ldmatrix %s {count = 4}
    nv.stmatrix %h, %s {count = 4, transpose = true}
    target.return
  }
}
)", "cuda:sm_90a");
  INFO(ptx);
  CHECK(ptx.find(".maxnreg 96") != std::string::npos);
  CHECK(ptx.find("mbarrier.arrive.shared::cluster.b64 _, [%r") != std::string::npos);
  CHECK(ptx.find("+8];") != std::string::npos);
  check_assembles(ptx, "cuda:sm_90a");
}

TEST_CASE("an accumulator that starts from a constant is set before the fence") {
  std::string attributes = " {a_major = \"k\", b_major = \"k\", dtype = bf16, k = 16, m = 64, n = 8}\n";
  std::string body = "%d: i64 = target.cast %t\n%c: reg<f32 x 4> = target.constant {value = 1.0}\n"
                     "%yes: bool = target.constant {value = 1}\n%no: bool = target.constant {value = 0}\n"
                     "nv.wgmma_fence\n%p: reg<f32 x 4> = nv.wgmma %d, %d, %c, %yes" + attributes +
                     "nv.wgmma_commit\n%r: reg<f32 x 4> = nv.wgmma_wait [%p] {pending = 0}\ntarget.store %r, %y\n"
                     "%u: reg<f32 x 4> = nv.undefined\nnv.wgmma_fence\n"
                     "%q: reg<f32 x 4> = nv.wgmma %d, %d, %u, %no" + attributes +
                     "nv.wgmma_commit\n%v: reg<f32 x 4> = nv.wgmma_wait [%q] {pending = 0}\ntarget.store %v, %y\n"
                     "target.return";
  std::string ptx = PtxFixture().emit(ptx_kernel(body), "cuda:sm_90a");
  INFO(ptx);
  CHECK(count_of(ptx, "mov.b32") == 4);
  CHECK(ptx.rfind("mov.b32") < ptx.find("wgmma.fence"));
  check_assembles(ptx, "cuda:sm_90a");
}

TEST_CASE("messages of ptxas that mean a loss are errors") {
  std::string messages =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register "
      "requirements.\n"
      "ptxas info    : Compiling entry function 'a$0' for 'sm_90a'\n"
      "ptxas info    : Function properties for a$0\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 3 barriers, 8 bytes cumulative stack size\n"
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to "
      "non wgmma instructions defining accumulator registers of a wgmma between start and end of the pipeline stage "
      "in the function 'a$0'\n";
  std::vector<codegen::KernelResources> kernels = codegen::read_ptxas_messages(messages);
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  const Machine& machine = *find_machine("cuda:sm_90a");
  CHECK(codegen::check_resources(kernels, {}, machine, diagnostics).failed());
  std::string text = render_all(diagnostics, {});
  INFO(text);
  CHECK(text.find("[assembler-loss]") != std::string::npos);
  CHECK(text.find("note: this is 'a$0' of the code for cuda:sm_90a") != std::string::npos);
  CHECK(text.find("help: use smaller blocks or more warps") != std::string::npos);
  CHECK(text.find("kernel 'a$0' would be slow: (C7510)") != std::string::npos);
  CHECK(text.find("kernel 'a$0' does not fit its registers: 16 bytes of spills, 8 bytes of stack") !=
        std::string::npos);
  CHECK(text.find("kernel '(not named)' would be slow: (C7508)") != std::string::npos);
  CHECK(kernels.back().registers == 168);
  CHECK(kernels.back().barriers == 3);
}

TEST_CASE("a kernel that runs where no variant may may spill") {
  std::vector<codegen::KernelResources> kernels = codegen::read_ptxas_messages(
      "ptxas info    : Compiling entry function 'a$0' for 'sm_90a'\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n");
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  codegen::KernelSources known{{"a$0", {Loc(), "scores", true}}};
  CHECK(codegen::check_resources(kernels, known, *find_machine("cuda:sm_90a"), diagnostics));
  std::string text = render_all(diagnostics, {});
  INFO(text);
  CHECK(text.find("warning: kernel 'scores', which runs where") != std::string::npos);
  CHECK(text.find("[last-resort-spills]") != std::string::npos);
}

TEST_CASE("a kernel whose schedule is the compiler's may spill, and gets smaller tiles for more than a few bytes") {
  auto spills = [](int64_t bytes) {
    return std::vector<codegen::KernelResources>{{.name = "a$0", .stack_bytes = 8, .spill_bytes = bytes}};
  };
  SourceManager sources;
  FileId file = sources.add("model.tsr", "a\n");
  Loc call{file, 1, 1, 1};
  DiagnosticEngine diagnostics(sources);
  codegen::KernelSources made{{"a$0", {Loc(), "scores", false, call, false}}};
  CHECK(codegen::check_resources(spills(16), made, *find_machine("cuda:sm_90a"), diagnostics));
  std::string text = render_all(diagnostics, {});
  INFO(text);
  CHECK(text.find("warning: the compiler's schedule of kernel 'scores' keeps values in memory: 16 bytes") !=
        std::string::npos);
  CHECK(text.find("[schedule-spills]") != std::string::npos);
  CHECK(codegen::calls_to_halve(spills(16), made).empty());
  CHECK(codegen::calls_to_halve(spills(1600), made) == std::vector{call});
  // The program's own schedules are as they are.
  CHECK(codegen::calls_to_halve(spills(1600), {{"a$0", {Loc(), "scores", false, call, true}}}).empty());
  CHECK(codegen::calls_to_halve(spills(1600), {{"a$0", {Loc(), "scores", true, call, false}}}).empty());
}

TEST_CASE("one diagnostic reports what spills of one kernel for one call") {
  std::vector<codegen::KernelResources> kernels = codegen::read_ptxas_messages(
      "ptxas info    : Compiling entry function 'a$0' for 'sm_90a'\n"
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads\n"
      "ptxas info    : Compiling entry function 'a$1' for 'sm_90a'\n"
      "    8 bytes stack frame, 4 bytes spill stores, 28 bytes spill loads\n");
  SourceManager sources;
  FileId file = sources.add("model.tsr", "a\nb\n");
  DiagnosticEngine diagnostics(sources);
  codegen::KernelSource source{Loc{file, 1, 1, 1}, "scores", false, Loc{file, 2, 1, 1}};
  CHECK(codegen::check_resources(kernels, {{"a$0", source}, {"a$1", source}}, *find_machine("cuda:sm_90a"), diagnostics)
            .failed());
  std::string text = render_all(diagnostics, {});
  INFO(text);
  CHECK(diagnostics.error_count() == 1);
  CHECK(text.find("32 bytes of spills") != std::string::npos);
  CHECK(text.find("note: this is 'a$0', 'a$1' of the code for cuda:sm_90a") != std::string::npos);
  CHECK(text.find("- it is for this call") != std::string::npos);
}

namespace {

/// Adds registers that all live over a barrier.
std::string many_values(int lanes) {
  std::string type = ": reg<f32 x " + std::to_string(lanes) + "> = ";
  return ptx_kernel("%a" + type +
                    "target.load %x {align = 16}\nnv.barrier {id = 0, threads = 128}\ntarget.branch ^more\n"
                    "^more:\n%b" +
                    type + "target.load %y {align = 16}\n%c" + type +
                    "target.mul %a, %b\n"
                    "target.store %c, %y\ntarget.return");
}

}  // namespace

TEST_CASE("blocks share a multiprocessor as far as their values fit its registers") {
  auto blocks = [](int lanes, const std::string& threads = "128") {
    std::string kernel = many_values(lanes), given = "threads = 128";
    for (size_t at = 0; (at = kernel.find(given, at)) != std::string::npos; ++at)
      kernel.replace(at, given.size(), "threads = " + threads);
    std::string ptx = PtxFixture().emit(kernel, "cuda:sm_90a");
    size_t at = ptx.find(".minnctapersm ");
    INFO(ptx);
    REQUIRE(at != std::string::npos);
    return std::stoi(ptx.substr(at + 14));
  };
  CHECK(blocks(8) == 8);    // 64 registers
  CHECK(blocks(40) == 8);
  CHECK(blocks(72) == 5);   // 72 and the rest
  CHECK(blocks(200) == 2);
  // 72 registers of 512 threads are one block, 64 are two; of 128 threads seven and eight.
  CHECK(blocks(50, "512") == 2);
  CHECK(blocks(50, "256") == 4);
  CHECK(blocks(50) == 7);
  CHECK(blocks(72, "512") == 1);
}

TEST_CASE("a kernel that spills for others to share its multiprocessor has it alone") {
  if (codegen::find_ptxas().empty()) {
    WARN("there is no ptxas: nothing spills");
    return;
  }
  std::string ptx = PtxFixture().emit(many_values(64), "cuda:sm_90a");
  size_t at = ptx.find(".minnctapersm ");
  REQUIRE(at != std::string::npos);
  ptx.replace(at, ptx.find('\n', at) - at, ".minnctapersm 12");
  SourceManager sources;
  DiagnosticEngine diagnostics(sources);
  Result<codegen::Cubin> cubin = codegen::assemble_ptx(ptx, *find_machine("cuda:sm_90a"), {}, diagnostics);
  INFO(render_all(diagnostics, {}));
  REQUIRE(cubin);
  CHECK(cubin->kernels.at(0).spill_bytes == 0);
  CHECK(cubin->kernels.at(0).registers > 65536 / 12 / 128);
  CHECK(ptx.find(".minnctapersm 1\n") != std::string::npos);
}
