// f32 matmuls beside OpenBLAS's sgemm: one thread, one process, random data, medians of alternating runs.
//
// The kernel is written at schedule level with the tile shape of a schedule entry and goes through every pass from
// there, as a compiled program does.

#include <cblas.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "codegen/llvm/emit_llvm.h"
#include "ir/host/ops.h"
#include "ir/schedule/ops.h"
#include "ir/target/ops.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/tile/ops.h"
#include "passes/pass.h"
#include "runtime/format/kernel_image.h"

extern "C" void openblas_set_num_threads(int threads);

using namespace tessera;

namespace {

struct Options {
  int64_t m = 1024, n = 1024, k = 1024;
  int block_m = 112, block_n = 256, block_k = 256;
  std::string fragment = "14, 32";
  std::string target = "cpu:x86-64-v4";
  int repeats = 15;
  std::string show;
};

using Kernel = void (*)(void* const*, const int64_t*, int64_t, int64_t, void*);

std::string kernel_text(const Options& o) {
  return fmt::format(
      R"(module @m level(schedule) version(1) {{target = "{4}"}} {{
  sched.kernel @mm.0(%a: tensor<M x K, f32>, %b: tensor<K x N, f32>, %y: tensor<M x N, f32>) {{axes = [{{block = {0}, extent = <M>, grid = true, name = "m"}}, {{block = {1}, extent = <N>, grid = true, name = "n"}}, {{block = {2}, extent = <K>, grid = false, name = "k"}}], outputs = 1, schedule = {{fragment = [{3}], packing = "both"}}}} {{
    sched.tile {{axes = ["m", "n"]}} do(%i: i64, %j: i64) {{
      %z: tile<{0} x {1}, f32> = sched.full {{value = 0.0}}
      %acc: tile<{0} x {1}, f32> = sched.pipeline [%z] {{axis = "k", count = <ceildiv(K, {2})>}} do(%k: i64, %c: tile<{0} x {1}, f32>) {{
        %x: tile<{0} x {2}, f32> = sched.load %a, [%i, %k]
        %v: tile<{2} x {1}, f32> = sched.load %b, [%k, %j]
        %d: tile<{0} x {1}, f32> = sched.dot %x, %v, %c
        sched.yield [%d]
      }}
      sched.store %acc, %y, [%i, %j]
      sched.yield []
    }}
    sched.return
  }}
}}
)",
      o.block_m, o.block_n, o.block_k, o.fragment, o.target);
}

class Compiled {
 public:
  explicit Compiled(const Options& options) : machine_(*find_machine(options.target)) {
    schedule::register_ops(context_);
    host::register_ops(context_);
    tile::register_ops(context_);
    target::register_ops(context_);
    auto modules = parse_modules(context_, sources_.add("gemm.tir", kernel_text(options)), diagnostics_);
    bool ok = bool(modules);
    if (ok) module_ = std::move(modules->front());
    PassContext context{diagnostics_, &machine_, nullptr, "", {}};
    for (auto* pass : {schedule_to_tile, merge_loops, simplify_tiles, propagate_masks, simplify_tiles,
                       split_to_fragments, simplify_tiles, allocate_scratch, tile_to_x86, expand_math,
                       legalize_casts, sink_to_uses}) {
      if (ok && pass == tile_to_x86 && options.show == "tile") fmt::print("{}", print(*module_));
      ok = ok && pass(*module_, context);
    }
    if (!ok) {
      fmt::print(stderr, "{}", render_all(diagnostics_, {}));
      std::exit(1);
    }
    Module* all[] = {module_.get()};
    if (options.show == "target") fmt::print("{}", print(*module_));
    if (options.show == "llvm") fmt::print("{}", codegen::print_llvm(all, machine_));
    if (options.show == "asm") fmt::print("{}", codegen::print_assembly(all, machine_));
    codegen::KernelObject object = codegen::compile_kernels(all, machine_);
    fmt::print("compiled in {:.1f} + {:.1f} + {:.1f} + {:.1f} ms (translate, optimise, assemble, link)\n",
               object.timings.translate, object.timings.optimise, object.timings.assemble, object.timings.link);
    load(object.image);
  }

  Kernel kernel() const { return kernel_; }
  int64_t evaluated(Dim dim, const Options& o) const {
    return *evaluate(dim, [&](std::string_view name) -> std::optional<int64_t> {
      return name == "M" ? o.m : name == "N" ? o.n : o.k;
    });
  }
  Op* function() const { return module_->body()->front(); }

 private:
  void load(const std::string& image) {
    auto read = format::read_kernel_image(image);
    const format::ImageSymbol* symbol = read ? read->find("mm.0") : nullptr;
    void* memory = mmap(nullptr, image.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!symbol || memory == MAP_FAILED) {
      fmt::print(stderr, "the kernel cannot be loaded\n");
      std::exit(1);
    }
    std::memcpy(memory, image.data(), image.size());
    mprotect(memory, image.size(), PROT_READ | PROT_EXEC);
    kernel_ = reinterpret_cast<Kernel>(static_cast<char*>(memory) + read->code_at() + symbol->offset);
  }

  Context context_;
  SourceManager sources_;
  DiagnosticEngine diagnostics_{sources_};
  const Machine& machine_;
  std::unique_ptr<Module> module_;
  Kernel kernel_ = nullptr;
};

double seconds(const auto& work) {
  auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + int64_t(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void run(const Options& o) {
  Compiled compiled(o);
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> a(size_t(o.m * o.k)), b(size_t(o.k * o.n)), ours(size_t(o.m * o.n), NAN), theirs = ours;
  for (std::vector<float>* operand : {&a, &b})
    std::generate(operand->begin(), operand->end(), [&] { return uniform(random); });
  Op* function = compiled.function();
  std::vector<int64_t> dims;
  for (Attr name : function->attr("dims")->elements) {
    dims.push_back(name->string == "M" ? o.m : name->string == "N" ? o.n : o.k);
  }
  int64_t programs = 1;
  for (Attr extent : function->attr("grid")->elements) programs *= compiled.evaluated(extent->dim, o);
  int64_t scratch_bytes = compiled.evaluated(function->attr("scratch")->dim, o);
  void* scratch = std::aligned_alloc(4096, size_t(scratch_bytes + 8191) / 4096 * 4096);
  void* buffers[] = {a.data(), b.data(), ours.data()};
  openblas_set_num_threads(1);
  std::vector<double> our_times, their_times;
  for (int i = 0; i < o.repeats + 2; ++i) {
    double mine = seconds([&] { compiled.kernel()(buffers, dims.data(), 0, programs, scratch); });
    double peer = seconds([&] {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, int(o.m), int(o.n), int(o.k), 1, a.data(), int(o.k),
                  b.data(), int(o.n), 0, theirs.data(), int(o.n));
    });
    if (i < 2) continue;
    our_times.push_back(mine);
    their_times.push_back(peer);
  }
  std::free(scratch);
  double worst = 0;
  for (size_t i = 0; i < ours.size(); ++i) worst = std::max(worst, double(std::fabs(ours[i] - theirs[i])));
  double work = 2e-9 * double(o.m) * double(o.n) * double(o.k);
  double mine = work / median(our_times), peer = work / median(their_times);
  fmt::print("{}x{}x{} f32, one thread: tessera {:.1f} GFLOP/s, openblas {:.1f} GFLOP/s, ratio {:.3f}; "
             "largest difference {:.2e}, scratch {} KiB\n",
             o.m, o.n, o.k, mine, peer, mine / peer, worst, scratch_bytes / 1024);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("f32 matmuls beside OpenBLAS, one thread");
  app.add_option("-m", options.m);
  app.add_option("-n", options.n);
  app.add_option("-k", options.k);
  app.add_option("--block-m", options.block_m);
  app.add_option("--block-n", options.block_n);
  app.add_option("--block-k", options.block_k);
  app.add_option("--fragment", options.fragment, "rows, columns of the register block");
  app.add_option("--target", options.target);
  app.add_option("--repeats", options.repeats);
  app.add_option("--show", options.show, "tile, target, llvm or asm: print that form");
  CLI11_PARSE(app, argc, argv);
  run(options);
}
