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
    if (void* there = ::pthread_getspecific(key_)) destroy(there);
    ::pthread_key_delete(key_);
    is_usable_ = false;
  }
  PerThread(const PerThread&) = delete;
  PerThread& operator=(const PerThread&) = delete;

  /// This thread's object; null when memory ran out.
  T* get() noexcept {
    if (T* there = find()) return there;
    if (!is_usable_) return nullptr;
    T* made = new (std::nothrow) T();
    if (made && ::pthread_setspecific(key_, made) == 0) return made;
    delete made;
    ::pthread_setspecific(key_, &ran_out_);
    return nullptr;
  }
  /// This thread's object; null where none was made.
  T* find() const noexcept {
    void* there = is_usable_ ? ::pthread_getspecific(key_) : nullptr;
    return there == &ran_out_ ? nullptr : static_cast<T*>(there);
  }
  /// Whether this thread asked for its object and got none.
  bool ran_out() const noexcept { return !is_usable_ || ::pthread_getspecific(key_) == &ran_out_; }

 private:
  static void destroy(void* there) {
    if (there != &ran_out_) delete static_cast<T*>(there);
  }

  static inline char ran_out_ = 0;  ///< its address stands for an object that there was no memory for
  pthread_key_t key_{};
  bool is_usable_ = false;
};

}  // namespace tessera::runtime
