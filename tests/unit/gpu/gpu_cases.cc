// The kernels that passes for GPUs are tried on. Constant extents let the copy engine in, symbolic ones do not.

#include "unit/gpu/gpu_program.h"

namespace tessera::test {

namespace {

/// Several tiles along each axis, partial tiles at the edges, one role that loads and one that
/// multiplies.
const SmallSchedule roles{
    .block = {{"m", 64}, {"n", 32}, {"k", 16}}, .warps = 4, .stages = 2, .group = 2,
    .roles = {{"load", 1}, {"mma", 1}}, .persistent = true};
SmallSchedule in_clusters(std::vector<int64_t> extents, bool persistent) {
  SmallSchedule schedule = roles;
  schedule.cluster = std::move(extents);
  schedule.persistent = persistent;
  return schedule;
}
/// Three columns of 128 bytes of results.
const SmallSchedule wide{
    .block = {{"m", 64}, {"n", 96}, {"k", 16}}, .warps = 4, .stages = 3, .roles = {{"load", 1}, {"mma", 1}},
    .persistent = true};
/// Lines that are too short to be swizzled along n, which wgmma cannot read.
const SmallSchedule narrow{
    .block = {{"m", 64}, {"n", 24}, {"k", 16}}, .warps = 4, .stages = 2, .roles = {{"load", 1}, {"mma", 1}}};
/// The same warps load and multiply.
const SmallSchedule one_role{
    .block = {{"m", 64}, {"n", 32}, {"k", 16}}, .warps = 4, .roles = {{"load", 0}, {"mma", 1}}};
const SmallSchedule fused_multiply{.block = {{"m", 16}, {"n", 32}, {"k", 8}}, .warps = 2};
const SmallSchedule bytes_by_roles{
    .block = {{"m", 64}, {"n", 32}, {"k", 32}}, .warps = 4, .stages = 2, .roles = {{"load", 1}, {"mma", 1}}};
const SmallSchedule bytes{.block = {{"m", 64}, {"n", 32}, {"k", 32}}, .warps = 4};
const SmallSchedule batched{.block = {{"b", 1}, {"m", 32}, {"n", 32}, {"k", 16}}, .warps = 4};

const SmallSchedule batched_roles{
    .block = {{"b", 1}, {"m", 64}, {"n", 32}, {"k", 16}}, .warps = 4, .stages = 2,
    .roles = {{"load", 1}, {"mma", 1}}, .persistent = true};

const std::vector<DimValues> matmul_sizes = {
    {{"M", 70}, {"N", 33}, {"K", 50}}, {{"M", 1}, {"N", 1}, {"K", 1}},  {{"M", 7}, {"N", 41}, {"K", 0}},
    {{"M", 64}, {"N", 32}, {"K", 16}}, {{"M", 70}, {"N", 33}, {"K", 40}}, {{"M", 129}, {"N", 40}, {"K", 17}},
    // Rows at multiples of 16 bytes, which is what variants of kernels ask for.
    {{"M", 200}, {"N", 72}, {"K", 88}}, {{"M", 16}, {"N", 8}, {"K", 0}},
    // Odd rows that are worth a copy.
    {{"M", 130}, {"N", 33}, {"K", 200}}};

/// A matmul summed in `total`, and where it is not that, cast to `result`.
std::string matmul(const std::string& flags, const std::string& total, const std::string& extents,
                    const std::string& result) {
  std::string text =
      "%0: tensor<" + extents + ", " + total + "> = gir.gemm %a, %b {accum = " + total + flags + "}\n";
  if (result == total) return text + "gir.return [%0]\n";
  return text + "%1: tensor<" + extents + ", " + result + "> = gir.cast %0\ngir.return [%1]\n";
}

std::vector<GpuCase> matmuls() {
  const std::string nk = ", transpose_b = true", km = ", transpose_a = true";
  return {
      {"matmul bf16, b K x N, by tensor maps", "%a: tensor<72 x 40, bf16>, %b: tensor<40 x 48, bf16>",
       matmul("", "f32", "72 x 48", "bf16"), 1, roles, {{}}, 8e-3},
      {"matmul bf16, b N x K, by tensor maps", "%a: tensor<136 x 56, bf16>, %b: tensor<72 x 56, bf16>",
       matmul(nk, "f32", "136 x 72", "bf16"), 1, roles, {{}}, 8e-3},
      {"matmul f16, a K x M, by tensor maps", "%a: tensor<40 x 72, f16>, %b: tensor<40 x 48, f16>",
       matmul(km, "f32", "72 x 48", "f32"), 1, roles, {{}}, 1e-5},
      {"matmul bf16, one role, by tensor maps", "%a: tensor<64 x 48, bf16>, %b: tensor<48 x 32, bf16>",
       matmul("", "f32", "64 x 32", "f32"), 1, one_role, {{}}, 1e-5},
      {"matmul bf16, b K x N, any size", "%a: tensor<M x K, bf16>, %b: tensor<K x N, bf16>",
       matmul("", "f32", "M x N", "bf16"), 1, roles, matmul_sizes, 8e-3},
      {"matmul bf16, b N x K, any size", "%a: tensor<M x K, bf16>, %b: tensor<N x K, bf16>",
       matmul(nk, "f32", "M x N", "bf16"), 1, one_role, matmul_sizes, 8e-3},
      {"matmul f32, any size", "%a: tensor<M x K, f32>, %b: tensor<K x N, f32>", matmul("", "f32", "M x N", "f32"), 1,
       fused_multiply, matmul_sizes, 1e-5},
      {"matmul f32, N x K, even rows", "%a: tensor<40 x 24, f32>, %b: tensor<36 x 24, f32>",
       matmul(nk, "f32", "40 x 36", "f32"), 1, fused_multiply, {{}}, 1e-5},
      {"matmul f32, b N x K, by tensor maps", "%a: tensor<72 x 40, f32>, %b: tensor<48 x 40, f32>",
       matmul(nk, "f32", "72 x 48", "f32"), 1, roles, {{}}, 1e-5},
      {"matmul tf32, b N x K, by tensor maps", "%a: tensor<72 x 40, tf32>, %b: tensor<48 x 40, tf32>",
       matmul(nk, "f32", "72 x 48", "f32"), 1, roles, {{}}, 1e-5},
      {"matmul tf32, b K x N, any size", "%a: tensor<M x K, tf32>, %b: tensor<K x N, tf32>",
       matmul("", "f32", "M x N", "f32"), 1, one_role, matmul_sizes, 1e-5},
      {"matmul f8, b N x K, by tensor maps", "%a: tensor<72 x 144, f8e4m3>, %b: tensor<48 x 144, f8e4m3>",
       matmul(nk, "f32", "72 x 48", "f32"), 1, bytes_by_roles, {{}}, 1e-5},
      {"matmul f8, a K x M, b K x N, any size", "%a: tensor<K x M, f8e5m2>, %b: tensor<K x N, f8e5m2>",
       matmul(km, "f32", "M x N", "f32"), 1, bytes, matmul_sizes, 1e-5},
      {"matmul i8, b N x K, by tensor maps", "%a: tensor<72 x 80, i8>, %b: tensor<48 x 80, i8>",
       matmul(nk, "i32", "72 x 48", "i32"), 1, bytes_by_roles, {{}}, 0},
      {"matmul u8, any size", "%a: tensor<M x K, u8>, %b: tensor<K x N, u8>", matmul("", "u32", "M x N", "u32"), 1,
       bytes, matmul_sizes, 0},
      {"matmul i8, any size", "%a: tensor<M x K, i8>, %b: tensor<K x N, i8>", matmul("", "i32", "M x N", "i32"), 1,
       fused_multiply, matmul_sizes, 0},
      {"matmul i64, any size", "%a: tensor<M x K, i64>, %b: tensor<K x N, i64>", matmul("", "i64", "M x N", "i64"), 1,
       fused_multiply, matmul_sizes, 0},
      {"matmul f64, any size", "%a: tensor<M x K, f64>, %b: tensor<K x N, f64>", matmul("", "f64", "M x N", "f64"), 1,
       fused_multiply, matmul_sizes, 1e-12},
      {"matmul u64", "%a: tensor<40 x 24, u64>, %b: tensor<24 x 36, u64>", matmul("", "u64", "40 x 36", "u64"), 1,
       fused_multiply, {{}}, 0},
      {"matmul in clusters of rows", "%a: tensor<M x 40, bf16>, %b: tensor<40 x 48, bf16>",
       matmul("", "f32", "M x 48", "bf16"), 1, in_clusters({2}, true), {{{"M", 136}}, {{"M", 0}}}, 8e-3},
      {"matmul in clusters of columns", "%a: tensor<M x 40, bf16>, %b: tensor<40 x 72, bf16>",
       matmul("", "f32", "M x 72", "f32"), 1, in_clusters({1, 2}, false), {{{"M", 70}}}, 1e-5},
      {"matmul in clusters of both", "%a: tensor<M x 40, bf16>, %b: tensor<72 x 40, bf16>",
       matmul(nk, "f32", "M x 72", "f32"), 1, in_clusters({2, 2}, true), {{{"M", 136}}}, 1e-5},
      {"matmul of wide tiles", "%a: tensor<72 x 40, bf16>, %b: tensor<40 x 104, bf16>",
       matmul("", "f32", "72 x 104", "f32"), 1, wide, {{}}, 1e-5},
      {"matmul of narrow tiles", "%a: tensor<72 x 40, bf16>, %b: tensor<40 x 48, bf16>",
       matmul("", "f32", "72 x 48", "f32"), 1, narrow, {{}}, 1e-5},
      {"matmul of batches", "%a: tensor<B x M x K, bf16>, %b: tensor<B x N x K, bf16>",
       matmul(nk, "f32", "B x M x N", "f32"), 1, batched,
       {{{"B", 2}, {"M", 35}, {"N", 19}, {"K", 24}}, {{"B", 1}, {"M", 1}, {"N", 1}, {"K", 0}}}, 1e-5},
      {"matmul of batches by tensor maps", "%a: tensor<3 x 72 x 40, bf16>, %b: tensor<3 x 40 x 48, bf16>",
       matmul("", "f32", "3 x 72 x 48", "f32"), 1, batched_roles, {{}}, 1e-5},
      {"matmul with a sum of 16 bits", "%a: tensor<M x K, bf16>, %b: tensor<K x N, bf16>",
       matmul("", "bf16", "M x N", "bf16"), 1, one_role,
       {{{"M", 65}, {"N", 33}, {"K", 150}}}, 3e-2},
      {"matmul of a slice", "%a: tensor<70 x 96, bf16>, %b: tensor<32 x 48, bf16>",
       "%0: tensor<70 x 32, bf16> = gir.slice %a {starts = [0, 32], steps = [1, 1]}\n"
       "%1: tensor<70 x 48, f32> = gir.gemm %0, %b {accum = f32}\ngir.return [%1]\n",
       1, roles, {{}}, 1e-5},
      {"matmul, three columns of bias, gelu and residual",
       "%a: tensor<M x 40, bf16>, %b: tensor<40 x 104, bf16>, %c: tensor<104, f32>, %r: tensor<M x 104, bf16>", R"(
    %0: tensor<M x 104, f32> = gir.gemm %a, %b {accum = f32}
    %2: tensor<M x 104, f32> = gir.broadcast %c
    %3: tensor<M x 104, f32> = gir.add %0, %2
    %4: tensor<M x 104, f32> = gir.gelu %3
    %5: tensor<M x 104, f32> = gir.cast %r
    %6: tensor<M x 104, f32> = gir.add %5, %4
    gir.return [%6]
)",
       1, wide, {{{"M", 72}}, {{"M", 1}}, {{"M", 0}}}, 1e-5},
      {"matmul of odd rows", "%a: tensor<M x 40, bf16>, %b: tensor<40 x 101, bf16>",
       matmul("", "f32", "M x 101", "f32"), 1, wide, {{{"M", 72}}, {{"M", 1}}, {{"M", 0}}}, 1e-5},
      {"matmul of odd rows with bias and residual",
       "%a: tensor<M x 40, bf16>, %b: tensor<40 x N, bf16>, %c: tensor<N, f32>, %r: tensor<M x N, bf16>", R"(
    %0: tensor<M x N, f32> = gir.gemm %a, %b {accum = f32}
    %2: tensor<M x N, f32> = gir.broadcast %c
    %3: tensor<M x N, f32> = gir.add %0, %2
    %4: tensor<M x N, f32> = gir.gelu %3
    %5: tensor<M x N, f32> = gir.cast %r
    %6: tensor<M x N, f32> = gir.add %5, %4
    %7: tensor<M x N, bf16> = gir.cast %6
    gir.return [%7]
)",
       1, wide, {{{"M", 72}, {"N", 101}}, {{"M", 1}, {"N", 3}}, {{"M", 130}, {"N", 31}}}, 8e-3},
      {"matmul, bias and gelu of uneven rows and columns",
       "%a: tensor<136 x 40, bf16>, %b: tensor<40 x 136, bf16>, %c: tensor<136, f32>", R"(
    %0: tensor<136 x 136, f32> = gir.gemm %a, %b {accum = f32}
    %1: tensor<136 x 136, f32> = gir.broadcast %c
    %2: tensor<136 x 136, f32> = gir.add %0, %1
    %3: tensor<136 x 136, f32> = gir.gelu %2
    gir.return [%3]
)",
       1, roles, {{}}, 1e-5},
      {"matmul, bias, gelu and residual",
       "%a: tensor<72 x 40, bf16>, %b: tensor<40 x 48, bf16>, %c: tensor<48, bf16>, %r: tensor<72 x 48, bf16>", R"(
    %0: tensor<72 x 48, f32> = gir.gemm %a, %b {accum = f32}
    %1: tensor<48, f32> = gir.cast %c
    %2: tensor<72 x 48, f32> = gir.broadcast %1
    %3: tensor<72 x 48, f32> = gir.add %0, %2
    %4: tensor<72 x 48, f32> = gir.gelu %3
    %5: tensor<72 x 48, f32> = gir.cast %r
    %6: tensor<72 x 48, f32> = gir.add %5, %4
    %7: tensor<72 x 48, bf16> = gir.cast %6
    gir.return [%7]
)",
       1, roles, {{}}, 8e-3},
  };
}

/// One role loads through rings, another keeps the weights in registers.
std::vector<GpuCase> attentions_by_roles() {
  SmallSchedule roles{.block = {{"m", 64}, {"n", 32}}, .warps = 4, .stages = 2, .roles = {{"load", 1}, {"mma", 1}}};
  SmallSchedule persistent = roles;
  persistent.persistent = true;
  auto attention = [](const std::string& attributes) {
    return "%0: tensor<1 x 2 x 70 x 64, f32> = gir.flash_attention %q, %k, %v, [], [], []" + attributes +
           "\ngir.return [%0]\n";
  };
  const std::string known =
      "%q: tensor<1 x 2 x 70 x 32, bf16>, %k: tensor<1 x 1 x 80 x 32, bf16>, %v: tensor<1 x 1 x 80 x 64, bf16>";
  const std::string any = "%q: tensor<B x H x S x 32, f16>, %k: tensor<B x H x T x 32, f16>";
  return {
      {"attention by roles", known, attention(""), 1, roles, {{}}, 8e-3},
      {"attention by roles, causal, persistent", known, attention(" {causal = true}"), 1, persistent, {{}}, 8e-3},
      {"attention by roles, a window", known, attention(" {causal = true, window = 9}"), 1, roles, {{}}, 8e-3},
      {"attention by roles, any size",
       any,
       "%0: tensor<B x H x S x 32, f32> = gir.flash_attention %q, %k, %k, [], [], [] {causal = true}\ngir.return "
       "[%0]\n",
       1,
       roles,
       {{{"B", 1}, {"H", 2}, {"S", 70}, {"T", 90}},
        {{"B", 2}, {"H", 1}, {"S", 3}, {"T", 1}},
        {{"B", 1}, {"H", 1}, {"S", 66}, {"T", 0}}},
       2e-3},
  };
}

/// Sums and keys that programs share, and in which rows of several heads are one tile.
std::vector<GpuCase> parts() {
  const SmallSchedule small{.block = {{"m", 16}, {"n", 32}, {"k", 32}}, .warps = 2};
  const SmallSchedule by_roles{
      .block = {{"m", 64}, {"n", 32}, {"k", 32}}, .warps = 4, .stages = 2, .roles = {{"load", 1}, {"mma", 1}}};
  const SmallSchedule ahead{.block = {{"m", 16}, {"n", 32}, {"k", 32}}, .warps = 2, .stages = 3};
  const SmallSchedule few{.block = {{"m", 16}, {"n", 32}}, .warps = 2};
  const SmallSchedule few_by_roles{
      .block = {{"m", 64}, {"n", 32}}, .warps = 4, .stages = 2, .roles = {{"load", 1}, {"mma", 1}}};
  const std::string factors = "%a: tensor<M x K, bf16>, %b: tensor<K x N, bf16>";
  const std::string batches = "%a: tensor<B x M x K, f16>, %b: tensor<B x N x K, f16>";
  const std::string operands =
      "%q: tensor<B x 4 x S x 32, bf16>, %k: tensor<B x 2 x T x 32, bf16>, %v: tensor<B x 2 x T x 48, bf16>";
  auto attention = [](const std::string& optional, const std::string& attributes) {
    return "%0: tensor<B x 4 x S x 48, f32> = gir.flash_attention %q, %k, %v, " + optional + ", []" + attributes +
           "\ngir.return [%0]\n";
  };
  const std::string widened =
      "%0: tensor<K x N, bf16> = gir.cast %b\n%1: tensor<M x N, f32> = gir.gemm %a, %0 {accum = f32}\n"
      "gir.return [%1]\n";
  // A number is added to the scores of the first 256 keys, which are all of a part, or of all parts.
  auto hidden = [&](const std::string& number) {
    return "%t: tensor<T, i64> = gir.iota {axis = 0}\n%e: tensor<i64> = gir.dim {value = <256>}\n"
           "%f: tensor<T, i64> = gir.broadcast %e\n%l: tensor<T, bool> = gir.lt %t, %f\n"
           "%n: tensor<T, f32> = gir.full {value = " + number + "}\n%z: tensor<T, f32> = gir.full {value = 0.0}\n"
           "%w: tensor<T, f32> = gir.select %l, %n, %z\n%c: tensor<B x 4 x S x T, f32> = gir.broadcast %w\n" +
           attention("[%c], []", "");
  };
  const std::vector<DimValues> sums = {{{"M", 5}, {"N", 40}, {"K", 2100}}, {{"M", 1}, {"N", 8}, {"K", 1920}},
                                       {{"M", 3}, {"N", 4}, {"K", 0}}};
  const std::vector<DimValues> keys = {{{"B", 2}, {"S", 1}, {"T", 600}}, {{"B", 1}, {"S", 3}, {"T", 300}},
                                       {{"B", 1}, {"S", 5}, {"T", 256}}};
  return {
      {"parts of a matmul", factors, matmul("", "f32", "M x N", "bf16"), 1, small, sums, 8e-3},
      {"parts of a matmul by roles", factors, matmul("", "f32", "M x N", "f32"), 1, by_roles,
       {{{"M", 5}, {"N", 40}, {"K", 2100}}, {{"M", 3}, {"N", 4}, {"K", 0}}}, 1e-4},
      {"parts of a batch of matmuls", batches, matmul(", transpose_b = true", "f32", "B x M x N", "f16"), 1, by_roles,
       {{{"B", 3}, {"M", 2}, {"N", 16}, {"K", 1600}}, {{"B", 1}, {"M", 1}, {"N", 1}, {"K", 1}}}, 2e-3},
      {"parts of integers", "%a: tensor<M x K, i8>, %b: tensor<K x N, i8>", matmul("", "i32", "M x N", "i32"), 1, small,
       {{{"M", 5}, {"N", 33}, {"K", 5000}}}, 0},
      {"parts of weights of i8", "%a: tensor<M x K, bf16>, %b: tensor<K x N, i8>", widened, 1, ahead,
       {{{"M", 1}, {"N", 48}, {"K", 1100}}, {{"M", 17}, {"N", 33}, {"K", 530}}, {{"M", 3}, {"N", 16}, {"K", 0}}}, 1e-4},
      {"parts of keys", operands, attention("[], []", ""), 1, few, keys, 8e-3},
      {"parts of keys by roles", operands, attention("[], []", " {causal = true}"), 1, few_by_roles, keys, 8e-3},
      {"parts of keys in a window", operands, attention("[], []", " {causal = true, window = 70}"), 1, few, keys, 8e-3},
      {"parts of keys around a row", operands, attention("[], []", " {window = 300}"), 1, few, keys, 8e-3},
      {"parts of keys and a bias", operands + ", %c: tensor<B x 4 x S x T, f32>", attention("[%c], []", ""), 1, few,
       keys, 8e-3},
      {"parts of what is held", operands + ", %n: tensor<i64>", attention("[], [%n]", " {causal = true}"), 1, few, keys,
       8e-3},
      {"parts of keys that roll", operands + ", %n: tensor<i64>",
       attention("[], [%n]", " {causal = true, rolling = true}"), 1, few, {{{"B", 1}, {"S", 1}, {"T", 520}}}, 8e-3},
      {"parts of keys that nothing sees", operands, hidden("-inf"), 1, few, keys, 8e-3},
      {"parts of keys with a NaN", operands, hidden("nan"), 1, few, keys, 8e-3},
      {"parts of keys of f32", "%q: tensor<1 x 2 x S x 24, f32>, %k: tensor<1 x 2 x T x 24, f32>",
       "%0: tensor<1 x 2 x S x 24, f32> = gir.flash_attention %q, %k, %k, [], [], []\ngir.return [%0]\n", 1, few,
       {{{"S", 1}, {"T", 9000}}}, 1e-5},
  };
}

std::vector<GpuCase> attentions() {
  const SmallSchedule four{.block = {{"m", 64}, {"n", 32}}, .warps = 4};
  const SmallSchedule two{.block = {{"m", 16}, {"n", 16}}, .warps = 2};
  const std::string operands =
      "%q: tensor<1 x 2 x S x 32, bf16>, %k: tensor<1 x 1 x T x 32, bf16>, %v: tensor<1 x 1 x T x 48, bf16>";
  auto attention = [](const std::string& attributes) {
    return "%0: tensor<1 x 2 x S x 48, f32> = gir.flash_attention %q, %k, %v, [], [], []" + attributes +
           "\ngir.return [%0]\n";
  };
  const std::vector<DimValues> sizes = {
      {{"S", 70}, {"T", 70}}, {{"S", 1}, {"T", 40}}, {{"S", 20}, {"T", 7}}, {{"S", 64}, {"T", 64}}};
  return {
      {"attention of groups", operands, attention(""), 1, four, sizes, 8e-3},
      {"attention of groups, causal", operands, attention(" {causal = true}"), 1, four, sizes, 8e-3},
      {"attention of groups, a window, small tiles", operands, attention(" {causal = true, window = 9}"), 1, two, sizes,
       8e-3},
      {"attention and sums",
       "%q: tensor<2 x 1 x 40 x 16, f16>, %b: tensor<2 x 1 x 40 x 40, f32>",
       "%0: tensor<2 x 1 x 40 x 16, f32>, %1: tensor<2 x 1 x 40, f32> = "
       "gir.flash_attention %q, %q, %q, [%b], [], [] {scale = 0.5}\ngir.return [%0, %1]\n",
       2,
       two,
       {{}},
       2e-3},
      {"attention of any depth",
       "%q: tensor<1 x 2 x S x D, bf16>, %k: tensor<1 x 1 x T x D, bf16>, %v: tensor<1 x 1 x T x E, bf16>",
       "%0: tensor<1 x 2 x S x E, f32> = gir.flash_attention %q, %k, %v, [], [], [] {causal = true}\n"
       "gir.return [%0]\n",
       1,
       two,
       {{{"S", 17}, {"T", 20}, {"D", 24}, {"E", 21}},
        {{"S", 5}, {"T", 5}, {"D", 72}, {"E", 8}},
        {{"S", 3}, {"T", 33}, {"D", 1}, {"E", 200}},
        {{"S", 2}, {"T", 0}, {"D", 16}, {"E", 16}}},
       8e-3},
      {"attention of 20 and 5 columns",
       "%q: tensor<1 x 2 x S x 20, f16>, %k: tensor<1 x 1 x T x 20, f16>, %v: tensor<1 x 1 x T x 5, f16>",
       "%0: tensor<1 x 2 x S x 5, f32> = gir.flash_attention %q, %k, %v, [], [], [] {window = 7}\ngir.return [%0]\n",
       1,
       two,
       {{{"S", 17}, {"T", 20}}, {{"S", 9}, {"T", 1}}},
       2e-3},
      {"attention over what is held",
       operands + ", %n: tensor<i64>",
       "%0: tensor<1 x 2 x S x 48, f32> = gir.flash_attention %q, %k, %v, [], [%n], [] {causal = true}\n"
       "%1: tensor<1 x 2 x S x 48, f32> = gir.flash_attention %q, %k, %v, [], [%n], [] {window = 3}\n"
       "gir.return [%0, %1]\n",
       2,
       two,
       {{{"S", 3}, {"T", 40}}, {{"S", 1}, {"T", 9}}, {{"S", 20}, {"T", 33}}},
       8e-3},
      {"attention over keys that roll",
       operands + ", %n: tensor<i64>",
       "%0: tensor<1 x 2 x S x 48, f32> = gir.flash_attention %q, %k, %v, [], [%n], [] {causal = true, rolling = "
       "true}\n"
       "%1: tensor<1 x 2 x S x 48, f32> = gir.flash_attention %q, %k, %v, [], [%n], [] {window = 3, rolling = true}\n"
       "gir.return [%0, %1]\n",
       2,
       two,
       {{{"S", 3}, {"T", 6}}, {{"S", 1}, {"T", 3}}, {{"S", 2}, {"T", 33}}},
       8e-3},
      {"attention with dropout",
       operands + ", %s: tensor<u64>, %b: tensor<1 x 2 x S x T, f32>",
       "%0: tensor<1 x 2 x S x 48, f32>, %1: tensor<1 x 2 x S, f32> = gir.flash_attention %q, %k, %v, [], [], [%s] "
       "{causal = true, dropout = 0.4, stream = 12}\n"
       "%2: tensor<1 x 2 x S x 48, f32> = gir.flash_attention %q, %k, %v, [%b], [], [%s] {dropout = 0.1, stream = 3}\n"
       "gir.return [%0, %1, %2]\n",
       3,
       two,
       {{{"S", 20}, {"T", 37}}, {{"S", 1}, {"T", 9}}},
       8e-3},
      {"attention of one row",
       "%q: tensor<2 x 2 x 1 x D, bf16>, %k: tensor<2 x 1 x T x D, bf16>, %n: tensor<i64>",
       "%0: tensor<2 x 2 x 1 x D, f32> = gir.flash_attention %q, %k, %k, [], [%n], [] {causal = true}\n"
       "gir.return [%0]\n",
       1,
       two,
       {{{"T", 40}, {"D", 32}}, {{"T", 9}, {"D", 30}}},
       8e-3},
      {"attention of f32",
       "%q: tensor<1 x 4 x S x D, f32>, %k: tensor<1 x 2 x T x D, f32>, %n: tensor<i64>",
       "%0: tensor<1 x 4 x S x D, f32> = gir.flash_attention %q, %k, %k, [], [%n], [] {causal = true}\n"
       "%1: tensor<1 x 4 x S x D, f32> = gir.flash_attention %q, %k, %k, [], [], [] {window = 5}\n"
       "gir.return [%0, %1]\n",
       2,
       two,
       {{{"S", 20}, {"T", 33}, {"D", 24}}, {{"S", 1}, {"T", 9}, {"D", 70}}},
       1e-5},
      {"attention of one row of f32",
       "%q: tensor<1 x 4 x 1 x 24, f32>, %k: tensor<1 x 2 x T x 24, f32>, %n: tensor<i64>",
       "%0: tensor<1 x 4 x 1 x 24, f32> = gir.flash_attention %q, %k, %k, [], [%n], [] {causal = true}\n"
       "%1: tensor<1 x 4 x 1 x 24, f32> = gir.flash_attention %q, %k, %k, [], [], [] {causal = true, window = 50}\n"
       "gir.return [%0, %1]\n",
       2,
       {},
       {{{"T", 70}}, {{"T", 1}}},
       1e-5},
      {"attention written out",
       "%q: tensor<1 x 2 x S x 300, f32>, %n: tensor<i64>",
       "%0: tensor<1 x 2 x S x 300, f32> = gir.flash_attention %q, %q, %q, [], [%n], [] {causal = true}\n"
       "%1: tensor<1 x 2 x S x 300, f32> = gir.flash_attention %q, %q, %q, [], [%n], [] {window = 2, rolling = true}\n"
       "gir.return [%0, %1]\n",
       2,
       {},
       {{{"S", 9}}, {{"S", 2}}},
       1e-5},
  };
}

std::vector<GpuCase> rows() {
  const SmallSchedule one{.block = {{"m", 1}}, .warps = 2}, four{.block = {{"m", 4}}, .warps = 2};
  const std::vector<DimValues> columns = {
      {{"M", 5}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 3}, {"N", 0}}, {{"M", 2}, {"N", 1029}}};
  const std::vector<DimValues> heights = {{{"M", 7}}, {{"M", 1}}, {{"M", 0}}};
  // Of these extents programs take several rows: whole vectors and others, as many as a tile has and fewer.
  const std::vector<DimValues> few = {{{"M", 300}, {"N", 16}}, {{"M", 33}, {"N", 17}}, {{"M", 1}, {"N", 1}},
                                      {{"M", 70}, {"N", 40}},  {{"M", 9}, {"N", 128}}, {{"M", 0}, {"N", 8}},
                                      {{"M", 17}, {"N", 250}}, {{"M", 3}, {"N", 600}}};
  return {
      {"softmax of short rows, any size", "%x: tensor<M x N, bf16>",
       "%0: tensor<M x N, f32> = gir.cast %x\n%1: tensor<M x N, f32> = gir.softmax %0\n"
       "%2: tensor<M x N, bf16> = gir.cast %1\ngir.return [%2]\n",
       1, {}, few, 8e-3},
      {"generated: sums of short rows", "%x: tensor<M x N, bf16>",
       "%0: tensor<M x N, f32> = gir.cast %x\n"
       "%1: tensor<M, f32> = gir.reduce %0 {axes = [1], kind = \"sum\"}\ngir.return [%1]\n", 1, {}, few, 1e-5},
      {"generated: sums of short columns", "%x: tensor<N x M, bf16>",
       "%0: tensor<N x M, f32> = gir.cast %x\n"
       "%1: tensor<M, f32> = gir.reduce %0 {axes = [0], kind = \"sum\"}\ngir.return [%1]\n", 1, {}, few, 1e-5},
      {"generated: short lines", "%x: tensor<M x N, f32>, %b: tensor<N, f32>",
       "%0: tensor<M x N, f32> = gir.broadcast %b\n%1: tensor<M x N, f32> = gir.add %x, %0\ngir.return [%1]\n", 1, {},
       few, 1e-5},
      {"generated: heads apart", "%x: tensor<B x M x 3 x N, bf16>",
       "%0: tensor<B x 3 x M x N, bf16> = gir.transpose %x {perm = [0, 2, 1, 3]}\ngir.return [%0]\n", 1, {},
       {{{"B", 2}, {"M", 37}, {"N", 16}}, {{"B", 1}, {"M", 5}, {"N", 33}}, {{"B", 1}, {"M", 1}, {"N", 0}}}, 0},
      {"generated: transposition alone", "%x: tensor<M x N, bf16>",
       "%0: tensor<N x M, bf16> = gir.transpose %x {perm = [1, 0]}\ngir.return [%0]\n", 1, {},
       {{{"M", 72}, {"N", 136}}, {{"M", 65}, {"N", 7}}, {{"M", 1}, {"N", 130}}, {{"M", 3}, {"N", 0}}}, 0},
      {"embedding of short rows", "%ids: tensor<M, i64>, %t: tensor<V x N, bf16>",
       "%0: tensor<M x N, bf16> = gir.embedding %ids, %t\ngir.return [%0]\n", 1, {},
       {{{"M", 70}, {"V", 7}, {"N", 16}}, {{"M", 33}, {"V", 7}, {"N", 37}}, {{"M", 0}, {"V", 1}, {"N", 1}}}, 0},
      {"rmsnorm of sums", "%x: tensor<M x N, bf16>, %r: tensor<M x N, bf16>, %g: tensor<N, f32>", R"(
    %0: tensor<M x N, bf16> = gir.add %x, %r
    %1: tensor<M x N, f32> = gir.cast %0
    %2: tensor<M x N, f32> = gir.rmsnorm %1, [%g] {eps = 1e-05}
    %3: tensor<M x N, bf16> = gir.cast %2
    gir.return [%3, %0]
)",
       2, {}, few, 8e-3},
      {"softmax of products", "%x: tensor<M x N, f32>, %y: tensor<M x N, f32>", R"(
    %0: tensor<M x N, f32> = gir.mul %x, %y
    %1: tensor<M x N, f32> = gir.softmax %0
    gir.return [%1]
)",
       1, {}, few, 1e-5},
      {"softmax, short rows", "%x: tensor<M x 96, bf16>",
       "%0: tensor<M x 96, f32> = gir.cast %x\n%1: tensor<M x 96, f32> = gir.softmax %0\n"
       "%2: tensor<M x 96, bf16> = gir.cast %1\ngir.return [%2]\n",
       1, four, heights, 8e-3},
      {"softmax, rows of 1000", "%x: tensor<M x 1000, bf16>",
       "%0: tensor<M x 1000, f32> = gir.cast %x\n%1: tensor<M x 1000, f32> = gir.softmax %0\n"
       "%2: tensor<M x 1000, bf16> = gir.cast %1\ngir.return [%2]\n",
       1, one, heights, 8e-3},
      {"rmsnorm, rows of 2568", "%x: tensor<M x 2568, f32>",
       "%0: tensor<M x 2568, f32> = gir.rmsnorm %x, [] {eps = 1e-05}\ngir.return [%0]\n", 1, one, heights, 1e-5},
      {"softmax, any size", "%x: tensor<M x N, f32>", "%0: tensor<M x N, f32> = gir.softmax %x\ngir.return [%0]\n", 1,
       one, {{{"M", 5}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 2}, {"N", 1029}}}, 1e-5},
      {"rmsnorm, short rows", "%x: tensor<M x 72, bf16>, %g: tensor<72, f32>",
       "%0: tensor<M x 72, f32> = gir.cast %x\n%1: tensor<M x 72, f32> = gir.rmsnorm %0, [%g] {eps = 1e-05}\n"
       "%2: tensor<M x 72, bf16> = gir.cast %1\ngir.return [%2]\n",
       1, four, heights, 8e-3},
      {"rmsnorm, any size", "%x: tensor<M x N, f32>",
       "%0: tensor<M x N, f32> = gir.rmsnorm %x, [] {eps = 1e-05}\ngir.return [%0]\n", 1, one,
       {{{"M", 5}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 2}, {"N", 1029}}}, 1e-5},
      {"layer norm", "%x: tensor<M x 50, f32>, %g: tensor<50, f32>, %b: tensor<50, f32>", R"(
    %0: tensor<M, f32> = gir.reduce %x {axes = [1], kind = "sum"}
    %1: tensor<M, f32> = gir.full {value = 0.02}
    %2: tensor<M, f32> = gir.mul %0, %1
    %3: tensor<M x 1, f32> = gir.reshape %2
    %4: tensor<M x 50, f32> = gir.broadcast %3
    %5: tensor<M x 50, f32> = gir.sub %x, %4
    %6: tensor<M x 50, f32> = gir.mul %5, %5
    %7: tensor<M, f32> = gir.reduce %6 {axes = [1], kind = "sum"}
    %8: tensor<M, f32> = gir.mul %7, %1
    %9: tensor<M, f32> = gir.rsqrt %8
    %10: tensor<M x 1, f32> = gir.reshape %9
    %11: tensor<M x 50, f32> = gir.broadcast %10
    %12: tensor<M x 50, f32> = gir.mul %5, %11
    %13: tensor<M x 50, f32> = gir.broadcast %g
    %14: tensor<M x 50, f32> = gir.mul %12, %13
    %15: tensor<M x 50, f32> = gir.broadcast %b
    %16: tensor<M x 50, f32> = gir.add %14, %15
    gir.return [%16]
)",
       1, {}, heights, 1e-5},
      {"cross entropy", "%x: tensor<M x 40, f32>, %t: tensor<M, i32>",
       "%0: tensor<M, f32> = gir.cross_entropy %x, %t\ngir.return [%0]\n", 1, four, heights, 1e-5},
      {"cross entropy, any size", "%x: tensor<M x N, bf16>, %t: tensor<M, i64>",
       "%0: tensor<M x N, f32> = gir.cast %x\n%1: tensor<M, f32> = gir.cross_entropy %0, %t\ngir.return [%1]\n", 1, one,
       {{{"M", 5}, {"N", 37}}, {{"M", 1}, {"N", 1}}}, 1e-5},
      {"embedding", "%ids: tensor<M, i32>, %t: tensor<8 x 24, bf16>",
       "%0: tensor<M x 24, bf16> = gir.embedding %ids, %t\ngir.return [%0]\n", 1, four, heights, 0},
      {"embedding, any size", "%ids: tensor<M, i64>, %t: tensor<V x N, f32>",
       "%0: tensor<M x N, f32> = gir.embedding %ids, %t\ngir.return [%0]\n", 1, four,
       {{{"M", 5}, {"V", 7}, {"N", 37}}, {{"M", 1}, {"V", 1}, {"N", 1}}}, 0},
      {"generated: row sums", "%x: tensor<M x N, f32>",
       "%0: tensor<M, f32> = gir.reduce %x {axes = [1], kind = \"sum\"}\ngir.return [%0]\n", 1, {}, columns, 1e-5},
      {"generated: row sums in 64 bits", "%x: tensor<M x N, f64>",
       "%0: tensor<M, f64> = gir.reduce %x {axes = [1], kind = \"sum\"}\ngir.return [%0]\n", 1, {}, columns, 1e-12},
      {"generated: row maxima of 64 bits", "%x: tensor<M x N, i64>",
       "%0: tensor<M, i64> = gir.reduce %x {axes = [1], kind = \"max\"}\ngir.return [%0]\n", 1, {}, columns, 0},
      {"generated: column maxima", "%x: tensor<M x N, bf16>",
       "%0: tensor<N, bf16> = gir.reduce %x {axes = [0], kind = \"max\"}\ngir.return [%0]\n", 1, {},
       {{{"M", 5}, {"N", 37}}, {{"M", 1}, {"N", 1}}, {{"M", 0}, {"N", 3}}}, 0},
      {"generated: row maxima bf16", "%x: tensor<M x 96, bf16>",
       "%0: tensor<M, bf16> = gir.reduce %x {axes = [1], kind = \"max\"}\ngir.return [%0]\n", 1, {}, heights, 0},
      {"generated: row minima f8", "%x: tensor<M x 96, f8e4m3>",
       "%0: tensor<M, f8e4m3> = gir.reduce %x {axes = [1], kind = \"min\"}\ngir.return [%0]\n", 1, {}, heights, 0},
      {"generated: row sums f64", "%x: tensor<M x 96, f64>",
       "%0: tensor<M, f64> = gir.reduce %x {axes = [1], kind = \"sum\"}\ngir.return [%0]\n", 1, {}, heights, 1e-12},
      {"generated: row sums f16", "%x: tensor<M x 1000, f16>",
       "%0: tensor<M, f16> = gir.reduce %x {axes = [1], kind = \"sum\"}\ngir.return [%0]\n", 1, {}, heights, 3e-2},
      {"generated: row products i64", "%x: tensor<M x 1000, i64>",
       "%0: tensor<M, i64> = gir.reduce %x {axes = [1], kind = \"prod\"}\ngir.return [%0]\n", 1, {}, heights, 0},
      {"generated: row sums i8", "%x: tensor<M x 2000, i8>",
       "%0: tensor<M, i8> = gir.reduce %x {axes = [1], kind = \"sum\"}\ngir.return [%0]\n", 1, {}, heights, 0},
      {"generated: row maxima u16", "%x: tensor<M x 96, u16>",
       "%0: tensor<M, u16> = gir.reduce %x {axes = [1], kind = \"max\"}\ngir.return [%0]\n", 1, {}, heights, 0},
      {"generated: sum of all", "%x: tensor<30 x 40, f32>",
       "%0: tensor<f32> = gir.reduce %x {axes = [0, 1], kind = \"sum\"}\ngir.return [%0]\n", 1, {}, {{}}, 1e-5},
      {"generated: sum along axes that no access walks as one", "%x: tensor<M x N, f32>, %b: tensor<N, f32>", R"(
    %0: tensor<M x N, f32> = gir.broadcast %b
    %1: tensor<M x N, f32> = gir.mul %x, %0
    %2: tensor<f32> = gir.reduce %1 {axes = [0, 1], kind = "sum"}
    %3: tensor<M x N, f32> = gir.broadcast %2
    %4: tensor<M x N, f32> = gir.sub %1, %3
    gir.return [%2, %4]
)",
       2, {}, columns, 1e-5},
      {"generated: greatest along three axes of a slice", "%x: tensor<7 x M x N, bf16>", R"(
    %0: tensor<3 x M x N, bf16> = gir.slice %x {starts = [0, 0, 0], steps = [3, 1, 1]}
    %1: tensor<1 x 1 x 1, bf16> = gir.reduce %0 {axes = [0, 1, 2], keep = true, kind = "max"}
    gir.return [%1]
)",
       1, {}, columns, 0},
      {"generated: sums along the axes around another", "%x: tensor<M x N x 5, f16>, %y: tensor<4 x M x 6, f32>", R"(
    %0: tensor<N, f16> = gir.reduce %x {axes = [0, 2], kind = "sum"}
    %1: tensor<M, f32> = gir.reduce %y {axes = [0, 2], kind = "sum"}
    gir.return [%0, %1]
)",
       2, {}, columns, 3e-2},
      {"generated: sum along both axes of what needs each row first", "%x: tensor<M x N, f32>", R"(
    %0: tensor<M x 1, f32> = gir.reduce %x {axes = [1], keep = true, kind = "max"}
    %1: tensor<M x N, f32> = gir.broadcast %0
    %2: tensor<M x N, f32> = gir.sub %x, %1
    %3: tensor<M x N, f32> = gir.exp %2
    %4: tensor<f32> = gir.reduce %3 {axes = [0, 1], kind = "sum"}
    gir.return [%4]
)",
       1, {}, columns, 1e-5},
      {"generated: sum of copies", "%x: tensor<M x N, f32>, %b: tensor<N, f32>",
       "%0: tensor<M x N, f32> = gir.broadcast %b\n"
       "%1: tensor<N, f32> = gir.reduce %0 {axes = [0], kind = \"sum\"}\ngir.return [%1]\n", 1, {}, columns, 1e-5},
      {"generated: elementwise", "%x: tensor<M x N, f32>, %y: tensor<M x N, bf16>, %b: tensor<N, f32>", R"(
    %0: tensor<M x N, f32> = gir.cast %y
    %1: tensor<M x N, f32> = gir.silu %x
    %2: tensor<M x N, f32> = gir.mul %1, %0
    %3: tensor<M x N, f32> = gir.broadcast %b
    %4: tensor<M x N, f32> = gir.add %2, %3
    %5: tensor<M x N, bool> = gir.lt %4, %0
    %6: tensor<M x N, bf16> = gir.cast %4
    gir.return [%6, %5]
)",
       2, {}, columns, 8e-3},
      {"generated: transposition", "%x: tensor<M x N, bf16>, %y: tensor<N x M, f32>", R"(
    %0: tensor<N x M, bf16> = gir.transpose %x {perm = [1, 0]}
    %1: tensor<N x M, f32> = gir.cast %0
    %2: tensor<N x M, f32> = gir.add %1, %y
    gir.return [%2]
)",
       1, {}, columns, 1e-5},
      {"generated: two sides of a row", "%x: tensor<M x N, f32>, %y: tensor<M x 5, f32>",
       "%0: tensor<M x (N + 5), f32> = gir.concat [%x, %y] {axis = 1}\ngir.return [%0]\n", 1, {}, columns, 0},
      {"generated: maxima of windows", "%x: tensor<M x 41, f32>", R"(
    %0: tensor<M x 20 x 3, f32> = gir.windows %x {axis = 1, dilation = 1, step = 2}
    %1: tensor<M x 20, f32> = gir.reduce %0 {axes = [2], kind = "max"}
    gir.return [%1]
)",
       1, {}, heights, 0},
      {"generated: lowest index of the greatest element", "%x: tensor<M x N, f32>", R"(
    %0: tensor<M x 1, f32> = gir.reduce %x {axes = [1], keep = true, kind = "max"}
    %1: tensor<M x N, f32> = gir.broadcast %0
    %2: tensor<M x N, bool> = gir.eq %x, %1
    %3: tensor<M x N, i64> = gir.iota {axis = 1}
    %4: tensor<i64> = gir.dim {value = <N>}
    %5: tensor<M x N, i64> = gir.broadcast %4
    %6: tensor<M x N, i64> = gir.select %2, %3, %5
    %7: tensor<M, i64> = gir.reduce %6 {axes = [1], kind = "min"}
    gir.return [%7]
)",
       1, {}, {{{"M", 5}, {"N", 37}}, {{"M", 1}, {"N", 1}}}, 0},
      {"generated: saturating cast", "%x: tensor<M x 40, f32>", R"(
    %0: tensor<M x 40, f32> = gir.exp2 %x
    %1: tensor<M x 40, f32> = gir.mul %0, %x
    %2: tensor<M x 40, f8e4m3 saturate> = gir.cast %1
    %3: tensor<M x 40, f32> = gir.cast %2
    gir.return [%3]
)",
       1, {}, heights, 0.13},
      {"generated: saturating cast of integers", "%x: tensor<M x 40, i32>", R"(
    %0: tensor<M x 40, i8 saturate> = gir.cast %x
    %1: tensor<M x 40, u16 saturate> = gir.cast %0
    %2: tensor<M x 40, f32> = gir.cast %1
    gir.return [%2]
)",
       1, {}, heights, 0},
      {"weights of i8, widened as they are loaded", "%a: tensor<M x 64, bf16>, %b: tensor<64 x 48, i8>", R"(
    %0: tensor<64 x 48, bf16> = gir.cast %b
    %1: tensor<M x 48, f32> = gir.gemm %a, %0 {accum = f32}
    gir.return [%1]
)",
       1, {.block = {{"m", 64}, {"n", 32}, {"k", 16}}, .warps = 4}, {{{"M", 70}}, {{"M", 1}}}, 1e-4},
      {"weights of i8 in registers", "%a: tensor<M x 192, bf16>, %b: tensor<192 x 256, i8>", R"(
    %0: tensor<192 x 256, bf16> = gir.cast %b
    %1: tensor<M x 256, f32> = gir.gemm %a, %0 {accum = f32}
    gir.return [%1]
)",
       1, {.block = {{"m", 16}, {"n", 128}, {"k", 64}}, .warps = 4, .stages = 3}, {{{"M", 21}}, {{"M", 1}}}, 1e-4},
      {"weights of i8 in registers, any size", "%a: tensor<M x K, bf16>, %b: tensor<K x N, i8>", R"(
    %0: tensor<K x N, bf16> = gir.cast %b
    %1: tensor<M x N, f32> = gir.gemm %a, %0 {accum = f32}
    gir.return [%1]
)",
       1, {.block = {{"m", 16}, {"n", 128}, {"k", 64}}, .warps = 4},
       {{{"M", 5}, {"N", 33}, {"K", 100}}, {{"M", 17}, {"N", 144}, {"K", 72}}, {{"M", 1}, {"N", 1}, {"K", 0}}}, 1e-4},
      {"generated: triangle", "%x: tensor<M x M, f32>", R"(
    %0: tensor<M x M, i32> = gir.iota {axis = 0}
    %1: tensor<M x M, i32> = gir.iota {axis = 1}
    %2: tensor<M x M, bool> = gir.ge %0, %1
    %3: tensor<M x M, f32> = gir.full {value = -inf}
    %4: tensor<M x M, f32> = gir.select %2, %x, %3
    gir.return [%4]
)",
       1, {}, {{{"M", 19}}, {{"M", 1}}}, 0},
  };
}

}  // namespace

const std::vector<GpuCase>& gpu_cases() {
  static const std::vector<GpuCase> all = [] {
    std::vector<GpuCase> cases = matmuls();
    for (GpuCase& each : attentions()) cases.push_back(std::move(each));
    for (GpuCase& each : parts()) cases.push_back(std::move(each));
    for (GpuCase& each : attentions_by_roles()) cases.push_back(std::move(each));
    for (GpuCase& each : rows()) cases.push_back(std::move(each));
    for (GpuCase& each : kernel_cases()) cases.push_back(std::move(each));
    for (GpuCase& each : loop_cases()) cases.push_back(std::move(each));
    return cases;
  }();
  return all;
}

}  // namespace tessera::test
