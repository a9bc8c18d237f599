// Programs with kernels of their own: what tile functions become on a GPU, and beside it on a CPU.

#include <fmt/format.h>

#include "unit/gpu/gpu_program.h"

namespace tessera::test {

namespace {

/// A kernel that copies ahead into slots of memory of its own; of a schedule and a dtype.
constexpr const char* slots =
#include "kernels/slots.inc"
    ;

GpuCase kernel_case(std::string name, const std::string& source, std::vector<DimValues> sizes, double bound) {
  GpuCase made{std::move(name), "", ""};
  made.sizes = std::move(sizes);
  made.bound = bound;
  made.source = source;
  return made;
}

/// `op` along an axis of a whole tile, [rows, columns], of the schedule.
GpuCase along_axis(const std::string& op, const std::string& name, const std::string& dtype,
                   const std::string& schedule, const std::string& extents, const std::string& options,
                   std::vector<DimValues> sizes, double bound) {
  return kernel_case(op + " " + name, fmt::format(R"(
@kernel.schedule(Schedule({}))
def along(x: Tensor[{}, {}]) -> Tensor[{}, {}]:
    t = tile.context(m=M, n=N)
    return tile.{}(tile.load(x, (t.i, t.j), (t.m, t.n)), {})

@jit
def f(x: Tensor[{}, {}]) -> Tensor[{}, {}]:
    return along(x)
)", schedule, "M, N", dtype, "M, N", dtype, op, options, extents, dtype, extents, dtype), std::move(sizes), bound);
}

GpuCase scan_case(const std::string& name, const std::string& dtype, const std::string& schedule,
                  const std::string& extents, const std::string& scan, std::vector<DimValues> sizes, double bound) {
  return along_axis("scan", name, dtype, schedule, extents, scan, std::move(sizes), bound);
}

std::vector<GpuCase> sorts() {
  const std::vector<DimValues> heights = {{{"M", 7}}, {{"M", 1}}, {{"M", 0}}};
  auto sort = [](auto... arguments) { return along_axis("sort", arguments..., 0); };
  return {
      sort("of short rows", "f32", "BM=4, warps=2", "M, 96", "axis=1", heights),
      sort("of rows of warps", "f32", "BM=2, warps=4", "M, 600", "axis=1, descending=True", heights),
      sort("of partial rows", "f16", "BM=2, BN=64, warps=2", "M, 100", "axis=1", heights),
      sort("of integers", "i64", "BM=4, warps=2", "M, 72", "axis=1", heights),
      sort("of a column", "i32", "BN=64, warps=4", "40, N", "axis=0",
           std::vector<DimValues>{{{"N", 70}}, {{"N", 1}}, {{"N", 0}}}),
      sort("of whole lines", "f32", "BM=2, warps=2", "M, 512", "axis=1", heights),
      sort("of whole lines of 64 bits", "u64", "BM=1, warps=1", "M, 256", "axis=1, descending=True", heights),
      kernel_case("sort of what falls and rises", R"(
@kernel.schedule(Schedule(BM=1, BN=256, warps=2))
def merged(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    x = tile.bitcast(tile.bitcast(tile.load(x, (t.i, t.j), (t.m, t.n)), u32), f32)
    first = tile.sort(tile.where(tile.col_index() % t.n < 100, x, -1.0), descending=True)
    last  = tile.sort(tile.where(tile.col_index() % t.n < 100, -1.0, tile.abs(x)))
    return tile.sort(tile.maximum(first, last), bitonic=True)

@jit
def f(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    return merged(x)
)", {{{"M", 2}, {"N", 256}}, {{"M", 1}, {"N", 300}}}, 0),
      kernel_case("sort of runs that are merged", R"(
from tessera.sorting import merge_runs, sort_runs

@jit
def f(x: Tensor[M, N, i32]) -> Tensor[M, N, i32]:
    x = sort_runs.with_schedule(Schedule(BM=1, BN=64, warps=2))(x)
    for step in range(6, 8):
        x = merge_runs.with_schedule(Schedule(BM=1, BN=64, warps=2))(x, step=step)
    return x
)", {{{"M", 2}, {"N", 200}}, {{"M", 1}, {"N", 64}}, {{"M", 1}, {"N", 0}}}, 0),
  };
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
      scan_case("of columns that registers do not hold", "f32", "BN=64, warps=4", "200, N", "axis=0",
                {{{"N", 70}}, {{"N", 1}}}, 1e-5),
      kernel_case("scan of few long rows", R"(
import tessera.nn as nn

@jit
def f(x: Tensor[M, N, f32]):
    return nn.cumsum(x, reverse=True), nn.cummax(x)
)", {{{"M", 2}, {"N", 16391}}, {{"M", 1}, {"N", 3}}}, 1e-5),
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

std::vector<GpuCase> programs() {
  return {
      kernel_case("dropout", R"(
@kernel.schedule(Schedule(BM=16, BN=64, warps=4))
def dropped(x: Tensor[M, N, f32], seed: Tensor[u64]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return dropout_in_kernel(tile.load(x), p=0.25, seed=tile.load(seed))

@jit
def f(x: Tensor[M, N, f32], seed: Tensor[u64]) -> Tensor[M, N, f32]:
    return dropped(x, seed)
)", {{{"M", 33}, {"N", 70}}, {{"M", 1}, {"N", 1}}}, 0),
      kernel_case("masks far away", R"(
@kernel.schedule(Schedule(BM=32, BN=64, warps=4))
def masked(x: Tensor[M, N, f32], window: Tensor[i64]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    rows = tile.row_index()
    most = tile.where(tile.load(window) < -1, 1, 9223372036854775807)
    s = tile.zeros((t.m,), f32)
    for n in tile.range(N, t.n):
        cols = tile.col_index(n)
        kept = (cols < M) & (cols > rows - most) & (cols < 9223372036854775807)
        s += tile.sum(tile.where(kept, tile.load(x, (t.i, n), (t.m, t.n)), 0.0), axis=1)
    return s

@jit
def f(x: Tensor[M, N, f32], window: Tensor[i64]) -> Tensor[M, f32]:
    return masked(x, window)
)", {{{"M", 70}, {"N", 130}}}, 1e-5),
      kernel_case("branches", R"(
@kernel.schedule(Schedule(BM=4, warps=2))
def chosen(x: Tensor[M, N, f32], flag: Tensor[i32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    total = tile.zeros((t.m,), f32)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    if tile.load(flag) > 3:
        total = tile.sum(v, axis=1)
        v = v * 2.0
    elif t.i == 0:
        total = tile.max(v, axis=1)
    else:
        v = -v
    return v, total

@jit
def f(x: Tensor[M, 72, f32], flag: Tensor[i32]) -> (Tensor[M, 72, f32], Tensor[M, f32]):
    return chosen(x, flag)
)", {{{"M", 9}}, {{"M", 1}}}, 1e-5),
      kernel_case("branches of rows that registers do not hold", R"(
@kernel.schedule(Schedule(BM=4, warps=2))
def chosen(x: Tensor[M, N, f32], flag: Tensor[i32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    total = tile.sum(v, axis=1)
    w = v
    if tile.load(flag) > 3:
        w = v * 2.0
        if t.i == 0:
            total = tile.max(w, axis=1)
    else:
        w = v - total[:, None]
    return tile.scan(w, axis=1), total

@jit
def f(x: Tensor[M, N, f32], flag: Tensor[i32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    return chosen(x, flag)
)", {{{"M", 9}, {"N", 72}}, {{"M", 1}, {"N", 1}}, {{"M", 5}, {"N", 1029}}}, 1e-4),
      kernel_case("a square and its transpose", R"(
@kernel.schedule(Schedule(warps=4))
def even(x: Tensor[D, D, f32], rows: Tensor[D, i32]) -> Tensor[D, D, f32]:
    t = tile.context(d=D)
    a = tile.exp(tile.load(x, (0, 0), (t.d, t.d)) * 0.5)
    b = tile.gather(x, tile.load(rows, (0,), (t.d,)))
    return (a + a.T) * 0.5 + tile.sum(a, axis=0)[:, None] + b * b.T

@jit
def f(x: Tensor[32, 32, f32], rows: Tensor[32, i32]) -> Tensor[32, 32, f32]:
    return even(x, rows)
)", {{}}, 1e-5),
      // Of 5 rows of 4 programs and of others, for 1, 3 and 40 workers: bands, one band, workers without a program.
      kernel_case("programs of unequal length", R"(
@kernel.schedule(Schedule(BB=1, BM=8, warps=1, persistent=True))
def sums_up_to(x: Tensor[B, M, f32]) -> Tensor[B, M, f32]:
    t = tile.context(b=B, m=M)
    acc = tile.load(x, (t.i, t.j), (t.b, t.m))
    for n in tile.range(M, t.m, stop=t.j * t.m):
        acc += tile.load(x, (t.i, n), (t.b, t.m))
    return acc

@kernel.schedule(Schedule(BB=1, BM=8, warps=1, persistent=True))
def sums_below(x: Tensor[M, B, f32]) -> Tensor[M, B, f32]:
    t = tile.context(m=M, b=B)
    acc = tile.load(x, (t.i, t.j), (t.m, t.b))
    for n in tile.range(M, t.m, stop=M - t.i * t.m):
        acc += tile.load(x, (n, t.j), (t.m, t.b))
    return acc

@jit
def f(x: Tensor[B, M, f32], y: Tensor[M, B, f32]):
    return sums_up_to(x), sums_below(y)
)", {{{"B", 5}, {"M", 32}}, {{"B", 1}, {"M", 57}}, {{"B", 30}, {"M", 13}}, {{"B", 2}, {"M", 400}}, {{"B", 8}, {"M", 400}},
     {{"B", 0}, {"M", 9}},
     {{"B", 3}, {"M", 0}}}, 1e-5),
      kernel_case("region of a loop", R"(
@kernel.schedule(Schedule(BM=2, BN=64, warps=2))
def running(x: Tensor[M, N, f32], y: Region[write] Tensor[M, N, f32]) -> Tensor[M, f32]:
    t     = tile.context(m=M, n=N)
    total = tile.zeros((t.m,), f32)
    for j in tile.range(N, t.n):
        s, more = tile.scan(tile.load(x, (t.i, j), (t.m, t.n)), axis=1, total=True)
        tile.store(s + total[:, None], y, (t.i, j))
        total += more
    return total

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, N, f32]) -> (Tensor[M, f32], Tensor[M, N, f32]):
    return running(x, y)
)", {{{"M", 5}, {"N", 150}}, {{"M", 1}, {"N", 1}}}, 1e-5),
      kernel_case("region of sums", R"(
@kernel.schedule(Schedule(BM=4, warps=2))
def counted(x: Tensor[M, N, f32], sums: Region[reduce_sum] Tensor[N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    tile.store(tile.sum(v * v, axis=0), sums)
    return 2.0 * v

@jit
def f(x: Tensor[M, 72, f32], w: Tensor[72, f32]) -> (Tensor[M, 72, f32], Tensor[72, f32]):
    return counted(x, w)
)", {{{"M", 9}}, {{"M", 1}}}, 1e-5),
      kernel_case("a pipeline that the compiler chooses", R"(
@kernel.schedule(Schedule(BM=64, BN=64, BK=32))
def chosen(a: Tensor[M, K, bf16], b: Tensor[K, N, bf16], flag: Tensor[i32]) -> Tensor[M, N, f32]:
    t    = tile.context(m=M, n=N, k=K)
    acc  = tile.zeros((t.m, t.n), f32)
    rows = tile.zeros((t.m,), f32)
    if tile.load(flag) > 3:
        acc += 1.0
    for k in tile.range(K, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
        if tile.load(flag) > 4:
            rows += tile.max(acc, axis=1)
        else:
            acc *= 0.5
    if t.i == 0:
        acc -= rows[:, None]
    return acc

@jit
def f(a: Tensor[M, K, bf16], b: Tensor[K, N, bf16], flag: Tensor[i32]) -> Tensor[M, N, f32]:
    return chosen(a, b, flag)
)", {{{"M", 70}, {"K", 72}, {"N", 64}}, {{"M", 1}, {"K", 1}, {"N", 1}}}, 1e-4),
      kernel_case("memory by hand", R"(
@kernel.schedule(Schedule(BM=64, BN=64, BK=32, warps=4))
def staged(a: Tensor[M, K, bf16], b: Tensor[K, N, bf16]) -> Tensor[M, N, f32]:
    t   = tile.context(m=M, n=N, k=K)
    sa  = tile.alloc((t.m, t.k), bf16)
    sb  = tile.alloc((t.k, t.n), bf16)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        tile.async_copy(a, (t.i, k), sa)
        tile.async_copy(b, (k, t.j), sb)
        tile.wait()
        tile.barrier()
        acc = tile.dot(tile.load(sa), tile.load(sb), acc)
        tile.barrier()
    return acc

@jit
def f(a: Tensor[M, K, bf16], b: Tensor[K, N, bf16]) -> Tensor[M, N, f32]:
    return staged(a, b)
)", {{{"M", 70}, {"K", 72}, {"N", 80}}, {{"M", 1}, {"K", 1}, {"N", 1}}}, 1e-4),
      kernel_case("slots by hand",
                  fmt::format(fmt::runtime(slots), "BM=64, BN=64, BK=32, warps=4, stages=3", "f32") + R"(
@jit
def f(a: Tensor[M, K, f32], b: Tensor[K, N, f32]) -> Tensor[M, N, f32]:
    return ahead(a, b)
)", {{{"M", 70}, {"K", 75}, {"N", 66}}, {{"M", 1}, {"K", 1}, {"N", 1}}}, 1e-4),
      kernel_case("memory for what is computed", R"(
@kernel.schedule(Schedule(BM=16, BN=64, warps=4))
def kept(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    s = tile.alloc((t.m, t.n), f32)
    r = tile.alloc((t.n,), f32)
    tile.store(tile.load(x) * 2.0, s)
    tile.store(tile.sum(tile.load(x), axis=0), r)
    tile.barrier()
    v = tile.load(s) * tile.load(r)
    tile.barrier()
    tile.store(v + 1.0, s)
    tile.barrier()
    return v * tile.load(s)

@jit
def f(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    return kept(x)
)", {{{"M", 30}, {"N", 70}}, {{"M", 1}, {"N", 1}}}, 1e-4),
      kernel_case("memory of odd extents", R"(
@kernel.schedule(Schedule(BM=32, warps=4))
def kept(x: Tensor[M, 12, f32]) -> Tensor[M, 12, f32]:
    t = tile.context(m=M)
    s = tile.alloc((2, t.m, 12), f32)
    v = tile.load(x, (t.i, 0), (t.m, 12))
    tile.store(v * 2.0, s[0])
    tile.store(v + 1.0, s[1])
    tile.barrier()
    return tile.load(s[2]) * tile.load(s[3])

@jit
def f(x: Tensor[M, 12, f32]) -> Tensor[M, 12, f32]:
    return kept(x)
)", {{{"M", 30}}, {{"M", 1}}}, 1e-4),
      kernel_case("coordinates that lanes exchange", R"(
@kernel.schedule(Schedule(BM=12, BK=5))
def seen(x: Tensor[M, 16, f32], k: Tensor[K, 16, f32], y: Region[write] Tensor[M, 16, f32]) -> Tensor[M, 16, f32]:
    t    = tile.context(m=M, n=16, k=K)
    v    = tile.load(x, (t.i, t.j), (t.m, t.n))
    acc  = tile.zeros((t.m, t.n), f32)
    m, l = tile.full((t.m,), -INF), tile.zeros((t.m,), f32)
    for k0 in tile.range(K, t.k):
        keys = tile.load(k, (k0, 0), (t.k, t.n))
        p, top, total = tile.softmax_online(tile.dot(v, keys.T) * 0.25)
        acc, m, l = tile.softmax_accumulate(acc, m, l, p, keys, top, total)
    acc = acc / l[:, None]
    tile.scatter(acc, y, (tile.row_index(), (tile.col_index() + 3) % 16))
    return acc

@jit
def f(x: Tensor[M, 16, f32], k: Tensor[K, 16, f32], y: Tensor[M, 16, f32]) -> (Tensor[M, 16, f32], Tensor[M, 16, f32]):
    return seen(x, k, y)
)", {{{"M", 13}, {"K", 11}}, {{"M", 1}, {"K", 1}}}, 1e-4),
      kernel_case("elements by their coordinates", R"(
@kernel.schedule(Schedule(BM=8, BN=32, warps=2))
def swapped(x: Tensor[M, N, f32], y: Region[write] Tensor[N, M, f32]):
    t = tile.context(m=M, n=N)
    v = tile.gather(x, (M - 1 - tile.row_index(), tile.col_index())) + tile.load(x)
    tile.scatter(v, y, (tile.col_index(), (tile.row_index() + 1) % M))

@jit
def f(x: Tensor[M, N, f32], y: Tensor[N, M, f32]) -> Tensor[N, M, f32]:
    return swapped(x, y)
)", {{{"M", 11}, {"N", 45}}, {{"M", 1}, {"N", 1}}}, 1e-5),
      kernel_case("regions stored in parts", R"(
@kernel.schedule(Schedule(BM=8, BN=32, warps=2))
def part(x: Tensor[M, N, f32], y: Region[read_write] Tensor[M, N, f32]):
    t = tile.context(m=M, n=N)
    if t.i % 2 == 0:
        tile.store(tile.load(x) + tile.load(y), y)

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    return part(x, y)
)", {{{"M", 21}, {"N", 45}}, {{"M", 1}, {"N", 1}}}, 1e-5),
      kernel_case("weights of 4 bits", R"(
from tessera.nn import matmul_int4

@jit
def f(x: Tensor[M, 2 * K, bf16], q: Tensor[K, N, u8], s: Tensor[N, f32]) -> Tensor[M, N, bf16]:
    return matmul_int4(x, q, s)
)", {{{"M", 1}, {"N", 48}, {"K", 2100}}, {{"M", 17}, {"N", 33}, {"K", 1301}}, {{"M", 33}, {"N", 40}, {"K", 1300}},
     {{"M", 65}, {"N", 16}, {"K", 5}}}, 8e-3),
      kernel_case("ends of axes that no load sees", R"(
@kernel.schedule(Schedule(BM=8, BN=32, warps=2))
def counted(x: Tensor[M, N, f32]) -> Tensor[M, f32]:
    t   = tile.context(m=M, n=N)
    s   = tile.alloc((2, t.m, t.n), f32)
    acc = tile.zeros((t.m,), f32)
    tile.async_copy(x, (t.i, 0), s[0])
    for n in tile.range(N, t.n):
        tile.async_copy(x, (t.i, n + 1), s[n + 1])
        tile.wait(pending=1)
        tile.barrier()
        v = tile.gather(x, (tile.row_index(), (tile.col_index(n) + 3) % N))
        acc += tile.sum(v, axis=1) + tile.sum(tile.full((t.m, t.n), 1.0), axis=1)
        acc += tile.max(tile.exp(tile.load(s[n])), axis=1)
        tile.barrier()
    tile.wait()
    return acc

@kernel.schedule(Schedule(BM=8, BN=32, warps=2))
def shared(x: Tensor[M, N, f32], y: Region[reduce_sum] Tensor[N, f32]):
    t = tile.context(m=M, n=N)
    v = tile.gather(x, ((tile.row_index() + 5) % M, tile.col_index()))
    tile.store(tile.sum(v, axis=0) + tile.sum(tile.full((t.m, t.n), 1.0), axis=0), y)

@jit
def f(x: Tensor[M, N, f32], y: Tensor[N, f32]) -> (Tensor[M, f32], Tensor[N, f32]):
    return counted(x), shared(x, y)
)", {{{"M", 21}, {"N", 45}}, {{"M", 1}, {"N", 1}}}, 1e-5),
      kernel_case("sums by place in memory", R"(
@kernel.schedule(Schedule(BN=4, BD=16, warps=2))
def added(x: Tensor[N, D, f32], rows: Tensor[N, i32], y: Region[reduce_sum] Tensor[P, D, f32]):
    t = tile.context(n=N, d=D)
    tile.atomic_add(tile.load(x, (t.i, t.j), (t.n, t.d)), y, tile.load(rows, (t.i,), (t.n,)))

@jit
def f(x: Tensor[N, D, f32], rows: Tensor[N, i32], y: Tensor[P, D, f32]) -> Tensor[P, D, f32]:
    return added(x, rows, y)
)", {{{"N", 19}, {"D", 20}, {"P", 7}}, {{"N", 5}, {"D", 3}, {"P", 1}}, {{"N", 0}, {"D", 8}, {"P", 2}}}, 1e-5),
      kernel_case("rows that are combined along both axes", R"(
@kernel.schedule(Schedule(BM=4, warps=2))
def both(x: Tensor[M, N, f32], y: Region[reduce_sum] Tensor[N, f32]) -> Tensor[M, f32]:
    t = tile.context(m=M, n=N)
    v = tile.load(x, (t.i, 0), (t.m, t.n))
    tile.store(tile.sum(v * v, axis=0), y)
    return tile.sum(v, axis=1)

@jit
def f(x: Tensor[M, N, f32], y: Tensor[N, f32]) -> (Tensor[M, f32], Tensor[N, f32]):
    return both(x, y)
)", {{{"M", 9}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 5}, {"N", 0}}}, 1e-5),
      kernel_case("rows beside others that are combined", R"(
@kernel.schedule(Schedule(BM=4))
def copied(x: Tensor[M, N, f32], y: Tensor[M, N, f32]) -> (Tensor[M, N, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    u, v = tile.load(x, (t.i, t.j), (t.m, t.n)), tile.load(y, (t.i, t.j), (t.m, t.n))
    return v, tile.min(u, axis=1)

@jit
def f(x: Tensor[M, N, f32], y: Tensor[M, N, f32]):
    return copied(x, y)
)", {{{"M", 9}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 4}, {"N", 8}}, {{"M", 0}, {"N", 5}}}, 0),
      kernel_case("scans against each other", R"(
@kernel.schedule(Schedule(BN=8))
def there_and_back(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    back = tile.scan(tile.load(x, (t.i, t.j), (t.m, t.n)), axis=0, reverse=True)
    there, total = tile.scan(back, axis=0, total=True)
    return tile.maximum(there, total[None, :])

@jit
def f(x: Tensor[M, N, f32]):
    return there_and_back(x)
)", {{{"M", 9}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 2}, {"N", 2}}}, 1e-5),
      kernel_case("axes that are not neighbours", R"(
@jit
def f(x: Tensor[A, B, C, f32], y: Tensor[A, B, C, bf16]):
    return sum(x * 2.0, axis=(0, 2)), mean(x[:, :, None, :], axis=(0, 2, 3), keepdims=True), sum(y, axis=(0, 2))
)", {{{"A", 3}, {"B", 5}, {"C", 37}}, {{"A", 1}, {"B", 1}, {"C", 1}}, {{"A", 2}, {"B", 3}, {"C", 0}}}, 2e-2),
      kernel_case("rows that are added up beside columns", R"(
@kernel.schedule(Schedule(BM=16))
def both(x: Tensor[33, N, f32], y: Tensor[33, f32],
         z: Region[reduce_sum] Tensor[N, f32]) -> (Tensor[33, N, f32], Tensor[33, f32]):
    t = tile.context(m=33, n=N)
    v = tile.load(x, (t.i, t.j), (t.m, t.n))
    tile.store(tile.sum(v, axis=0), z)
    return v, tile.load(y, (t.i,), (t.m,))

@jit
def f(x: Tensor[33, N, f32], y: Tensor[33, f32], z: Tensor[N, f32]):
    return both(x, y, z)
)", {{{"N", 37}}, {{"N", 1}}, {{"N", 0}}}, 1e-5),
      kernel_case("columns beside those that may be empty", R"(
@kernel.schedule(Schedule(BN=4))
def both(x: Tensor[M, 48, f32], y: Tensor[48, f32]) -> (Tensor[M, 48, f32], Tensor[48, f32]):
    t = tile.context(m=M, n=48)
    return tile.load(x, (t.i, t.j), (t.m, t.n)), tile.load(y, (t.j,), (t.n,))

@jit
def f(x: Tensor[M, 48, f32], y: Tensor[48, f32]):
    return both(x, y)
)", {{{"M", 9}}, {{"M", 0}}}, 0),
      kernel_case("efficient_layernorm", R"(
from tessera.efficient_layernorm import efficient_layernorm

@jit
def f(x: Tensor[M, 200, bf16], s: Tensor[200, f32], b: Tensor[200, f32]) -> Tensor[M, 200, bf16]:
    return efficient_layernorm(x, s, b)
)", {{{"M", 9}}, {{"M", 1}}}, 8e-3),
      kernel_case("adam", R"(
from tessera.fused_adam import fused_adam

@jit
def f(p: Tensor[N, bf16], g: Tensor[N, bf16], m: Tensor[N, f32], v: Tensor[N, f32], step: Tensor[i64], lr: Tensor[f32]):
    a, b, c = fused_adam(p, g, m, v * v, step * step + 1, lr)
    return a, b, c
)", {{{"N", 1500}}, {{"N", 1}}}, 8e-3),
      kernel_case("attention with functions of its scores", R"(
@jit
def f(q: Tensor[1, 4, S, 20, f16], k: Tensor[1, 2, T, 20, f16], bias: Tensor[4, 1, T, f32], n: Tensor[i64]):
    a, l = flash_attention(q, k, k, bias=bias, return_lse=True,
                           score_mod=lambda s, b, h, i, j: 2.0 * tanh(s / 2.0) - 0.1 * cast(i - j, f32))
    return a, l, flash_attention(q, (k, k, n), causal=True, mask_mod=lambda b, h, i, j: i // 4 == j // 4, dropout=0.2)
)", {{{"S", 9}, {"T", 35}}, {{"S", 1}, {"T", 8}}}, 4e-3),
      kernel_case("log-sums of attention in f64", R"(
@jit
def f(q: Tensor[1, 6, M, 16, f64], k: Tensor[1, 2, N, 16, f64], v: Tensor[1, 2, N, 17, f64]) -> Tensor[1, 6, M, f64]:
    return flash_attention(q, k, v, causal=True, scale=1.5, return_lse=True)[1]
)", {{{"M", 3}, {"N", 5}}}, 1e-5),
      kernel_case("sums over the rows of a square", R"(
@kernel.schedule(Schedule(BP=3))
def sums(x: Tensor[P, Q, f32], y: Region[reduce_sum] Tensor[Q, f32]):
    t = tile.context(p=P, q=Q)
    tile.store(tile.sum(tile.load(x, (t.i, t.j), (t.p, t.q)), axis=0), y)

@jit
def f(x: Tensor[17, 17, f32], y: Tensor[17, f32]) -> Tensor[17, f32]:
    return sums(x, y)
)", {{}}, 1e-5),
      kernel_case("rotary embedding", R"(
from tessera.rotary_embedding import rotary_embedding

@jit
def f(x: Tensor[B, S, 64, f32], c: Tensor[S, 32, f32], s: Tensor[S, 32, f32]) -> Tensor[B, S, 2, 32, f32]:
    return rotary_embedding(reshape(x, (B, S, 2, 32)), c, s)
)", {{{"B", 3}, {"S", 21}}, {{"B", 1}, {"S", 1}}}, 0),
  };
}

/// Two matmuls that read one left factor.
std::vector<GpuCase> gated() {
  auto matmuls = [](const char* name, const char* schedule, const char* left, const char* right,
                     std::vector<DimValues> sizes) {
    return kernel_case(name, fmt::format(R"(
@kernel.schedule(Schedule({0}))
def two(x: Tensor[M, K, bf16], g: Tensor[K, N, bf16], u: Tensor[K, N, bf16]) -> Tensor[M, N, bf16]:
    t = tile.context(m=M, n=N, k=K)
    a = tile.zeros((t.m, t.n), f32)
    b = tile.zeros((t.m, t.n), f32)
    for k in tile.range(K, t.k):
        y = tile.load(x, (t.i, k), (t.m, t.k))
        a = tile.dot(y, tile.load(g, (k, t.j), (t.k, t.n)), a)
        b = tile.dot(y, tile.load(u, (k, t.j), (t.k, t.n)), b)
    return tile.cast(tile.silu(a) * b, bf16)

@jit
def f(x: Tensor[{1}, bf16], g: Tensor[{2}, bf16], u: Tensor[{2}, bf16]):
    return two(x, g, u)
)", schedule, left, right), std::move(sizes), 2e-2);
  };
  const char* roles = "BM=64, BN=64, BK=16, stages=3, roles={\"load\": 1, \"mma\": 1}, persistent=True";
  const char* threads = "BM=64, BN=32, BK=16, stages=3, warps=4";
  const std::vector<DimValues> any = {
      {{"M", 70}, {"N", 72}, {"K", 50}}, {{"M", 1}, {"N", 3}, {"K", 16}}, {{"M", 2}, {"N", 8}, {"K", 0}}};
  return {matmuls("gated matmuls by threads", threads, "M, K", "K, N", any),
          matmuls("gated matmuls by roles", roles, "M, K", "K, N", any),
          matmuls("gated matmuls of known sizes", roles, "136, 72", "72, 64", {{}})};
}

/// Squares, whose two axes must not become one.
std::vector<GpuCase> squares() {
  return {
      kernel_case("rows beside columns of a square", R"(
@kernel.schedule(Schedule(BM=16, BN=16, warps=4))
def masked(x: Tensor[M, N, f32]) -> Tensor[M, N, f32]:
    t = tile.context(m=M, n=N)
    return tile.where(tile.row_index() >= tile.col_index(), tile.load(x, (t.i, t.j), (t.m, t.n)), -1.0)

@jit
def f(x: Tensor[12, N, f32]) -> Tensor[12, N, f32]:
    return masked(x)
)", {{{"N", 12}}, {{"N", 16}}, {{"N", 37}}}, 0),
      kernel_case("a line along both axes of a square", R"(
@kernel.schedule(Schedule(warps=4))
def apart(x: Tensor[12, f32], y: Tensor[12, 12, f32]) -> Tensor[12, 12, f32]:
    t = tile.context(m=12, n=12)
    e = tile.exp(tile.load(x, (0,), (12,)))
    return e[:, None] - e[None, :] + tile.load(y, (t.i, t.j), (t.m, t.n))

@jit
def f(x: Tensor[12, f32], y: Tensor[12, 12, f32]) -> Tensor[12, 12, f32]:
    return apart(x, y)
)", {{}}, 1e-5),
  };
}

/// What compilers below take for a maximum.
std::vector<GpuCase> choices() {
  return {kernel_case("the greater of a half and a number", R"(
@kernel.schedule(Schedule(BM=4))
def least(x: Tensor[M, f16]) -> Tensor[M, f16]:
    t = tile.context(m=M)
    v = tile.load(x, (t.i,), (t.m,))
    return tile.where(v > 0.25, v, 0.25)

@jit
def f(x: Tensor[M, f16]) -> Tensor[M, f16]:
    return least(x)
)", {{{"M", 1}}, {{"M", 70}}}, 0)};
}

/// Comparisons on accumulators of tensor cores, whose results the copy engine stores.
std::vector<GpuCase> compared() {
  return {kernel_case("comparison of a matmul", R"(
@jit
def f(a: Tensor[M, 16, bf16], b: Tensor[16, 128, bf16]) -> Tensor[M, 128, bool]:
    return a @ b > 0.0
)", {{{"M", 200}}, {{"M", 1}}}, 0)};
}

/// Matmuls of tiles whose heights are not whole groups of the eight rows that a swizzle permutes.
std::vector<GpuCase> odd_blocks() {
  auto matmul = [](const char* name, const char* dtype, const char* schedule) {
    return kernel_case(name, fmt::format(R"(
@kernel.schedule(Schedule({0}))
def odd(a: Tensor[M, 32, {1}], b: Tensor[32, N, {1}]) -> Tensor[M, N, {1}]:
    t   = tile.context(m=M, n=N, k=32)
    acc = tile.zeros((t.m, t.n), accum({1}))
    for k in tile.range(32, t.k):
        acc = tile.dot(tile.load(a, (t.i, k), (t.m, t.k)), tile.load(b, (k, t.j), (t.k, t.n)), acc)
    return tile.cast(acc, {1})

@jit
def f(a: Tensor[M, 32, {1}], b: Tensor[32, N, {1}]) -> Tensor[M, N, {1}]:
    return odd(a, b)
)", schedule, dtype), {{{"M", 13}, {"N", 48}}, {{"M", 1}, {"N", 8}}}, dtype == std::string("bf16") ? 2e-2 : 1e-5);
  };
  return {matmul("12 rows, 12 steps", "f64", "BM=12, BN=48, BK=12, stages=2"),
          matmul("4 rows, 24 steps", "f32", "BM=4, BN=8, BK=24"),
          matmul("12 rows, 20 steps", "bf16", "BM=12, BN=16, BK=20, stages=3, warps=4")};
}

/// Tiles along an axis without elements, loaded and not.
std::vector<GpuCase> empty_axes() {
  return {kernel_case("sums along an axis without elements", R"(
@kernel
def sums(x: Tensor[M, N, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    t = tile.context(m=M, n=N)
    return tile.sum(tile.zeros((t.m, t.n), f32) + 1.0, axis=1), tile.min(tile.load(x, (t.i, 0), (t.m, t.n)), axis=1)

@jit
def f(x: Tensor[M, 0, f32]) -> (Tensor[M, f32], Tensor[M, f32]):
    return sums(x)
)", {{{"M", 5}}, {{"M", 0}}}, 0)};
}

/// Windows of images that are read where they are: by the copy engine, or row by row.
std::vector<GpuCase> convolutions() {
  auto where = [](const std::string& arguments) {
    std::string clause;
    for (const char* size : {"H", "W", "L"}) {
      if (arguments.find(fmt::format(" {},", size)) == std::string::npos) continue;
      clause += fmt::format("{}1 <= {}", clause.empty() ? " where " : ", ", size);
    }
    return clause;
  };
  auto library = [&](const std::string& name, const std::string& arguments, const std::string& call,
                    std::vector<DimValues> sizes, int64_t k = 16) {
    GpuCase made = kernel_case("convolution " + name, fmt::format(R"(
from tessera.nn import conv1d, conv2d, conv3d, pad

@jit
def f({}){}:
    return {}
)", arguments, where(arguments), call), std::move(sizes), 8e-3);
    made.schedule = {.block = {{"m", 64}, {"n", 32}, {"k", k}}, .warps = 4, .stages = 2,
                     .roles = {{"load", 1}, {"mma", 1}}, .persistent = true};
    return made;
  };
  const std::string known = "x: Tensor[B, H, W, 16, bf16], w: Tensor[3, 3, 16, 40, bf16]";
  auto of = [](int64_t b, int64_t h, int64_t w) { return DimValues{{"B", b}, {"H", h}, {"W", w}}; };
  return {
      library("of padded images", known, "conv2d(x, w, padding=1)", {of(2, 7, 9), of(1, 1, 1), of(0, 3, 3)}),
      library("with a bias, by steps", known + ", b: Tensor[40, bf16]",
              "relu(conv2d(x, w, b, strides=(2, 3), padding=(3, 1)))", {of(2, 9, 10), of(1, 1, 1)}),
      library("of windows with holes", "x: Tensor[B, 9, W, 24, f16], w: Tensor[3, 2, 24, 8, f16]",
              "conv2d(x, w, dilation=(2, 3), padding=(0, 2))", {{{"B", 3}, {"W", 5}}, {{"B", 1}, {"W", 1}}}),
      library("of any number of channels", "x: Tensor[B, 5, 6, C, bf16], w: Tensor[3, 3, C, N, bf16]",
              "conv2d(x, w, padding=1)",
              {{{"B", 2}, {"C", 24}, {"N", 40}}, {{"B", 1}, {"C", 5}, {"N", 3}}, {{"B", 1}, {"C", 8}, {"N", 5}}}),
      library("of odd channels", "x: Tensor[B, 5, 6, 20, bf16], w: Tensor[3, 3, 20, 43, bf16], b: Tensor[43, bf16]",
              "relu(conv2d(x, w, b, padding=1))", {{{"B", 2}}, {{"B", 1}}, {{"B", 0}}}, 32),
      library("of one element by steps", "x: Tensor[B, 7, 8, 16, bf16], w: Tensor[1, 1, 16, 8, bf16]",
              "conv2d(x, w, strides=2)", {{{"B", 3}}}),
      library("of lines", "x: Tensor[B, L, 32, bf16], w: Tensor[5, 32, 24, bf16]", "conv1d(x, w, padding=2)",
              {{{"B", 3}, {"L", 50}}, {{"B", 1}, {"L", 1}}}),
      library("in space", "x: Tensor[B, 3, 4, 5, 16, bf16], w: Tensor[3, 3, 3, 16, 16, bf16]",
              "conv3d(x, w, strides=(1, 2, 1), padding=1)", {{{"B", 2}}}, 32),
      library("of images with more zeros before", "x: Tensor[B, 4, 5, 16, bf16], w: Tensor[3, 3, 16, 8, bf16]",
              "conv2d(pad(x, ((0, 0), (2, 0), (0, 1), (0, 0))), w)", {{{"B", 2}}}),
      kernel_case("windows that no dot reads", R"(
@kernel.schedule(Schedule(BM=16, BN=32, warps=2))
def spread(x: Tensor[B, H, W, C, f32], w: Tensor[6, C, f32]) -> Tensor[B * ((H - 1) // 2 + 1) * (W + 1), C, f32]:
    a   = tile.windows(x, (3, 2), strides=(2, 1), padding=((1, 1), (2, 0)), dilation=(1, 1))
    t   = tile.context(m=B * ((H - 1) // 2 + 1) * (W + 1), n=C)
    acc = tile.zeros((t.m, t.n), f32)
    for r in range(6):
        acc = acc + tile.load(a, (r, t.i, t.j), (t.m, t.n)) * tile.load(w, (r, t.j), (t.n,))
    return acc

@jit
def f(x: Tensor[B, H, W, C, f32], w: Tensor[6, C, f32]) where 1 <= H, 1 <= W:
    return spread(x, w)
)",
                  {{{"B", 2}, {"H", 5}, {"W", 3}, {"C", 40}}, {{"B", 1}, {"H", 1}, {"W", 1}, {"C", 1}}}, 1e-5),
  };
}

}  // namespace

std::vector<GpuCase> kernel_cases() {
  std::vector<GpuCase> all = scans();
  for (GpuCase& sort : sorts()) all.push_back(std::move(sort));
  for (GpuCase& each : programs()) all.push_back(std::move(each));
  for (GpuCase& each : choices()) all.push_back(std::move(each));
  for (GpuCase& each : compared()) all.push_back(std::move(each));
  for (GpuCase& each : odd_blocks()) all.push_back(std::move(each));
  for (GpuCase& each : gated()) all.push_back(std::move(each));
  for (GpuCase& each : squares()) all.push_back(std::move(each));
  for (GpuCase& each : empty_axes()) all.push_back(std::move(each));
  for (GpuCase& each : convolutions()) all.push_back(std::move(each));
  return all;
}

}  // namespace tessera::test
