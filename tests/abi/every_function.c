/* Calls every function of tessera.h and checks what it gives: every_function BUNDLE, of functions.tsr. */
#include <malloc.h>
#include <string.h>

#include "check.h"

/* Memory of the program, counted. */
typedef struct {
  size_t blocks;
  size_t calls;
} heap_t;

static void* allocate(void* user, size_t bytes, uint32_t flags, void* stream) {
  heap_t* heap = user;
  CHECK(flags == TSR_DEVICE || flags == TSR_HOST || flags == TSR_PINNED);
  CHECK(stream == NULL);
  ++heap->calls;
  ++heap->blocks;
  return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void give_back(void* user, void* memory, size_t bytes, uint32_t flags, void* stream) {
  heap_t* heap = user;
  (void)bytes, (void)flags, (void)stream;
  --heap->blocks;
  free(memory);
}

static void count_message(void* user, const tsr_log_message_t* message) {
  CHECK(message->size >= sizeof *message);
  if (message->kind == TSR_LOG_INFO && strstr(message->text, "cpu:")) ++*(int*)user;
}

static void count_result(void* user, const tsr_trace_tensor_t* tensor) {
  if (tensor->kind == TSR_TRACE_OUTPUT && tensor->ndim == 2 && tensor->shape[1] == 4) ++*(int*)user;
}

static void note_done(void* user, tsr_status_t status) { *(int*)user = status == TSR_SUCCESS ? 1 : -1; }
static void count_release(void* user) { ++*(int*)user; }
static void count_deleted(tsr_managed_tensor_t* self) { ++*(int*)self->manager; }
static void count_deleted_versioned(tsr_managed_tensor_versioned_t* self) { ++*(int*)self->manager; }

static tsr_tensor_t tensor_of(float* data, int32_t ndim, int64_t* shape) {
  tsr_tensor_t tensor = {data, {1, 0}, ndim, {2, 32, 1}, shape, NULL, 0};
  return tensor;
}

static void check_versions(void) {
  uint32_t major = 0, minor = 99;
  tsrGetVersion(&major, &minor);
  CHECK(major == TSR_ABI_MAJOR && minor == TSR_ABI_MINOR);
  CHECK(!strcmp(tsrStatusName(TSR_ECANCELED), "TSR_ECANCELED"));
  CHECK(tsrFree(NULL, NULL) == TSR_EINVAL);
  CHECK(!strcmp(tsrGetLastError(), "the context is NULL"));
}

static void check_devices(void) {
  size_t count = 0;
  tsr_device_info_t info = {.size = sizeof info};
  WORKS(tsrGetDeviceCount(&count));
  CHECK(count >= 1);
  WORKS(tsrGetDeviceInfo(0, &info));
  CHECK(!strcmp(info.name, "cpu") && info.device.device_type == 1 && info.processors >= 1 && info.memory > 0);
  CHECK(tsrGetDeviceInfo(count, &info) == TSR_ENOTFOUND);
}

static void check_memory(tsr_context_t context) {
  void *a = NULL, *b = NULL;
  tsr_memory_info_t before = {.size = sizeof before}, now = before;
  WORKS(tsrGetMemoryInfo(context, &before));
  WORKS(tsrAlloc(context, 64, TSR_DEVICE, &a));
  WORKS(tsrAlloc(context, 64, TSR_PINNED, &b));
  WORKS(tsrGetMemoryInfo(context, &now));
  CHECK(now.used == before.used + 128 && now.peak >= now.used);
  memset(a, 7, 64);
  WORKS(tsrCopy(context, NULL, b, a, 64));
  CHECK(!memcmp(a, b, 64));
  tsr_limits_t limits = {.size = sizeof limits, .memory = now.used};
  WORKS(tsrSetLimits(context, &limits));
  void* more = NULL;
  CHECK(tsrAlloc(context, 1, TSR_HOST, &more) == TSR_EOOM);
  WORKS(tsrSetLimits(context, NULL));
  WORKS(tsrFree(context, a));
  WORKS(tsrFree(context, b));
  WORKS(tsrGetMemoryInfo(context, &now));
  CHECK(now.used == before.used);
}

static void check_kernels(tsr_context_t context, tsr_module_t module, tsr_stream_t stream) {
  size_t count = 0;
  const char* name = NULL;
  tsr_kernel_t kernel = NULL;
  tsr_kernel_info_t info = {.size = sizeof info};
  int found = 0;
  WORKS(tsrGetKernelCount(module, &count));
  for (size_t i = 0; i < count; ++i) {
    WORKS(tsrGetKernelName(module, i, &name));
    found += !strcmp(name, "add_one");
  }
  CHECK(found == 1);
  WORKS(tsrGetKernel(module, "add_one", &kernel));
  WORKS(tsrGetKernelInfo(kernel, &info));
  CHECK(info.parameters == 1 && info.results == 1 && info.free_dims == 1);
  CHECK(!strcmp(info.buffers[0], "x") && !strcmp(info.dims[0], "N"));
  void *x = NULL, *y = NULL;
  uint32_t n = 40;
  WORKS(tsrAlloc(context, 160, TSR_DEVICE, &x));
  WORKS(tsrAlloc(context, 160, TSR_DEVICE, &y));
  for (uint32_t i = 0; i < n; ++i) ((float*)x)[i] = (float)i;
  void* args[] = {&x, &y, &n};
  tsr_launch_t launch = {0};
  WORKS(tsrLaunch(kernel, stream, launch, args, 3));
  WORKS(tsrSynchronize(context, stream, TSR_FOREVER));
  for (uint32_t i = 0; i < n; ++i) CHECK(((float*)y)[i] == (float)i + 1);
  WORKS(tsrFree(context, x));
  WORKS(tsrFree(context, y));
}

static tsr_function_t check_signatures(tsr_module_t module) {
  size_t count = 0, inputs = 0, outputs = 0;
  const char* name = NULL;
  tsr_function_t function = NULL;
  tsr_tensor_info_t info = {.size = sizeof info};
  WORKS(tsrGetFunctionCount(module, &count));
  CHECK(count == 2);
  WORKS(tsrGetFunctionName(module, 1, &name));
  CHECK(!strcmp(name, "scaled"));
  WORKS(tsrGetModuleTarget(module, &name));
  CHECK(!strncmp(name, "cpu:", 4));
  WORKS(tsrGetFunction(module, "scaled", &function));
  WORKS(tsrGetSignature(function, &inputs, &outputs));
  CHECK(inputs == 1 && outputs == 1);
  WORKS(tsrGetInputInfo(function, 0, &info));
  CHECK(!strcmp(info.name, "x") && !strcmp(info.shape, "[B, 4]") && !strcmp(info.dtype, "f32") && info.ndim == 2);
  WORKS(tsrGetOutputInfo(function, 0, &info));
  CHECK(info.element.code == 2 && info.element.bits == 32 && !info.flags);
  WORKS(tsrGetParameterCount(module, &count));
  CHECK(count == 1);
  WORKS(tsrGetParameterInfo(module, 0, &info));
  CHECK(!strcmp(info.name, "scale") && !(info.flags & TSR_TENSOR_BOUND));
  WORKS(tsrGetFunctionParameterCount(function, &count));
  CHECK(count == 1);
  WORKS(tsrGetFunctionParameterInfo(function, 0, &info));
  CHECK(!strcmp(info.name, "scale"));
  return function;
}

static void check_calls(tsr_context_t context, tsr_module_t module, tsr_function_t scaled, tsr_stream_t stream) {
  static _Alignas(64) float x[12], y[12], scale[4] = {1, 2, 3, 4};
  static _Alignas(64) char workspace[4096];
  int64_t shape[] = {3, 4}, four[] = {4}, output[2] = {0, 0};
  tsr_tensor_t tensor_x = tensor_of(x, 2, shape), tensor_y = tensor_of(y, 2, shape), values = tensor_of(scale, 1, four);
  const tsr_tensor_t* inputs[] = {&tensor_x};
  tsr_tensor_t* outputs[] = {&tensor_y};
  const char* names[] = {"scale"};
  const tsr_tensor_t* bound[] = {&values};
  int32_t rank = 0;
  int traced = 0;
  size_t bytes = 0;
  tsr_function_t normal = NULL;
  CHECK(tsrCall(scaled, NULL, inputs, 1, outputs, 1, NULL) == TSR_EINVAL); /* scale has no value */
  WORKS(tsrBindParameters(module, names, bound, 1));
  for (int i = 0; i < 12; ++i) x[i] = (float)i;
  WORKS(tsrGetOutputShape(scaled, 0, inputs, 1, output, 2, &rank));
  CHECK(rank == 2 && output[0] == 3 && output[1] == 4);
  WORKS(tsrSetTrace(context, count_result, &traced));
  WORKS(tsrCall(scaled, NULL, inputs, 1, outputs, 1, NULL));
  WORKS(tsrSetTrace(context, NULL, NULL));
  CHECK(traced == 1);
  for (int i = 0; i < 12; ++i) CHECK(y[i] == (float)(i * (i % 4 + 1)));
  WORKS(tsrGetFunction(module, "normal", &normal));
  WORKS(tsrGetWorkspaceSize(normal, inputs, 1, &bytes));
  CHECK(bytes <= sizeof workspace);
  tsr_call_options_t options = {.size = sizeof options, .workspace = workspace, .workspace_size = sizeof workspace};
  WORKS(tsrCall(normal, stream, inputs, 1, outputs, 1, &options));
  WORKS(tsrSynchronize(context, stream, TSR_FOREVER));
  for (int i = 0; i < 12; ++i) CHECK(y[i] == ((float)(i % 4) - 1.5f) * (float)(i % 4 + 1));
}

static void check_events(tsr_context_t context, tsr_stream_t stream) {
  tsr_event_t start = NULL, end = NULL;
  float milliseconds = -1;
  int done = 0;
  WORKS(tsrCreateEvent(context, &start));
  WORKS(tsrCreateEvent(context, &end));
  WORKS(tsrRecordEvent(start, stream));
  WORKS(tsrWaitEvent(start, NULL));
  WORKS(tsrRecordEvent(end, stream));
  WORKS(tsrSynchronizeEvent(end, TSR_FOREVER));
  WORKS(tsrGetElapsedTime(start, end, &milliseconds));
  CHECK(milliseconds >= 0);
  WORKS(tsrNotify(context, stream, note_done, &done));
  WORKS(tsrSynchronize(context, stream, TSR_FOREVER));
  CHECK(done == 1);
  WORKS(tsrCancel(context, stream)); /* of nothing */
  WORKS(tsrSynchronize(context, stream, TSR_FOREVER));
  WORKS(tsrDestroyEvent(start));
  WORKS(tsrDestroyEvent(end));
}

static void check_dlpack(tsr_context_t context) {
  static _Alignas(64) float numbers[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  int64_t shape[] = {2, 4}, transposed[] = {4, 2}, strides[] = {1, 4};
  int deleted = 0, released = 0;
  tsr_tensor_t* taken = NULL;
  tsr_managed_tensor_t theirs = {tensor_of(numbers, 2, shape), &deleted, count_deleted};
  WORKS(tsrTensorFromDLPack(context, NULL, &theirs, NULL, &taken));
  CHECK(taken->data == numbers && deleted == 0);
  tsr_managed_tensor_versioned_t turned = {1, 0, &deleted, count_deleted_versioned, 0, tensor_of(numbers, 2, transposed)};
  turned.tensor.strides = strides;
  tsr_import_options_t copies = {.size = sizeof copies, .flags = TSR_IMPORT_COPY};
  tsr_tensor_t* dense = NULL;
  CHECK(tsrTensorFromDLPackVersioned(context, NULL, &turned, NULL, &dense) == TSR_EINVAL);
  WORKS(tsrTensorFromDLPackVersioned(context, NULL, &turned, &copies, &dense));
  CHECK(((float*)dense->data)[1] == 4 && ((float*)dense->data)[2] == 1);
  /* Back, through strides. */
  float back[8] = {0};
  tsr_tensor_t target = tensor_of(back, 2, transposed);
  target.strides = strides;
  WORKS(tsrCopyTensor(context, NULL, &target, dense));
  CHECK(!memcmp(back, numbers, sizeof back));
  tsr_export_options_t options = {.size = sizeof options, .release = count_release, .user = &released};
  tsr_managed_tensor_t* managed = NULL;
  WORKS(tsrTensorToDLPack(context, taken, &options, &managed));
  CHECK(managed->tensor.strides[0] == 4);
  managed->deleter(managed);
  CHECK(released == 1);
  options.flags = TSR_DLPACK_READ_ONLY;
  tsr_managed_tensor_versioned_t* versioned = NULL;
  WORKS(tsrTensorToDLPackVersioned(context, taken, &options, &versioned));
  CHECK(versioned->major == 1 && versioned->flags == TSR_DLPACK_READ_ONLY);
  versioned->deleter(versioned);
  CHECK(released == 2);
  WORKS(tsrReleaseTensor(context, taken));
  WORKS(tsrReleaseTensor(context, dense));
  CHECK(deleted == 2);
}

/* A million calls leave memory as it was. */
static void check_growth(tsr_function_t scaled, const heap_t* heap) {
  static _Alignas(64) float x[4], y[4];
  int64_t shape[] = {1, 4};
  tsr_tensor_t tensor_x = tensor_of(x, 2, shape), tensor_y = tensor_of(y, 2, shape);
  const tsr_tensor_t* inputs[] = {&tensor_x};
  tsr_tensor_t* outputs[] = {&tensor_y};
  size_t calls = 0, used = 0;
  for (int i = 0; i < 1000000; ++i) {
    if (i == 1000) calls = heap->calls, used = mallinfo2().uordblks;
    x[0] = (float)(i % 1000);
    WORKS(tsrCall(scaled, NULL, inputs, 1, outputs, 1, NULL));
    CHECK(y[0] == x[0]);
  }
  CHECK(heap->calls == calls);
  CHECK(mallinfo2().uordblks <= used + 4096);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  check_versions();
  check_devices();
  heap_t heap = {0, 0};
  int messages = 0;
  tsr_allocator_t allocator = {sizeof allocator, &heap, allocate, give_back};
  tsr_context_options_t options = {.size = sizeof options, .device = "cpu", .threads = 1, .allocator = &allocator,
                                   .log = count_message, .log_user = &messages};
  tsr_context_t context = NULL, other = NULL;
  tsr_module_t module = NULL, signatures = NULL, copy = NULL;
  tsr_stream_t stream = NULL;
  WORKS(tsrCreateContextWith(&options, &context));
  WORKS(tsrCreateContext(&other));
  WORKS(tsrSetThreads(other, 2));
  WORKS(tsrCreateStream(context, NULL, &stream));
  CHECK(tsrSynchronize(other, stream, 0) == TSR_EINVAL);
  WORKS(tsrLoadModuleFile(context, argv[1], NULL, &module));
  CHECK(messages == 1);

  FILE* file = fopen(argv[1], "rb");
  static char image[1 << 20];
  size_t size = fread(image, 1, sizeof image, file);
  fclose(file);
  tsr_module_options_t loading = {.size = sizeof loading, .flags = TSR_NO_CODE};
  WORKS(tsrLoadModuleWith(other, image, size, &loading, &signatures));
  WORKS(tsrLoadModule(other, image, size, &copy));
  WORKS(tsrUnloadModule(copy));

  check_memory(context);
  check_kernels(context, module, stream);
  tsr_function_t scaled = check_signatures(module);
  check_calls(context, module, scaled, stream);
  check_events(context, stream);
  check_dlpack(context);
  check_growth(scaled, &heap);

  WORKS(tsrDestroyStream(stream));
  WORKS(tsrUnloadModule(module));
  WORKS(tsrDestroyContext(context));
  WORKS(tsrDestroyContext(other));
  CHECK(heap.blocks == 0 && heap.calls > 0);
  return 0;
}
