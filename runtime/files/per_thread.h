#pragma once
// Objects of one thread, made when it first asks. C++'s own thread_local ends the process where the
// memory for a destructor's registration runs out, which a library must not do.

#include <pthread.h>

#include <new>

namespace tessera::runtime {

/// A T for each thread, destroyed with its thread. For objects with static storage.
template <typename T>
class PerThread {
 public:
  PerThread() { is_usable_ = ::pthread_key_create(&key_, destroy) == 0; }
  ~PerThread() {
    if (!is_usable_) return;
    destroy(::pthread_getspecific(key_));
    ::pthread_key_delete(key_);
    is_usable_ = false;
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  /// This thread's object; null when memory ran out.
  T* get() noexcept {
    if (!is_usable_) return nullptr;
    if (void* there = ::pthread_getspecific(key_)) return static_cast<T*>(there);
    T* made = new (std::nothrow) T();
    if (!made || ::pthread_setspecific(key_, made) == 0) return made;
    delete made;
    return nullptr;
  }

 private:
  static void destroy(void* object) { delete static_cast<T*>(object); }

  pthread_key_t key_{};
  bool is_usable_ = false;
};

}  // namespace tessera::runtime
