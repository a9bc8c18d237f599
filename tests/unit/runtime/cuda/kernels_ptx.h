#pragma once
// The fake driver's kernels for a real GPU of compute capability 9.0.

namespace tessera::test {

inline constexpr const char* cuda_kernels_ptx = R"ptx(.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry add_one(.param .u64 x, .param .u64 y, .param .u32 n)
{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %d<8>; .reg .f32 %f<3>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r3, [n];
  mad.lo.s32 %r4, %r1, 16, %r2;
  setp.ge.u32 %p1, %r2, 16; @%p1 ret;
  setp.ge.u32 %p2, %r4, %r3; @%p2 ret;
  mul.wide.u32 %d3, %r4, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
  ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, 0f3F800000; st.global.f32 [%d5], %f2;
  ret;
}
.visible .entry add_one_persistent(.param .u64 x, .param .u64 y, .param .u32 n)
{
  .reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %d<8>; .reg .f32 %f<4>;
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mov.u32 %r5, %nctaid.x;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y]; ld.param.u32 %r3, [n];
  mov.u32 %r8, smem; add.u32 %r8, %r8, 102016;
  mov.u32 %r9, %cluster_nctaid.x; sub.u32 %r9, %r9, 1; cvt.rn.f32.u32 %f3, %r9;
  st.shared.f32 [%r8], %f3;
  setp.ge.u32 %p1, %r2, 16; @%p1 ret;
LOOP:
  mad.lo.s32 %r4, %r1, 16, %r2;
  setp.ge.u32 %p2, %r4, %r3; @%p2 ret;
  mul.wide.u32 %d3, %r4, 4; add.s64 %d4, %d1, %d3; add.s64 %d5, %d2, %d3;
  ld.shared.f32 %f3, [%r8];
  ld.global.f32 %f1, [%d4]; add.f32 %f2, %f1, %f3; st.global.f32 [%d5], %f2;
  add.u32 %r1, %r1, %r5;
  bra LOOP;
}
.visible .entry copy_boxes(.param .u64 x, .param .u64 y, .param .u32 m, .param .u32 n, .param .align 64 .b8 mx[128], .param .align 64 .b8 my[128])
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %d<8>;
  mov.u32 %r2, %tid.x; setp.ne.u32 %p1, %r2, 0; @%p1 ret;
  mov.u32 %r1, %ctaid.x; shl.b32 %r1, %r1, 6;
  ld.param.u32 %r3, [n];
  mov.b64 %d1, mx; cvta.param.u64 %d1, %d1;
  mov.b64 %d2, my; cvta.param.u64 %d2, %d2;
  mov.u32 %r4, smem; add.u32 %r5, %r4, 8192;
  mbarrier.init.shared.b64 [%r5], 1;
  fence.mbarrier_init.release.cluster;
  fence.proxy.async.shared::cta;
  mov.u32 %r6, 0; mov.u32 %r7, 0;
LOOP:
  setp.ge.u32 %p2, %r6, %r3; @%p2 ret;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r5], 8192;
  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%d1, {%r6, %r1}], [%r5];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r5], %r7;
  @!%p3 bra WAIT;
  xor.b32 %r7, %r7, 1;
  cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%d2, {%r6, %r1}], [%r4];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
  add.u32 %r6, %r6, 32;
  bra LOOP;
}
.visible .entry scale(.param .u64 x, .param .u64 s, .param .u64 y, .param .u32 m, .param .u32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %d<9>; .reg .f32 %f<4>;
  mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
  mov.u32 %r2, %ctaid.x; ld.param.u32 %r3, [n]; rem.u32 %r4, %r2, %r3;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [s]; ld.param.u64 %d3, [y];
  mul.wide.u32 %d4, %r2, 4; mul.wide.u32 %d5, %r4, 4;
  add.s64 %d6, %d1, %d4; add.s64 %d7, %d2, %d5; add.s64 %d8, %d3, %d4;
  ld.global.f32 %f1, [%d6]; ld.global.f32 %f2, [%d7];
  mul.f32 %f3, %f1, %f2; st.global.f32 [%d8], %f3;
  ret;
}
.visible .entry copy_seed(.param .u64 x, .param .u64 y)
{
  .reg .b64 %d<4>; .reg .b32 %r<2>; .reg .pred %p<2>;
  mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 ret;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
  ld.global.u64 %d3, [%d1]; st.global.u64 [%d2], %d3; ret;
}
.visible .entry is_positive(.param .u64 x, .param .u64 y)
{
  .reg .b64 %d<4>; .reg .b32 %r<3>; .reg .f32 %f<2>; .reg .pred %p<2>;
  ld.param.u64 %d1, [x]; ld.param.u64 %d2, [y];
  ld.global.f32 %f1, [%d1]; setp.gt.f32 %p1, %f1, 0f00000000; selp.u32 %r1, 1, 0, %p1;
  st.global.u8 [%d2], %r1; ret;
}
.visible .entry trap(.param .u64 x, .param .u64 y)
{
  trap;
  ret;
}
)ptx";

}  // namespace tessera::test
