// Handles that are none, and what every function of tessera.h says to them. The functions and the handles that they
// take are read from the header, so a function without a row fails the test.

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

#include "unit/runtime/cuda_sample.h"
#include "unit/runtime/sample.h"

using namespace tessera::test;

namespace {

enum Kind : size_t { Context, Module, Kernel, Stream, Function, Event, kind_count };
const char* const kind_names[] = {"context", "module", "kernel", "stream", "function", "event"};

/// x + 1, by the entry and by the kernel.
std::string world_bundle() { return make_bundle({add_one_plan()}); }

/// A handle of each kind.
struct World {
  explicit World(const std::string& bundle) : loaded(bundle) {
    tsr_kernel_t kernel = nullptr;
    tsr_stream_t stream = nullptr;
    tsr_event_t event = nullptr;
    REQUIRE(tsrGetKernel(loaded.module, "add_one", &kernel) == TSR_SUCCESS);
    REQUIRE(tsrCreateStream(loaded.context, nullptr, &stream) == TSR_SUCCESS);
    REQUIRE(tsrCreateEvent(loaded.context, &event) == TSR_SUCCESS);
    REQUIRE(tsrRecordEvent(event, nullptr) == TSR_SUCCESS);
    handles = {loaded.context, loaded.module, kernel, stream, loaded.function("add_one"), event};
  }

  Loaded loaded;
  std::array<void*, kind_count> handles;
};

// Tensors of another library, which nobody deletes.
float their_element = 1;
tsr_managed_tensor_t theirs{{&their_element, {1, 0}, 0, {2, 32, 1}, nullptr, nullptr, 0}, nullptr, nullptr};
tsr_managed_tensor_versioned_t theirs_versioned{1, 0, nullptr, nullptr, 0, theirs.tensor};

/// The arguments of a call: handles by their places among the parameters that are handles, and the rest.
struct Given {
  explicit Given(std::vector<void*> given) : handles(std::move(given)) {}

  tsr_context_t context() const { return static_cast<tsr_context_t>(handles[0]); }
  tsr_module_t module() const { return static_cast<tsr_module_t>(handles[0]); }
  tsr_kernel_t kernel() const { return static_cast<tsr_kernel_t>(handles[0]); }
  tsr_function_t function() const { return static_cast<tsr_function_t>(handles[0]); }
  tsr_stream_t stream(size_t at) const { return static_cast<tsr_stream_t>(handles[at]); }
  tsr_event_t event(size_t at) const { return static_cast<tsr_event_t>(handles[at]); }

  std::vector<void*> handles;
  HostTensor x{{1}, {1}}, y{{1}};
  const tsr_tensor_t* inputs[1] = {&x.tensor};
  tsr_tensor_t* outputs[1] = {&y.tensor};
  uint32_t one = 1;
  void* args[3] = {&x.tensor.data, &y.tensor.data, &one};
  // Places for what functions give.
  void* memory = nullptr;
  const char* text = nullptr;
  size_t count = 0;
  int64_t extent = 0;
  int32_t rank = 0;
  float milliseconds = 0;
  tsr_tensor_info_t info = sized<tsr_tensor_info_t>();
  tsr_memory_info_t memory_info = sized<tsr_memory_info_t>();
  tsr_kernel_info_t kernel_info = sized<tsr_kernel_info_t>();
  tsr_export_options_t exporting{sizeof exporting, 0, 0, [](void*) {}, nullptr};
  tsr_tensor_t* new_tensor = nullptr;
  tsr_managed_tensor_t* managed = nullptr;
  tsr_managed_tensor_versioned_t* versioned = nullptr;
  tsr_module_t new_module = nullptr;
  tsr_kernel_t new_kernel = nullptr;
  tsr_function_t new_function = nullptr;
  tsr_stream_t new_stream = nullptr;
  tsr_event_t new_event = nullptr;
};

enum Null { Refused, Allowed };

/// A parameter that is a handle.
struct Taken {
  Taken(Kind wanted, Null null = Refused) : kind(wanted), on_null(null) {}
  Kind kind;
  Null on_null;
};

struct Row {
  const char* name;
  std::vector<Taken> takes;
  tsr_status_t (*call)(Given&);
  tsr_status_t status = TSR_SUCCESS;  ///< with sound handles
};

const std::vector<Row> rows = {
    {"tsrDestroyContext", {{Context, Allowed}}, [](Given& c) { return tsrDestroyContext(c.context()); }},
    {"tsrSetThreads", {Context}, [](Given& c) { return tsrSetThreads(c.context(), 1); }},
    {"tsrSetLimits", {Context}, [](Given& c) { return tsrSetLimits(c.context(), nullptr); }},
    {"tsrSetTrace", {Context}, [](Given& c) { return tsrSetTrace(c.context(), nullptr, nullptr); }},
    {"tsrAlloc", {Context}, [](Given& c) { return tsrAlloc(c.context(), 64, TSR_HOST, &c.memory); }},
    {"tsrFree", {Context}, [](Given& c) { return tsrFree(c.context(), nullptr); }},
    {"tsrCopy",
     {Context, {Stream, Allowed}},
     [](Given& c) { return tsrCopy(c.context(), c.stream(1), c.y.floats(), c.x.floats(), 0); }},
    {"tsrLoadModule",
     {Context},
     [](Given& c) { return tsrLoadModule(c.context(), "none", 4, &c.new_module); },
     TSR_EIMAGE},
    {"tsrLoadModuleFile",
     {Context},
     [](Given& c) { return tsrLoadModuleFile(c.context(), "/none", nullptr, &c.new_module); },
     TSR_ENOTFOUND},
    {"tsrLoadModuleWith",
     {Context},
     [](Given& c) { return tsrLoadModuleWith(c.context(), "none", 4, nullptr, &c.new_module); },
     TSR_EIMAGE},
    {"tsrUnloadModule", {{Module, Allowed}}, [](Given& c) { return tsrUnloadModule(c.module()); }},
    {"tsrGetModuleTarget", {Module}, [](Given& c) { return tsrGetModuleTarget(c.module(), &c.text); }},
    {"tsrGetKernel", {Module}, [](Given& c) { return tsrGetKernel(c.module(), "add_one", &c.new_kernel); }},
    {"tsrGetMemoryInfo", {Context}, [](Given& c) { return tsrGetMemoryInfo(c.context(), &c.memory_info); }},
    {"tsrGetKernelCount", {Module}, [](Given& c) { return tsrGetKernelCount(c.module(), &c.count); }},
    {"tsrGetKernelName", {Module}, [](Given& c) { return tsrGetKernelName(c.module(), 0, &c.text); }},
    {"tsrGetKernelInfo", {Kernel}, [](Given& c) { return tsrGetKernelInfo(c.kernel(), &c.kernel_info); }},
    {"tsrCopyTensor",
     {Context, {Stream, Allowed}},
     [](Given& c) { return tsrCopyTensor(c.context(), c.stream(1), &c.y.tensor, &c.x.tensor); }},
    {"tsrTensorFromDLPack",
     {Context, {Stream, Allowed}},
     [](Given& c) { return tsrTensorFromDLPack(c.context(), c.stream(1), &theirs, nullptr, &c.new_tensor); }},
    {"tsrTensorFromDLPackVersioned",
     {Context, {Stream, Allowed}},
     [](Given& c) {
       return tsrTensorFromDLPackVersioned(c.context(), c.stream(1), &theirs_versioned, nullptr, &c.new_tensor);
     }},
    {"tsrReleaseTensor", {Context}, [](Given& c) { return tsrReleaseTensor(c.context(), nullptr); }},
    {"tsrTensorToDLPack",
     {Context},
     [](Given& c) {
       tsr_status_t status = tsrTensorToDLPack(c.context(), &c.x.tensor, &c.exporting, &c.managed);
       if (c.managed) c.managed->deleter(c.managed);
       return status;
     }},
    {"tsrTensorToDLPackVersioned",
     {Context},
     [](Given& c) {
       tsr_status_t status = tsrTensorToDLPackVersioned(c.context(), &c.x.tensor, &c.exporting, &c.versioned);
       if (c.versioned) c.versioned->deleter(c.versioned);
       return status;
     }},
    {"tsrLaunch",
     {Kernel, {Stream, Allowed}},
     [](Given& c) { return tsrLaunch(c.kernel(), c.stream(1), {}, c.args, 3); }},
    {"tsrGetFunctionCount", {Module}, [](Given& c) { return tsrGetFunctionCount(c.module(), &c.count); }},
    {"tsrGetFunctionName", {Module}, [](Given& c) { return tsrGetFunctionName(c.module(), 0, &c.text); }},
    {"tsrGetFunction", {Module}, [](Given& c) { return tsrGetFunction(c.module(), "add_one", &c.new_function); }},
    {"tsrGetSignature", {Function}, [](Given& c) { return tsrGetSignature(c.function(), &c.count, nullptr); }},
    {"tsrGetInputInfo", {Function}, [](Given& c) { return tsrGetInputInfo(c.function(), 0, &c.info); }},
    {"tsrGetOutputInfo", {Function}, [](Given& c) { return tsrGetOutputInfo(c.function(), 0, &c.info); }},
    {"tsrGetFunctionParameterCount",
     {Function},
     [](Given& c) { return tsrGetFunctionParameterCount(c.function(), &c.count); }},
    {"tsrGetFunctionParameterInfo",
     {Function},
     [](Given& c) { return tsrGetFunctionParameterInfo(c.function(), 0, &c.info); },
     TSR_ENOTFOUND},
    {"tsrGetOutputShape",
     {Function},
     [](Given& c) { return tsrGetOutputShape(c.function(), 0, c.inputs, 1, &c.extent, 1, &c.rank); }},
    {"tsrCall",
     {Function, {Stream, Allowed}},
     [](Given& c) { return tsrCall(c.function(), c.stream(1), c.inputs, 1, c.outputs, 1, nullptr); }},
    {"tsrGetWorkspaceSize",
     {Function},
     [](Given& c) { return tsrGetWorkspaceSize(c.function(), c.inputs, 1, &c.count); }},
    {"tsrGetParameterCount", {Module}, [](Given& c) { return tsrGetParameterCount(c.module(), &c.count); }},
    {"tsrGetParameterInfo",
     {Module},
     [](Given& c) { return tsrGetParameterInfo(c.module(), 0, &c.info); },
     TSR_ENOTFOUND},
    {"tsrBindParameters", {Module}, [](Given& c) { return tsrBindParameters(c.module(), nullptr, nullptr, 0); }},
    {"tsrCreateStream", {Context}, [](Given& c) { return tsrCreateStream(c.context(), nullptr, &c.new_stream); }},
    {"tsrDestroyStream", {{Stream, Allowed}}, [](Given& c) { return tsrDestroyStream(c.stream(0)); }},
    {"tsrSynchronize",
     {Context, {Stream, Allowed}},
     [](Given& c) { return tsrSynchronize(c.context(), c.stream(1), TSR_FOREVER); }},
    {"tsrNotify",
     {Context, {Stream, Allowed}},
     [](Given& c) { return tsrNotify(c.context(), c.stream(1), [](void*, tsr_status_t) {}, nullptr); }},
    {"tsrCancel", {Context, {Stream, Allowed}}, [](Given& c) { return tsrCancel(c.context(), c.stream(1)); }},
    {"tsrCreateEvent", {Context}, [](Given& c) { return tsrCreateEvent(c.context(), &c.new_event); }},
    {"tsrDestroyEvent", {{Event, Allowed}}, [](Given& c) { return tsrDestroyEvent(c.event(0)); }},
    {"tsrRecordEvent", {Event, {Stream, Allowed}}, [](Given& c) { return tsrRecordEvent(c.event(0), c.stream(1)); }},
    {"tsrSynchronizeEvent", {Event}, [](Given& c) { return tsrSynchronizeEvent(c.event(0), TSR_FOREVER); }},
    {"tsrWaitEvent", {Event, {Stream, Allowed}}, [](Given& c) { return tsrWaitEvent(c.event(0), c.stream(1)); }},
    {"tsrGetElapsedTime",
     {Event, Event},
     [](Given& c) { return tsrGetElapsedTime(c.event(0), c.event(1), &c.milliseconds); }},
};

/// These take no handle.
const std::set<std::string> without_handles = {"tsrGetLastError",      "tsrStatusName",     "tsrGetVersion",
                                               "tsrCreateContext",     "tsrCreateContextWith",
                                               "tsrGetDeviceCount", "tsrGetDeviceInfo"};

std::string header_text() {
  std::ifstream in(TESSERA_SOURCE_DIR "/runtime/include/tessera.h");
  std::stringstream stream;
  stream << in.rdbuf();
  return stream.str();
}

/// How each function may be called: the word in brackets with which the comment ahead of it ends.
std::map<std::string, std::string> declared_threads() {
  const std::string text = header_text();
  static const std::regex function(R"(\[(any|waits|sets|ends)\] \*/\nTSR_API [^;(]*\b(tsr\w+)\()");
  std::map<std::string, std::string> words;
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) words[(*it)[2]] = (*it)[1];
  return words;
}

/// The handles that each function of the header takes.
std::map<std::string, std::vector<Kind>> declared_functions() {
  const std::string text = header_text();
  static const std::regex function(R"(TSR_API [^;(]*\b(tsr\w+)\(([^;]*)\);)");
  static const std::regex handle(R"(\btsr_(\w+)_t (\w+)(,|$))");
  std::map<std::string, std::vector<Kind>> functions;
  for (std::sregex_iterator it(text.begin(), text.end(), function), end; it != end; ++it) {
    const std::string params = (*it)[2];
    std::vector<Kind>& takes = functions[(*it)[1]];
    for (std::sregex_iterator each(params.begin(), params.end(), handle); each != end; ++each) {
      auto name = std::find(std::begin(kind_names), std::end(kind_names), (*each)[1]);
      if (name != std::end(kind_names)) takes.push_back(Kind(name - kind_names));
    }
  }
  return functions;
}

/// The row's arguments of this world, but for one handle.
std::vector<void*> handles_of(const Row& row, const World& world, size_t at, void* instead) {
  std::vector<void*> handles;
  for (const Taken& taken : row.takes) handles.push_back(world.handles[taken.kind]);
  handles[at] = instead;
  return handles;
}

/// With that handle the call fails with a text that has the words.
void check_refused(const Row& row, const World& world, size_t at, void* instead, const std::string& words) {
  Given with(handles_of(row, world, at, instead));
  CHECK(row.call(with) == TSR_EINVAL);
  INFO(last_error() << " (expected: " << words << ")");
  CHECK(last_error().find(words) != std::string::npos);
}

std::string article(Kind kind) {
  return std::string(kind == Event ? "an " : "a ") + kind_names[kind];
}

/// Calls `check` for each handle that each function takes.
void for_each_handle(const std::function<void(const Row&, size_t)>& check) {
  for (const Row& row : rows) {
    for (size_t at = 0; at < row.takes.size(); ++at) {
      INFO(row.name << ", handle " << at);
      check(row, at);
    }
  }
}

void in_a_thread(const std::function<void()>& work) {
  std::thread(work).join();
}

}  // namespace

TEST_CASE("every function of the header has a row of misuses", "[runtime][misuse]") {
  auto declared = declared_functions();
  CHECK(declared.size() == rows.size() + without_handles.size());
  for (const auto& [name, takes] : declared) {
    INFO(name);
    auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.name == name; });
    REQUIRE((row == rows.end()) == (without_handles.count(name) == 1));
    std::vector<Kind> kinds;
    if (row != rows.end()) {
      for (const Taken& taken : row->takes) kinds.push_back(taken.kind);
    }
    CHECK(takes == kinds);
  }
}

TEST_CASE("functions take sound handles, from any thread", "[runtime][misuse]") {
  std::string bundle = world_bundle();
  for (const Row& row : rows) {
    INFO(row.name);
    World world(bundle);
    Given sound(handles_of(row, world, 0, world.handles[row.takes[0].kind]));
    tsr_status_t status = TSR_EINTERNAL;
    in_a_thread([&] { status = row.call(sound); });
    CHECK(status == row.status);
    // Its memory stays until the work is done.
    if (row.takes[0].kind != Context) CHECK(tsrDestroyContext(world.loaded.context) == TSR_SUCCESS);
  }
}

TEST_CASE("NULL is refused where it means nothing", "[runtime][misuse]") {
  World world(world_bundle());
  for_each_handle([&](const Row& row, size_t at) {
    if (row.takes[at].on_null == Refused) return check_refused(row, world, at, nullptr, "is NULL");
    Given with(handles_of(row, world, at, nullptr));
    CHECK(row.call(with) == row.status);
  });
}

TEST_CASE("handles of another kind are refused, and what is no handle", "[runtime][misuse]") {
  World world(world_bundle());
  int object = 0;
  void* const strangers[] = {&object, &world, reinterpret_cast<void*>(1), reinterpret_cast<void*>(~uintptr_t(0)),
                             // A slot that nobody has taken.
                             reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(world.handles[0]) | 0xffffff)};
  for_each_handle([&](const Row& row, size_t at) {
    Kind wanted = row.takes[at].kind;
    for (size_t kind = 0; kind < kind_count; ++kind) {
      if (kind == wanted) continue;
      std::string words = "it is " + article(Kind(kind)) + ", not " + article(wanted);
      check_refused(row, world, at, world.handles[kind], words);
    }
    for (void* stranger : strangers) check_refused(row, world, at, stranger, "is not a handle that this library made");
  });
}

TEST_CASE("destroyed handles are refused, from any thread", "[runtime][misuse]") {
  std::string bundle = world_bundle();
  World world(bundle), unloaded(bundle);
  std::array<void*, kind_count> of_context = World(bundle).handles, alone = unloaded.handles;
  CHECK(tsrUnloadModule(unloaded.loaded.module) == TSR_SUCCESS);
  CHECK(tsrDestroyStream(static_cast<tsr_stream_t>(alone[Stream])) == TSR_SUCCESS);
  CHECK(tsrDestroyEvent(static_cast<tsr_event_t>(alone[Event])) == TSR_SUCCESS);
  World later(bundle);  // takes the places of those that are gone
  for_each_handle([&](const Row& row, size_t at) {
    Kind kind = row.takes[at].kind;
    std::string words = std::string(kind_names[kind]) + " was destroyed";
    check_refused(row, world, at, of_context[kind], words);
    in_a_thread([&] { check_refused(row, world, at, of_context[kind], words); });
    if (kind != Context) check_refused(row, world, at, alone[kind], words);
  });
}

TEST_CASE("handles of two contexts do not go together", "[runtime][misuse]") {
  std::string bundle = world_bundle();
  World world(bundle), other(bundle);
  size_t count = 0;
  for_each_handle([&](const Row& row, size_t at) {
    if (row.takes.size() < 2) return;
    check_refused(row, world, at, other.handles[row.takes[at].kind], "belongs to another context");
    ++count;
  });
  CHECK(count == 24);
}

TEST_CASE("callbacks call what may not wait, and nothing else", "[runtime][misuse]") {
  auto words = declared_threads();
  CHECK(words.size() == declared_functions().size());
  Loaded caller(world_bundle());
  struct Inside {
    const Row* row;
    Given* given;
    tsr_status_t status = TSR_EINTERNAL;
    std::string text;
    static void call(void* user, const tsr_trace_tensor_t* tensor) {
      auto& inside = *static_cast<Inside*>(user);
      if (tensor->kind != TSR_TRACE_OUTPUT) return;  // once a call
      inside.status = inside.row->call(*inside.given);
      inside.text = last_error();
    }
  };
  for (const Row& row : rows) {
    INFO(row.name);
    World world(world_bundle());
    Given given(handles_of(row, world, 0, world.handles[row.takes[0].kind]));
    Inside inside{&row, &given, TSR_EINTERNAL, {}};
    REQUIRE(tsrSetTrace(caller.context, Inside::call, &inside) == TSR_SUCCESS);
    HostTensor x({1}, {1}), y({1});
    REQUIRE(call(caller.function("add_one"), {&x.tensor}, {&y.tensor}) == TSR_SUCCESS);
    if (words.at(row.name) == "any") {
      CHECK(inside.status == row.status);
    } else {
      CHECK(inside.status == TSR_EINVAL);
      CHECK(inside.text == "a callback may not call this function; tessera.h marks those that it may with [any]");
    }
  }
}

TEST_CASE("a place that a handle had is taken again, and the handle stays destroyed", "[runtime][misuse]") {
  tsr_context_t context = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  std::set<tsr_event_t> seen;
  for (int i = 0; i < 1000; ++i) {
    tsr_event_t event = nullptr;
    REQUIRE(tsrCreateEvent(context, &event) == TSR_SUCCESS);
    CHECK(seen.insert(event).second);
    CHECK(tsrDestroyEvent(event) == TSR_SUCCESS);
  }
  for (tsr_event_t event : seen) CHECK(tsrDestroyEvent(event) == TSR_EINVAL);
  tsrDestroyContext(context);
}

TEST_CASE("handles are looked up while others come and go", "[runtime][misuse]") {
  World world(world_bundle());
  auto context = static_cast<tsr_context_t>(world.handles[Context]);
  auto function = static_cast<tsr_function_t>(world.handles[Function]);
  tsr_event_t stale = nullptr;
  REQUIRE(tsrCreateEvent(context, &stale) == TSR_SUCCESS);
  REQUIRE(tsrDestroyEvent(stale) == TSR_SUCCESS);
  std::atomic<int> wrong = 0;
  auto expect = [&](tsr_status_t expected, tsr_status_t status) { wrong += status != expected; };
  Given first({}), second({});
  std::vector<std::thread> threads;
  for (Given* each : {&first, &second}) {
    Given& own = *each;
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        expect(TSR_SUCCESS, tsrCall(function, nullptr, own.inputs, 1, own.outputs, 1, nullptr));
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        expect(TSR_SUCCESS, tsrCreateEvent(context, &own.new_event));
        expect(TSR_EINVAL, tsrSynchronizeEvent(stale, 0));
        expect(TSR_SUCCESS, tsrDestroyEvent(own.new_event));
        expect(TSR_EINVAL, tsrRecordEvent(own.new_event, nullptr));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("of two threads that destroy a stream, one does", "[runtime][misuse]") {
  tsr_context_t context = nullptr;
  REQUIRE(tsrCreateContext(&context) == TSR_SUCCESS);
  for (int i = 0; i < 50; ++i) {
    tsr_stream_t stream = nullptr;
    REQUIRE(tsrCreateStream(context, nullptr, &stream) == TSR_SUCCESS);
    tsr_status_t statuses[2];
    std::thread first([&] { statuses[0] = tsrDestroyStream(stream); });
    std::thread second([&] { statuses[1] = tsrDestroyStream(stream); });
    first.join();
    second.join();
    CHECK((statuses[0] == TSR_SUCCESS) != (statuses[1] == TSR_SUCCESS));
  }
  tsrDestroyContext(context);
}
