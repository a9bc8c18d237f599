// Objects of one thread, and what a thread says of failures when there is no memory for one.

#include "runtime/files/per_thread.h"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <thread>

#include "runtime/files/threads.h"
#include "unit/runtime/sample.h"

namespace {

thread_local bool has_memory = true;

void on_another_thread(const std::function<void()>& body) { std::thread(body).join(); }

int alive = 0;
struct Counted {
  Counted() { ++alive; }
  ~Counted() { --alive; }
  int value = 0;
};

}  // namespace

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  if (!has_memory) return nullptr;
  try {
    return ::operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

using namespace tessera::runtime;

TEST_CASE("each thread has an object of its own, which ends with it", "[runtime]") {
  static PerThread<Counted> objects;
  CHECK(objects.find() == nullptr);
  REQUIRE(objects.get());
  objects.get()->value = 1;
  int other = -1, both = 0;
  on_another_thread([&] {
    other = objects.get()->value;
    both = alive;
  });
  CHECK(other == 0);
  CHECK(both == 2);
  CHECK(alive == 1);
  CHECK(objects.find()->value == 1);
  CHECK_FALSE(objects.ran_out());
}

TEST_CASE("a thread for whose object there was no memory gets one later", "[runtime]") {
  static PerThread<Counted> objects;
  bool refused = false, ran_out = false, found = true, made = false, still = true;
  on_another_thread([&] {
    has_memory = false;
    refused = objects.get() == nullptr;
    has_memory = true;
    ran_out = objects.ran_out();
    found = objects.find() != nullptr;
    made = objects.get() != nullptr;
    still = objects.ran_out();
  });
  CHECK(refused);
  CHECK(ran_out);
  CHECK_FALSE(found);
  CHECK(made);
  CHECK_FALSE(still);
  on_another_thread([&] {
    has_memory = false;
    objects.get();
    has_memory = true;
  });  // nothing is destroyed with this thread
}

TEST_CASE("a failure whose text could not be kept is not taken for none", "[runtime]") {
  std::string before, lost, kept;
  on_another_thread([&] {
    before = tsrGetLastError();
    has_memory = false;
    tsrSetThreads(nullptr, 1);
    has_memory = true;
    lost = tsrGetLastError();
    tsrSetThreads(nullptr, 1);
    kept = tsrGetLastError();
  });
  CHECK(before == "");
  CHECK(lost == "out of memory");
  CHECK(kept == "the context is NULL");
}

TEST_CASE("numbers of threads are plain numbers from 1 to 1024", "[runtime]") {
  for (const char* text : {"", "0", "1025", "-1", "+1", " 1", "1 ", "4x", "99999999999"})
    CHECK_FALSE(parse_threads(text));
  CHECK(parse_threads("1") == 1);
  CHECK(parse_threads("1024") == 1024);
}
