// Programs with kernels of their own: what tile functions become on a GPU, and beside it on a CPU.

#include <fmt/format.h>

#include "unit/gpu/gpu_program.h"

namespace tessera::test {

namespace {

GpuCase kernel_case(std::string name, const std::string& source, std::vector<DimValues> sizes, double bound) {
  GpuCase made{std::move(name), "", ""};
  made.sizes = std::move(sizes);
  made.bound = bound;
  made.source = source;
  return made;
}

/// One scan of a whole tile, [rows, columns], of the schedule.
GpuCase scan_case(const std::string& name, const std::string& dtype, const std::string& schedule,
                  const std::string& extents, const std::string& scan, std::vector<DimValues> sizes, double bound) {
  return kernel_case("scan " + name, fmt::format(R"(
@kernel.schedule(Schedule({}))
def scanned(x: Tensor[{}, {}]) -> Tensor[{}, {}]:
    t = tile.context(m=M, n=N)
    return tile.scan(tile.load(x, (t.i, t.j), (t.m, t.n)), {})

@jit
def f(x: Tensor[{}, {}]) -> Tensor[{}, {}]:
    return scanned(x)
)", schedule, "M, N", dtype, "M, N", dtype, scan, extents, dtype, extents, dtype), std::move(sizes), bound);
}

std::vector<GpuCase> scans() {
  const std::vector<DimValues> any = {{{"M", 5}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 2}, {"N", 1029}}};
  const std::vector<DimValues> heights = {{{"M", 7}}, {{"M", 1}}, {{"M", 0}}};
  return {
      scan_case("of rows of any size", "f32", "BM=1, warps=2", "M, N", "axis=1", any, 1e-5),
      scan_case("of short rows", "f32", "BM=4, warps=2", "M, 96", "axis=1, exclusive=True", heights, 1e-5),
      scan_case("of rows of warps", "f32", "BM=2, warps=4", "M, 1000", "axis=1, reverse=True", heights, 1e-5),
      scan_case("exclusive, from the end", "f32", "BM=2, warps=4", "M, 520", "axis=1, reverse=True, exclusive=True",
                heights, 1e-5),
      scan_case("of integers", "i32", "BM=4, warps=2", "M, 200", "axis=1, kind=\"sum\"", heights, 0),
      scan_case("of 64 bits", "i64", "BM=4, warps=2", "M, 72", "axis=1, kind=\"max\"", heights, 0),
      scan_case("of the least", "f32", "BM=4, warps=2", "M, 72", "axis=1, kind=\"min\", exclusive=True", heights, 0),
      scan_case("of a column", "f32", "BN=64, warps=4", "40, N", "axis=0", {{{"N", 70}}, {{"N", 1}}, {{"N", 0}}}, 1e-5),
      scan_case("of long columns", "f32", "BN=16, warps=4", "200, N", "axis=0, kind=\"prod\"",
                {{{"N", 35}}, {{"N", 1}}}, 1e-5),
      kernel_case("scan and its total", R"(
@kernel.schedule(Schedule(BM=2, warps=4))
def shares(x: Tensor[M, N, f32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    v = tile.exp(tile.load(x, (t.i, t.j), (t.m, t.n)))
    s, total = tile.scan(v, axis=1, total=True)
    return s / total[:, None], total

@jit
def f(x: Tensor[M, N, f32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    return shares(x)
)", any, 1e-5),
      kernel_case("scan of an accumulator", R"(
@kernel.schedule(Schedule(block=(64, 32, 16), warps=4))
def sums(a: Tensor[M, K, bf16], b: Tensor[K, N, bf16]) -> Tensor[M, N, f32]:
    t   = tile.context(m=M, n=N, k=K)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
    return tile.scan(acc, axis=1)

@jit
def f(a: Tensor[M, K, bf16], b: Tensor[K, 32, bf16]) -> Tensor[M, 32, f32]:
    return sums(a, b)
)", {{{"M", 70}, {"K", 40}}, {{"M", 1}, {"K", 0}}}, 1e-5),
  };
}

}  // namespace

std::vector<GpuCase> kernel_cases() { return scans(); }

}  // namespace tessera::test
