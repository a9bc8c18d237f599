// libtessera for C++17: what tessera.h declares, as objects that free what they own. Header only.
//
// What fails throws tsr::Error, which has the status and the sentence of the library. A program without exceptions uses
// tessera.h, which is C++ as it stands. Constants and plain structs are those of tessera.h, whose comments say what
// they mean: TSR_EINVAL, TSR_CHECK_NAN, tsr_launch_t, tsr_trace_tensor_t.
//
// Lifetime: Context, Module, Stream, Event, Memory and OwnedTensor own something; they are moved and not copied, except
// for memory, which copies share. Using one that was moved from throws TSR_EINVAL. What is made on a context keeps it,
// and functions and kernels keep their module, so objects may end in any order. Work on a stream does not keep the
// memory that it uses: wait for the stream before tensors end, also where an exception leaves a scope, as by a Stream
// that is made after the tensors, whose end waits. Destructors report no failure; Stream::synchronize does.
//
// Threads: as tessera.h says. Several threads may use a context and what is made on it. Nothing may use an object while
// another thread moves, changes or destroys that object. Limits, traces and parameters are set while no call runs.
#ifndef TESSERA_HPP
#define TESSERA_HPP

#include "tessera_base.hpp"

namespace tsr {

class Stream;

/// Where work is queued: a stream, or without one the default stream of the context. Functions take it as their last
/// argument, where a stream may stand. On a CPU the default stream does the work before the function returns; on a GPU
/// Context::synchronize waits for it.
class Queue {
 public:
  Queue() = default;
  Queue(const Stream& stream);
  tsr_stream_t get() const { return raw_; }

 private:
  tsr_stream_t raw_ = nullptr;
};

/// A device, with all that is made on it.
class Context {
 public:
  /// On "cpu", or on "cuda:0", "cuda:1" and so on. `checks` is a sum of TSR_CHECK_..., to which the environment's
  /// TSR_DEBUG adds. A check that finds something throws TSR_ECHECK.
  /// `allocator` is where memory comes from; NULL: the library. It is copied. `log` gets messages, from any thread;
  /// empty: what kernels print goes to standard error, and the rest nowhere. It may not throw.
  explicit Context(const std::string& device = "cpu", uint32_t checks = 0, const tsr_allocator_t* allocator = nullptr,
                   Log log = {})
      : core_(std::make_shared<detail::Core>()) {
    auto options = detail::sized<tsr_context_options_t>();
    options.device = device.c_str();
    options.checks = checks;
    options.allocator = allocator;
    core_->log = std::move(log);
    if (core_->log) options.log = detail::Core::write;
    options.log_user = &core_->log;
    detail::check(tsrCreateContextWith(&options, &core_->context));
    if (device.compare(0, 5, "cuda:") == 0) core_->device = cuda(std::stoi(device.substr(5)));
  }
  Context(Context&&) noexcept = default;
  Context& operator=(Context&&) noexcept = default;

  /// False when it was moved from; also of other classes.
  explicit operator bool() const { return core_ != nullptr; }
  /// For functions of tessera.h; it stays the object's own.
  tsr_context_t get() const { return core_ ? core_->context : nullptr; }
  /// Where tensors of calls are.
  tsr_device_t device() const { return core_ ? core_->device : cpu; }

  /// Threads of kernels on a CPU, 1 to 1024; 0: the default. Results do not depend on it.
  void set_threads(uint32_t threads) { detail::check(tsrSetThreads(get(), threads)); }
  /// Limits of steps, milliseconds and bytes; 0 is none, and so {} takes them away. A call beyond one throws
  /// TSR_ETIMEOUT, or TSR_EOOM for memory.
  void set_limits(const Limits& limits) {
    tsr_limits_t raw{sizeof raw, limits.steps, limits.milliseconds, limits.memory};
    detail::check(tsrSetLimits(get(), &raw));
  }
  MemoryInfo memory() const {
    auto raw = detail::sized<tsr_memory_info_t>();
    detail::check(tsrGetMemoryInfo(get(), &raw));
    return {raw.used, raw.peak, raw.limit};
  }
  /// Calls from now on tell each of their tensors, on the thread that queues the work: of a stream on a CPU that is
  /// another than the caller's, and several may call it at once. Empty ends it. It stays until the context ends. It may
  /// not throw: that ends the program, as nothing is thrown through C. Set while no call of the context runs.
  void set_trace(Trace trace) {
    detail::check(tsrSetTrace(get(), nullptr, nullptr));
    if (!trace) return;
    core_->traces.push_back(std::make_unique<Trace>(std::move(trace)));
    detail::check(tsrSetTrace(get(), detail::Core::tell, core_->traces.back().get()));
  }

  /// Copies bytes between memory of host and device. Without a stream it is done on return.
  void copy(void* to, const void* from, size_t bytes, const Queue& queue = {}) const {
    detail::check(tsrCopy(get(), queue.get(), to, from, bytes));
  }
  /// Calls `done` once the work that is in the queue by now is over, as tsrNotify does. It may not throw. What it keeps
  /// ends with it, on whichever thread that is: memory, tensors and events may be among it. Streams and modules may not,
  /// and something else keeps the context until then.
  void notify(Done done, const Queue& queue = {}) const {
    auto kept = std::make_unique<Done>(std::move(done));
    detail::check(tsrNotify(get(), queue.get(), detail::call_done, kept.get()));
    kept.release();
  }
  /// Gives up the work that is in the queue by now: it ends with TSR_ECANCELED, as tsrCancel says.
  void cancel(const Queue& queue = {}) const { detail::check(tsrCancel(get(), queue.get())); }
  /// Waits for the work of the default stream; throws TSR_ETIMEOUT when it takes longer.
  void synchronize(uint32_t milliseconds = TSR_FOREVER) const {
    detail::check(tsrSynchronize(get(), nullptr, milliseconds));
  }

 private:
  friend class Memory;
  friend class Module;
  friend class Stream;
  friend class Event;
  friend class OwnedTensor;
  friend class Function;
  friend class ForeignTensor;
  explicit Context(std::shared_ptr<detail::Core> core) : core_(std::move(core)) {}

  std::shared_ptr<detail::Core> core_;
};

/// A queue of work that runs in order, beside the caller. Its end waits for its work.
class Stream {
 public:
  explicit Stream(const Context& context) : Stream(context, nullptr) {}
  /// A stream of the GPU's driver, a CUstream of its primary context, whose owner keeps it until this one has ended.
  static Stream adopt(const Context& context, void* native) {
    auto options = detail::sized<tsr_stream_options_t>();
    options.flags = TSR_STREAM_ADOPT;
    options.native = native;
    return Stream(context, &options);
  }

  explicit operator bool() const { return owned_ != nullptr; }
  tsr_stream_t get() const { return owned_ ? owned_->raw : nullptr; }

  /// Waits for all work that was queued so far. Throws the first failure since the last wait, or TSR_ETIMEOUT.
  void synchronize(uint32_t milliseconds = TSR_FOREVER) const {
    tsr_stream_t stream = Queue(*this).get();
    detail::check(tsrSynchronize(owned_->core->context, stream, milliseconds));
  }

 private:
  Stream(const Context& context, const tsr_stream_options_t* options)
      : owned_(std::make_unique<detail::OwnedStream>(context.core_)) {
    detail::check(tsrCreateStream(context.get(), options, &owned_->raw));
  }

  std::unique_ptr<detail::OwnedStream> owned_;
};

inline Queue::Queue(const Stream& stream) : raw_(stream.get()) {
  if (!stream) throw Error(TSR_EINVAL, "the stream was moved from");
}

/// A place in a stream.
class Event {
 public:
  explicit Event(const Context& context) : owned_(std::make_unique<detail::OwnedEvent>(context.core_)) {
    detail::check(tsrCreateEvent(context.get(), &owned_->raw));
  }

  explicit operator bool() const { return owned_ != nullptr; }
  tsr_event_t get() const { return owned_ ? owned_->raw : nullptr; }

  /// Marks the place after all that is queued so far; again: replaces the mark.
  void record(const Queue& queue = {}) { detail::check(tsrRecordEvent(get(), queue.get())); }
  /// Lets what is queued there later wait for the place.
  void hold_back(const Queue& queue) const { detail::check(tsrWaitEvent(get(), queue.get())); }
  /// Waits until the place is passed, as one that was never recorded is; throws TSR_ETIMEOUT when it takes longer.
  void synchronize(uint32_t milliseconds = TSR_FOREVER) const {
    detail::check(tsrSynchronizeEvent(get(), milliseconds));
  }
  /// Milliseconds from another place to this one; both have been passed.
  float milliseconds_since(const Event& start) const {
    float milliseconds = 0;
    detail::check(tsrGetElapsedTime(start.get(), get(), &milliseconds));
    return milliseconds;
  }

 private:
  std::unique_ptr<detail::OwnedEvent> owned_;
};

/// Memory at a multiple of 64 bytes. Copies share it, and tensors in it keep it.
class Memory {
 public:
  /// None.
  Memory() = default;
  /// `flags` has one or more of TSR_DEVICE, TSR_HOST and TSR_PINNED.
  Memory(const Context& context, size_t bytes, uint32_t flags = TSR_DEVICE)
      : block_(std::make_shared<detail::Block>(context.core_)) {
    detail::check(tsrAlloc(context.get(), bytes, flags, &block_->data));
    block_->bytes = bytes;
    if (flags != TSR_HOST && context.device().device_type != cpu.device_type) {
      block_->device = flags == TSR_DEVICE ? context.device() : tsr_device_t{3, 0};
    }
  }

  explicit operator bool() const { return block_ != nullptr; }
  /// NULL without memory. With 0 bytes it is a pointer that may not be read.
  void* data() const { return block_ ? block_->data : nullptr; }
  size_t bytes() const { return block_ ? block_->bytes : 0; }
  /// For tensors in it.
  tsr_device_t device() const { return block_ ? block_->device : cpu; }

 private:
  friend class Tensor;
  std::shared_ptr<detail::Block> block_;
};

/// A view of a tensor: where its elements are, of which dtype, and its shape. Copies view the same elements. Memory of
/// Memory and of OwnedTensor is kept by all tensors in it, other memory by none. Calls take dense tensors only, without
/// strides or with those of row-major order.
class Tensor {
 public:
  /// `strides` count elements; none: dense in row-major order. `byte_offset` is added to `data`.
  Tensor(void* data, tsr_dtype_t dtype, Shape shape, tsr_device_t device = cpu, Shape strides = {},
         uint64_t byte_offset = 0)
      : raw_{data, device, 0, dtype, nullptr, nullptr, byte_offset},
        shape_(std::move(shape)),
        strides_(std::move(strides)) {
    if (!strides_.empty() && strides_.size() != shape_.size()) {
      throw Error(TSR_EINVAL, "a tensor of rank " + std::to_string(shape_.size()) + " has " +
                                  std::to_string(strides_.size()) + " strides");
    }
    point();
  }
  /// At the beginning of memory, which has room for it.
  Tensor(const Memory& memory, tsr_dtype_t dtype, Shape shape)
      : Tensor(memory.data(), dtype, std::move(shape), memory.device()) {
    block_ = memory.block_;
    size_t wanted = bytes();
    if (wanted <= memory.bytes()) return;
    throw Error(TSR_EINVAL, "a tensor of " + std::to_string(wanted) + " bytes is put into memory of " +
                                std::to_string(memory.bytes()));
  }
  /// Of numbers of the program. Tensors of calls begin at a multiple of their element's bytes, on a
  /// GPU of 16; memory of Memory does.
  template <class T>
  Tensor(T* data, Shape shape) : Tensor(data, dtype_of<T>(), std::move(shape)) {}

  Tensor(const Tensor& other)
      : raw_(other.raw_), shape_(other.shape_), strides_(other.strides_), block_(other.block_) {
    point();
  }
  Tensor(Tensor&& other) noexcept
      : raw_(other.raw_),
        shape_(std::move(other.shape_)),
        strides_(std::move(other.strides_)),
        block_(std::move(other.block_)) {
    point();
    other.raw_.data = nullptr;
    other.point();
  }
  Tensor& operator=(Tensor other) noexcept {
    std::swap(raw_, other.raw_);
    shape_.swap(other.shape_);
    strides_.swap(other.strides_);
    block_.swap(other.block_);
    point();
    return *this;
  }

  /// The first element, behind the byte offset; on a GPU an address that the CPU may not read. NULL where there is
  /// none yet, as of a donated output before its call.
  void* data() const { return raw_.data ? static_cast<char*>(raw_.data) + raw_.byte_offset : nullptr; }
  /// The same for elements of that type; throws TSR_EINVAL when the dtype is another.
  template <class T>
  T* as() const {
    constexpr tsr_dtype_t wanted = dtype_of<std::remove_const_t<T>>();
    if (raw_.dtype.code != wanted.code || raw_.dtype.bits != wanted.bits || raw_.dtype.lanes != wanted.lanes) {
      throw Error(TSR_EINVAL, "the elements have " + std::to_string(raw_.dtype.bits) + " bits of DLPack's type code " +
                                  std::to_string(raw_.dtype.code) + "; asked for are " + std::to_string(wanted.bits) +
                                  " bits of code " + std::to_string(wanted.code));
    }
    return static_cast<T*>(data());
  }
  tsr_dtype_t dtype() const { return raw_.dtype; }
  tsr_device_t device() const { return raw_.device; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  /// Of the elements, as if they were dense.
  size_t bytes() const { return detail::bytes_of(raw_.dtype, shape_); }

  /// For functions of tessera.h, which read shape and strides in this object.
  tsr_tensor_t* get() { return &raw_; }
  const tsr_tensor_t* get() const { return &raw_; }

 private:
  void point() {
    raw_.ndim = int32_t(shape_.size());
    raw_.shape = shape_.data();
    raw_.strides = strides_.empty() ? nullptr : strides_.data();
  }

  friend class Function;

  tsr_tensor_t raw_;
  Shape shape_;
  Shape strides_;
  std::shared_ptr<detail::Block> block_;
};

/// A dense tensor with memory of its own. Contents are undefined until they are written.
class OwnedTensor : public Tensor {
 public:
  /// `flags` are those of Memory.
  OwnedTensor(const Context& context, tsr_dtype_t dtype, const Shape& shape, uint32_t flags = TSR_DEVICE)
      : OwnedTensor(context, Memory(context, detail::bytes_of(dtype, shape), flags), dtype, shape) {}

  /// Copies all elements from an array of the program, such as a std::vector<float>. Done on return, as if on the
  /// default stream: work of other streams with this tensor has been waited for. Throws TSR_EINVAL when dtype or number
  /// differ.
  template <class Array>
  void write(const Array& values) {
    as<std::remove_const_t<std::remove_pointer_t<decltype(std::data(values))>>>();
    write_bytes(std::data(values), std::size(values) * sizeof *std::data(values));
  }
  /// The elements, copied as write copies them.
  template <class T>
  std::vector<T> read() const {
    static_assert(!std::is_same_v<T, bool>, "a std::vector<bool> is no array; read_bytes gives a byte for each");
    as<T>();
    std::vector<T> values(bytes() / sizeof(T));
    read_bytes(values.data(), bytes());
    return values;
  }
  /// The same for elements that C++ has no type for.
  void write_bytes(const void* from, size_t count) {
    check_count(count);
    context_.copy(data(), from, count);
  }
  void read_bytes(void* to, size_t count) const {
    check_count(count);
    context_.copy(to, data(), count);
  }

 private:
  friend class Function;
  OwnedTensor(const Context& context, const Memory& memory, tsr_dtype_t dtype, const Shape& shape)
      : Tensor(memory, dtype, shape), context_(context.core_) {}
  /// One whose memory a call gives.
  OwnedTensor(const Context& context, tsr_device_t device, tsr_dtype_t dtype, const Shape& shape)
      : Tensor(nullptr, dtype, shape, device), context_(context.core_) {}

  void check_count(size_t count) const {
    if (count == bytes()) return;
    throw Error(TSR_EINVAL,
                "a tensor of " + std::to_string(bytes()) + " bytes is copied with " + std::to_string(count));
  }

  Context context_;
};

/// Copies all elements between tensors of one shape and dtype, whatever their strides, as tsrCopyTensor does.
inline void copy(const Context& context, const Tensor& to, const Tensor& from, const Queue& queue = {}) {
  detail::check(tsrCopyTensor(context.get(), queue.get(), to.get(), from.get()));
}

namespace detail {

/// Pointers to tensors, of a list in braces or of a container.
template <class Item>
class List {
 public:
  List() = default;
  List(std::initializer_list<Item> items) {
    for (const Item& item : items) add(item);
  }
  template <class Range,
            class = std::enable_if_t<std::is_convertible_v<decltype(*std::begin(std::declval<Range&>())), Item>>>
  List(Range&& range) {
    for (auto& tensor : range) add(Item(tensor));
  }

  auto data() const { return raw_.data(); }
  size_t size() const { return raw_.size(); }
  auto begin() const { return raw_.begin(); }
  auto end() const { return raw_.end(); }
  /// NULL for a seed of 0.
  auto tensor(size_t index) const { return tensors_.at(index); }

 private:
  void add(const Item& item) {
    tensors_.push_back(item.tensor);
    raw_.push_back(item.tensor ? item.tensor->get() : nullptr);
  }

  std::vector<decltype(Item::tensor)> tensors_;
  std::vector<decltype(std::declval<decltype(Item::tensor)>()->get())> raw_;
};

}  // namespace detail

/// A tensor that a call reads, or nullptr for a seed of 0.
struct Input {
  Input(const Tensor& its_tensor) : tensor(&its_tensor) {}
  Input(std::nullptr_t) {}
  const Tensor* tensor = nullptr;
};
/// A tensor that a call writes.
struct Output {
  Output(Tensor& its_tensor) : tensor(&its_tensor) {}
  Tensor* tensor;
};
/// Arguments of calls: {x, y}, or a container of tensors. They refer to the tensors, which end after them.
using Inputs = detail::List<Input>;
using Outputs = detail::List<Output>;

/// What a signature says about a tensor, as tsr_tensor_info_t does.
struct TensorInfo {
  std::string name;
  std::string dtype;  ///< Tessera's name, such as "bf16"
  std::string shape;  ///< such as "[B, 3*D]"
  int32_t rank = 0;
  tsr_dtype_t element{};
  uint32_t flags = 0;    ///< TSR_TENSOR_...
  std::string alias_of;  ///< outputs: the donated input, or the parameter that is updated
};

namespace detail {

template <class Handle>
std::vector<TensorInfo> infos(Handle handle, size_t count, tsr_status_t (*get)(Handle, size_t, tsr_tensor_info_t*)) {
  std::vector<TensorInfo> all;
  for (size_t i = 0; i < count; ++i) {
    auto raw = sized<tsr_tensor_info_t>();
    check(get(handle, i, &raw));
    all.push_back({raw.name, raw.dtype, raw.shape, raw.ndim, raw.element, raw.flags, raw.alias_of});
  }
  return all;
}

}  // namespace detail

/// An entry of a module, which it keeps.
class Function {
 public:
  std::vector<TensorInfo> inputs() const { return detail::infos(raw_, counts().inputs, tsrGetInputInfo); }
  std::vector<TensorInfo> outputs() const { return detail::infos(raw_, counts().outputs, tsrGetOutputInfo); }
  /// The parameters that the entry reads; each needs a value before a call (Module::bind).
  std::vector<TensorInfo> parameters() const {
    size_t count = 0;
    detail::check(tsrGetFunctionParameterCount(raw_, &count));
    return detail::infos(raw_, count, tsrGetFunctionParameterInfo);
  }

  /// The shape of an output for these inputs, of which shapes and the values of rank-0 integers are read.
  Shape output_shape(const Inputs& inputs, size_t index) const {
    auto info = detail::sized<tsr_tensor_info_t>();
    detail::check(tsrGetOutputInfo(raw_, index, &info));
    Shape shape(static_cast<size_t>(info.ndim));
    detail::check(tsrGetOutputShape(raw_, index, inputs.data(), inputs.size(), shape.data(), info.ndim, &info.ndim));
    return shape;
  }
  /// Bytes of the workspace of a call with these inputs.
  size_t workspace_bytes(const Inputs& inputs) const {
    size_t bytes = 0;
    detail::check(tsrGetWorkspaceSize(raw_, inputs.data(), inputs.size(), &bytes));
    return bytes;
  }
  /// Tensors for the outputs of a call with these inputs, on the context's device. A donated one has the memory of its
  /// input or parameter, and keeps it as that tensor does; its data is NULL until the call.
  std::vector<OwnedTensor> make_outputs(const Inputs& inputs) const {
    Context context(module_->core);
    std::vector<OwnedTensor> outputs;
    for (size_t i = 0; i < counts().outputs; ++i) {
      auto info = detail::sized<tsr_tensor_info_t>();
      detail::check(tsrGetOutputInfo(raw_, i, &info));
      Shape shape = output_shape(inputs, i);
      if (info.flags & TSR_TENSOR_DONATED) {
        const Tensor* donor = find_input(inputs, info.alias_of);
        outputs.push_back(OwnedTensor(context, donor ? donor->device() : context.device(), info.element, shape));
        if (donor) outputs.back().block_ = donor->block_;
      } else {
        outputs.emplace_back(context, info.element, shape);
      }
    }
    return outputs;
  }

  /// Runs the entry. Shapes, dtypes, devices and conditions are checked first: TSR_EINVAL says which tensor and axis do
  /// not fit. Outputs overlap neither inputs nor each other, except for donated ones. With a stream it returns when the
  /// work is queued; the memory of the tensors stays until the stream has come by, the Tensor objects need not.
  /// `workspace` is for temporaries, and is used by nothing else meanwhile; none: the context has its own.
  void call(const Inputs& inputs, const Outputs& outputs, const Queue& queue = {}, const Memory& workspace = {}) const {
    auto options = detail::sized<tsr_call_options_t>();
    options.workspace = workspace.data();
    options.workspace_size = workspace.bytes();
    detail::check(tsrCall(raw_, queue.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size(), &options));
  }
  /// The same with outputs that it makes.
  std::vector<OwnedTensor> operator()(const Inputs& inputs, const Queue& queue = {}) const {
    std::vector<OwnedTensor> outputs = make_outputs(inputs);
    call(inputs, outputs, queue);
    return outputs;
  }

  // Without moves, so that there is none without a module.
  Function(const Function&) = default;
  Function& operator=(const Function&) = default;
  tsr_function_t get() const { return raw_; }

 private:
  friend class Module;
  Function(std::shared_ptr<detail::OwnedModule> module, tsr_function_t raw) : module_(std::move(module)), raw_(raw) {}

  /// The tensor that a call gives for the input of that name; NULL for a parameter.
  const Tensor* find_input(const Inputs& inputs, const std::string& name) const {
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto info = detail::sized<tsr_tensor_info_t>();
      detail::check(tsrGetInputInfo(raw_, i, &info));
      if (name == info.name) return inputs.tensor(i);
    }
    return nullptr;
  }

  struct Counts {
    size_t inputs = 0;
    size_t outputs = 0;
  };
  Counts counts() const {
    Counts counts;
    detail::check(tsrGetSignature(raw_, &counts.inputs, &counts.outputs));
    return counts;
  }

  std::shared_ptr<detail::OwnedModule> module_;
  tsr_function_t raw_;
};

/// One of the compiled pieces of a module, which it keeps.
class Kernel {
 public:
  /// Runs the kernel: parameters and results in the order of its signature, then its free dims. Only what
  /// tsrLaunch checks is checked: pointers, alignment, room in memory of Memory, the grid; no dtypes and no shapes. A
  /// grid of zeros, as of {}, stands for all programs.
  void launch(const Inputs& parameters, const Outputs& results, const std::vector<uint32_t>& dims = {},
              const tsr_launch_t& grid = {}, const Queue& queue = {}) const {
    std::vector<void*> buffers;
    auto add = [&buffers](const tsr_tensor_t* tensor) {
      bool has_data = tensor && tensor->data;
      buffers.push_back(has_data ? static_cast<char*>(tensor->data) + tensor->byte_offset : nullptr);
    };
    std::for_each(parameters.begin(), parameters.end(), add);
    std::for_each(results.begin(), results.end(), add);
    std::vector<uint32_t> values = dims;
    std::vector<void*> arguments;
    for (void*& buffer : buffers) arguments.push_back(&buffer);
    for (uint32_t& value : values) arguments.push_back(&value);
    detail::check(tsrLaunch(raw_, queue.get(), grid, arguments.data(), arguments.size()));
  }

  /// What the bundle says about it; the strings live as long as the module.
  tsr_kernel_info_t info() const {
    auto info = detail::sized<tsr_kernel_info_t>();
    detail::check(tsrGetKernelInfo(raw_, &info));
    return info;
  }

  // As of Function.
  Kernel(const Kernel&) = default;
  Kernel& operator=(const Kernel&) = default;
  tsr_kernel_t get() const { return raw_; }

 private:
  friend class Module;
  Kernel(std::shared_ptr<detail::OwnedModule> module, tsr_kernel_t raw) : module_(std::move(module)), raw_(raw) {}

  std::shared_ptr<detail::OwnedModule> module_;
  tsr_kernel_t raw_;
};

/// A parameter's name, and the tensor that is its value.
struct Parameter {
  std::string name;
  Tensor value;
};

/// A loaded bundle.
class Module {
 public:
  /// `flags`: any of TSR_ALLOW_JIT and TSR_NO_CODE. Throws TSR_EIMAGE for a damaged bundle, TSR_ENOTFOUND without a
  /// file. The file is mapped: it is replaced by another, and not changed, while the module is there.
  static Module from_file(const Context& context, const std::string& path, uint32_t flags = 0) {
    Module module(context.core_);
    tsr_module_options_t options = loading(flags);
    detail::check(tsrLoadModuleFile(context.get(), path.c_str(), &options, &module.owned_->raw));
    return module;
  }
  /// The same from memory, which may be freed afterwards.
  static Module from_memory(const Context& context, const void* image, size_t bytes, uint32_t flags = 0) {
    Module module(context.core_);
    tsr_module_options_t options = loading(flags);
    detail::check(tsrLoadModuleWith(context.get(), image, bytes, &options, &module.owned_->raw));
    return module;
  }
  Module(Module&&) noexcept = default;
  Module& operator=(Module&&) noexcept = default;

  explicit operator bool() const { return owned_ != nullptr; }
  tsr_module_t get() const { return owned_ ? owned_->raw : nullptr; }

  /// The target whose code was chosen, such as "cpu:x86-64-v4".
  std::string target() const {
    const char* target = nullptr;
    detail::check(tsrGetModuleTarget(get(), &target));
    return target;
  }
  /// The names of the entries.
  std::vector<std::string> entries() const {
    size_t count = 0;
    detail::check(tsrGetFunctionCount(get(), &count));
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      detail::check(tsrGetFunctionName(get(), i, &name));
      names.emplace_back(name);
    }
    return names;
  }
  /// The names of the kernels of its target.
  std::vector<std::string> kernels() const {
    size_t count = 0;
    detail::check(tsrGetKernelCount(get(), &count));
    std::vector<std::string> names;
    for (size_t i = 0; i < count; ++i) {
      const char* name = nullptr;
      detail::check(tsrGetKernelName(get(), i, &name));
      names.emplace_back(name);
    }
    return names;
  }
  /// The entry of that name; throws TSR_ENOTFOUND.
  Function function(const std::string& name) const {
    tsr_function_t raw = nullptr;
    detail::check(tsrGetFunction(get(), name.c_str(), &raw));
    return Function(owned_, raw);
  }
  /// The kernel of that name; throws TSR_ENOTFOUND.
  Kernel kernel(const std::string& name) const {
    tsr_kernel_t raw = nullptr;
    detail::check(tsrGetKernel(get(), name.c_str(), &raw));
    return Kernel(owned_, raw);
  }

  std::vector<TensorInfo> parameters() const {
    size_t count = 0;
    detail::check(tsrGetParameterCount(get(), &count));
    return detail::infos(get(), count, tsrGetParameterInfo);
  }
  /// Gives parameters their values: all of them or, when one does not fit, none. The memory stays while calls use it,
  /// and is writable where an entry updates the parameter. Binding again replaces.
  void bind(const std::vector<Parameter>& parameters) {
    std::vector<const char*> names;
    std::vector<const tsr_tensor_t*> values;
    for (const Parameter& parameter : parameters) {
      names.push_back(parameter.name.c_str());
      values.push_back(parameter.value.get());
    }
    detail::check(tsrBindParameters(get(), names.data(), values.data(), names.size()));
  }

 private:
  static tsr_module_options_t loading(uint32_t flags) {
    auto options = detail::sized<tsr_module_options_t>();
    options.flags = flags;
    return options;
  }
  explicit Module(std::shared_ptr<detail::Core> core)
      : owned_(std::make_shared<detail::OwnedModule>(std::move(core))) {}

  std::shared_ptr<detail::OwnedModule> owned_;
};

/// A tensor of another library, which keeps its memory. Its elements are those of the managed tensor, or a dense copy.
class ForeignTensor {
 public:
  /// Takes a managed tensor of DLPack; `flags` are TSR_IMPORT_.... When it throws, the tensor stays the caller's.
  ForeignTensor(const Context& context, tsr_managed_tensor_t* managed, uint32_t flags = 0, const Queue& queue = {})
      : ForeignTensor(context) {
    tsr_import_options_t options = importing(flags);
    detail::check(tsrTensorFromDLPack(core_->context, queue.get(), managed, &options, &raw_));
  }
  ForeignTensor(const Context& context, tsr_managed_tensor_versioned_t* managed, uint32_t flags = 0,
                const Queue& queue = {})
      : ForeignTensor(context) {
    tsr_import_options_t options = importing(flags);
    detail::check(tsrTensorFromDLPackVersioned(core_->context, queue.get(), managed, &options, &raw_));
  }
  ForeignTensor(ForeignTensor&& other) noexcept
      : core_(std::move(other.core_)), raw_(std::exchange(other.raw_, nullptr)) {}
  ForeignTensor& operator=(ForeignTensor&& other) noexcept {
    core_.swap(other.core_);
    std::swap(raw_, other.raw_);
    return *this;
  }
  ~ForeignTensor() {
    if (raw_) tsrReleaseTensor(core_->context, raw_);
  }

  /// A view, which does not keep the memory.
  Tensor view() const {
    if (!raw_) throw Error(TSR_EINVAL, "the tensor was moved from");
    Shape shape(raw_->shape, raw_->shape + raw_->ndim);
    return Tensor(raw_->data, raw_->dtype, std::move(shape), raw_->device, {}, raw_->byte_offset);
  }

 private:
  explicit ForeignTensor(const Context& context) : core_(context.core_) {}
  static tsr_import_options_t importing(uint32_t flags) {
    auto options = detail::sized<tsr_import_options_t>();
    options.flags = flags;
    return options;
  }

  std::shared_ptr<detail::Core> core_;
  tsr_tensor_t* raw_ = nullptr;
};

namespace detail {

/// A managed tensor that keeps the tensor's memory until it is deleted.
template <class Managed>
Managed* exported(const Context& context, const Tensor& tensor, uint32_t flags,
                  tsr_status_t (*give)(tsr_context_t, const tsr_tensor_t*, const tsr_export_options_t*, Managed**)) {
  auto options = sized<tsr_export_options_t>();
  options.flags = flags;
  options.release = [](void* kept) { delete static_cast<Tensor*>(kept); };
  auto kept = std::make_unique<Tensor>(tensor);
  options.user = kept.get();
  Managed* managed = nullptr;
  check(give(context.get(), kept->get(), &options, &managed));
  kept.release();
  return managed;
}

}  // namespace detail

/// The tensor for another library, which calls its deleter. Memory of Memory and of OwnedTensor is kept until then.
inline tsr_managed_tensor_t* to_dlpack(const Context& context, const Tensor& tensor) {
  return detail::exported(context, tensor, 0, tsrTensorToDLPack);
}
/// The same with a version; `flags` is TSR_DLPACK_READ_ONLY or 0.
inline tsr_managed_tensor_versioned_t* to_dlpack_versioned(const Context& context, const Tensor& tensor,
                                                           uint32_t flags = 0) {
  return detail::exported(context, tensor, flags, tsrTensorToDLPackVersioned);
}

}  // namespace tsr

#endif
