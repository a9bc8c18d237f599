#pragma once
// A product of bf16 with an epilogue, as the compiler splits it for machines that multiply pairs.

#include <fmt/format.h>

#include <thread>

#include "unit/codegen/amx_emulator.h"
#include "unit/codegen/compiled_kernel.h"

namespace tessera::test {

/// y = a x b + bias with blocks of 64 x 96; b is stored as [N, K] where `turned`.
inline std::string gemm(bool turned, const std::string& factor = "%x") {
  return fmt::format(
      R"(  sched.kernel @mm.0(%a: tensor<M x K, bf16>, %b: tensor<{0}, bf16>, %bias: tensor<N, f32>, %y: tensor<M x N, f32>) {{axes = [{{block = 64, extent = <M>, grid = true, name = "m"}}, {{block = 96, extent = <N>, grid = true, name = "n"}}, {{block = 32, extent = <K>, grid = false, name = "k"}}], outputs = 1, schedule = {{}}}} {{
    %w: view<K x N, bf16, strides = [{1}], offset = 0, space = global> = sched.view %b
    sched.tile {{axes = ["m", "n"]}} do(%i: i64, %j: i64) {{
      %z: tile<64 x 96, f32> = sched.full {{value = 0.0}}
      %acc: tile<64 x 96, f32> = sched.pipeline [%z], [] {{axis = "k", count = <ceildiv(K, 32)>}} do(%k: i64, %c: tile<64 x 96, f32>) {{
        %x: tile<64 x 32, bf16> = sched.load %a, [%i, %k]
        %e: tile<64 x 32, bf16> = sched.{2}
        %v: tile<32 x 96, bf16> = sched.load %w, [%k, %j]
        %d: tile<64 x 96, f32> = sched.dot %e, %v, %c
        sched.yield [%d]
      }}
      %b1: tile<96, f32> = sched.load %bias, [%j]
      %b2: tile<1 x 96, f32> = sched.reshape %b1
      %b3: tile<64 x 96, f32> = sched.broadcast %b2
      %s: tile<64 x 96, f32> = sched.add %acc, %b3
      sched.store %s, %y, [%i, %j]
      sched.yield []
    }}
    sched.return
  }}
)",
      turned ? "N x K" : "K x N", turned ? "1, K" : "N, 1", factor == "%x" ? "reshape %x" : factor);
}

inline DimValues sizes(int64_t m, int64_t n, int64_t k) {
  return {{"K", k}, {"M", m}, {"N", n}};
}

/// A product split into fragments and compiled for a machine that multiplies pairs.
class Product {
 public:
  explicit Product(const char* machine, bool turned = false, const std::string& factor = "%x")
      : split_(schedule_module(gemm(turned, factor)), machine), turned_(turned) {
    split_.to_tiles();
    bool fine = split_.to_fragments();
    INFO(split_.messages());
    REQUIRE(fine);
    lowered_ = std::make_unique<LoweredModule>(split_.text(), *find_machine(machine));
    INFO(lowered_->messages());
    REQUIRE(lowered_->messages().empty());
  }

  TileTest& split() { return split_; }
  LoweredModule& lowered() { return *lowered_; }
  bool turned() const { return turned_; }

  /// Runs all programs on `threads` threads.
  void run(std::vector<TensorValue>& tensors, const DimValues& dims, int threads = 1) {
    auto value_of = [&](Dim dim) {
      return *evaluate(
          dim, [&](std::string_view name) { return std::optional(dims.find(name)->second); });
    };
    Op* target = lowered_->module().body()->front();
    std::vector<int64_t> values;
    for (std::string_view name : target->attr(target::attr::Func::dims))
      values.push_back(dims.find(name)->second);
    std::vector<void*> buffers;
    for (TensorValue& tensor : tensors) buffers.push_back(tensor.data());
    int64_t programs = 1;
    for (Dim extent : target->attr(target::attr::Func::grid)) programs *= value_of(extent);
    size_t bytes = size_t(value_of(target->attr(target::attr::Func::scratch))) / 64 * 64 + 64;
    KernelFunction function = lowered_->kernel("mm.0");
    std::vector<std::thread> workers;
    for (int64_t worker = 0; worker < threads; ++worker) {
      workers.emplace_back([&, worker] {
        void* scratch = std::aligned_alloc(64, bytes);
        std::memset(scratch, 0x7f, bytes);
        function(buffers.data(), values.data(), programs * worker / threads,
                 programs * (worker + 1) / threads, scratch);
        std::free(scratch);
        released_ = released_ && !AmxEmulator::is_configured();
      });
    }
    for (std::thread& worker : workers) worker.join();
  }
  bool released() const { return released_; }

 private:
  TileTest split_;
  bool turned_;
  std::unique_ptr<LoweredModule> lowered_;
  bool released_ = true;
};

/// Every element against a sum in double; K roundings of f32 are allowed for.
inline void check_against_double(Product& product, const DimValues& dims) {
  std::vector<TensorValue> t = product.split().make_tensors(dims);
  product.run(t, dims);
  int64_t m = dims.at("M"), n = dims.at("N"), k = dims.at("K");
  double worst = 0;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double exact = t[2].get(j).f, size = std::fabs(exact);
      for (int64_t p = 0; p < k; ++p) {
        double term = t[0].get(i * k + p).f * t[1].get(product.turned() ? j * k + p : p * n + j).f;
        exact += term;
        size += std::fabs(term);
      }
      double error = std::fabs(t[3].get(i * n + j).f - exact);
      worst = std::max(worst, error / (double(k + 2) * 0x1p-24 * size + 1e-30));
    }
  }
  INFO("M=" << m << " N=" << n << " K=" << k);
  CHECK(worst <= 1);
}

}  // namespace tessera::test
