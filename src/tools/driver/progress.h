#pragma once
// What a long compile is doing, in one line of the terminal: nothing in pipes, in files and for programs that read
// diagnostics, nothing of a compile that is soon over, and nothing left at the end.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace tessera::driver {

class Progress {
 public:
  /// A line that appears after a second, or after TESSERA_PROGRESS_AFTER milliseconds; 0 draws every step. Null where
  /// standard error is no terminal.
  static std::unique_ptr<Progress> on_terminal();
  explicit Progress(std::chrono::milliseconds after);
  Progress(const Progress&) = delete;
  ~Progress();

  /// Work in that many parts begins; 0 where it has none.
  void begin(size_t parts);
  /// The next part begins, such as an entry for a target.
  void part(std::string name);
  /// A stage or a pass begins, of the part if there is one.
  void step(std::string_view name);
  /// A piece of a step that runs in pieces is done. Threads may call it.
  void piece(std::string_view step, size_t pieces);

 private:
  void watch();
  void set(std::string text);
  void draw();

  std::mutex mutex_;
  std::condition_variable ends_;
  bool is_over_ = false, is_drawn_ = false, has_changed_ = false;
  std::string part_, text_;
  size_t parts_ = 0, part_number_ = 0, pieces_done_ = 0;
  std::chrono::milliseconds after_;
  std::thread watcher_;
};

}  // namespace tessera::driver
