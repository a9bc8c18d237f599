/* Checks of values in a C program: the first that fails ends it with its place. */
#ifndef TESSERA_TESTS_CHECK_H
#define TESSERA_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <tessera.h>

#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, tsrGetLastError()); \
      exit(1);                                                                       \
    }                                                                                \
  } while (0)
#define WORKS(call) CHECK((call) == TSR_SUCCESS)

#endif
