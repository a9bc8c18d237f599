#include "runtime/tensors/managed.h"

#include <algorithm>

#include "runtime/core/tensor.h"
#include "runtime/tensors/strided_copy.h"

namespace tessera::runtime {

namespace {

constexpr uint32_t dlpack_major = 1, dlpack_minor = 0;
constexpr std::string_view title = "the managed tensor";

/// Whether calls can use the tensor where it is. A GPU gets the values of rank 0 from memory of the host, too.
Status check_usable(const Context& context, const tsr_tensor_t& tensor, uint32_t flags) {
  constexpr int32_t cpu = 1, pinned = 3, managed = 13;
  const DeviceFacts& facts = context.device->facts();
  int32_t axis = 0;
  if (!is_dense(tensor, axis)) {
    return invalid(title, ", axis ", axis, ": the stride ", tensor.strides[axis],
                   " is not that of a dense row-major tensor; TSR_IMPORT_COPY makes a dense copy");
  }
  int32_t type = tensor.device.device_type;
  bool is_own = type == facts.tensor_type && tensor.device.device_id == facts.tensor_id;
  bool is_there = is_own || type == pinned || (!facts.is_host && type == managed) || (facts.is_host && type == cpu);
  if (is_there) {
    uint32_t alignment = std::max(facts.alignment, uint32_t(tensor.dtype.bits / 8));
    bool is_aligned = (reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset) % alignment == 0;
    if (is_aligned || is_empty(tensor)) return ok();
    return invalid(title, ": its data is not at a multiple of ", alignment, " bytes; TSR_IMPORT_COPY copies it");
  }
  if (tensor.ndim == 0 && type == cpu && !(flags & TSR_IMPORT_COPY)) return ok();
  return invalid(title, ": it is in memory of DLPack device type ", type, ", number ", tensor.device.device_id,
                 ", and calls on ", facts.name, " cannot use it there",
                 type == cpu ? "; TSR_IMPORT_COPY copies it" : "");
}

/// Makes a dense copy in the context's memory.
Status make_copy(Context& context, Stream& stream, bool is_default, const tsr_tensor_t& from, TakenTensor& taken) {
  size_t bytes = 0;
  if (Status status = dense_bytes(from, title, bytes); status.failed()) return status;
  if (Status status = taken.copy.allocate(context.device->memory(), bytes, stream.native()); status.failed()) {
    return status;
  }
  const DeviceFacts& facts = context.device->facts();
  taken.tensor.data = taken.copy.data();
  taken.tensor.byte_offset = 0;
  taken.tensor.device = {facts.tensor_type, facts.tensor_id};
  auto copy = std::make_shared<StridedCopy>();
  if (Status status = plan_strided_copy(taken.tensor, from, facts, *copy); status.failed()) return status;
  bool is_host = facts.is_host;
  Status status = stream.submit([copy, is_host](Queue& queue) { return copy->run(queue, is_host); });
  return status.failed() || !is_default ? status : stream.synchronize(TSR_FOREVER);
}

/// Keeps the context until the last tensor that was given has been deleted.
class ContextKeeper {
 public:
  explicit ContextKeeper(Context& context) : context_(context) { context.keep(); }
  ContextKeeper(const ContextKeeper&) = delete;
  ContextKeeper& operator=(const ContextKeeper&) = delete;
  ~ContextKeeper() { context_.release(); }

 private:
  Context& context_;
};

/// What a managed tensor that was given is made of.
template <typename Managed>
struct GivenTensor {
  explicit GivenTensor(Context& context) : keeper(context) {}

  static void end(Managed* self) {
    auto* given = static_cast<GivenTensor*>(self->manager);
    if (given->release) given->release(given->user);
    delete given;
  }

  ContextKeeper keeper;  ///< outlives the memory
  Memory memory;         ///< of tsrAlloc, where the tensor has it
  void (*release)(void*) = nullptr;
  void* user = nullptr;
  std::vector<int64_t> shape, strides;
  Managed managed{};
};

/// Whether the tensor lies in this memory, and says of what device that is.
Status check_inside(Context& context, const tsr_tensor_t& tensor, const Memory& memory) {
  constexpr int32_t cpu = 1, pinned = 3;
  Device& device = *context.device;
  const DeviceFacts& facts = device.facts();
  int32_t type = tensor.device.device_type;
  bool is_own = memory.source() == &device.memory(MemoryKind::Device);
  bool is_pinned = !facts.is_host && memory.source() == &device.memory(MemoryKind::Pinned);
  bool fits = is_own ? type == facts.tensor_type && tensor.device.device_id == facts.tensor_id
                     : type == cpu || (is_pinned && type == pinned);
  if (!fits) {
    return invalid("the tensor says that it is in memory of DLPack device type ", type, ", number ",
                   tensor.device.device_id, "; its data is not");
  }
  Reach reach;
  if (Status status = find_reach(tensor, "the tensor", reach); status.failed()) return status;
  uint64_t begin = tensor.byte_offset, size = memory.size();
  if (begin <= size && reach.before <= begin && reach.behind <= size - begin) return ok();
  return invalid("the tensor reaches out of the ", size, " bytes of its memory: its first element is at byte ", begin,
                 ", and the elements take up ", reach.before, " bytes before and ", reach.behind, " from there on");
}

/// Takes memory that tsrAlloc gave away from the context.
Status take_memory(Context& context, const tsr_tensor_t& tensor, Memory& memory) {
  if (!tensor.data) return ok();  // it has been checked: there are no elements
  std::lock_guard lock(context.mutex);
  auto found = context.memory.find(tensor.data);
  if (found == context.memory.end()) {
    return invalid("the tensor's data is not what tsrAlloc gave for this context; memory of others needs the release "
                   "function of tsr_export_options_t");
  }
  if (Status status = check_inside(context, tensor, found->second); status.failed()) return status;
  memory = std::move(found->second);
  context.memory.erase(found);
  return ok();
}

/// Whether the context has it already, and would delete it twice.
template <typename Managed>
bool is_taken(Context& context, const Managed* managed, Managed* TakenTensor::* member) {
  if (!managed || !managed->deleter) return false;
  std::lock_guard lock(context.mutex);
  return std::ranges::any_of(context.taken, [&](const auto& entry) {
    return static_cast<const TakenTensor*>(entry.second.get())->*member == managed;
  });
}

void copy_shape(const tsr_tensor_t& tensor, std::vector<int64_t>& shape, std::vector<int64_t>& strides) {
  shape.assign(tensor.shape, tensor.shape + tensor.ndim);
  strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    strides[axis] = tensor.strides ? tensor.strides[axis] : stride;
    // Of a tensor without elements it may pass what can be counted, and does not matter.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[axis], 1), &stride)) stride = 1;
  }
}

template <typename Managed>
Status give(Context& context, const tsr_tensor_t& tensor, const tsr_export_options_t& options, Managed** managed) {
  if (Status status = check_tensor(tensor, "the tensor"); status.failed()) return status;
  auto given = std::make_unique<GivenTensor<Managed>>(context);
  copy_shape(tensor, given->shape, given->strides);
  given->release = options.release;
  given->user = options.user;
  given->managed.tensor = tensor;
  given->managed.tensor.shape = given->shape.data();
  given->managed.tensor.strides = given->strides.data();  // which consumers want from DLPack 1.2 on
  given->managed.manager = given.get();
  given->managed.deleter = GivenTensor<Managed>::end;
  if (!options.release) {
    if (Status status = take_memory(context, tensor, given->memory); status.failed()) return status;
  }
  *managed = &given.release()->managed;
  return ok();
}

}  // namespace

TakenTensor::~TakenTensor() {
  // No lock is held and nothing waits for this, so that deleters may call the library.
  if (managed && managed->deleter) managed->deleter(managed);
  if (versioned && versioned->deleter) versioned->deleter(versioned);
}

Status take_tensor(Context& context, Stream& stream, bool is_default, tsr_managed_tensor_t* managed,
                   tsr_managed_tensor_versioned_t* versioned, uint32_t flags, tsr_tensor_t** tensor) {
  if (versioned && versioned->major != dlpack_major) {
    return invalid(title, " is of DLPack ", versioned->major, ".", versioned->minor, "; this library reads ",
                   dlpack_major, ".x");
  }
  bool is_read_only = versioned && (versioned->flags & TSR_DLPACK_READ_ONLY);
  bool copies = flags & TSR_IMPORT_COPY;
  const tsr_tensor_t& from = managed ? managed->tensor : versioned->tensor;
  if (Status status = check_tensor(from, title); status.failed()) return status;
  if (!dtype_of(from.dtype)) {
    return invalid(title, ": nothing has its dtype, DLPack type code ", int(from.dtype.code), " of ",
                   int(from.dtype.bits), " bits");
  }
  if (is_taken(context, managed, &TakenTensor::managed) || is_taken(context, versioned, &TakenTensor::versioned)) {
    return invalid(title, " has been taken and not released yet; it has one owner");
  }
  auto taken = std::make_shared<TakenTensor>();
  taken->tensor = from;
  taken->shape.assign(from.shape, from.shape + from.ndim);
  taken->tensor.shape = taken->shape.data();
  taken->tensor.strides = nullptr;
  Status usable = check_usable(context, from, flags);
  if (!usable.failed() && is_read_only && !(flags & TSR_IMPORT_READ_ONLY)) {
    usable = invalid(title, " is read-only; TSR_IMPORT_READ_ONLY says that it is not written, and TSR_IMPORT_COPY "
                            "copies it");
  }
  if (usable.failed() && !copies) return usable;
  if (usable.failed()) {
    if (Status status = make_copy(context, stream, is_default, from, *taken); status.failed()) return status;
  }
  tsr_tensor_t* made = &taken->tensor;
  {
    std::lock_guard lock(context.mutex);
    context.taken.emplace(made, taken);
    taken->managed = managed;
    taken->versioned = versioned;
  }
  *tensor = made;
  return ok();
}

Status give_tensor(Context& context, const tsr_tensor_t& tensor, const tsr_export_options_t& options,
                   tsr_managed_tensor_t** managed) {
  if (options.flags) return invalid("a managed tensor without a version has no flags; the other kind has");
  return give(context, tensor, options, managed);
}

Status give_tensor(Context& context, const tsr_tensor_t& tensor, const tsr_export_options_t& options,
                   tsr_managed_tensor_versioned_t** managed) {
  if (Status status = give(context, tensor, options, managed); status.failed()) return status;
  (*managed)->major = dlpack_major;
  (*managed)->minor = dlpack_minor;
  (*managed)->flags = options.flags;
  return ok();
}

}  // namespace tessera::runtime
