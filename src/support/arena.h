#pragma once
// A bump allocator: everything in it dies at once and no destructor runs.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera {

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  void* allocate(size_t bytes, size_t alignment);

  template <typename T, typename... Args>
  T* make(Args&&... args) {
    static_assert(std::is_trivially_destructible_v<T>, "no destructor runs in an arena");
    return new (allocate(sizeof(T), alignof(T))) T(std::forward<Args>(args)...);
  }
  template <typename T>
  std::span<T> make_array(size_t count) {
    static_assert(std::is_trivially_destructible_v<T>, "no destructor runs in an arena");
    constexpr size_t each = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    T* first = static_cast<T*>(allocate(count * each, alignof(T)));
    for (size_t i = 0; i < count; ++i) new (first + i) T();
    return {first, count};
  }
  template <typename T>
  std::span<const T> copy(std::span<const T> values) {
    std::span<T> out = make_array<T>(values.size());
    for (size_t i = 0; i < values.size(); ++i) out[i] = values[i];
    return out;
  }
  std::string_view copy(std::string_view text);
  size_t bytes_used() const { return used_; }

 private:
  std::vector<std::unique_ptr<std::byte[]>> blocks_;
  std::byte* next_ = nullptr;
  std::byte* end_ = nullptr;
  size_t used_ = 0;
};

}  // namespace tessera
