// Loops of dots, each with another shape of dependences: what schedules of their iterations are tried on.

#include <fmt/format.h>

#include "unit/gpu/gpu_program.h"

namespace tessera::test {

namespace {

/// A kernel `loop` with parameters x, y, z and an entry that calls it.
GpuCase loop_case(const char* name, const char* schedule, const char* parameters, const char* result,
                  const char* body, std::vector<DimValues> sizes = {{}}, double bound = 2e-2) {
  GpuCase made{name, "", ""};
  made.sizes = std::move(sizes);
  made.bound = bound;
  std::string names, text = parameters;
  for (size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1)) {
    names += (names.empty() ? "" : ", ") + text.substr(at - 1, 1);
  }
  std::string arguments = text;
  if (size_t at = arguments.find("Region[write] "); at != std::string::npos) arguments.erase(at, 14);
  made.source = fmt::format(R"(
@kernel.schedule(Schedule({0}))
def loop({1}) -> {2}:
{3}

@jit
def f({5}):
    return loop({4})
)", schedule, parameters, result, body, names, arguments);
  return made;
}

constexpr const char* by_roles = "BM=64, BN=32, BK=16, stages=3, roles={\"load\": 1, \"mma\": 1}";
constexpr const char* two_slots = "BM=64, BN=32, BK=16, stages=2, roles={\"load\": 1, \"mma\": 1}, persistent=True";
constexpr const char* two_groups = "BM=128, BN=32, BK=16, stages=3, roles={\"load\": 1, \"mma\": 2}";

/// Weights of rows and keys times values, without a softmax.
std::vector<GpuCase> weighted() {
  std::vector<GpuCase> cases;
  constexpr const char* body = R"(
    t   = tile.context(m=M, n=32, k=T)
    q   = tile.load(x, (t.i, 0), (t.m, 32))
    acc = tile.zeros((t.m, 32), f32)
    for k in tile.range(T, t.k):
        s   = tile.dot(q, tile.load(y, (k, 0), (t.k, 32)).T)
        p   = tile.cast(tile.maximum(s, 0.0) * 0.25, bf16)
        acc = tile.dot(p, tile.load(z, (k, 0), (t.k, 32)), acc)
    return acc
)";
  struct Trips {
    const char *name, *schedule;
    int rows, keys;
  };
  const Trips trips[] = {
      {"loop of two dots, no iteration", by_roles, 64, 0},
      {"loop of two dots, one iteration", by_roles, 64, 16},
      {"loop of two dots, two iterations", by_roles, 64, 32},
      {"loop of two dots, three iterations", two_slots, 72, 40},
      {"loop of two dots, many iterations", two_groups, 136, 136},
  };
  for (const Trips& each : trips) {
    constexpr const char* operands = "x: Tensor[{0}, 32, bf16], y: Tensor[{1}, 32, bf16], z: Tensor[{1}, 32, bf16]";
    std::string parameters = fmt::format(operands, each.rows, each.keys);
    std::string symbolic = fmt::format(operands, "M", "T");
    GpuCase made = loop_case(each.name, each.schedule, symbolic.c_str(), "Tensor[M, 32, f32]", body);
    size_t entry = made.source.find("def f(") + 6;
    made.source.replace(entry, made.source.find("):", entry) - entry, parameters);
    cases.push_back(std::move(made));
  }
  return cases;
}

/// Dots that read each other, sums that are read, operands that threads bring.
std::vector<GpuCase> chains() {
  std::vector<GpuCase> all;
  auto add = [&](auto... arguments) { all.push_back(loop_case(arguments...)); };
  add("loop of a chain of three dots", by_roles,
      "x: Tensor[72, 32, bf16], y: Tensor[80, 32, bf16], z: Tensor[80, 32, bf16], w: Tensor[16, 16, bf16]",
      "Tensor[72, 32, f32]", R"(
    t   = tile.context(m=72, n=32, k=80)
    q   = tile.load(x, (t.i, 0), (t.m, 32))
    u   = tile.load(w, (0, 0), (16, 16))
    acc = tile.zeros((t.m, 32), f32)
    for k in tile.range(80, t.k):
        s   = tile.cast(tile.dot(q, tile.load(y, (k, 0), (t.k, 32)).T), bf16)
        r   = tile.cast(tile.tanh(tile.dot(s, u)), bf16)
        acc = tile.dot(r, tile.load(z, (k, 0), (t.k, 32)), acc)
    return acc)");
  add("loop whose sum is read in each iteration", by_roles, "x: Tensor[72, 80, bf16], y: Tensor[80, 32, bf16]",
      "(Tensor[72, 32, f32], Tensor[72, f32])", R"(
    t   = tile.context(m=72, n=32, k=80)
    acc = tile.zeros((t.m, t.n), f32)
    top = tile.zeros((t.m,), f32)
    for k in tile.range(80, t.k):
        acc = tile.dot(tile.load(x, (t.i, k), (t.m, t.k)), tile.load(y, (k, t.j), (t.k, t.n)), acc)
        top = tile.maximum(top, tile.max(acc, axis=1))
    return acc, top)");
  add("loop of independent dots of different depth", by_roles,
      "x: Tensor[72, 80, bf16], y: Tensor[80, 32, bf16], z: Tensor[72, 32, bf16]",
      "(Tensor[72, 32, f32], Tensor[72, f32])", R"(
    t     = tile.context(m=72, n=32, k=80)
    rows  = tile.load(z, (t.i, 0), (t.m, 32))
    acc   = tile.zeros((t.m, t.n), f32)
    total = tile.zeros((t.m,), f32)
    for k in tile.range(80, t.k):
        b     = tile.load(y, (k, t.j), (t.k, t.n))
        acc   = tile.dot(tile.load(x, (t.i, k), (t.m, t.k)), b, acc)
        s     = tile.dot(rows, b.T)
        total += tile.sum(tile.exp(s * 0.1), axis=1)
    return acc, total)");
  add("loop of a gathered operand", by_roles,
      "x: Tensor[50, 32, bf16], y: Tensor[80, i32], z: Tensor[72, 80, bf16]", "Tensor[72, 32, f32]", R"(
    t   = tile.context(m=72, n=32, k=80)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(80, t.k):
        rows = tile.gather(x, tile.load(y, (k,), (t.k,)))
        acc  = tile.dot(tile.load(z, (t.i, k), (t.m, t.k)), rows, acc)
    return acc)");
  add("loop of a computed operand", by_roles, "x: Tensor[72, 80, bf16], y: Tensor[80, 32, bf16]",
      "Tensor[72, 32, f32]", R"(
    t   = tile.context(m=72, n=32, k=80)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(80, t.k):
        a   = tile.cast(tile.tanh(tile.cast(tile.load(x, (t.i, k), (t.m, t.k)), f32)), bf16)
        acc = tile.dot(a, tile.load(y, (k, t.j), (t.k, t.n)), acc)
    return acc)");
  return all;
}

/// States that iterations hand on.
std::vector<GpuCase> states() {
  std::vector<GpuCase> all;
  auto add = [&](auto... arguments) { all.push_back(loop_case(arguments...)); };
  add("loop of a computed operand beside another dot", by_roles,
      "x: Tensor[72, 80, bf16], y: Tensor[80, 32, bf16], z: Tensor[72, 32, bf16]",
      "(Tensor[72, 32, f32], Tensor[72, f32])", R"(
    t     = tile.context(m=72, n=32, k=80)
    rows  = tile.load(z, (t.i, 0), (t.m, 32))
    acc   = tile.zeros((t.m, t.n), f32)
    total = tile.zeros((t.m,), f32)
    for k in tile.range(80, t.k):
        s     = tile.dot(rows, tile.load(y, (k, 0), (t.k, 32)).T)
        a     = tile.cast(tile.load(x, (t.i, k), (t.m, t.k)) * 0.5, bf16)
        acc   = tile.dot(a, tile.load(y, (k, t.j), (t.k, t.n)), acc)
        total += tile.max(s, axis=1)
    return acc, total)");
  add("loop of Newton-Schulz steps", "BM=64, warps=4", "x: Tensor[64, 64, f32]", "Tensor[64, 64, f32]", R"(
    t = tile.context(m=64)
    a = tile.load(x, (0, 0), (64, 64)) * 0.02
    for i in tile.range(5, 1):
        b = tile.cast(a, bf16)
        s = tile.dot(b.T, b)
        a = a * 1.5 - tile.dot(b, tile.cast(s * 0.5, bf16))
    return a)");
  add("loop of a delta rule", by_roles, "x: Tensor[80, 64, bf16], y: Tensor[80, 32, bf16], z: Tensor[80, f32]",
      "Tensor[64, 32, f32]", R"(
    t     = tile.context(m=64, n=32, k=80)
    state = tile.zeros((64, 32), f32)
    for k in tile.range(80, t.k):
        keys  = tile.load(x, (k, 0), (t.k, 64))
        v     = tile.cast(tile.load(y, (k, 0), (t.k, 32)), f32)
        old   = tile.dot(keys, tile.cast(state, bf16))
        new   = (v - old) * tile.load(z, (k,), (t.k,))[:, None] * 0.02
        state = tile.dot(keys.T, tile.cast(new, bf16), state)
    return state)");
  add("loop of linear attention", by_roles, "x: Tensor[64, 80, bf16], y: Tensor[80, 32, bf16], z: Tensor[64, 80, f32]",
      "(Tensor[64, 32, f32], Tensor[64, 32, f32])", R"(
    t   = tile.context(m=64, n=32, k=80)
    acc = tile.zeros((t.m, t.n), f32)
    sum = tile.zeros((t.m, t.n), f32)
    for k in tile.range(80, t.k):
        decay = tile.max(tile.load(z, (t.i, k), (t.m, t.k)), axis=1)
        a, b  = tile.load(x, (t.i, k), (t.m, t.k)), tile.load(y, (k, t.j), (t.k, t.n))
        acc   = tile.dot(a, b, acc * decay[:, None])
        sum  += acc
    return acc, sum)");
  return all;
}

/// What is stored, exchanged, promoted or read twice.
std::vector<GpuCase> others() {
  std::vector<GpuCase> all;
  auto add = [&](auto... arguments) { all.push_back(loop_case(arguments...)); };
  add("loop that stores what it multiplies", by_roles,
      "x: Tensor[72, 80, bf16], y: Tensor[80, 32, bf16], z: Region[write] Tensor[72, 160, f32]",
      "Tensor[72, 32, f32]", R"(
    t   = tile.context(m=72, n=32, k=80)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(80, t.k):
        acc = tile.dot(tile.load(x, (t.i, k), (t.m, t.k)), tile.load(y, (k, t.j), (t.k, t.n)), acc)
        tile.store(acc * 2.0, z, (t.i, k))
    return acc)");
  add("loop whose sums change places", by_roles, "x: Tensor[72, 80, bf16], y: Tensor[80, 32, bf16]",
      "(Tensor[72, 32, f32], Tensor[72, 32, f32])", R"(
    t    = tile.context(m=72, n=32, k=80)
    a, b = tile.zeros((t.m, t.n), f32), tile.full((t.m, t.n), 1.0)
    for k in tile.range(80, t.k):
        a, b = b * 0.5, tile.dot(tile.load(x, (t.i, k), (t.m, t.k)), tile.load(y, (k, t.j), (t.k, t.n)), a)
    return a, b)");
  add("loop of a tile that two dots read", by_roles, "x: Tensor[72, 32, bf16], y: Tensor[80, 32, bf16]",
      "Tensor[72, 32, f32]", R"(
    t   = tile.context(m=72, n=32, k=80)
    q   = tile.load(x, (t.i, 0), (t.m, 32))
    acc = tile.zeros((t.m, 32), f32)
    m   = tile.full((t.m,), -1.0)
    for k in tile.range(80, t.k):
        c     = tile.load(y, (k, 0), (t.k, 32))
        s     = tile.dot(q, c.T)
        top   = tile.maximum(m, tile.max(s, axis=1))
        p     = tile.exp(s - top[:, None])
        acc   = tile.dot(tile.cast(p, bf16), c, acc * tile.exp(m - top)[:, None])
        m     = top
    return acc)");
  add("loop of promoted sums", "BM=64, BN=32, BK=32, stages=3, roles={\"load\": 1, \"mma\": 1}",
      "x: Tensor[72, 320, f8e4m3], y: Tensor[32, 320, f8e4m3]", "Tensor[72, 32, f32]", R"(
    t   = tile.context(m=72, n=32, k=320)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(320, t.k):
        b   = tile.load(y, (t.j, k), (t.n, t.k)).T
        acc = tile.dot(tile.load(x, (t.i, k), (t.m, t.k)), b, acc)
    return acc)");
  add("loop with a bias of its scores", two_groups,
      "x: Tensor[136, 32, bf16], y: Tensor[136, 32, bf16], z: Tensor[136, 136, f32]", "Tensor[136, 32, f32]", R"(
    t   = tile.context(m=136, n=32, k=136)
    q   = tile.load(x, (t.i, 0), (t.m, 32))
    acc = tile.zeros((t.m, 32), f32)
    for k in tile.range(136, t.k):
        c   = tile.load(y, (k, 0), (t.k, 32))
        s   = tile.dot(q, c.T) + tile.load(z, (t.i, k), (t.m, t.k))
        acc = tile.dot(tile.cast(tile.exp(s * 0.1), bf16), c, acc)
    return acc)");
  return all;
}

/// Factors that are computed of bytes: what a matrix unit reads from registers where all dots of the kernel do.
std::vector<GpuCase> factors_of_bytes() {
  std::vector<GpuCase> all;
  auto add = [&](auto... arguments) { all.push_back(loop_case(arguments...)); };
  const char *schedule = "BM=16, BN=64, BK=32", *sums = "Tensor[20, 80, f32]";
  // Two dots that add to one accumulator, the second with a factor of z.
  auto add_two = [&](const char* name, const char* dtype, const char* second) {
    std::string parameters = fmt::format("x: Tensor[20, 96, f16], y: Tensor[96, 80, i8], z: Tensor[96, 80, {}]", dtype);
    std::string body = fmt::format(R"(
    t   = tile.context(m=20, n=80, k=96)
    acc = tile.zeros((t.m, t.n), f32)
    for k in tile.range(96, t.k):
        u   = tile.load(x, (t.i, k), (t.m, t.k))
        acc = tile.dot(u, tile.cast(tile.load(y, (k, t.j), (t.k, t.n)), f16), acc)
        v   = tile.load(z, (k, t.j), (t.k, t.n))
        acc = tile.dot(u, {}, acc)
    return acc)", second);
    add(name, schedule, parameters.c_str(), sums, body.c_str());
  };
  add_two("factors of bytes, one after the other", "u8", "tile.cast(v & 15, f16)");
  add_two("factors of bytes beside a plain one", "f16", "v");
  add("factors of bytes of two sums", schedule,
      "x: Tensor[20, 96, bf16], y: Tensor[96, 80, i8], z: Tensor[96, 80, i8]", sums, R"(
    t = tile.context(m=20, n=80, k=96)
    a = tile.zeros((t.m, t.n), f32)
    b = tile.zeros((t.m, t.n), f32)
    for k in tile.range(90, t.k):
        u = tile.load(x, (t.i, k), (t.m, t.k))
        a = tile.dot(u, tile.cast(tile.load(y, (k, t.j), (t.k, t.n)), bf16), a)
        b = tile.dot(u, tile.cast(tile.load(z, (k, t.j), (t.k, t.n)), bf16), b)
    return a * 0.5 + b)");
  add("factors of bytes that are summed, too", schedule, "x: Tensor[20, 96, f16], y: Tensor[96, 80, i8]", sums, R"(
    t     = tile.context(m=20, n=80, k=96)
    acc   = tile.zeros((t.m, t.n), f32)
    total = tile.zeros((t.n,), f32)
    for k in tile.range(96, t.k):
        w     = tile.cast(tile.load(y, (k, t.j), (t.k, t.n)), f16)
        acc   = tile.dot(tile.load(x, (t.i, k), (t.m, t.k)), w, acc)
        total += tile.sum(tile.cast(w, f32), axis=0)
    return acc + total[None, :])");
  return all;
}

}  // namespace

std::vector<GpuCase> loop_cases() {
  std::vector<GpuCase> all = weighted();
  for (const auto& some : {chains(), states(), others(), factors_of_bytes()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

}  // namespace tessera::test
