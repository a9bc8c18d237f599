/* Launches a kernel as the flow below does: flow IMAGE A B C reads the first three files and writes the last. */
#include <stdio.h>
#include <stdlib.h>

#include "tessera.h"

static void* read_file(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  if (!file) exit(2);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  void* data = malloc(*size);
  if (fread(data, 1, *size, file) != *size) exit(3);
  fclose(file);
  return data;
}

int main(int argc, char** argv) {
  if (argc != 5) return 1;
  uint32_t M = 200, N = 150, K = 96;
  uint32_t Gx = (M + 127) / 128, Gy = (N + 127) / 128, Bx = 256, By = 1, smem = 0;
  size_t image_size, size;
  void* image = read_file(argv[1], &image_size);
  void* A = read_file(argv[2], &size);
  void* B = read_file(argv[3], &size);
  size = sizeof(uint16_t) * M * N;
  void* C = malloc(size);

/* the flow */

  tsrDestroyContext(ctx);
  FILE* file = fopen(argv[4], "wb");
  if (!file || fwrite(C, 1, size, file) != size || fclose(file)) return 4;
  free(C);
  free(B);
  free(A);
  free(image);
  return 0;
}
