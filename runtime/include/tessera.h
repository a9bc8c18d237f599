/* libtessera: loads bundles that tesserac wrote and runs them. C99, C++ compatible.
 *
 * Every function returns a status. On failure tsrGetLastError gives a sentence that names the
 * tensor, axis or entry at fault and what was expected. Handles belong to their context and end
 * with it; those of kernels and functions end with their module. docs/runtime.md has the details.
 *
 * Arguments come in one order: the object, the stream, which one of several (an index or a name),
 * what is given (an array before its length), options, and the places for results.
 *
 * Structs that begin with `size` can get more fields at their end. Whoever makes one sets `size` to
 * sizeof of it and all that it does not use to 0, which is the default; NULL options are all
 * defaults. The library reads and writes as many bytes as `size` says. TSR_EINVAL is the answer to
 * a size that is smaller than the struct of version 2.0, and to a larger one than the library knows
 * where what it does not know is not 0. Structs without `size` have the layout of DLPack, or are
 * tsr_launch_t, and never change.
 *
 * Threads and callbacks: the comment of each function ends with one of these.
 *   [any]    From any thread at any time, also in the callbacks that a program gives the library.
 *   [waits]  From any thread at any time. It may wait for work, and so callbacks may not call it.
 *   [sets]   From any thread while no call, launch or copy of the context is being made. It is for
 *            all later ones. Callbacks may not call it.
 *   [ends]   From any thread, while no other thread uses what it ends. It waits for work, and so
 *            callbacks may not call it; NULL is allowed, and does nothing.
 * In a callback the functions that it may not call answer TSR_EINVAL. The functions of managed tensors,
 * deleters and release functions, are not callbacks: they may call whatever their caller may.
 * Whatever two threads do at once with two contexts, or with two streams, functions or events, goes
 * well; work on one stream is in the order in which it was put there.
 *
 * Handles are numbers that look like pointers, and lead nowhere. Each is given out once in a
 * process. TSR_EINVAL is the answer to a handle that was destroyed, is of another kind or belongs
 * to another context, to a pointer that is no handle, and to NULL where nothing else is said about
 * it; the text says which it is.
 */
#ifndef TESSERA_H
#define TESSERA_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define TSR_API
#else
#define TSR_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. A bundle names the one it was built for and loads when the major
 * numbers agree and its minor number is not larger than this one. */
#define TSR_ABI_MAJOR 2
#define TSR_ABI_MINOR 0

typedef struct tsr_context* tsr_context_t;
typedef struct tsr_module* tsr_module_t;
typedef struct tsr_kernel* tsr_kernel_t;
typedef struct tsr_stream* tsr_stream_t;
typedef struct tsr_function* tsr_function_t;
typedef struct tsr_event* tsr_event_t;

typedef enum {
  TSR_SUCCESS = 0,
  TSR_EOOM,         /* memory ran out */
  TSR_EINVAL,       /* an argument does not fit; the text says which and why */
  TSR_ETIMEOUT,     /* the time given for waiting or for a call is over, or its steps */
  TSR_EIMAGE,       /* the image is damaged, hostile or of another version */
  TSR_ENOTFOUND,    /* there is nothing of that name */
  TSR_EUNSUPPORTED, /* this machine or this build cannot do it */
  TSR_EINTERNAL,    /* a bug of the library */
  TSR_ECHECK,       /* a check found an error in a kernel; the text names it and its place */
  TSR_ECANCELED     /* tsrCancel ended it */
} tsr_status_t;

/* The text of the calling thread's last failure; "" when there was none. It stays valid until the
 * thread's next failure. [any] */
TSR_API const char* tsrGetLastError(void);
/* The name of a status, such as "TSR_EINVAL". [any] */
TSR_API const char* tsrStatusName(tsr_status_t status);
/* The version of the library that runs, to be compared with TSR_ABI_MAJOR and TSR_ABI_MINOR. Either
 * place may be NULL. [any] */
TSR_API void tsrGetVersion(uint32_t* major, uint32_t* minor);

/* Contexts. */

/* What a context can check besides, to find mistakes of kernels. A call then fails with TSR_ECHECK,
 * and the text names entry, kernel, place in the source, tensor and coordinates. Launches are waited
 * for, and tensors are read after each. docs/debugging.md has the details. */
#define TSR_CHECK_CANARIES 1u  /* bytes around allocations and behind temporaries are not written */
#define TSR_CHECK_GUARDS 2u    /* on a CPU: touching what follows an allocation faults */
#define TSR_CHECK_POISON 4u    /* outputs and temporaries begin as signalling NaN */
#define TSR_CHECK_NAN 8u       /* no kernel gives a NaN that its operands do not have */
#define TSR_CHECK_INF 16u      /* the same of infinities, unless the kernel is written with some */
#define TSR_CHECK_NUMERICS 32u /* what the source's @verify.numerics says */
#define TSR_CHECK_ALL 63u

/* Devices. */

typedef struct {
  int32_t device_type; /* 1 CPU, 2 CUDA, 3 page-locked host memory, 13 CUDA managed memory */
  int32_t device_id;
} tsr_device_t;

/* What is known about a device. The strings live as long as the process. */
typedef struct {
  size_t size;
  const char* name;        /* for tsr_context_options_t, such as "cuda:0" */
  const char* description; /* what its maker calls it; "" where that is not known */
  uint64_t memory;         /* bytes that it has */
  tsr_device_t device;     /* of tensors in its memory */
  uint32_t processors;     /* multiprocessors of a GPU; of a CPU, those that this process may use */
  uint32_t capability;     /* 90 for compute capability 9.0; 0 on a CPU */
} tsr_device_info_t;

/* How many devices there are: the CPU, which is number 0, then the GPUs of NVIDIA's driver. Without
 * a driver that works it is the CPU alone; tsrCreateContextWith says why. [any] */
TSR_API tsr_status_t tsrGetDeviceCount(size_t* count);
/* One of them; TSR_ENOTFOUND where there are not so many. [any] */
TSR_API tsr_status_t tsrGetDeviceInfo(size_t index, tsr_device_info_t* info);

/* Memory that the program gives a context: for tsrAlloc, temporaries, constants and weights. Not
 * through it go what the library needs for itself, the scratch memory of kernels on a CPU, the
 * driver's own and, on a CPU with TSR_CHECK_GUARDS, all that guard pages follow. The functions may be
 * called from any thread, also by several at once, and are callbacks: they may call only functions
 * marked [any]. */
typedef struct {
  size_t size;
  void* user;
  /* Memory of at least `bytes` bytes, which is not 0, at a multiple of 64; NULL where there is none,
   * and then what needed it fails with TSR_EOOM. `flags` has the kind as tsrAlloc takes it. Work on
   * `stream` is going to use it: a CUstream on a GPU; NULL for its default stream, on a CPU, and
   * where the stream is not known, as of tsrAlloc. */
  void* (*allocate)(void* user, size_t bytes, uint32_t flags, void* stream);
  /* Takes it back. Work that is on `stream` by now may still use it, so it is not given out for other
   * work before that has come by. */
  void (*free)(void* user, void* memory, size_t bytes, uint32_t flags, void* stream);
} tsr_allocator_t;

typedef enum {
  TSR_LOG_OUTPUT = 0, /* what kernels print; without a log it goes to standard error */
  TSR_LOG_INFO,       /* what the library chose, such as the target of a module */
  TSR_LOG_WARNING     /* what nobody would learn otherwise, such as a failure that was not waited for */
} tsr_log_kind_t;

/* A message. It is there during the callback. */
typedef struct {
  size_t size; /* of the struct that the library gives */
  const char* text;
  tsr_log_kind_t kind;
  uint32_t reserved;
} tsr_log_message_t;

/* Called from any thread, also from several at once, while the library works. */
typedef void (*tsr_log_t)(void* user, const tsr_log_message_t* message);

typedef struct {
  size_t size;
  /* "cpu", which NULL stands for, or "cuda:0", "cuda:1" and so on for NVIDIA GPUs, whose driver is
   * opened then. On a GPU the driver's primary context is used, which other libraries of the process
   * share. */
  const char* device;
  /* A sum of TSR_CHECK_..., to which the environment's TSR_DEBUG adds: "all", or names as
   * canaries,guards,poison,nan,inf,numerics. */
  uint32_t checks;
  uint32_t threads; /* as of tsrSetThreads */
  /* Where its memory comes from; NULL: from the library. It is copied, and its functions are called
   * until tsrDestroyContext returns, and for tensors that were exported until they are deleted. */
  const tsr_allocator_t* allocator;
  tsr_log_t log; /* where messages go; NULL: output of kernels to standard error, and the rest nowhere */
  void* log_user;
} tsr_context_options_t;

/* A context on the CPU. [any] */
TSR_API tsr_status_t tsrCreateContext(tsr_context_t* context);
/* A context as the options say. Calls and launches read nothing from the environment. [any] */
TSR_API tsr_status_t tsrCreateContextWith(const tsr_context_options_t* options,
                                          tsr_context_t* context);
/* Waits for the context's streams, then frees it and all that belongs to it. [ends] */
TSR_API tsr_status_t tsrDestroyContext(tsr_context_t context);
/* The number of threads that kernels use on a CPU, 1 to 1024; 0 stands for the default: the
 * environment's TSR_THREADS, else the processors available. Results never depend on it. [any] */
TSR_API tsr_status_t tsrSetThreads(tsr_context_t context, uint32_t threads);

/* What calls on a context may take, such as of a bundle that somebody else wrote; 0 stands for no
 * limit. A call that passes one of the first two ends with TSR_ETIMEOUT, and what it has written to
 * its outputs by then is of no use. */
typedef struct {
  size_t size;
  uint64_t steps;        /* of the plan, in one call; those of loops count in every iteration */
  uint64_t milliseconds; /* from when the call begins to run. A CPU looks at the clock between
                          * steps and between parts of a kernel's grid; on a GPU it is looked at
                          * while work is queued, and tsrSynchronize takes the time to wait for it */
  uint64_t memory;       /* bytes of the context at a time: tsrAlloc, temporaries, constants, and
                          * weights that are copied; a kernel's scratch memory, which each thread
                          * has, may have as many by itself. More fails with TSR_EOOM */
} tsr_limits_t;

/* Limits calls that are made from now on; NULL takes the limits away. Calls that were made before,
 * also those that wait in a stream, keep their steps and milliseconds; that of memory holds at once.
 * [any] */
TSR_API tsr_status_t tsrSetLimits(tsr_context_t context, const tsr_limits_t* limits);

/* Memory. */

#define TSR_DEVICE 1u
#define TSR_HOST 2u
#define TSR_PINNED 4u

/* Memory at a multiple of 64 bytes. `flags` has one or more of the three above. On the CPU they all
 * mean the same. On a GPU, TSR_DEVICE alone is memory of the GPU, TSR_HOST alone is pageable memory
 * of the host, and anything else is page-locked memory of the host, which both can use. 0 bytes
 * give a valid pointer that may not be read. [waits] */
TSR_API tsr_status_t tsrAlloc(tsr_context_t context, size_t bytes, uint32_t flags, void** dptr);
/* Frees what tsrAlloc gave; NULL is allowed. Work that uses it must be done. What a callback frees on
 * a GPU goes with the next [waits] or [ends] function that is called for the context elsewhere. [any] */
TSR_API tsr_status_t tsrFree(tsr_context_t context, void* dptr);
typedef struct {
  size_t size;
  uint64_t used;  /* bytes that the context holds: what tsr_limits_t counts */
  uint64_t peak;  /* the most that it held at a time; what could not be allocated does not count */
  uint64_t limit; /* of tsr_limits_t; 0: none */
} tsr_memory_info_t;

/* The memory that a context holds. [any] */
TSR_API tsr_status_t tsrGetMemoryInfo(tsr_context_t context, tsr_memory_info_t* info);
/* Copies from host or device memory to host or device memory in the order of the stream. On the
 * NULL stream the copy is done on return. [waits] */
TSR_API tsr_status_t tsrCopy(tsr_context_t context, tsr_stream_t stream, void* to, const void* from,
                             size_t bytes);

/* Modules and kernels. */

/* A bundle has a GPU's code as machine code or, compiled without ptxas, as PTX only, which is
 * refused unless this flag lets the driver compile it. */
#define TSR_ALLOW_JIT 1u
/* Only to be asked: the bundle may be for any machine, its code is not loaded, and calls and
 * launches are refused. */
#define TSR_NO_CODE 2u

typedef struct {
  size_t size;
  uint32_t flags; /* any of TSR_ALLOW_JIT and TSR_NO_CODE */
  uint32_t reserved;
} tsr_module_options_t;

/* Loads a bundle. On a GPU the image may also be a cubin or, with TSR_ALLOW_JIT, PTX: code that no
 * bundle describes. Such a module has no entries and does not list its kernels, and a launch says all
 * that metadata would (tsrLaunch). The image is copied where needed and may be freed afterwards. Everything in it is
 * checked first; the best code variant that this machine has the features for is chosen.
 * [waits] */
TSR_API tsr_status_t tsrLoadModule(tsr_context_t context, const void* image, size_t size,
                                   tsr_module_t* module);
/* The same as the options say. [waits] */
TSR_API tsr_status_t tsrLoadModuleWith(tsr_context_t context, const void* image, size_t size,
                                       const tsr_module_options_t* options, tsr_module_t* module);
/* Loads a bundle from a file, which is mapped: it is replaced by another, and not changed, while the
 * module is there. [waits] */
TSR_API tsr_status_t tsrLoadModuleFile(tsr_context_t context, const char* path,
                                       const tsr_module_options_t* options, tsr_module_t* module);
/* Waits for the context's work, then frees the module, its kernels and its functions. [ends] */
TSR_API tsr_status_t tsrUnloadModule(tsr_module_t module);
/* The target whose code was chosen, such as "cpu:x86-64-v4". The text lives as long as the module.
 * [any] */
TSR_API tsr_status_t tsrGetModuleTarget(tsr_module_t module, const char** target);

/* The kernel of that name; TSR_ENOTFOUND where there is none. [any] */
TSR_API tsr_status_t tsrGetKernel(tsr_module_t module, const char* name, tsr_kernel_t* kernel);

/* How many kernels the module has for its target. [any] */
TSR_API tsr_status_t tsrGetKernelCount(tsr_module_t module, size_t* count);
/* The name of one of them, in the order of their names. It lives as long as the module. [any] */
TSR_API tsr_status_t tsrGetKernelName(tsr_module_t module, size_t index, const char** name);

/* What a bundle says about a kernel. Strings and lists live as long as the module. */
typedef struct {
  size_t size;
  const char* name;
  const char* source;          /* where it is written, such as "mlp.tsr:7:12"; "" where it is not known */
  const char* const* buffers;  /* names of the parameters, then of the results */
  const char* const* dims;     /* names of the free dims */
  uint32_t parameters;         /* how many there are of each */
  uint32_t results;
  uint32_t free_dims;
  uint32_t block_x, block_y, block_z; /* threads of a block on a GPU; 1 on a CPU */
  uint32_t smem_bytes;                /* shared memory of a block */
  uint32_t registers;                 /* of a thread; 0 where it is not known */
} tsr_kernel_info_t;

/* [any] */
TSR_API tsr_status_t tsrGetKernelInfo(tsr_kernel_t kernel, tsr_kernel_info_t* info);

typedef struct {
  uint32_t grid_x, grid_y, grid_z;
  uint32_t block_x, block_y, block_z;
  uint32_t smem_bytes;
} tsr_launch_t;

/* Runs one kernel. `args` are pointers to the parameters in the order of the kernel's signature,
 * then to the results (each one the address of a pointer variable), then to each free dim as a
 * uint32_t. The grid must not have more programs than the kernel's metadata gives for these dims;
 * a grid of 0, 0, 0 stands for all of them. A CPU ignores block_* and smem_bytes; on a GPU they are
 * 0 or what the metadata says.
 * A kernel of a cubin or of PTX without a bundle takes `args` as the driver does: one pointer to each
 * parameter in its order, whatever it is. All six extents and smem_bytes are the launch's, and nothing
 * but their number is checked, where the driver knows it (CUDA 12.4). [waits] */
TSR_API tsr_status_t tsrLaunch(tsr_kernel_t kernel, tsr_stream_t stream, tsr_launch_t launch,
                               void** args, size_t nargs);

/* Tensors: the layout of DLPack's DLTensor. */

typedef struct {
  uint8_t code; /* 0 int, 1 uint, 2 float, 4 bfloat, 6 bool, 10 f8e4m3, 12 f8e5m2 */
  uint8_t bits;
  uint16_t lanes; /* 1 */
} tsr_dtype_t;

/* `strides` counts elements; NULL means dense row-major. Calls accept no other layout, and
 * tsrCopyTensor makes dense tensors of others. */
typedef struct {
  void* data;
  tsr_device_t device;
  int32_t ndim;
  tsr_dtype_t dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} tsr_tensor_t;

/* Copies all elements between tensors of one shape and dtype, in the order of the stream. Either may
 * have any strides, in memory of the host or of the context's device. One ends before the other begins,
 * gaps included, and the strides of `to` alone tell its elements apart: each, in the order of size, is
 * larger than the reach of the smaller ones. Others are refused. On the NULL stream it is done on
 * return. On a GPU a copy that falls into more than 4096 pieces without gaps is refused, by the axis
 * where it does. [waits] */
TSR_API tsr_status_t tsrCopyTensor(tsr_context_t context, tsr_stream_t stream, const tsr_tensor_t* to,
                                   const tsr_tensor_t* from);

/* Tensors that libraries hand each other: DLPack's DLManagedTensor and, from its version 1.0 on,
 * DLManagedTensorVersioned, whose layouts these are. */
typedef struct tsr_managed_tensor {
  tsr_tensor_t tensor;
  void* manager; /* of who made it */
  void (*deleter)(struct tsr_managed_tensor* self); /* ends it; may be NULL */
} tsr_managed_tensor_t;

typedef struct tsr_managed_tensor_versioned {
  uint32_t major, minor; /* of DLPack; of another major number only the deleter may be used */
  void* manager;
  void (*deleter)(struct tsr_managed_tensor_versioned* self);
  uint64_t flags; /* TSR_DLPACK_* */
  tsr_tensor_t tensor;
} tsr_managed_tensor_versioned_t;

#define TSR_DLPACK_READ_ONLY 1u /* its elements may not be written */
#define TSR_DLPACK_COPIED 2u    /* it is a copy that was made for whoever gets it */

#define TSR_IMPORT_READ_ONLY 1u /* the program only reads it; without this a read-only tensor is refused */
#define TSR_IMPORT_COPY 2u      /* one that calls do not accept as it is is copied: with strides, in other
                                 * memory, read-only, or not at a multiple of its element's bytes, on a GPU
                                 * of at least 16 */

typedef struct {
  size_t size;
  uint32_t flags; /* any of TSR_IMPORT_* */
  uint32_t reserved;
} tsr_import_options_t;

/* Takes a tensor of another library, and gives one for calls of the context: of the same memory or,
 * with TSR_IMPORT_COPY, of a dense copy in the context's memory, made in the order of the stream. On a
 * GPU a tensor of rank 0 of the host is taken as it is, for inputs, unless copies are allowed. On
 * success the managed tensor belongs to the library, which calls its deleter in tsrReleaseTensor or
 * with the end of the context; on failure it stays the caller's. One with a deleter is not taken again
 * before that. [waits] */
TSR_API tsr_status_t tsrTensorFromDLPack(tsr_context_t context, tsr_stream_t stream,
                                         tsr_managed_tensor_t* managed,
                                         const tsr_import_options_t* options, tsr_tensor_t** tensor);
/* The same of a tensor with a version. [waits] */
TSR_API tsr_status_t tsrTensorFromDLPackVersioned(tsr_context_t context, tsr_stream_t stream,
                                                  tsr_managed_tensor_versioned_t* managed,
                                                  const tsr_import_options_t* options,
                                                  tsr_tensor_t** tensor);
/* Ends what one of the two gave; NULL is allowed. Work that uses it must be done. In a callback on a
 * GPU it is as with tsrFree. [any] */
TSR_API tsr_status_t tsrReleaseTensor(tsr_context_t context, tsr_tensor_t* tensor);

typedef struct {
  size_t size;
  uint32_t flags; /* TSR_DLPACK_READ_ONLY or 0 */
  uint32_t reserved;
  /* Called from any thread when the tensor is deleted: its memory is no longer used. NULL: the data
   * is what tsrAlloc gave, in which all elements lie and of whose device the tensor is, or NULL where
   * there are no elements; from now on it belongs to the managed tensor and no longer to the
   * program. It stays when the context ends before. */
  void (*release)(void* user);
  void* user;
} tsr_export_options_t;

/* A managed tensor of this one, for another library, which calls its deleter. Shape and strides are
 * copied. Work that writes it has been waited for, or whoever gets it is told the stream. [any] */
TSR_API tsr_status_t tsrTensorToDLPack(tsr_context_t context, const tsr_tensor_t* tensor,
                                       const tsr_export_options_t* options,
                                       tsr_managed_tensor_t** managed);
/* The same with a version, 1.0, and with flags, which the other kind has no place for. [any] */
TSR_API tsr_status_t tsrTensorToDLPackVersioned(tsr_context_t context, const tsr_tensor_t* tensor,
                                                const tsr_export_options_t* options,
                                                tsr_managed_tensor_versioned_t** managed);

/* What a signature says about a tensor. The strings live as long as the module. */
typedef struct {
  size_t size;
  const char* name;
  const char* dtype;    /* Tessera's name, such as "bf16" */
  const char* shape;    /* such as "[B, 3*D]" */
  const char* alias_of; /* outputs: the donated input, or the parameter that is updated, else "" */
  int32_t ndim;
  tsr_dtype_t element;
  uint32_t flags; /* TSR_TENSOR_* */
  uint32_t reserved;
} tsr_tensor_info_t;

#define TSR_TENSOR_SEED 1u    /* input: a call may pass NULL, which means 0 */
#define TSR_TENSOR_DONATED 2u /* output: the memory of the input or parameter alias_of */
#define TSR_TENSOR_BOUND 4u   /* parameter: it has a value */
#define TSR_TENSOR_UPDATED 8u /* parameter: an entry writes to it, so its memory must be writable */

/* Functions: the entries of a module. */

/* How many entries there are. [any] */
TSR_API tsr_status_t tsrGetFunctionCount(tsr_module_t module, size_t* count);
/* The name of one of them. It lives as long as the module. [any] */
TSR_API tsr_status_t tsrGetFunctionName(tsr_module_t module, size_t index, const char** name);
/* The entry of that name; TSR_ENOTFOUND where there is none. [any] */
TSR_API tsr_status_t tsrGetFunction(tsr_module_t module, const char* name,
                                    tsr_function_t* function);
/* How many inputs and outputs it has. Either place may be NULL. [any] */
TSR_API tsr_status_t tsrGetSignature(tsr_function_t function, size_t* inputs, size_t* outputs);
/* One of them. [any] */
TSR_API tsr_status_t tsrGetInputInfo(tsr_function_t function, size_t index,
                                     tsr_tensor_info_t* info);
/* [any] */
TSR_API tsr_status_t tsrGetOutputInfo(tsr_function_t function, size_t index,
                                      tsr_tensor_info_t* info);

/* The parameters that an entry reads; each needs a value before it is called. [any] */
TSR_API tsr_status_t tsrGetFunctionParameterCount(tsr_function_t function, size_t* count);
/* One of them. [any] */
TSR_API tsr_status_t tsrGetFunctionParameterInfo(tsr_function_t function, size_t index,
                                                 tsr_tensor_info_t* info);

/* The shape that an output has for these inputs. `shape` has room for `capacity` extents; `ndim`
 * receives the rank. Only the inputs' shapes and the values of rank-0 integers are read. [waits] */
TSR_API tsr_status_t tsrGetOutputShape(tsr_function_t function, size_t index,
                                       const tsr_tensor_t* const* inputs, size_t ninputs,
                                       int64_t* shape, int32_t capacity, int32_t* ndim);

/* The bytes of workspace that a call with these inputs needs. [waits] */
TSR_API tsr_status_t tsrGetWorkspaceSize(tsr_function_t function,
                                         const tsr_tensor_t* const* inputs, size_t ninputs,
                                         size_t* bytes);

typedef struct {
  size_t size;
  /* Memory of the device for the call's temporaries, at a multiple of 64 bytes, of at least as many
   * bytes as tsrGetWorkspaceSize gives. NULL: the context's own, which it keeps for later calls.
   * It is as that of tensors: nothing else uses it until the stream has come by, and one that shares
   * memory with the call's tensors is refused. */
  void* workspace;
  size_t workspace_size; /* bytes */
} tsr_call_options_t;

/* Runs an entry. Tensors are in memory of the context's device; on a GPU an input of rank 0 may be
 * in memory of the host, too. Outputs are allocated by the caller and may overlap neither inputs
 * nor each other; a donated output has the data of its input or parameter, or NULL, and receives
 * that pointer. On a stream other than NULL the tensors' memory must stay until the stream has come
 * by; the structs need not. [waits] */
TSR_API tsr_status_t tsrCall(tsr_function_t function, tsr_stream_t stream,
                             const tsr_tensor_t* const* inputs, size_t ninputs,
                             tsr_tensor_t* const* outputs, size_t noutputs,
                             const tsr_call_options_t* options);

/* Watching calls. */

typedef enum {
  TSR_TRACE_INPUT = 0, /* what a call is given */
  TSR_TRACE_PARAMETER, /* what is bound and the entry reads */
  TSR_TRACE_OPERAND,   /* what a kernel, a copy or a fill is about to read */
  TSR_TRACE_RESULT,    /* what it writes */
  TSR_TRACE_OUTPUT     /* what the call gives */
} tsr_trace_kind_t;

/* One tensor at one moment of a call. Strings and shape are there during the callback; strings that
 * are not known are "". */
typedef struct {
  size_t size; /* of the struct that the library gives */
  const char* entry;
  const char* source;        /* where the step comes from, such as "mlp.tsr:7:12" */
  const char* kernel;        /* of a launch; "copy" or "fill" of the steps that are these */
  const char* kernel_source; /* where the kernel is written */
  const char* name;          /* of the tensor */
  const char* dtype;
  const char* declared; /* the shape as the signature or the plan states it, such as "[B, 3*D]" */
  const int64_t* shape;
  size_t step;      /* of the plan, for operands and results */
  int64_t programs; /* of the launch: how many instances of the kernel run; 0: none */
  tsr_trace_kind_t kind;
  int32_t ndim;
} tsr_trace_tensor_t;

typedef void (*tsr_trace_t)(void* user, const tsr_trace_tensor_t* tensor);

/* Calls that are made from now on report each of their tensors to `trace`, in the order in which work
 * is queued, on the thread that queues it; NULL ends it. Contents are not waited for. [sets] */
TSR_API tsr_status_t tsrSetTrace(tsr_context_t context, tsr_trace_t trace, void* user);

/* Parameters. */

/* How many the module has. [any] */
TSR_API tsr_status_t tsrGetParameterCount(tsr_module_t module, size_t* count);
/* One of them. [any] */
TSR_API tsr_status_t tsrGetParameterInfo(tsr_module_t module, size_t index,
                                         tsr_tensor_info_t* info);
/* Gives parameters their values by name. The memory is not copied and must stay while calls use
 * it; binding again replaces. Either all are bound or, on failure, none. [sets] */
TSR_API tsr_status_t tsrBindParameters(tsr_module_t module, const char* const* names,
                                       const tsr_tensor_t* const* tensors, size_t count);

/* Streams and events. */

#define TSR_FOREVER UINT32_MAX

/* The driver's stream `native` becomes a stream of the context; the options' owner keeps it. */
#define TSR_STREAM_ADOPT 1u

typedef struct {
  size_t size;
  uint32_t flags; /* TSR_STREAM_ADOPT or 0 */
  uint32_t reserved;
  /* On a GPU and with TSR_STREAM_ADOPT: a CUstream of the GPU's primary context, such as that of a
   * framework, which stays until tsrDestroyStream returns. NULL is the driver's default stream; that
   * of each thread, (CUstream)2, is refused. */
  void* native;
} tsr_stream_options_t;

/* A queue whose work runs in order, beside the caller. Functions that take a stream take NULL for
 * the default stream. On the CPU that one runs the work before the function returns; on a GPU it is
 * the driver's default stream, and tsrSynchronize waits for it. [any] */
TSR_API tsr_status_t tsrCreateStream(tsr_context_t context, const tsr_stream_options_t* options,
                                     tsr_stream_t* stream);
/* Waits for the stream's work and frees it. One that was adopted goes on without the context. [ends] */
TSR_API tsr_status_t tsrDestroyStream(tsr_stream_t stream);
/* Waits at most `milliseconds` for all work that was put on the stream so far; returns the first
 * failure of work since the last wait, or TSR_ETIMEOUT. On a CPU's default stream nothing is left to be
 * waited for: calls that other threads are making on it then are not. [waits] */
TSR_API tsr_status_t tsrSynchronize(tsr_context_t context, tsr_stream_t stream,
                                    uint32_t milliseconds);

/* `status` is the first failure of the stream's work that has not been waited for, or TSR_SUCCESS. */
typedef void (*tsr_done_t)(void* user, tsr_status_t status);

/* Calls `done` once, when all work that is on the stream by now is over: done, failed or cancelled.
 * That is on the thread that does the work, on a CPU's default stream before this returns, without a
 * look at calls that other threads are making on it. On a GPU it is a thread of the driver, which
 * allows no calls of its own there: of the context `done` may use only tsrFree, tsrReleaseTensor and
 * tsrDestroyEvent, `status` is TSR_SUCCESS, and after a fault of the GPU `done` is not called. [any] */
TSR_API tsr_status_t tsrNotify(tsr_context_t context, tsr_stream_t stream, tsr_done_t done, void* user);

/* Gives up the work that is on the stream by now. What has not begun is dropped, a call that runs ends
 * before its next step, and what it has written to its outputs is of no use; a kernel and a copy that
 * run go on to their end, and so does waiting for an event. Events are passed. Such a call, and where
 * work was dropped the next tsrSynchronize, gives TSR_ECANCELED, or the failure of later work where
 * there is one. On a GPU, work that the driver has goes on; a call that is being made ends. Later work
 * is not affected. [any] */
TSR_API tsr_status_t tsrCancel(tsr_context_t context, tsr_stream_t stream);

/* An event, which marks no place yet. [any] */
TSR_API tsr_status_t tsrCreateEvent(tsr_context_t context, tsr_event_t* event);
/* Work that waits for the recorded place goes on waiting for it. No other thread uses the event
 * meanwhile; NULL is allowed. In a callback on a GPU it is as with tsrFree. [any] */
TSR_API tsr_status_t tsrDestroyEvent(tsr_event_t event);
/* Marks the place in the stream; recording again replaces the mark. [any] */
TSR_API tsr_status_t tsrRecordEvent(tsr_event_t event, tsr_stream_t stream);
/* Lets later work of the stream wait for the recorded place. [waits] */
TSR_API tsr_status_t tsrWaitEvent(tsr_event_t event, tsr_stream_t stream);
/* Waits until the recorded place has been passed; an event that was never recorded is passed.
 * [waits] */
TSR_API tsr_status_t tsrSynchronizeEvent(tsr_event_t event, uint32_t milliseconds);
/* Milliseconds between two recorded places of one context that have been passed. [any] */
TSR_API tsr_status_t tsrGetElapsedTime(tsr_event_t start, tsr_event_t end, float* milliseconds);

#ifdef __cplusplus
}
#endif

#endif
