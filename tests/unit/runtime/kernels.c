/* Kernels of the test bundles, in the form that the compiler gives them: exported functions over
 * linear program indices, which import nothing. */
#include <stdint.h>

#define KERNEL __attribute__((visibility("default"))) void

/* y[N] = x[N] + 1, 16 elements a program. */
KERNEL add_one(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
               void* scratch) {
  const float* x = buffers[0];
  float* y = buffers[1];
  (void)scratch;
  for (int64_t program = first; program < last; ++program) {
    for (int64_t i = program * 16; i < program * 16 + 16 && i < dims[0]; ++i) y[i] = x[i] + 1;
  }
}

/* add_one as tesserac --debug compiles it, of 16 elements a program whatever N is: a program that
 * would go past the end of y writes an entry to its log instead. */
KERNEL checked(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
               void* scratch) {
  const float* x = buffers[0];
  float* y = buffers[1];
  uint64_t* log = buffers[2];
  (void)scratch;
  for (int64_t program = first; program < last; ++program) {
    if (program * 16 + 16 > dims[0]) {
      uint64_t entry = __atomic_fetch_add(&log[0], 1, __ATOMIC_RELAXED);
      int64_t fields[6] = {1, program, 0, program * 16, 16, dims[0]};
      for (int i = 0; entry < log[1] && i < 6; ++i) log[8 * (entry + 1) + i] = (uint64_t)fields[i];
      continue;
    }
    for (int64_t i = program * 16; i < program * 16 + 16; ++i) y[i] = x[i] + 1;
  }
}

/* y[N] = x[N] / x[N]: NaN of 0. */
KERNEL ratio(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
             void* scratch) {
  const float* x = buffers[0];
  float* y = buffers[1];
  (void)scratch, (void)first, (void)last;
  for (int64_t i = 0; i < dims[0]; ++i) y[i] = x[i] / x[i];
}

/* y[N] = 1 / x[N]: infinity of 0. */
KERNEL reciprocal(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                  void* scratch) {
  const float* x = buffers[0];
  float* y = buffers[1];
  (void)scratch, (void)first, (void)last;
  for (int64_t i = 0; i < dims[0]; ++i) y[i] = 1 / x[i];
}

/* add_one that writes one element too many. */
KERNEL overrun(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
               void* scratch) {
  const float* x = buffers[0];
  float* y = buffers[1];
  (void)scratch, (void)first, (void)last;
  for (int64_t i = 0; i < dims[0]; ++i) y[i] = x[i] + 1;
  y[dims[0]] = 7;
}

/* add_one that reads far past the end of x. */
KERNEL overread(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                void* scratch) {
  const volatile float* x = buffers[0];
  float* y = buffers[1];
  (void)scratch, (void)first, (void)last;
  for (int64_t i = 0; i < dims[0]; ++i) y[i] = x[i + 64];
}

/* add_one that leaves out the last element. */
KERNEL unfinished(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                  void* scratch) {
  const float* x = buffers[0];
  float* y = buffers[1];
  (void)scratch, (void)first, (void)last;
  for (int64_t i = 0; i + 1 < dims[0]; ++i) y[i] = x[i] + 1;
}

/* y[M, N] = x[M, N] * s[N], one element a program: the grid is [M, N]. */
KERNEL scale(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
             void* scratch) {
  const float* x = buffers[0];
  const float* s = buffers[1];
  float* y = buffers[2];
  (void)scratch;
  for (int64_t program = first; program < last; ++program) {
    y[program] = x[program] * s[program % dims[1]];
  }
}

/* C[M, N] = A[M, K] B[K, N], a 4 x 4 tile a program. */
KERNEL tile_linear(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                   void* scratch) {
  const float* a = buffers[0];
  const float* b = buffers[1];
  float* c = buffers[2];
  int64_t m = dims[0], n = dims[1], k = dims[2], columns = (n + 3) / 4;
  (void)scratch;
  for (int64_t program = first; program < last; ++program) {
    int64_t row = program / columns * 4, column = program % columns * 4;
    for (int64_t i = row; i < row + 4 && i < m; ++i) {
      for (int64_t j = column; j < column + 4 && j < n; ++j) {
        float sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
        c[i * n + j] = sum;
      }
    }
  }
}

/* y[M] = the sums of the rows of x[M, N], through scratch of N floats; a row a program. A scratch
 * that is unaligned gives -1. */
KERNEL row_sum(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
               void* scratch) {
  const float* x = buffers[0];
  float* y = buffers[1];
  volatile float* copy = scratch;
  int64_t n = dims[1];
  for (int64_t row = first; row < last; ++row) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i) copy[i] = x[row * n + i];
    for (int64_t i = 0; i < n; ++i) sum += copy[i];
    y[row] = (uintptr_t)scratch % 64 == 0 ? sum : -1;
  }
}

/* flag[] = x[0] > 0. */
KERNEL is_positive(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                   void* scratch) {
  (void)dims, (void)first, (void)last, (void)scratch;
  *(uint8_t*)buffers[1] = *(const float*)buffers[0] > 0;
}

/* y[] = seed[]. */
KERNEL copy_seed(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                 void* scratch) {
  (void)dims, (void)first, (void)last, (void)scratch;
  *(uint64_t*)buffers[1] = *(const uint64_t*)buffers[0];
}

/* Never ends before the flag in x[0] is set: for tests of waiting. */
KERNEL wait_for(void* const* buffers, const int64_t* dims, int64_t first, int64_t last,
                void* scratch) {
  volatile float* x = buffers[0];
  (void)dims, (void)first, (void)last, (void)scratch;
  while (*x == 0) {
  }
  *(float*)buffers[1] = *x;
}
