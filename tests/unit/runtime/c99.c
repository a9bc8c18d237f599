/* tessera.h is C99; the functions of the architecture document are declared with exactly its types,
 * and its host flow compiles as it is written there. */
#include "tessera.h"

/* The document's own declarations: a different type in tessera.h would not compile. */
tsr_status_t tsrCreateContext(tsr_context_t*);
tsr_status_t tsrDestroyContext(tsr_context_t);
tsr_status_t tsrLoadModule(tsr_context_t, const void* image, size_t sz, tsr_module_t*);
tsr_status_t tsrGetKernel(tsr_module_t, const char* name, tsr_kernel_t*);
tsr_status_t tsrAlloc(tsr_context_t, size_t bytes, uint32_t flags, void** dptr);
tsr_status_t tsrFree(tsr_context_t, void* dptr);
tsr_status_t tsrLaunch(tsr_kernel_t, tsr_stream_t, tsr_launch_t, void** args, size_t nargs);

typedef char statuses_are_fixed[TSR_SUCCESS == 0 && TSR_EOOM == 1 && TSR_EINVAL == 2 &&
                                        TSR_ETIMEOUT == 3
                                    ? 1
                                    : -1];
typedef char launch_is_fixed[sizeof(tsr_launch_t) == 7 * sizeof(uint32_t) ? 1 : -1];

tsr_status_t run_host_flow(const void* image, size_t image_size, const char* name, float* A,
                           float* B, float* C, uint32_t M, uint32_t N, uint32_t K);

/* The document's host flow, with the checks that it leaves out. */
tsr_status_t run_host_flow(const void* image, size_t image_size, const char* name, float* A,
                           float* B, float* C, uint32_t M, uint32_t N, uint32_t K) {
  const uint32_t Gx = (M + 3) / 4, Gy = (N + 3) / 4, Bx = 256, By = 1, smem = 0;
  tsr_status_t status;
  tsr_context_t ctx;
  tsr_module_t mod = NULL;
  tsr_kernel_t k;
  if ((status = tsrCreateContext(&ctx)) != TSR_SUCCESS) return status;
  status = tsrLoadModule(ctx, image, image_size, &mod);
  if (status == TSR_SUCCESS) status = tsrGetKernel(mod, name, &k);
  if (status == TSR_SUCCESS) {
    void* args[] = {&A, &B, &C, &M, &N, &K};
    tsr_launch_t launch = {.grid_x = Gx, .grid_y = Gy, .grid_z = 1,
                           .block_x = Bx, .block_y = By, .block_z = 1,
                           .smem_bytes = smem};
    tsr_stream_t stream = NULL; /* default */
    status = tsrLaunch(k, stream, launch, args, 6);
  }
  tsrDestroyContext(ctx);
  return status;
}
