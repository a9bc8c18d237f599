// Every nv op is read back as printed in a correct form, and refused with its reason in wrong ones; so are the facts
// of a GPU's kernel.

#include <catch2/catch.hpp>
#include <set>

#include "ir/target/ops.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

const std::string map =
    "{box = [64, 128], buffer = 0, dims = [768, <N>], dtype = bf16, offset = 0, strides = [1536], swizzle = 128}";

/// A kernel of one buffer, one dim and one tensor map, with values of the usual types at hand.
std::string kernel(const std::string& statement, const std::string& facts = "threads = 128",
                   const std::string& descriptors = map, const std::string& parameters =
                   "%x: ptr, %n: u32, %map: ptr") {
  return "module @m level(target) version(1) {\n  target.func @f(" + parameters + ") {descriptors = [" + descriptors +
         "], dims = [\"N\"], grid = [<N>], outputs = 0, params = [!tensor<N x 768, bf16>], schedule = {}, "
         "scratch = 0, " + facts + "} {\n"
         "    %s: ptr<shared> = nv.shared_base\n    %i: i32 = target.constant {value = 3}\n"
         "    %w: i64 = target.constant {value = 3}\n    %yes: bool = target.constant {value = 1}\n"
         "    %c: reg<f32 x 128> = nv.undefined\n    %c4: reg<f32 x 4> = nv.undefined\n"
         "    %a: reg<bf16 x 8> = nv.undefined\n    %b: reg<bf16 x 4> = nv.undefined\n    " +
         statement + "\n    target.return\n  }\n}\n";
}

std::string printed(const std::string& text) { return TextFixture().round_trip(text); }

const std::string wgmma = " {a_major = \"k\", b_major = \"mn\", dtype = bf16, k = 16, m = 64, n = 256}";

const std::vector<std::string>& accepted() {
  static const std::vector<std::string> statements = {
      "%r: i32 = nv.thread_id",
      "%r: i32 = nv.cta_id",
      "%r: i32 = nv.cta_count",
      "%r: i32 = nv.cluster_rank",
      "%r: reg<f32 x 4> = nv.shuffle_xor %c4 {mask = 1}",
      "%r: i32 = nv.shuffle_index %i, %i",
      "%r: i64 = nv.shuffle_xor %w {mask = 1}",
      "%r: reg<bf16 x 8> = nv.shuffle_index %a, %i",
      "%r: bool = nv.elect",
      "nv.barrier {id = 1, threads = 128}",
      "nv.barrier_arrive {id = 15, threads = 256}",
      "nv.numbered_barrier %i {threads = 256}",
      "nv.numbered_barrier_arrive %i {threads = 256}",
      "nv.warp_sync",
      "nv.cluster_arrive",
      "nv.cluster_wait",
      "%r: ptr<shared> = nv.map_shared %s, %i",
      "%r: i64 = nv.matrix_descriptor %s {bits = 4611686293305294848, offset = 32}",
      "nv.mbarrier_init %s {count = 2}",
      "nv.mbarrier_expect %s {bytes = 49152}",
      "nv.mbarrier_arrive %s {remote = true}",
      "nv.mbarrier_wait %s, %i",
      "nv.fence_mbarrier_init",
      "nv.fence_async",
      "nv.tma_load %map, [%i, %i], %s, %s, [], []",
      "nv.tma_load %map, [%i, %i], %s, %s, [%i], []",
      "nv.tma_store %map, [%i, %i], %s",
      "nv.launch_dependents",
      "nv.wait_prerequisites",
      "nv.bulk_commit",
      "nv.bulk_wait {pending = 0, read = true}",
      "nv.prefetch_descriptor %map",
      "nv.cp_async %s, %x, [] {size = 16}",
      "nv.cp_async %s, %x, [%i] {size = 4}",
      "nv.cp_async_commit",
      "nv.cp_async_wait {pending = 2}",
      "%r: reg<f32 x 128> = nv.wgmma %w, %w, %c, %yes" + wgmma,
      "%r: reg<f32 x 128> = nv.wgmma %a, %w, %c, %yes" + wgmma,
      "nv.wgmma_fence",
      "nv.wgmma_commit",
      "%r: reg<f32 x 128>, %q: reg<f32 x 4> = nv.wgmma_wait [%c, %c4] {pending = 1}",
      "%r: reg<f32 x 4> = nv.mma_sync %a, %b, %c4",
      "%r: reg<bf16 x 8> = nv.ldmatrix %s {count = 4, transpose = true}",
      "nv.stmatrix %a, %s {count = 4}",
      "nv.reduce_add %c4, %x, %yes",
      "nv.set_max_registers {count = 240, increase = true}",
      "%r: reg<f32 x 4> = nv.fma_clamped %c4, %c4, %c4",
      "%r: reg<f32 x 4> = nv.approx_exp2 %c4",
      "%r: reg<f32 x 4> = nv.approx_log2 %c4",
      "%r: reg<f32 x 4> = nv.approx_reciprocal %c4",
      "%r: reg<f32 x 4> = nv.approx_rsqrt %c4",
      "%r: reg<f32 x 4> = nv.approx_sqrt %c4",
      "%r: reg<f32 x 4> = nv.approx_tanh %c4",
      "%r: ptr<shared> = target.offset %s, %i",
      "%r: reg<bf16 x 8> = target.load %s {align = 16}",
      "target.store %a, %s {align = 16}",
  };
  return statements;
}

struct Refused {
  std::string statement;
  std::string reason;
};

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  return text.replace(text.find(what), what.size(), with);
}

std::vector<Refused> wrong_wgmma() {
  std::string op = "%r: reg<f32 x 128> = nv.wgmma %w, %w, %c, %yes" + wgmma;
  return {
      {replaced(op, "m = 64", "m = 128"), "'m' must be 64, not 128"},
      {replaced(op, "k = 16", "k = 8"), "'k' must be 16 for bf16"},
      {replaced(op, "n = 256", "n = 260"), "'n' must be a multiple of 8 up to 256, not 260"},
      {replaced(op, "n = 256", "n = 128"), "c must be reg<f32 x 64>, not reg<f32 x 128>"},
      {replaced(op, "bf16", "i16"), "wgmma does not multiply i16"},
      {replaced(replaced(op, "bf16", "i8"), "k = 16", "k = 32"), "c must be reg<i32 x 128>, not reg<f32 x 128>"},
      {replaced(op, "%w,", "%i,"), "a must be a register or an i64 descriptor, not i32"},
      {replaced(op, "%w, %w", "%b, %w"), "a must be reg<bf16 x 8>, not reg<bf16 x 4>"},
      {replaced(op, "%yes", "%i"), "'accumulate' must be bool, not i32"},
      {replaced(op, "\"mn\"", "\"row\""), "'b_major' must be \"k\" or \"mn\", not \"row\""},
      {replaced(replaced(op, "bf16", "tf32"), "k = 16", "k = 8"), "'b_major' must be \"k\" for this operand"},
      {replaced(op, "reg<f32 x 128>", "reg<f32 x 64>"), "d must be reg<f32 x 128>, not reg<f32 x 64>"},
  };
}

const std::vector<Refused>& refused() {
  static const std::vector<Refused> cases = [] {
    std::vector<Refused> all = {
        {"%r: i64 = nv.thread_id", "the result must be i32, not i64"},
        {"%r: u32 = nv.cta_id", "the result must be i32, not u32"},
        {"%r: i64 = nv.cta_count", "the result must be i32, not i64"},
        {"%r: i64 = nv.cluster_rank", "the result must be i32, not i64"},
        {"%r: ptr = nv.shared_base", "the result must be ptr<shared>, not ptr"},
        {"%r: i32 = nv.shuffle_xor %i {mask = 32}", "'mask' must be 1 to 31, not 32"},
        {"%r: i32 = nv.shuffle_index %i, %w", "the lane must be i32, not i64"},
        {"%r: i32 = nv.elect", "the result must be bool, not i32"},
        {"nv.barrier {id = 16, threads = 128}", "'id' must be 0 to 15, not 16"},
        {"nv.barrier_arrive {id = 1, threads = 100}", "'threads' must be a multiple of 32 up to 1024, not 100"},
        {"%r: ptr<shared> = nv.map_shared %x, %i", "the address must be ptr<shared>, not ptr"},
        {"%r: i64 = nv.matrix_descriptor %x {bits = 0, offset = 0}", "the address must be ptr<shared>, not ptr"},
        {"%r: i64 = nv.matrix_descriptor %s {bits = 0, offset = 262144}", "'offset' must be 0 to 262128, not 262144"},
        {"nv.numbered_barrier %w {threads = 256}", "the number must be i32, not i64"},
        {"nv.numbered_barrier_arrive %i {threads = 100}", "'threads' must be a multiple of 32 up to 1024, not 100"},
        {"nv.mbarrier_init %s {count = 0}", "'count' must be 1 to 1048575, not 0"},
        {"nv.mbarrier_expect %s {bytes = 1048576}", "'bytes' must be 0 to 1048575"},
        {"nv.mbarrier_arrive %x", "the barrier must be ptr<shared>, not ptr"},
        {"nv.mbarrier_wait %s, %yes", "the parity must be i32, not bool"},
        {"nv.tma_load %s, [%i], %s, %s, [], []", "the descriptor must be ptr, not ptr<shared>"},
        {"nv.tma_load %map, [%i, %w], %s, %s, [], []", "a coordinate must be i32, not i64"},
        {"nv.tma_load %map, [], %s, %s, [], []", "a tensor has 1 to 5 coordinates, not 0"},
        {"nv.tma_store %map, [%i], %x", "the source must be ptr<shared>, not ptr"},
        {"nv.bulk_wait {pending = 8}", "'pending' must be 0 to 7, not 8"},
        {"nv.prefetch_descriptor %s", "the descriptor must be ptr, not ptr<shared>"},
        {"nv.cp_async %s, %x, [] {size = 2}", "'size' must be 4, 8 or 16, not 2"},
        {"nv.cp_async %x, %x, [] {size = 4}", "the destination must be ptr<shared>, not ptr"},
        {"nv.cp_async_wait {pending = -1}", "'pending' must be 0 to 7, not -1"},
        {"%r: reg<f32 x 4> = nv.wgmma_wait [%c] {pending = 0}", "a result must be reg<f32 x 128>, not reg<f32 x 4>"},
        {"%r: reg<f32 x 4> = nv.wgmma_wait [%c4, %c] {pending = 0}", "it gives back 1 registers of 2"},
        {"%r: reg<f32 x 4> = nv.mma_sync %c4, %b, %c4", "mma.sync does not multiply f32"},
        {"%r: reg<f32 x 4> = nv.mma_sync %a, %a, %c4", "b must be reg<bf16 x 4>, not reg<bf16 x 8>"},
        {"%r: reg<bf16 x 6> = nv.ldmatrix %s {count = 3}", "'count' must be 1, 2 or 4, not 3"},
        {"nv.stmatrix %b, %s {count = 4}", "4 matrices are 8 16-bit elements of each thread, not reg<bf16 x 4>"},
        {"nv.reduce_add %c4, %s, %yes", "the address must be ptr, not ptr<shared>"},
        {"nv.reduce_add %c4, %x, %i", "the mask must be bool, not i32"},
        {"nv.reduce_add %c, %x, %yes", "it adds 1 number, or 2 or 4 of f32, not reg<f32 x 128>"},
        {"nv.reduce_add %a, %x, %yes", "it adds numbers of 4 or 8 bytes, not reg<bf16 x 8>"},
        {"nv.set_max_registers {count = 100, increase = true}", "'count' must be a multiple of 8 from 24 to 256"},
    };
    all.push_back({"%r: reg<bf16 x 8> = nv.fma_clamped %a, %a, %a", "it takes f32, not reg<bf16 x 8>"});
    for (const char* name : {"exp2", "log2", "reciprocal", "rsqrt", "sqrt", "tanh"}) {
      all.push_back({"%r: reg<bf16 x 8> = nv.approx_" + std::string(name) + " %a", "it takes f32, not reg<bf16 x 8>"});
    }
    for (const Refused& test : wrong_wgmma()) all.push_back(test);
    return all;
  }();
  return cases;
}

std::string op_name(const std::string& statement) {
  size_t at = statement.find("nv.");
  return at == std::string::npos ? "" : statement.substr(at, statement.find_first_of(" \n", at) - at);
}

void check_refused(const std::string& text, const std::string& reason) {
  std::string message = printed(text);
  INFO(message);
  CHECK(message.find(reason) != std::string::npos);
}

}  // namespace

TEST_CASE("nv ops are read back as printed") {
  std::set<std::string> seen = {"nv.shared_base", "nv.undefined"};
  for (const std::string& statement : accepted()) {
    std::string text = printed(kernel(statement));
    INFO(statement);
    INFO(text);
    CHECK(text.find(statement) != std::string::npos);
    CHECK(printed(text) == text);
    seen.insert(op_name(statement));
  }
  TextFixture fixture;
  for (const OpInfo* info : fixture.context.all_ops()) {
    INFO(info->name);
    CHECK((!info->name.starts_with("nv.") || seen.count(info->name) == 1));
  }
}

TEST_CASE("wrong nv ops are refused with the reason") {
  std::set<std::string> seen;
  for (const Refused& test : refused()) {
    INFO(test.statement);
    check_refused(kernel(test.statement), test.reason);
    seen.insert(op_name(test.statement));
  }
  TextFixture fixture;
  for (const OpInfo* info : fixture.context.all_ops()) {
    INFO(info->name);
    CHECK((!info->name.starts_with("nv.") || !info->verify || seen.count(info->name) == 1));
  }
}

TEST_CASE("a GPU's kernel is read back, and refused with wrong facts") {
  std::string facts =
      "assume = [{left = <N % 8>, relation = \"==\", right = <0>}], cluster = [2, 1], persistent = true, registers = "
      "168, shared = 1024, "
      "threads = 384";
  std::string text = printed(kernel("nv.fence_async", facts));
  INFO(text);
  CHECK(text.find("persistent = true") != std::string::npos);
  CHECK(printed(text) == text);
  check_refused(kernel("", "threads = 100"), "'threads' must be a multiple of 32 up to 1024, not 100");
  check_refused(kernel("", "threads = 128, shared = -1"), "'shared' must be a number of bytes, not -1");
  check_refused(kernel("", "threads = 128, registers = 300"), "'registers' must be 24 to 255, not 300");
  check_refused(kernel("", "threads = 128, cluster = [8, 4]"), "'cluster' must be 1 to 3 extents of together at most");
  check_refused(kernel("", "threads = 128", map, "%x: ptr, %n: i64, %map: ptr"),
                "its parameters must be 1 ptr, 1 u32 and 1 ptr");
}

TEST_CASE("a wrong tensor map is refused") {
  auto check = [](const std::string& what, const std::string& with, const std::string& reason) {
    check_refused(kernel("", "threads = 128", replaced(map, what, with)), "descriptor 0: " + reason);
  };
  check("buffer = 0", "buffer = 1", "'buffer' must be the number of a parameter");
  check("dtype = bf16", "dtype = 3", "'dtype' must be a dtype");
  check("dims = [768, <N>]", "dims = []", "'dims' must list 1 to 5 sizes");
  check("strides = [1536]", "strides = []", "'strides' must list 1 sizes");
  check("offset = 0", "offset = \"0\"", "'offset' must be a size");
  check("box = [64, 128]", "box = [64]", "'box' must list 2 extents");
  check("[64, 128]", "[64, 512]", "a box extends over 1 to 256 elements, not 512");
  check("swizzle = 128", "swizzle = 16", "'swizzle' must be 0, 32, 64 or 128");
  check("[64, 128]", "[128, 128]", "rows of 256 bytes do not fit a swizzle of 128");
  check("[64, 128]", "[4, 128]", "rows of a box must be a multiple of 16 bytes, not 8");
  check_refused(kernel("", "threads = 128", "1"), "each of 'descriptors' must be a dict, not 1");
}
