/* Runs an entry of the form (x: Tensor[N, f32]) -> Tensor[N, f32] on 0, 1, 2, ... and prints the
 * result. Usage: embed BUNDLE ENTRY N */
#include <stdio.h>
#include <stdlib.h>

#include "tessera.h"

static void check(tsr_status_t status) {
  if (status == TSR_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", tsrStatusName(status), tsrGetLastError());
  exit(1);
}

int main(int argc, char** argv) {
  tsr_context_t context;
  tsr_module_t module;
  tsr_function_t function;
  if (argc != 4) return fprintf(stderr, "usage: embed BUNDLE ENTRY N\n"), 2;
  int64_t n = atoll(argv[3]);
  check(tsrCreateContext(&context));
  check(tsrLoadModuleFile(context, argv[1], NULL, &module));
  check(tsrGetFunction(module, argv[2], &function));

  tsr_tensor_t x = {.device = {1, 0}, .ndim = 1, .dtype = {2, 32, 1}, .shape = &n};
  tsr_tensor_t y = x;
  check(tsrAlloc(context, (size_t)n * sizeof(float), TSR_HOST, &x.data));
  check(tsrAlloc(context, (size_t)n * sizeof(float), TSR_HOST, &y.data));
  for (int64_t i = 0; i < n; ++i) ((float*)x.data)[i] = (float)i;

  const tsr_tensor_t* inputs[] = {&x};
  tsr_tensor_t* outputs[] = {&y};
  check(tsrCall(function, NULL, inputs, 1, outputs, 1, NULL));
  for (int64_t i = 0; i < n; ++i) printf("%g\n", ((float*)y.data)[i]);
  check(tsrDestroyContext(context));
  return 0;
}
