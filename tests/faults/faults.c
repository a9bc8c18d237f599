/* Makes calls of the system fail, for programs that are started with this library in LD_PRELOAD.
 *
 * FAULT_CALL names the function, FAULT_AT the first call that fails (1 for the first), FAULT_COUNT how many fail from
 * there on (1 if not given), FAULT_ERRNO what they fail with. Of write, half of what was asked for is written by the
 * call before the one that fails, as on a disk that is full. FAULT_LOG is a file for the number of calls that were made.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <unistd.h>

/* glibc's own names, which need no look-up: a look-up allocates. */
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static const char* call_name;
static long first, count = 1;
static int code = EIO;
static atomic_long calls;

static long number_of(const char* name, long otherwise) {
  const char* text = getenv(name);
  return text ? strtol(text, NULL, 10) : otherwise;
}

__attribute__((constructor)) static void start(void) {
  unsetenv("LD_PRELOAD"); /* programs that this one starts make calls of their own */
  call_name = getenv("FAULT_CALL");
  first = number_of("FAULT_AT", 0);
  count = number_of("FAULT_COUNT", 1);
  code = (int)number_of("FAULT_ERRNO", EIO);
}

__attribute__((destructor)) static void finish(void) {
  const char* path = getenv("FAULT_LOG");
  if (!path) return;
  call_name = NULL;
  FILE* file = fopen(path, "w");
  if (!file) return;
  fprintf(file, "%ld\n", atomic_load(&calls));
  fclose(file);
}

/* Counts a call; its number, or 0 where calls of this name are not counted. */
static long counted(const char* name) {
  if (!call_name || strcmp(call_name, name) != 0) return 0;
  return atomic_fetch_add(&calls, 1) + 1;
}

static int fails_at(long call) { return first > 0 && call >= first && call < first + count; }

static int fails(const char* name) {
  long call = counted(name);
  if (!call || !fails_at(call)) return 0;
  errno = code;
  return 1;
}

void* malloc(size_t size) { return fails("malloc") ? NULL : __libc_malloc(size); }
void* calloc(size_t number, size_t size) { return fails("malloc") ? NULL : __libc_calloc(number, size); }
void* realloc(void* old, size_t size) { return fails("malloc") ? NULL : __libc_realloc(old, size); }
void* aligned_alloc(size_t alignment, size_t size) {
  return fails("malloc") ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** out, size_t alignment, size_t size) {
  if (fails("malloc")) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out || !size ? 0 : ENOMEM;
}

#define NEXT(type, name, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void* data, size_t size) {
  static ssize_t (*next)(int, const void*, size_t);
  if (!next) next = NEXT(ssize_t, write, int, const void*, size_t);
  if (fd <= 2) return next(fd, data, size); /* what is said about the failure is not made to fail */
  long call = counted("write");
  if (call && fails_at(call)) {
    errno = code;
    return -1;
  }
  return next(fd, data, call && fails_at(call + 1) && size > 1 ? size / 2 : size);
}

ssize_t read(int fd, void* data, size_t size) {
  static ssize_t (*next)(int, void*, size_t);
  if (!next) next = NEXT(ssize_t, read, int, void*, size_t);
  return fails("read") ? -1 : next(fd, data, size);
}

void* mmap(void* address, size_t size, int protection, int flags, int fd, off_t offset) {
  static void* (*next)(void*, size_t, int, int, int, off_t);
  if (!next) next = NEXT(void*, mmap, void*, size_t, int, int, int, off_t);
  return fails("mmap") ? MAP_FAILED : next(address, size, protection, flags, fd, offset);
}

static int opened(const char* path, int flags, va_list rest) {
  static int (*next)(const char*, int, ...);
  if (!next) next = (int (*)(const char*, int, ...))dlsym(RTLD_NEXT, "open");
  mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  return fails("open") ? -1 : next(path, flags, mode);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int fd = opened(path, flags, rest);
  va_end(rest);
  return fd;
}

int open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  int fd = opened(path, flags, rest);
  va_end(rest);
  return fd;
}

int mkstemp(char* path) {
  static int (*next)(char*);
  if (!next) next = NEXT(int, mkstemp, char*);
  return fails("mkstemp") ? -1 : next(path);
}

int mkostemp(char* path, int flags) {
  static int (*next)(char*, int);
  if (!next) next = NEXT(int, mkostemp, char*, int);
  return fails("mkstemp") ? -1 : next(path, flags);
}

int close(int fd) {
  static int (*next)(int);
  if (!next) next = NEXT(int, close, int);
  if (fd <= 2 || !fails("close")) return next(fd);
  next(fd);
  errno = code;
  return -1;
}

int rename(const char* from, const char* to) {
  static int (*next)(const char*, const char*);
  if (!next) next = NEXT(int, rename, const char*, const char*);
  return fails("rename") ? -1 : next(from, to);
}

int fsync(int fd) {
  static int (*next)(int);
  if (!next) next = NEXT(int, fsync, int);
  return fails("fsync") ? -1 : next(fd);
}

char* mkdtemp(char* path) {
  static char* (*next)(char*);
  if (!next) next = NEXT(char*, mkdtemp, char*);
  return fails("mkdtemp") ? NULL : next(path);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  static int (*next)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (!next) next = NEXT(int, pthread_create, pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  return fails("pthread_create") ? code : next(thread, attributes, run, argument);
}
