/* Launches one kernel of a bundle by name and compares its result with the formula.
 *
 *     tesserac tile_linear.tsr -o tile_linear.bundle
 *     cc -std=c99 main.c -ltessera -lm -o tile_linear
 *     ./tile_linear tile_linear.bundle
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tessera.h"

/* The kernel's tile, as its schedule states it. */
enum { TILE_M = 128, TILE_N = 128 };

static void check(tsr_status_t status, const char* what) {
  if (status == TSR_SUCCESS) return;
  fprintf(stderr, "%s: %s: %s\n", what, tsrStatusName(status), tsrGetLastError());
  exit(1);
}

static float from_bf16(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/* To nearest, ties to even; for finite values. */
static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  bits += 0x7fffu + ((bits >> 16) & 1u);
  return (uint16_t)(bits >> 16);
}

/* Multiples of 1/16 between -1 and 1, which bf16 has exactly. */
static void fill(uint16_t* data, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = to_bf16((float)(int)(seed >> 27) / 16.0f - 1.0f);
  }
}

static double gelu(double x) {
  return 0.5 * x * (1.0 + tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
}

static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file) {
    perror(path);
    exit(1);
  }
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* data = malloc(*size);
  if (!data || fread(data, 1, *size, file) != *size) {
    fprintf(stderr, "%s: cannot read it\n", path);
    exit(1);
  }
  fclose(file);
  return data;
}

/* The largest difference from the formula, in units of the result's rounding. */
static double worst_error(const uint16_t* a, const uint16_t* b, const uint16_t* c, uint32_t m,
                          uint32_t n, uint32_t k) {
  double worst = 0;
  for (uint32_t i = 0; i < m; ++i) {
    for (uint32_t j = 0; j < n; ++j) {
      double sum = 0;
      for (uint32_t l = 0; l < k; ++l) {
        sum += (double)from_bf16(a[(size_t)i * k + l]) * from_bf16(b[(size_t)l * n + j]);
      }
      double wanted = gelu(sum);
      double error = fabs(from_bf16(c[(size_t)i * n + j]) - wanted) / (fabs(wanted) + 0.01);
      if (!(error <= worst)) worst = error;
    }
  }
  return worst * 256;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s tile_linear.bundle\n", argv[0]);
    return 2;
  }
  size_t image_size;
  void* image = read_file(argv[1], &image_size);
  uint32_t M = 200, N = 150, K = 96;

  tsr_context_t ctx;
  check(tsrCreateContext(&ctx), "tsrCreateContext");
  tsr_module_t mod = NULL;
  check(tsrLoadModule(ctx, image, image_size, &mod), "tsrLoadModule");
  tsr_kernel_t k;
  check(tsrGetKernel(mod, "tile_linear_bf16", &k), "tsrGetKernel");

  void *A, *B, *C;
  check(tsrAlloc(ctx, sizeof(uint16_t) * M * K, TSR_DEVICE, &A), "tsrAlloc");
  check(tsrAlloc(ctx, sizeof(uint16_t) * K * N, TSR_DEVICE, &B), "tsrAlloc");
  check(tsrAlloc(ctx, sizeof(uint16_t) * M * N, TSR_DEVICE, &C), "tsrAlloc");
  fill(A, (size_t)M * K, 1);
  fill(B, (size_t)K * N, 2);

  void* args[] = {&A, &B, &C, &M, &N, &K};
  tsr_launch_t launch = {.grid_x = (M + TILE_M - 1) / TILE_M,
                         .grid_y = (N + TILE_N - 1) / TILE_N,
                         .grid_z = 1,
                         .block_x = 256,
                         .block_y = 1,
                         .block_z = 1,
                         .smem_bytes = 0};
  tsr_stream_t stream = NULL; /* default */
  check(tsrLaunch(k, stream, launch, args, 6), "tsrLaunch");

  double worst = worst_error(A, B, C, M, N, K);
  printf("tile_linear_bf16 %ux%ux%u: largest error %.2f units of 2^-8\n", M, N, K, worst);
  check(tsrFree(ctx, A), "tsrFree");
  check(tsrFree(ctx, B), "tsrFree");
  check(tsrFree(ctx, C), "tsrFree");
  check(tsrDestroyContext(ctx), "tsrDestroyContext");
  free(image);
  return worst < 1.01 ? 0 : 1;
}
