// tessera.hpp: values, failures, lifetimes, and traces.

#include <algorithm>
#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>
#include <regex>
#include <set>

#include "runtime/core/tensor.h"
#include "runtime/include/tessera.hpp"
#include "unit/runtime/cuda_sample.h"

using namespace tessera::test;
using namespace tessera::format;

namespace {

/// chain: y = x + 1 + 1; scaled: y = x * w; update: state + 1 in place; seeded: the seed.
std::string programs() {
  PlanBuilder chain("chain");
  chain.dim("N");
  uint32_t x = chain.input("x", {"N"}), y = chain.output("y", {"N"}), t = chain.temp({"N"}, 0, 1);
  chain.launch("add_one", {x, t}, {"N"});
  chain.launch("add_one", {t, y}, {"N"});

  PlanBuilder scaled("scaled");
  scaled.dim("M");
  x = scaled.input("x", {"M", "3"});
  uint32_t w = scaled.param("w", {"3"});
  y = scaled.output("y", {"M", "3"});
  scaled.launch("scale", {x, w, y}, {"M", "3"});

  PlanBuilder update("update");
  update.dim("N");
  uint32_t state = update.input("state", {"N"}), next = update.output("next", {"N"});
  update.step(AliasStep{next, state, update.expr("0")});
  update.launch("add_one", {state, next}, {"N"});

  PlanBuilder seeded("seeded");
  uint32_t seed = seeded.input("seed", {}, Dtype::U64);
  y = seeded.output("y", {}, Dtype::U64);
  seeded.launch("copy_seed", {seed, y}, {});

  EntryFacts donates, seeds;
  donates.donated["next"] = "state";
  seeds.seeds = {"seed"};
  return make_bundle({chain.plan, scaled.plan, seeded.plan, update.plan}, {{"update", donates}, {"seeded", seeds}});
}

struct Program {
  explicit Program(uint32_t flags = 0) : module(load(context, flags)) {}
  static tsr::Module load(const tsr::Context& context, uint32_t flags = 0) {
    std::string image = programs();
    return tsr::Module::from_memory(context, image.data(), image.size(), flags);
  }
  tsr::OwnedTensor floats(const std::vector<float>& values, tsr::Shape shape) const {
    tsr::OwnedTensor tensor(context, tsr::f32, std::move(shape));
    tensor.write(values);
    return tensor;
  }

  tsr::Context context;
  tsr::Module module;
};

/// "TSR_EINVAL: text" of what a call throws; "" when it throws nothing.
template <class Call>
std::string thrown_by(const Call& call) {
  try {
    call();
    return "";
  } catch (const tsr::Error& error) {
    return std::string(error.status_name()) + ": " + error.what();
  }
}

std::string text_of(const char* name) {
  std::ifstream in(std::string(TESSERA_SOURCE_DIR "/runtime/include/") + name);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

std::set<std::string> functions_in(const std::string& text, const std::string& pattern) {
  std::regex name(pattern);
  std::set<std::string> names;
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) names.insert((*it)[1]);
  return names;
}

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("the wrapper uses every function of tessera.h", "[runtime]") {
  std::set<std::string> declared = functions_in(text_of("tessera.h"), R"(TSR_API [^(]*(tsr[A-Z]\w+)\()");
  CHECK(declared.size() == 56);
  std::set<std::string> used = functions_in(text_of("tessera.hpp") + text_of("tessera_base.hpp"), R"(\b(tsr[A-Z]\w+))");
  // Each is the function behind it with nothing for the argument that it lacks.
  for (const char* general : {"tsrCreateContext", "tsrLoadModule"}) {
    used.insert(general);
  }
  CHECK(used == declared);
}

TEST_CASE("the wrapper's dtypes are those of the runtime", "[runtime]") {
  auto is = [](tsr_dtype_t dtype, Dtype wanted) {
    tsr_dtype_t other = tessera::runtime::dlpack_dtype(wanted);
    return dtype.code == other.code && dtype.bits == other.bits && dtype.lanes == other.lanes;
  };
  CHECK(is(tsr::f64, Dtype::F64));
  CHECK(is(tsr::f32, Dtype::F32));
  CHECK(is(tsr::bf16, Dtype::Bf16));
  CHECK(is(tsr::f16, Dtype::F16));
  CHECK(is(tsr::f8e4m3, Dtype::F8E4M3));
  CHECK(is(tsr::f8e5m2, Dtype::F8E5M2));
  CHECK(is(tsr::i64, Dtype::I64));
  CHECK(is(tsr::i32, Dtype::I32));
  CHECK(is(tsr::i16, Dtype::I16));
  CHECK(is(tsr::i8, Dtype::I8));
  CHECK(is(tsr::u64, Dtype::U64));
  CHECK(is(tsr::u32, Dtype::U32));
  CHECK(is(tsr::u16, Dtype::U16));
  CHECK(is(tsr::u8, Dtype::U8));
  CHECK(is(tsr::boolean, Dtype::Bool));
  CHECK(is(tsr::dtype_of<bool>(), Dtype::Bool));
  CHECK(is(tsr::dtype_of<double>(), Dtype::F64));
  CHECK(is(tsr::dtype_of<int8_t>(), Dtype::I8));
  CHECK(is(tsr::dtype_of<unsigned long long>(), Dtype::U64));
}

TEST_CASE("a wrapped call gives values, and outputs that fit", "[runtime]") {
  Program program;
  CHECK(tsr::version().major == TSR_ABI_MAJOR);
  CHECK(tsr::version().minor == TSR_ABI_MINOR);
  CHECK(program.module.target() == sample_target);
  CHECK(program.module.entries() == std::vector<std::string>{"chain", "scaled", "seeded", "update"});
  tsr::Function chain = program.module.function("chain");
  tsr::OwnedTensor x = program.floats({1, 2, 3}, {3});
  CHECK(chain.output_shape({x}, 0) == tsr::Shape{3});
  CHECK(chain({x})[0].read<float>() == Floats{3, 4, 5});

  // Containers of tensors, and tensors over memory of the program.
  alignas(64) float values[] = {7, 8};
  std::vector<tsr::Tensor> inputs{tsr::Tensor(values, {2})};
  std::array<tsr::OwnedTensor, 1> outputs{tsr::OwnedTensor(program.context, tsr::f32, {2}, TSR_HOST)};
  chain.call(inputs, outputs);
  CHECK(outputs[0].as<float>()[1] == 10);
  tsr::Memory memory(program.context, 256);
  tsr::Tensor in_memory(memory, tsr::f32, {64});
  CHECK(in_memory.bytes() == memory.bytes());
  CHECK(in_memory.data() == memory.data());
  tsr::Tensor behind(memory.data(), tsr::f32, {2}, memory.device(), {1}, 64);
  chain.call({x = program.floats({0, 1}, {2})}, {behind});
  CHECK(in_memory.as<float>()[17] == 3);
}

TEST_CASE("signatures, parameters, seeds and donated outputs are reached", "[runtime]") {
  Program program;
  tsr::Function scaled = program.module.function("scaled");
  REQUIRE(scaled.inputs().size() == 1);
  CHECK(scaled.inputs()[0].name == "x");
  CHECK(scaled.inputs()[0].shape == "[M, 3]");
  CHECK(scaled.inputs()[0].rank == 2);
  CHECK(scaled.outputs()[0].dtype == "f32");
  CHECK(scaled.parameters()[0].name == "w");
  CHECK(program.module.parameters()[0].flags == 0);
  tsr::OwnedTensor w = program.floats({2, 3, 5}, {3});
  CHECK(thrown_by([&] { program.module.bind({{"v", w}}); }) == "TSR_ENOTFOUND: the bundle has no parameter 'v'");
  program.module.bind({{"w", w}});
  CHECK(program.module.parameters()[0].flags == TSR_TENSOR_BOUND);
  CHECK(scaled({program.floats({1, 1, 1, 2, 2, 2}, {2, 3})})[0].read<float>() == Floats{2, 3, 5, 4, 6, 10});

  tsr::Function seeded = program.module.function("seeded");
  CHECK(seeded.inputs()[0].flags == TSR_TENSOR_SEED);
  alignas(64) uint64_t seed = 41;
  CHECK(seeded({tsr::Tensor(&seed, {})})[0].read<uint64_t>() == std::vector<uint64_t>{41});
  CHECK(seeded({nullptr})[0].read<uint64_t>() == std::vector<uint64_t>{0});

  tsr::Function update = program.module.function("update");
  CHECK(update.outputs()[0].alias_of == "state");
  tsr::OwnedTensor state = program.floats({1, 2}, {2});
  std::vector<tsr::OwnedTensor> next = update.make_outputs({state});
  CHECK(next[0].data() == nullptr);
  update.call({state}, next);
  CHECK(next[0].data() == state.data());
  CHECK(next[0].read<float>() == Floats{2, 3});
}

TEST_CASE("memory stays for as long as a tensor is in it", "[runtime]") {
  Program program;
  tsr::Function update = program.module.function("update");
  tsr::OwnedTensor state = program.floats({1, 2}, {2});
  for (int i = 0; i < 3; ++i) {  // a donated output is all that is left of the input
    std::vector<tsr::OwnedTensor> made = update({state});
    state = std::move(made[0]);
  }
  CHECK(state.read<float>() == Floats{4, 5});
  tsr::Tensor view = tsr::Tensor(program.floats({7}, {1}));
  CHECK(*view.as<float>() == 7);
  view = tsr::Tensor(tsr::Memory(program.context, 8), tsr::f32, {2});
  view.as<float>()[1] = 3;
  CHECK(view.as<float>()[1] == 3);
}

TEST_CASE("wrapped kernels, streams and events work beside the caller", "[runtime]") {
  Program program;
  tsr::OwnedTensor x = program.floats(Floats(20, 1), {20}), y = program.floats(Floats(20, 0), {20});
  tsr::Kernel add_one = program.module.kernel("add_one");
  add_one.launch({x}, {y}, {20}, {1, 1, 1, 0, 0, 0, 0});
  CHECK(y.read<float>()[15] == 2);
  CHECK(y.read<float>()[16] == 0);
  CHECK(thrown_by([&] { add_one.launch({x}, {y}); }) ==
        "TSR_EINVAL: add_one: expected 3 arguments (2 pointers and 1 dims), got 2");
  CHECK(thrown_by([&] { add_one.launch({nullptr}, {y}, {20}); }) == "TSR_EINVAL: add_one: the pointer for 'x' is NULL");

  tsr::Stream stream(program.context), other(program.context);
  tsr::Event start(program.context), end(program.context);
  tsr::OwnedTensor flag = program.floats({0}, {1}), seen = program.floats({0}, {1});
  start.record(stream);
  program.module.kernel("wait_for").launch({flag}, {seen}, {}, {}, stream);
  CHECK(thrown_by([&] { stream.synchronize(5); }) == "TSR_ETIMEOUT: the stream was still busy after 5 ms");
  end.record(stream);
  end.hold_back(other);
  float copied = 0;
  program.context.copy(&copied, seen.data(), sizeof copied, other);
  CHECK(thrown_by([&] { end.synchronize(5); }).find("TSR_ETIMEOUT: ") == 0);
  *const_cast<volatile float*>(flag.as<float>()) = 3;
  other.synchronize();
  end.synchronize();
  program.context.synchronize();
  CHECK(copied == 3);
  CHECK(end.milliseconds_since(start) >= 5);
}

TEST_CASE("a failure is thrown with its status and its text", "[runtime]") {
  Program program;
  CHECK(thrown_by([] { tsr::Context("tpu"); }) ==
        "TSR_EUNSUPPORTED: the device 'tpu' is not known; there are 'cpu' and 'cuda:0', 'cuda:1' and so on");
  CHECK(thrown_by([] { tsr::Context("cpu", 64); }) == "TSR_EINVAL: the checks 64 are not a sum of TSR_CHECK_...");
  CHECK(thrown_by([&] { tsr::Module::from_memory(program.context, "no", 2); }).find("TSR_EIMAGE: ") == 0);
  CHECK(thrown_by([&] { tsr::Module::from_file(program.context, "/no/such/file"); }).find("TSR_ENOTFOUND: ") == 0);
  CHECK(thrown_by([&] { program.module.function("no"); }) ==
        "TSR_ENOTFOUND: the bundle has no entry 'no'; it has chain, scaled, seeded, update");
  CHECK(thrown_by([&] { program.module.kernel("no"); }).find("TSR_ENOTFOUND: ") == 0);
  CHECK(thrown_by([&] { program.context.set_threads(2000); }) == "TSR_EINVAL: 2000 threads are more than 1024");
  program.context.set_limits({1, 0, 0});
  tsr::OwnedTensor x = program.floats({1}, {1});
  CHECK(thrown_by([&] { program.module.function("chain")({x}); }).find("TSR_ETIMEOUT: ") == 0);
  program.context.set_limits({});
  CHECK(thrown_by([&] { program.module.function("chain")({x}); }).empty());
  Program asked(TSR_NO_CODE);
  CHECK(thrown_by([&] { asked.module.function("chain")({x}); }) ==
        "TSR_EINVAL: chain: the module was loaded without code");
}

TEST_CASE("a tensor that does not fit is refused before it is used", "[runtime]") {
  Program program;
  tsr::OwnedTensor x = program.floats({1, 2}, {2});
  CHECK(thrown_by([&] { x.write(Floats{1}); }) == "TSR_EINVAL: a tensor of 8 bytes is copied with 4");
  CHECK(thrown_by([&] { x.read<int32_t>(); }) ==
        "TSR_EINVAL: the elements have 32 bits of DLPack's type code 2; asked for are 32 bits of code 0");
  tsr::Memory memory(program.context, 4);
  CHECK(thrown_by([&] { tsr::Tensor(memory, tsr::f32, {2}); }) ==
        "TSR_EINVAL: a tensor of 8 bytes is put into memory of 4");
  CHECK(thrown_by([&] {
          tsr::Tensor(memory.data(), tsr::f32, {2}, tsr::cpu, {1, 1});
        }) == "TSR_EINVAL: a tensor of rank 1 has 2 strides");
  CHECK(thrown_by([&] { tsr::OwnedTensor(program.context, tsr::f32, {-1}); }) ==
        "TSR_EINVAL: the extent -1 is negative");
  CHECK(thrown_by([&] {
          tsr::OwnedTensor(program.context, tsr::f32, {INT64_MAX, INT64_MAX});
        }) == "TSR_EOOM: a tensor has more bytes than an address can count");
  CHECK(thrown_by([&] {
          tsr::OwnedTensor(program.context, {0, 4, 1}, {2});
        }) == "TSR_EINVAL: the elements of a tensor are whole bytes");
  CHECK(tsr::OwnedTensor(program.context, tsr::f32, {INT64_MAX, INT64_MAX, 0}).read<float>().empty());
  CHECK(thrown_by([&] {
          tsr::Tensor columns(x.data(), tsr::f32, {2}, tsr::cpu, {2});
          program.module.function("chain")({columns});
        }).find("TSR_EINVAL: chain: input 'x'") == 0);
}

TEST_CASE("wrapped tensors on a GPU say where they are, and are copied", "[cuda]") {
  FakeGpu gpu;
  tsr::Context context("cuda:0");
  auto is = [](tsr_device_t device, tsr_device_t wanted) {
    return device.device_type == wanted.device_type && device.device_id == wanted.device_id;
  };
  CHECK(is(context.device(), tsr::cuda(0)));
  CHECK(is(tsr::Memory(context, 8).device(), tsr::cuda(0)));
  CHECK(is(tsr::Memory(context, 8, TSR_HOST).device(), tsr::cpu));
  CHECK(is(tsr::Memory(context, 8, TSR_PINNED).device(), {3, 0}));
  CHECK(is(tsr::Memory(context, 8, TSR_DEVICE | TSR_HOST).device(), {3, 0}));

  CudaBundle bundle{{add_one_plan()}};
  std::string image = bundle.bytes();
  tsr::Module module = tsr::Module::from_memory(context, image.data(), image.size());
  CHECK(module.target() == cuda_target);
  tsr::OwnedTensor x(context, tsr::f32, {3}), pinned(context, tsr::f32, {3}, TSR_PINNED);
  x.write(Floats{1, 2, 3});
  module.function("add_one").call({x}, {pinned});
  context.synchronize();
  CHECK(pinned.as<float>()[2] == 4);
  CHECK(module.function("add_one")({pinned})[0].read<float>() == Floats{3, 4, 5});
}

TEST_CASE("what was moved from is empty, and its use is refused", "[runtime]") {
  Program program;
  tsr::Context context = std::move(program.context);
  tsr::Context& moved = program.context;
  CHECK(context);
  CHECK(!moved);
  const std::string refused = "TSR_EINVAL: the context is NULL";
  CHECK(thrown_by([&] { moved.set_threads(1); }) == refused);
  CHECK(thrown_by([&] { moved.set_trace({}); }) == refused);
  CHECK(thrown_by([&] { moved.synchronize(); }) == refused);
  CHECK(thrown_by([&] { tsr::Memory(moved, 1); }) == refused);
  CHECK(thrown_by([&] { tsr::Event event(moved); }).find("TSR_EINVAL: ") == 0);
  CHECK(thrown_by([&] { tsr::Stream stream(moved); }).find("TSR_EINVAL: ") == 0);
  CHECK(thrown_by([&] { Program::load(moved); }).find("TSR_EINVAL: ") == 0);

  tsr::Module module = std::move(program.module);
  CHECK(!program.module);
  CHECK(thrown_by([&] { program.module.function("chain"); }).find("TSR_EINVAL: ") == 0);
  tsr::Stream stream(context);
  tsr::Stream kept = std::move(stream);
  CHECK(thrown_by([&] { stream.synchronize(); }) == "TSR_EINVAL: the stream was moved from");
  tsr::OwnedTensor x(context, tsr::f32, {1}), y(context, tsr::f32, {1});
  CHECK(thrown_by([&] { module.function("chain").call({x}, {y}, stream); }) ==
        "TSR_EINVAL: the stream was moved from");  // and not the default stream
  tsr::Event event(context);
  tsr::Event kept_event = std::move(event);
  CHECK(thrown_by([&] { event.record(); }) == "TSR_EINVAL: the event is NULL");
  tsr::Memory memory(context, 8);
  tsr::Memory kept_memory = std::move(memory);
  CHECK(!memory);
  CHECK(memory.data() == nullptr);
  CHECK(kept_memory.bytes() == 8);

  x.write(Floats{1});
  tsr::OwnedTensor kept_tensor = std::move(x);
  CHECK(x.data() == nullptr);
  CHECK(thrown_by([&] { x.write(Floats{1}); }) == refused);
  tsr::Tensor view = kept_tensor;  // shares the memory
  tsr::Tensor copy = view;
  view = tsr::Tensor(nullptr, tsr::f32, {2, 3});
  CHECK(copy.get()->shape == copy.shape().data());
  CHECK(view.get()->shape[1] == 3);
  CHECK(copy.data() == kept_tensor.data());
  y = std::move(kept_tensor);
  CHECK(module.function("chain")({y})[0].read<float>() == Floats{3});
}

TEST_CASE("wrapped objects may end in any order", "[runtime]") {
  auto context = std::make_unique<tsr::Context>();
  auto module = std::make_unique<tsr::Module>(Program::load(*context));
  tsr::Stream stream(*context);
  tsr::Event event(*context);
  tsr::OwnedTensor x(*context, tsr::f32, {2}), y(*context, tsr::f32, {2});
  x.write(Floats{1, 2});
  tsr::Function chain = module->function("chain");
  tsr::Kernel add_one = module->kernel("add_one");
  context.reset();
  module.reset();
  chain.call({x}, {y}, stream);
  event.record(stream);
  event.synchronize();
  CHECK(y.read<float>() == Floats{3, 4});
  add_one.launch({y}, {x}, {2});
  CHECK(chain({x})[0].read<float>() == Floats{6, 7});
}

TEST_CASE("a trace is told of calls, of queued ones that they were made with", "[runtime]") {
  Program program;
  tsr::Function chain = program.module.function("chain");
  tsr::OwnedTensor x = program.floats({1}, {1}), y = program.floats({0}, {1});
  std::vector<std::string> told;
  program.context.set_trace([&](const tsr_trace_tensor_t& tensor) { told.emplace_back(tensor.name); });
  chain.call({x}, {y});
  CHECK(told == std::vector<std::string>{"x", "x", "t2", "t2", "y", "y"});
  std::atomic<int> heard = 0;
  program.context.set_trace([&](const tsr_trace_tensor_t&) { ++heard; });
  chain.call({x}, {y});
  CHECK(heard == 6);
  program.context.set_trace({});
  chain.call({x}, {y});
  CHECK(heard == 6);
  CHECK(told.size() == 6);
}

TEST_CASE("the wrapper asks about devices, memory and kernels", "[runtime]") {
  Program program;
  std::vector<tsr::DeviceInfo> devices = tsr::devices();
  REQUIRE_FALSE(devices.empty());
  CHECK(devices[0].name == "cpu");
  CHECK(devices[0].memory > 0);
  tsr::MemoryInfo before = program.context.memory();
  tsr::Memory memory(program.context, 1000);
  CHECK(program.context.memory().used == before.used + 1000);
  std::vector<std::string> kernels = program.module.kernels();
  CHECK(std::find(kernels.begin(), kernels.end(), "add_one") != kernels.end());
  tsr_kernel_info_t info = program.module.kernel("add_one").info();
  CHECK(info.parameters == 1);
  CHECK(info.dims[0] == std::string("N"));
}

TEST_CASE("the wrapper calls in the program's workspace", "[runtime]") {
  Program program;
  tsr::Function chain = program.module.function("chain");
  tsr::OwnedTensor x = program.floats({1, 2, 3}, {3}), y = program.floats({0, 0, 0}, {3});
  tsr::Memory workspace(program.context, chain.workspace_bytes({x}));
  CHECK(workspace.bytes() >= 12);
  program.context.set_limits({0, 0, 1});
  CHECK(thrown_by([&] { chain.call({x}, {y}); }).find("TSR_EOOM: ") == 0);
  chain.call({x}, {y}, {}, workspace);
  CHECK(y.read<float>() == Floats{3, 4, 5});
}

TEST_CASE("the wrapper is told of messages, and of work that is over or given up", "[runtime]") {
  std::vector<std::string> messages;
  tsr::Context context("cpu", 0, nullptr,
                       [&](tsr_log_kind_t kind, const std::string& text) {
                         if (kind == TSR_LOG_INFO) messages.push_back(text);
                       });
  tsr::Module module = Program::load(context);
  CHECK(messages == std::vector<std::string>{"a module was loaded; of its targets cpu:x86-64-v3 was chosen"});
  tsr::Stream stream(context);
  std::atomic<int> done = -1;
  context.notify([&](tsr_status_t status) { done = int(status); }, stream);
  stream.synchronize();
  CHECK(done == TSR_SUCCESS);
  context.set_trace([&](const tsr_trace_tensor_t&) { context.cancel(); });
  tsr::OwnedTensor x(context, tsr::f32, {1});
  x.write(Floats{1});
  CHECK(thrown_by([&] { module.function("chain")({x}); }) == "TSR_ECANCELED: chain: it was ended by tsrCancel");
  CHECK(thrown_by([&] { tsr::Stream::adopt(context, nullptr); }).find("TSR_EUNSUPPORTED: ") == 0);
}

TEST_CASE("the wrapper gives tensors to other libraries and takes theirs", "[runtime]") {
  tsr_managed_tensor_versioned_t* managed = nullptr;
  tsr_managed_tensor_t* legacy = nullptr;
  {
    Program program;
    tsr::OwnedTensor x = program.floats({1, 2, 3, 4}, {2, 2});
    managed = tsr::to_dlpack_versioned(program.context, x, TSR_DLPACK_READ_ONLY);
    legacy = tsr::to_dlpack(program.context, x);
  }
  // They keep the memory, and the context that it is of.
  CHECK(static_cast<const float*>(managed->tensor.data)[3] == 4);
  Program other;
  CHECK(thrown_by([&] { tsr::ForeignTensor(other.context, managed); }).find("TSR_EINVAL: ") == 0);
  tsr::ForeignTensor taken(other.context, managed, TSR_IMPORT_READ_ONLY), again(other.context, legacy);
  tsr::ForeignTensor moved = std::move(taken);
  CHECK(thrown_by([&] { taken.view(); }) == "TSR_EINVAL: the tensor was moved from");
  CHECK(moved.view().shape() == tsr::Shape{2, 2});
  alignas(64) float turned[4] = {};
  tsr::Tensor target(turned, tsr::f32, {2, 2}, tsr::cpu, {1, 2});
  tsr::copy(other.context, target, moved.view());
  CHECK(turned[1] == 3);
}

TEST_CASE("what a function to be called keeps goes with it", "[runtime][wrapper]") {
  tsr::Context context;
  tsr::Stream stream(context);
  uint64_t before = context.memory().used;
  for (int i = 0; i < 3; ++i) {
    auto kept = std::make_shared<tsr::OwnedTensor>(context, tsr::f32, tsr::Shape{2, 4});
    context.notify([kept](tsr_status_t) {}, stream);
  }
  stream.synchronize();
  CHECK(context.memory().used == before);
}
