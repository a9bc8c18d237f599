#pragma once
// Training: the step of a bundle, called as often as is asked for. docs/training.md says what entries are for.

#include <chrono>
#include <string>
#include <vector>

#include "runtime/tsr/train/batches.h"
#include "runtime/tsr/train/checkpoints.h"
#include "runtime/tsr/train/curve.h"
#include "runtime/tsr/train/live_line.h"
#include "runtime/tsr/train/log.h"
#include "runtime/tsr/train/model.h"

namespace tessera::tool::train {

struct TrainOptions {
  std::string bundle;
  std::string step_entry = "step";
  std::vector<std::string> params, data, settings, dims;
  DeviceOptions device;
  uint64_t steps = 0;
  double minutes = 0;      ///< 0: no limit
  int64_t batch = 0;       ///< 0: not given
  uint64_t seed = 0;
  bool has_seed = false;
  double held_out = -1;    ///< below 0: not given
  uint64_t eval_every = 0;  ///< 0: not given
  int64_t eval_batches = 20;
  std::string checkpoints;
  uint64_t save_every = 1000;
  int keep = 2;
  bool resume = false;
  std::string out, log, curve;
};

/// Functions return 0, or the exit code after saying what is wrong.
class Trainer {
 public:
  explicit Trainer(const TrainOptions& options)
      : options_(options), model_(session_), checkpoints_(options.checkpoints, options.keep, options.bundle) {}

  int run();

 private:
  int check_options() const;
  int open_entries();
  int check_results();
  void warn_without_training() const;
  int bind_settings();
  int open_model();
  int open_states();
  int open_data();
  int refuse_evaluation() const;
  void split(Range& training, Range& held_out) const;
  /// Shapes, once all inputs have some value.
  int shape_results();
  int begin();
  int call_beginning();
  /// Of a run that goes on from a checkpoint.
  int check_resumed();
  void say_what_there_is(LiveLine& line) const;
  /// "batches of 16 rows from 12000 tokens"; empty without data.
  std::string data_text() const;

  int loop(LiveLine& line);
  int step(Feeder& feeder, Record& record);
  int evaluate(Record& record);
  int save();
  int refuse_not_finite(const Record& record);
  /// Says which tensor is not finite, and was at the beginning.
  int check_finite(const Snapshot& snapshot) const;
  bool is_due(uint64_t every) const { return every > 0 && position_.step % every == 0; }
  bool is_out_of_time() const;
  int end(LiveLine& line);
  int write_results();
  int draw() const;

  std::string unit() const { return data_.rows().empty() ? "tokens" : "rows"; }
  double seconds() const;

  const TrainOptions& options_;
  Session session_;
  Model model_;
  Data data_;
  Settings settings_;
  SizeTable sizes_;
  Entry step_, beginning_, evaluation_;
  bool has_beginning_ = false, has_evaluation_ = false;
  size_t loss_ = 0, held_out_loss_ = 0;  ///< outputs of step_ and evaluation_
  std::vector<size_t> metrics_;          ///< outputs of step_
  Batches batches_, held_out_batches_;
  Checkpoints checkpoints_;
  Position position_;
  uint64_t saved_step_ = UINT64_MAX;
  std::vector<std::string> not_finite_;  ///< tensors that were not from the beginning
  Log log_;
  Curve curve_;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace tessera::tool::train
