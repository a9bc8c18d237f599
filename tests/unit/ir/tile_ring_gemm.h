#pragma once
// A matmul by three roles, as text: one warp loads, two groups of four warps compute half of the
// rows each, over a ring of three stages. Y[32, 16] = A[32, 40] x B[40, 16] by 5 steps of k for each
// of two tiles of 8 columns, so that slots, barriers and the buffer of results are used again.

#include <cctype>
#include <set>
#include <string>

namespace tessera {

/// What moves data between the roles: a channel, or the barriers it stands for.
enum class RingKind { Channel, Barriers };

inline std::string ring_gemm_head(RingKind kind) {
  std::string text = R"(module @m level(tile) version(1) {
  tile.kernel @k(%a: tensor<32 x 40, bf16>, %b: tensor<40 x 16, bf16>, %y: tensor<32 x 16, f32>) {grid = [1, 1], outputs = 1, schedule = {}, threads = 288} {
    %c0: i64 = tile.constant {value = 0}
    %c1: i64 = tile.constant {value = 1}
    %c2: i64 = tile.constant {value = 2}
    %c3: i64 = tile.constant {value = 3}
    %c5: i64 = tile.constant {value = 5}
    %c8: i64 = tile.constant {value = 8}
    %c16: i64 = tile.constant {value = 16}
    %ra: view<3 x 2 x 16 x 8, bf16, strides = [256, 128, 8, 1], offset = 0, space = shared> = tile.alloc_shared
    %rb: view<3 x 8 x 8, bf16, strides = [64, 8, 1], offset = 0, space = shared> = tile.alloc_shared
    %ry: view<2 x 16 x 8, f32, strides = [128, 8, 1], offset = 0, space = shared> = tile.alloc_shared
)";
  if (kind == RingKind::Channel) {
    return text +
           "    %ring: view<u64, strides = [], offset = 0, space = shared> = tile.channel [%ra, %rb] {stages = 3}\n";
  }
  return text + R"(    %full: view<3, u64, strides = [1], offset = 0, space = shared> = tile.barriers {arrivals = 1}
    %empty: view<3, u64, strides = [1], offset = 0, space = shared> = tile.barriers {arrivals = 8}
    tile.barrier
)";
}

/// The number of the iteration and, with barriers, of its slot's round.
inline std::string ring_gemm_iteration(RingKind kind) {
  std::string text = R"(        %t0: i64 = tile.mul %n, %c5
        %iteration: i64 = tile.add %t0, %k
)";
  if (kind == RingKind::Channel) return text;
  return text + R"(        %round: i64 = tile.floor_div %iteration, %c3
        %parity: i64 = tile.mod %round, %c2
        %other: i64 = tile.sub %c1, %parity
        %f: view<u64, strides = [], offset = 0, space = shared> = tile.slot %full, %iteration
        %e: view<u64, strides = [], offset = 0, space = shared> = tile.slot %empty, %iteration
)";
}

inline std::string ring_gemm_producer(RingKind kind) {
  bool channel = kind == RingKind::Channel;
  std::string acquire = channel ? "        tile.channel_acquire %ring, %iteration {bytes = 640}\n"
                                : "        tile.barrier_wait %e, %other\n"
                                  "        tile.barrier_expect %f {bytes = 640}\n";
  std::string by = channel ? "[%ring]" : "[%f]";
  return R"(    tile.role {first = 8, name = "load", registers = 40, warps = 1} do {
      tile.for %c0, %c2, %c1, [] do(%n: i64) {
       tile.for %c0, %c5, %c1, [] do(%k: i64) {
)" + ring_gemm_iteration(kind) +
         acquire + R"(        %column: i64 = tile.mul %n, %c8
        %depth: i64 = tile.mul %k, %c8
        %sa: view<2 x 16 x 8, bf16, strides = [128, 8, 1], offset = 0, space = shared> = tile.slot %ra, %iteration
        %sa0: view<16 x 8, bf16, strides = [8, 1], offset = 0, space = shared> = tile.slot %sa, %c0
        %sa1: view<16 x 8, bf16, strides = [8, 1], offset = 0, space = shared> = tile.slot %sa, %c1
        %sb: view<8 x 8, bf16, strides = [8, 1], offset = 0, space = shared> = tile.slot %rb, %iteration
        tile.copy_async %a, [%c0, %depth], [], %sa0, )" +
         by + R"(
        tile.copy_async %a, [%c16, %depth], [], %sa1, )" +
         by + R"(
        tile.copy_async %b, [%depth, %column], [], %sb, )" +
         by + R"(
        tile.yield []
       }
       tile.yield []
      }
      tile.yield []
    }
)";
}

inline std::string ring_gemm_consumer(RingKind kind, const std::string& name, int first,
                                      const std::string& half, const std::string& row) {
  bool channel = kind == RingKind::Channel;
  return "    tile.role {first = " + std::to_string(first) + ", name = \"" + name +
         "\", warps = 4} do {\n" + R"(      tile.for %c0, %c2, %c1, [] do(%n: i64) {
       %zero: tile<16 x 8, f32> = tile.full {value = 0}
       %sum: tile<16 x 8, f32> = tile.for %c0, %c5, %c1, [%zero] do(%k: i64, %acc: tile<16 x 8, f32>) {
)" + ring_gemm_iteration(kind) +
         "        %sa: view<2 x 16 x 8, bf16, strides = [128, 8, 1], offset = 0, space = shared> = "
         "tile.slot %ra, %iteration\n"
         "        %sh: view<16 x 8, bf16, strides = [8, 1], offset = 0, space = shared> = tile.slot %sa, " +
         half + R"(
        %sb: view<8 x 8, bf16, strides = [8, 1], offset = 0, space = shared> = tile.slot %rb, %iteration
)" + (channel ? "        tile.channel_wait %ring, %iteration\n"
              : "        tile.barrier_wait %f, %parity\n") +
         R"(        %p: tile<16 x 8, f32> = tile.mma %sh, %sb, %acc, []
        %q: tile<16 x 8, f32> = tile.mma_wait [%p] {pending = 0}
)" + (channel ? "        tile.channel_release %ring, %iteration\n"
              : "        tile.fence_async\n        tile.barrier_arrive %e\n") +
         R"(        tile.yield [%q]
       }
       %column: i64 = tile.mul %n, %c8
       %out: view<16 x 8, f32, strides = [8, 1], offset = 0, space = shared> = tile.slot %ry, )" +
         half + R"(
       tile.store_wait {pending = 0}
       tile.barrier
       tile.store %sum, %out, [%c0, %c0], []
       tile.fence_async
       tile.barrier
       tile.store_async %out, %y, [)" +
         row + R"(, %column], []
       tile.yield []
      }
      tile.store_wait {pending = 0}
      tile.yield []
    }
)";
}

/// A kernel's values have one name each: those of the n-th role end in _n.
inline std::string with_own_names(const std::string& text) {
  const std::set<std::string> common{"a",  "b",  "y",  "c0",   "c1",   "c2",   "c3", "c5",
                                     "c8", "ra", "rb", "ry", "c16", "ring", "full", "empty"};
  std::string out;
  int role = 0;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, 9, "tile.role") == 0) ++role;
    out += text[at++];
    if (out.back() != '%') continue;
    std::string name;
    while (std::isalnum(static_cast<unsigned char>(text[at]))) name += text[at++];
    out += role == 0 || common.contains(name) ? name : name + "_" + std::to_string(role);
  }
  return out;
}

/// Before with_own_names.
inline std::string ring_gemm(RingKind kind) {
  return ring_gemm_head(kind) + ring_gemm_producer(kind) +
         ring_gemm_consumer(kind, "upper", 0, "%c0", "%c0") +
         ring_gemm_consumer(kind, "lower", 4, "%c1", "%c16") + "    tile.return\n  }\n}\n";
}

/// The same matmul by one thread.
inline std::string plain_gemm() {
  return R"(module @m level(tile) version(1) {
  tile.kernel @k(%a: tensor<32 x 40, bf16>, %b: tensor<40 x 16, bf16>, %y: tensor<32 x 16, f32>) {grid = [1, 1], outputs = 1, schedule = {}} {
    %c0: i64 = tile.constant {value = 0}
    %x: tile<32 x 40, bf16> = tile.load %a, [%c0, %c0], []
    %w: tile<40 x 16, bf16> = tile.load %b, [%c0, %c0], []
    %zero: tile<32 x 16, f32> = tile.full {value = 0}
    %d: tile<32 x 16, f32> = tile.dot %x, %w, %zero, []
    tile.store %d, %y, [%c0, %c0], []
    tile.return
  }
}
)";
}

}  // namespace tessera
