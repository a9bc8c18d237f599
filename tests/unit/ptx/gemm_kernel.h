#pragma once
// MMAs of tensor cores, written by hand as target IR.

#include <string>

namespace tessera {

/// c = a b for bf16 with f32 sums: blocks of 128 x 256 x 64, one warpgroup that copies and two that multiply, a ring of
/// four stages. All of the ring's barriers stand behind the tiles: full ones first. With `keep`, %init is used after
/// the loop as well, which forces a copy of the accumulator.
inline std::string wgmma_kernel(bool keep = false) {
  std::string attributes = " {a_major = \"k\", b_major = \"mn\", dtype = bf16, k = 16, m = 64, n = 256}\n";
  std::string mmas;
  std::string last = "%acc";
  for (int i = 0; i < 4; ++i) {
    std::string n = std::to_string(i);
    mmas += "%ka" + n + ": i64 = target.constant {value = " + std::to_string(i * 2) + "}\n" +
                "%kb" + n + ": i64 = target.constant {value = " + std::to_string(i * 128) + "}\n" +
                "%da" + n + ": i64 = target.add %da, %ka" + n + "\n%db" + n + ": i64 = target.add %db, %kb" + n + "\n" +
                "%p" + n + ": reg<f32 x 128> = nv.wgmma %da" + n + ", %db" + n + ", " + last + ", %yes" + attributes;
    last = "%p" + n;
  }
  return R"(module @m level(target) version(1) {
  target.func @gemm(%x: ptr, %w: ptr, %y: ptr, %n: u32, %ma: ptr, %mb: ptr) {cluster = [2, 1], descriptors = [
{box = [64, 128], buffer = 0, dims = [<N>, <N>], dtype = bf16, offset = 0, strides = [<2*N>], swizzle = 128},
{box = [64, 64], buffer = 1, dims = [<N>, <N>], dtype = bf16, offset = 0, strides = [<2*N>], swizzle = 128}],
dims = ["N"], grid = [<ceildiv(N, 128)>], outputs = 1, params = [!tensor<N x N, bf16>, !tensor<N x N, bf16>,
!tensor<N x N, f32>], schedule = {}, scratch = 0, shared = 197632, threads = 384} {
    %t: i32 = nv.thread_id
    %s: ptr<shared> = nv.shared_base
    %zero: i32 = target.constant {value = 0}
    %one: i32 = target.constant {value = 1}
    %three: i32 = target.constant {value = 3}
    %seven: i32 = target.constant {value = 7}
    %yes: bool = target.constant {value = 1}
    %first: i32 = target.constant {value = 128}
    %full_at: i32 = target.constant {value = 196608}
    %empty_at: i32 = target.constant {value = 196640}
    %full: ptr<shared> = target.offset %s, %full_at
    %empty: ptr<shared> = target.offset %s, %empty_at
    %k64: u32 = target.constant {value = 64}
    %steps_u: u32 = target.div %n, %k64
    %steps: i32 = target.cast %steps_u
    %starts: bool = target.eq %t, %zero
    target.cond_branch %starts, ^init, ^ready
  ^init:
    nv.mbarrier_init %full {count = 1}
    nv.mbarrier_init %empty {count = 256}
    nv.fence_mbarrier_init
    target.branch ^ready
  ^ready:
    nv.cluster_arrive
    nv.cluster_wait
    %copies: bool = target.lt %t, %first
    target.cond_branch %copies, ^producer, ^consumer
  ^producer:
    nv.set_max_registers {count = 40, increase = false}
    target.cond_branch %starts, ^fill(%zero), ^done
  ^fill(%i: i32):
    %stage: i32 = target.and %i, %three
    %barrier_bytes: i32 = target.shl %stage, %three
    %f: ptr<shared> = target.offset %full, %barrier_bytes
    %e: ptr<shared> = target.offset %empty, %barrier_bytes
    %round: i32 = target.shr %i, %one
    %parity: i32 = target.and %round, %one
    nv.mbarrier_wait %e, %parity
    nv.mbarrier_expect %f {bytes = 49152}
    %size: i32 = target.constant {value = 49152}
    %at: i32 = target.mul %stage, %size
    %ta: ptr<shared> = target.offset %s, %at
    %b_at: i32 = target.constant {value = 16384}
    %tb: ptr<shared> = target.offset %ta, %b_at
    %k: i32 = target.mul %i, %first
    nv.tma_load %ma, [%k, %zero], %ta, %f, [], []
    nv.tma_load %mb, [%zero, %k], %tb, %f, [%three], []
    %next: i32 = target.add %i, %one
    %more: bool = target.lt %next, %steps
    target.cond_branch %more, ^fill(%next), ^done
  ^consumer:
    nv.set_max_registers {count = 232, increase = true}
    %init: reg<f32 x 128> = target.constant {value = 0.0}
    target.branch ^step(%zero, %init)
  ^step(%j: i32, %acc: reg<f32 x 128>):
    %stage2: i32 = target.and %j, %three
    %bytes2: i32 = target.shl %stage2, %three
    %f2: ptr<shared> = target.offset %full, %bytes2
    %e2: ptr<shared> = target.offset %empty, %bytes2
    %round2: i32 = target.shr %j, %one
    %parity2: i32 = target.and %round2, %one
    nv.mbarrier_wait %f2, %parity2
    %stage64: i64 = target.cast %stage2
    %tile16: i64 = target.constant {value = 3072}
    %moved: i64 = target.mul %stage64, %tile16
    %bits: i64 = target.constant {value = 4611686293305294848}
    %da: i64 = target.add %bits, %moved
    %b16: i64 = target.constant {value = 1024}
    %db: i64 = target.add %da, %b16
    nv.wgmma_fence
)" + mmas + R"(    nv.wgmma_commit
    %done: reg<f32 x 128> = nv.wgmma_wait [)" + last + R"(] {pending = 0}
    nv.mbarrier_arrive %e2
    %next2: i32 = target.add %j, %one
    %more2: bool = target.lt %next2, %steps
    target.cond_branch %more2, ^step(%next2, )" + (keep ? "%p1" : "%done") + R"(), ^store(%done)
  ^store(%sum: reg<f32 x 128>):
    %row: i32 = target.constant {value = 512}
    %from: i32 = target.mul %t, %row
    %to: ptr = target.offset %y, %from
    target.store %sum, %to {align = 16}
    target.branch ^done
  ^done:
    target.return
  }
}
)";
}

/// The same on mma.sync: one warp, tiles of 16 x 8 x 16 brought by cp.async, two stages.
inline std::string mma_sync_kernel() {
  return R"(module @m level(target) version(1) {
  target.func @gemm80(%x: ptr, %w: ptr, %y: ptr, %n: u32) {dims = ["N"], grid = [1], outputs = 1,
params = [!tensor<N x N, bf16>, !tensor<N x N, bf16>, !tensor<N x N, f32>], schedule = {}, scratch = 0, shared = 2048,
threads = 32} {
    %t: i32 = nv.thread_id
    %s: ptr<shared> = nv.shared_base
    %zero: i32 = target.constant {value = 0}
    %one: i32 = target.constant {value = 1}
    %c16: i32 = target.constant {value = 16}
    %c512: i32 = target.constant {value = 512}
    %mine: i32 = target.mul %t, %c16
    %steps: i32 = target.cast %n
    %to: ptr<shared> = target.offset %s, %mine
    %from: ptr = target.offset %x, %mine
    nv.cp_async %to, %from, [] {size = 16}
    nv.cp_async_commit
    %init: reg<f32 x 4> = target.constant {value = 0.0}
    target.branch ^step(%zero, %init, %to, %from)
  ^step(%i: i32, %acc: reg<f32 x 4>, %at: ptr<shared>, %src: ptr):
    %ahead: ptr<shared> = target.offset %at, %c512
    %src2: ptr = target.offset %src, %c512
    nv.cp_async %ahead, %src2, [%c16] {size = 16}
    nv.cp_async_commit
    nv.cp_async_wait {pending = 1}
    nv.barrier {id = 0, threads = 32}
    %a: reg<bf16 x 8> = nv.ldmatrix %at {count = 4}
    %b: reg<bf16 x 4> = nv.ldmatrix %at {count = 2, transpose = true}
    %sum: reg<f32 x 4> = nv.mma_sync %a, %b, %acc
    %next: i32 = target.add %i, %one
    %more: bool = target.lt %next, %steps
    target.cond_branch %more, ^step(%next, %sum, %ahead, %src2), ^done
  ^done:
    %part: reg<f32 x 4> = nv.shuffle_xor %sum {mask = 1}
    %both: reg<f32 x 4> = target.add %part, %sum
    %out: ptr = target.offset %y, %mine
    target.store %both, %out {align = 16}
    target.return
  }
}
)";
}

}  // namespace tessera
