// What is kept between runs: found again as it was, absent where it is damaged, bounded, safe to share.

#include "support/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/build_id.h"
#include "support/parallel.h"
#include "support/temporary.h"

using namespace tessera;

namespace fs = std::filesystem;

namespace {

uint64_t bytes_in(const std::string& folder) {
  uint64_t bytes = 0;
  for (const auto& each : fs::recursive_directory_iterator(folder)) {
    if (each.is_regular_file()) bytes += each.file_size();
  }
  return bytes;
}

}  // namespace

TEST_CASE("an entry of a cache is what was kept for its key") {
  TemporaryFolder folder("cache-test");
  REQUIRE(folder.problem().empty());
  Cache cache(folder.file("made/when/needed"));
  const std::string key("a\0b", 3), value("\0\xff\n", 3);
  CHECK(!cache.find(key));
  cache.keep(key, value);
  CHECK(cache.find(key) == value);
  CHECK(!cache.find("a"));
  cache.keep("empty", "");
  CHECK(cache.find("empty") == "");
  cache.keep(key, "other");
  CHECK(cache.find(key) == "other");
  CHECK(Cache(cache.folder()).find(key) == "other");
}

TEST_CASE("an entry of a cache under another one's name is absent") {
  TemporaryFolder folder("cache-test");
  Cache cache(folder.path());
  cache.keep("a", "1");
  cache.keep("b", "2");
  fs::copy_file(cache.path_of("a"), cache.path_of("b"), fs::copy_options::overwrite_existing);
  CHECK(cache.find("a") == "1");
  CHECK(!cache.find("b"));
}

TEST_CASE("a cache removes no files but its own") {
  TemporaryFolder folder("cache-test");
  Cache cache(folder.path(), 256 * 1000);
  fs::path other = fs::path(cache.path_of("key")).parent_path() / "notes.txt";
  fs::create_directories(other.parent_path());
  std::ofstream(other) << std::string(5000, 'x');
  fs::last_write_time(other, fs::file_time_type::min());
  cache.keep("key", std::string(900, 'x'));
  CHECK(fs::exists(other));
  CHECK(cache.find("key"));
}

TEST_CASE("a damaged entry of a cache is absent") {
  TemporaryFolder folder("cache-test");
  Cache cache(folder.path());
  cache.keep("key", "0123456789");
  const std::string path = cache.path_of("key");
  SECTION("a byte") {
    std::fstream file(path, std::ios::in | std::ios::out);
    file.seekp(-1, std::ios::end);
    file.put('x');
  }
  SECTION("the end") { fs::resize_file(path, fs::file_size(path) - 1); }
  SECTION("nearly all") { fs::resize_file(path, 3); }
  SECTION("all") { fs::resize_file(path, 0); }
  SECTION("a folder in its place") {
    fs::remove(path);
    fs::create_directory(path);
  }
  CHECK(!cache.find("key"));
}

TEST_CASE("a cache keeps to its limit and to what was used last") {
  TemporaryFolder folder("cache-test");
  constexpr uint64_t share = 10'000;
  Cache cache(folder.path(), 256 * share);
  const std::string kilobyte(1000, 'x');
  cache.keep("large", std::string(share, 'x'));
  CHECK(!cache.find("large"));
  for (int i = 0; i < 4000; ++i) cache.keep(std::to_string(i), kilobyte);
  CHECK(bytes_in(folder.path()) <= 256 * share);
  CHECK(bytes_in(folder.path()) > 256 * share / 4);
  CHECK(cache.find("3999") == kilobyte);
}

TEST_CASE("what is used stays in a cache") {
  TemporaryFolder folder("cache-test");
  Cache cache(folder.path(), 256 * 10'000);
  const std::string kilobyte(1000, 'x');
  cache.keep("used", kilobyte);
  // Writes and looks may fall into one tick of the file system's clock: what was kept before is older.
  for (int i = 0; i < 4000; ++i) {
    std::string key = std::to_string(i);
    cache.keep(key, kilobyte);
    struct timespec old[2] = {{1000 + i, 0}, {1000 + i, 0}};
    ::utimensat(AT_FDCWD, cache.path_of(key).c_str(), old, 0);
    REQUIRE(cache.find("used") == kilobyte);
  }
}

TEST_CASE("writers of one cache do not disturb each other") {
  TemporaryFolder folder("cache-test");
  const std::string value(100'000, 'v');
  std::atomic<int> wrong = 0;
  parallel_for(64, [&](size_t i) {
    Cache cache(folder.path());
    std::string key = std::to_string(i % 4);
    cache.keep(key, key + value);
    std::optional<std::string> found = cache.find(key);
    wrong += !found || *found != key + value;
  });
  CHECK(wrong == 0);
}

TEST_CASE("a cache that cannot be written is no failure") {
  TemporaryFolder folder("cache-test");
  std::ofstream(folder.file("file")) << "text";
  Cache cache(folder.file("file"));
  cache.keep("key", "value");
  CHECK(!cache.find("key"));
}

TEST_CASE("the folder of the cache is the user's choice") {
  auto with = [](const char* own, const char* shared, const char* home) {
    const char* names[] = {"TESSERA_CACHE", "XDG_CACHE_HOME", "HOME"};
    const char* values[] = {own, shared, home};
    std::string before[3];
    for (int i = 0; i < 3; ++i) {
      if (const char* value = std::getenv(names[i])) before[i] = value;
      values[i] ? ::setenv(names[i], values[i], 1) : ::unsetenv(names[i]);
    }
    std::string folder = default_cache_folder();
    for (int i = 0; i < 3; ++i) before[i].empty() ? ::unsetenv(names[i]) : ::setenv(names[i], before[i].c_str(), 1);
    return folder;
  };
  CHECK(with("/own", "/shared", "/home/me") == "/own");
  CHECK(with(nullptr, "/shared", "/home/me") == "/shared/tessera");
  CHECK(with("", "relative", "/home/me") == "/home/me/.cache/tessera");
  CHECK(with(nullptr, nullptr, nullptr).empty());
}

TEST_CASE("a program knows its build") {
  std::string id = build_id();
  CHECK(id.size() >= 16);
  CHECK(id.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(id == build_id());
}
