#include "unit/ir/tile_cases.h"

namespace tessera {

namespace {

const std::string zero = "%z: i64 = tile.constant {value = 0}";
const std::string slot_type = "view<16 x 64, bf16, strides = [64, 1], offset = 0, space = shared>";
const std::string ring =
    "%r: view<2 x 16 x 64, bf16, strides = [1024, 64, 1], offset = 0, space = shared> = tile.alloc_shared";
const std::string slot = "%s: " + slot_type + " = tile.slot %r, %z";
const std::string bars = "%bs: view<2, u64, strides = [1], offset = 0, space = shared> = tile.barriers {arrivals = 3}";
const std::string handle = "view<u64, strides = [], offset = 0, space = shared>";
const std::string bar = "%b: " + handle + " = tile.slot %bs, %z";
const std::string channel = "%c: " + handle + " = tile.channel [%r] {stages = 2}";
const std::string x = "%x: tensor<M x N, bf16>";
const std::string a_type = "view<64 x 16, bf16, strides = [16, 1], offset = 0, space = shared>";
const std::string alloc_a = "%a: " + a_type + " = tile.alloc_shared";
const std::string alloc_b =
    "%w: view<16 x 32, bf16, strides = [32, 1], offset = 0, space = shared> = tile.alloc_shared";
const std::string acc = "%acc: tile<64 x 32, f32> = tile.full {value = 0}";

std::string role(const std::string& name, int first, int warps, const std::string& more = "") {
  return "tile.role {first = " + std::to_string(first) + ", name = \"" + name + "\"" + more +
         ", warps = " + std::to_string(warps) + "} do {";
}

}  // namespace

std::string by_instruction(const std::string& name) {
  return "%d: tile<64 x 32, f32> = tile.mma %a, %w, %acc, [] {instruction = \"" + name + "\"}";
}

std::vector<TileCase> correct_thread_cases() {
  std::vector<std::string> roles{role("load", 0, 1, ", registers = 40"), "tile.yield []", "}", role("compute", 4, 8),
                                 "tile.yield []", "}", "tile.barrier"};
  return {
      {"", roles, "", ", threads = 384"},
      {"", {role("compute", 0, 8), "tile.order_wait", "tile.order_arrive", "tile.yield []", "}"}, "",
       ", last_first = [1, 0], threads = 256"},
      {"", {"%w: i64 = tile.worker_id", "%n: i64 = tile.worker_count"}, "", ", persistent = true"},
      {x, {zero, ring, slot, bars, bar, "tile.copy_async %x, [%z, %z], [%z, %z], %s, [%b]"}, ""},
      {x, {zero, ring, slot, channel, "tile.copy_async %x, [%z, %z], [], %s, [%c]"}, ""},
      {x, {zero, ring, slot, "tile.copy_async %x, [%z, %z], [], %s, []", "tile.copy_commit",
           "tile.copy_wait {pending = 0}"}, ""},
      {x, {zero, ring, slot, "tile.fence_async", "tile.barrier", "tile.store_async %s, %x, [%z, %z], [%z, %z]",
           "tile.store_wait {pending = 0}"}, ""},
      {"", {zero, ring, channel, "tile.channel_acquire %c, %z {bytes = 2048}", "tile.channel_wait %c, %z",
            "tile.channel_release %c, %z"}, ""},
      {"", {zero, bars, bar, "tile.barrier_expect %b {bytes = 128}", "tile.barrier_arrive %b",
            "tile.barrier_wait %b, %z"}, ""},
      {"", {alloc_a, alloc_b, acc, "%d: tile<64 x 32, f32> = tile.mma %a, %w, %acc, []",
            "%e: tile<64 x 32, f32> = tile.mma_wait [%d] {pending = 0}"}, ""},
      {"", {alloc_a, alloc_b, acc, by_instruction("mma.bf16")}, ""},
      {"", {zero, "%p: bool = tile.lt %z, %z", alloc_a, alloc_b, acc,
            "%d: tile<64 x 32, f32> = tile.mma %a, %w, %acc, [%p]"}, ""},
      {"", {"%a: tile<8 x 8, f32> = tile.full {value = 0}",
            "%b: tile<4 x 8, f32> = tile.slice %a {offsets = [4, 0]}"}, ""},
      {"", {"%a: tile<64 x 32, f32, #blocked<64 x 32, vector = 4, warps = 4>> = tile.full {value = 0}",
            "%b: tile<64 x 32, f32, #wgmma<acc, 64 x 32, warps = 4>> = tile.convert_layout %a",
            "%c: tile<64 x 32, f32, #wgmma<acc, 64 x 32, warps = 4>> = tile.neg %b"}, "", ", threads = 128"},
      {"", {zero, "%r: view<3 x 16 x 64, bf16, strides = [1024, 64, 1], offset = 0, space = shared, "
            "#shared<16 x 64, bytes = 2, swizzle = 128>> = tile.alloc_shared {offset = 1024}",
            "%s: view<16 x 64, bf16, strides = [64, 1], offset = 0, space = shared, "
            "#shared<16 x 64, bytes = 2, swizzle = 128>> = tile.slot %r, %z"}, ""},
      {"", {"%a: tile<64 x 32, f32> = tile.full {value = 0}",
            "%c: tile<32, f32> = tile.reduce %a, [] {axis = 0, kind = \"sum\", shared_offset = 64}"}, ""},
      {"", {"tile.cluster_barrier"}, "", ", cluster = [1, 1]"},
  };
}

namespace {

std::vector<TileCase> wrong_roles() {
  return {
      {"", {role("a", 0, 5), "tile.yield []", "}"}, "5 warps from 0 on are not within 4 warps", ", threads = 128"},
      {"", {role("a", -1, 2), "tile.yield []", "}"}, "2 warps from -1 on"},
      {"", {role("a", 0, 2), "tile.yield []", "}", role("b", 1, 2), "tile.yield []", "}"},
       "it shares warps with another role"},
      {"", {role("a", 0, 1, ", registers = 250"), "tile.yield []", "}"}, "a multiple of 8 from 24 to 240, not 250"},
      {"", {zero, "tile.for %z, %z, %z, [] do(%i: i64) {", role("a", 0, 1), "tile.yield []", "}", "tile.yield []",
            "}"}, "it stands inside of another op"},
      {"", {zero, role("a", 0, 1), "tile.yield [%z]", "}"}, "a role gives no values"},
      {"", {}, "a multiple of 32 up to 1024, not 100", ", threads = 100"},
      {"", {}, "shared memory of 0 to 16777216 bytes, not -1", ", shared = -1"},
      {"", {"%w: i64 = tile.worker_id"}, "the kernel is not persistent"},
      {"", {}, "axis 3 of 'last_first' is not one of the 2 of the grid", ", last_first = [3]"},
      {"", {"tile.order_wait"}, "it stands in no role of two warpgroups or more"},
      {"", {role("a", 0, 4), "tile.order_arrive", "tile.yield []", "}"}, "in no role of two warpgroups or more"},
      {"", {"%w: i64 = tile.program_id {axis = 0}"}, "a persistent kernel has workers", ", persistent = true"},
      {"", {}, "an extent for each of the grid's first axes, and at most 16 programs", ", cluster = [1, 1, 1]"},
      {"", {}, "at most 16 programs", ", cluster = [4, 8]"},
      {"", {}, "at most 16 programs", ", cluster = [0]"},
      {"", {"tile.cluster_barrier"}, "it stands in the own block of a kernel that has a cluster"},
      {"", {role("a", 0, 1), "tile.cluster_barrier", "tile.yield []", "}"}, "it stands in the own block",
       ", cluster = [1, 1]"},
  };
}

std::vector<TileCase> wrong_memory() {
  return {
      {"", {"%a: view<4, f32, strides = [1], offset = 0, space = scratch> = tile.alloc_shared"},
       "the result must be a view in shared space"},
      {"%x: tensor<N, f32>",
       {"%a: view<N, f32, strides = [1], offset = 0, space = shared> = tile.alloc_shared"},
       "must be numbers"},
      {"", {"%a: view<4, f32, strides = [2], offset = 0, space = shared> = tile.alloc_shared"}, "must be contiguous"},
      {"", {"%a: view<8388608, f32, strides = [1], offset = 0, space = shared> = tile.alloc_shared"},
       "it takes more than 16777216 bytes"},
      {"", {zero, "tile.for %z, %z, %z, [] do(%i: i64) {", alloc_a, "tile.yield []", "}"},
       "not in the kernel's own block"},
      {"", {zero, ring, "%s: view<16 x 64, f32, strides = [64, 1], offset = 0, space = shared> = tile.slot %r, %z"},
       "the result must be view<16 x 64, bf16"},
      {"", {zero, ring, channel, "%s: " + handle + " = tile.slot %c, %z"}, "of rank 1 or more"},
      {x, {zero, ring, slot, "tile.copy_async %s, [%z, %z], [], %s, []"}, "must be global memory"},
      {x, {zero, ring, slot, "tile.copy_async %x, [%z, %z], [], %x, []"}, "the tile must be a view in shared space"},
      {"%x: tensor<M x N, f32>", {zero, ring, slot, "tile.copy_async %x, [%z, %z], [], %s, []"},
       "f32 cannot be copied as bf16"},
      {x, {zero, ring, slot, bars, bar, "tile.copy_async %x, [%z, %z], [], %s, [%b] {shared_along = [1]}"},
       "its cluster has no axis 1", ", cluster = [1]"},
      {x, {zero, ring, slot, "tile.copy_async %x, [%z, %z], [], %s, [] {shared_along = [0]}"},
       "where it counts at a barrier", ", cluster = [1]"},
      {x, {zero, ring, slot, bars, bar, "tile.copy_async %x, [%z, %z], [], %s, [%b] {shared_along = [0]}"},
       "its tile cannot be cut in 4 parts", ", cluster = [4]"},
      {x, {zero, bars, bar, "tile.barrier_arrive %b {programs = 3}"}, "'programs' are those of the cluster: 2",
       ", cluster = [2]"},
      {x, {zero, ring, slot, "tile.copy_async %x, [%z], [], %s, []"}, "1 offsets for memory of rank 2"},
      {x, {zero, ring, slot, "tile.copy_async %x, [%z, %z], [%z], %s, []"}, "1 limits for 2 axes"},
      {x, {zero, ring, slot, "tile.copy_async %x, [%z, %z], [], %s, [%r]"}, "the barrier must be a slot"},
      {x, {zero, ring, slot, "tile.store_async %s, %s, [%z, %z], []"}, "must be global memory"},
      {"", {"tile.store_wait {pending = -1}"}, "'pending' is 0 or more"},
      {"", {"tile.copy_wait {pending = -1}"}, "'pending' is 0 or more"},
  };
}

std::vector<TileCase> wrong_barriers() {
  return {
      {"", {ring, "%c: " + handle + " = tile.channel [%r] {stages = 3}"}, "a ring of 3 stages cannot be"},
      {"", {ring, "%c: " + handle + " = tile.channel [%r] {stages = 0}"}, "1 to 64 stages"},
      {"", {ring, "%c: view<f32, strides = [], offset = 0, space = shared> = tile.channel [%r] {stages = 2}"},
       "the result must be"},
      {"", {zero, ring, channel, "tile.channel_acquire %c, %z {bytes = 0}"}, "1 to 1048575 bytes, not 0"},
      {"", {zero, bars, bar, "tile.channel_wait %b, %z"}, "it takes a tile.channel"},
      {"", {zero, bars, bar, "tile.channel_release %b, %z"}, "it takes a tile.channel"},
      {"", {zero, ring, channel, "tile.barrier_arrive %c"}, "the barrier must be a slot"},
      {"", {zero, bars, "tile.barrier_wait %bs, %z"}, "the barrier must be a slot"},
      {"", {zero, "%m: view<2, u64, strides = [1], offset = 0, space = shared> = tile.alloc_shared",
            "%b: " + handle + " = tile.slot %m, %z", "tile.barrier_wait %b, %z"}, "the barrier must be a slot"},
      {"", {zero, bars, bar, "tile.barrier_expect %b {bytes = -8}"}, "0 to 1048575 bytes, not -8"},
      {"", {"%bs: view<2, u64, strides = [1], offset = 0, space = shared> = tile.barriers {arrivals = 0}"},
       "at least one arrival"},
      {"", {"%bs: view<2, u32, strides = [1], offset = 0, space = shared> = tile.barriers {arrivals = 1}"},
       "must be view<n, u64>"},
  };
}

std::vector<TileCase> wrong_tiles() {
  const std::string blocked = "#blocked<64 x 32, vector = 4, warps = 4>";
  auto full = [](const std::string& type) { return "%a: " + type + " = tile.full {value = 0}"; };
  return {
      {"", {alloc_a, acc, "%d: tile<64 x 32, f32> = tile.mma %a, %a, %acc, []"}, "has no MMA"},
      {"", {alloc_a, alloc_b, acc, by_instruction("wgmma.bf17")}, "there is no matrix instruction \"wgmma.bf17\""},
      {"",
       {alloc_a, alloc_b, acc, by_instruction("mma.s8")},
       "\"mma.s8\" multiplies i8 and adds i32, not bf16 and f32"},
      {"", {alloc_a, alloc_b, acc, by_instruction("tdpbf16ps")}, "\"tdpbf16ps\" computes multiples of 16 x 16 x 32"},
      {"",
       {alloc_a, alloc_b, "%f: tile<64 x 16, f32> = tile.full {value = 0}",
        "%d: tile<64 x 16, f32> = tile.mma %a, %w, %f, []"},
       "the result has dims [64, 32], not [64, 16]"},
      {"",
       {alloc_a, alloc_b, "%f: tile<64 x 32, i32> = tile.full {value = 0}",
        "%d: tile<64 x 32, i32> = tile.mma %a, %w, %f, []"},
       "not added in i32"},
      {"",
       {zero, alloc_a, alloc_b, acc, "%d: tile<64 x 32, f32> = tile.mma %a, %w, %acc, [%z]"},
       "'accumulate' must be a bool"},
      {"", {acc, "%d: tile<64 x 16, f32> = tile.mma_wait [%acc] {pending = 0}"}, "result 0 must be"},
      {"", {acc, "%d: tile<64 x 32, f32> = tile.mma_wait [%acc] {pending = -1}"}, "'pending' is 0 or more"},
      {"", {full("tile<8, f32>"), "%b: tile<4, f32> = tile.slice %a {offsets = [5]}"}, "not within 8"},
      {"", {full("tile<8, f32>"), "%b: tile<4, f32> = tile.slice %a {offsets = [0, 0]}"}, "2 offsets"},
      {"", {full("tile<8, f32>"), "%b: tile<4, f32> = tile.convert_layout %a"}, "the result has dims [4], not [8]"},
      {"", {full("tile<64 x 32, f32, #blocked<64, vector = 4>>")}, "is not a layout of a tile"},
      {"", {full("tile<64 x 64, f32, " + blocked + ">")}, "other extents than the tile"},
      {"", {full("tile<32, f32, " + blocked + ">")}, "other extents than the tile"},
      {"", {full("tile<64 x 32, f32, " + blocked + ">")}, "a layout of 4 warps in 8 warps", ", threads = 256"},
      {"",
       {role("a", 0, 2), full("tile<64 x 32, f32, " + blocked + ">"), "tile.yield []", "}"},
       "a layout of 4 warps in 2 warps"},
      {"",
       {full("tile<64 x 32, f32, " + blocked + ">"), "%b: tile<64 x 32, f32> = tile.neg %a"},
       "operand 0 has another layout"},
      {"",
       {full("tile<64 x 32, f32, " + blocked + ">"),
        "%b: tile<32 x 64, f32, #blocked<32 x 64, vector = 4, warps = 4>> = tile.transpose %a {perm = [1, 0]}"},
       "threads hold other elements"},
      {"",
       {full("tile<64 x 32, f32, " + blocked + ">"),
        "%b: tile<64, f32, #blocked<64, vector = 1, warps = 4>> = tile.reduce %a, [] {axis = 1, kind = \"sum\"}"},
       "has another layout than #"},
      {"",
       {full("tile<64 x 32, f32, " + blocked + ">"),
        "%b: tile<64 x 32, f32, #blocked<64 x 32, vector = 1, warps = 4>>, %c: tile<64 x 1, f32> = "
        "tile.scan %a, [], [] {axis = 1, kind = \"sum\"}"},
       "has another layout than #"},
      {"",
       {"%s: view<8 x 64, bf16, strides = [64, 1], offset = 0, space = shared, "
        "#shared<16 x 64, bytes = 2, swizzle = 128>> = tile.alloc_shared"},
       "other extents than the memory"},
      {"",
       {"%s: view<16 x 64, f32, strides = [64, 1], offset = 0, space = shared, "
        "#shared<16 x 64, bytes = 2, swizzle = 128>> = tile.alloc_shared"},
       "elements of 2 bytes"},
      {"",
       {"%s: view<16 x 64, f32, strides = [64, 1], offset = 0, space = shared, #shared<16>> = tile.alloc_shared"},
       "is not a layout of shared memory"},
      {"",
       {"%s: view<16, f32, strides = [1], offset = 0, space = scratch, "
        "#shared<16, bytes = 4, swizzle = 0>> = tile.alloc"},
       "memory that is not shared has a layout"},
  };
}

}  // namespace

std::vector<TileCase> wrong_thread_cases() {
  std::vector<TileCase> all;
  for (const auto& cases : {wrong_roles(), wrong_memory(), wrong_barriers(), wrong_tiles()}) {
    all.insert(all.end(), cases.begin(), cases.end());
  }
  return all;
}

}  // namespace tessera
