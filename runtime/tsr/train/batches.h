#pragma once
// Batches of the data. Which rows a batch has depends on the seed and the number of the step alone: they are numbers of
// Philox, whose counter holds step and row. So a run that goes on from a checkpoint sees what it would have seen.

#include <future>
#include <string>
#include <vector>

#include "runtime/tsr/state_files.h"
#include "runtime/tsr/train/data.h"
#include "runtime/tsr/train/entry.h"

namespace tessera::tool::train {

/// Random numbers for purposes that share nothing.
enum class Purpose : uint32_t { Rows, Steps, Evaluations, Beginning, Tokens };
uint64_t random_number(uint64_t seed, Purpose purpose, uint64_t step, uint32_t row = 0);

/// Tokens, or rows of arrays, from `begin` up to `end`.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

/// The batches of an entry from one part of the data. Functions return 0, or the exit code after saying what is wrong.
class Batches {
 public:
  /// `part` is how messages call the part of the data.
  int open(const Session& session, Entry& entry, const Data& data, const SizeTable& sizes, Range range,
           const std::string& part);

  /// The contents of the entry's data inputs for training and for evaluation `i` of `count`, at places that are spread
  /// evenly.
  using Contents = std::vector<std::string>;
  Contents of_step(uint64_t seed, uint64_t step) const;
  Contents of_evaluation(int64_t i, int64_t count) const;
  int write(const Session& session, const Contents& contents) const;

  /// What a batch has: tokens, or rows.
  int64_t units() const { return length_ ? batch_ * length_ : batch_; }
  int64_t batch() const { return batch_; }

 private:
  struct Input {
    DeviceTensor tensor;
    const Rows* rows;  ///< null for tokens
  };
  int open_input(const tsr_tensor_info_t& info, const Rows* rows, const std::vector<int64_t>& shape);
  int check_rows(const tsr_tensor_info_t& info, const Rows& rows, const std::vector<int64_t>& shape) const;
  int check_tokens(const tsr_tensor_info_t& info) const;
  int check_room(const std::string& part) const;
  int64_t place_count() const { return range_.end - range_.begin - (length_ ? length_ - 1 : 0); }
  Contents at(const std::vector<int64_t>& places) const;

  const Data* data_ = nullptr;
  Range range_;
  std::deque<Input> inputs_;
  int64_t batch_ = 0;
  int64_t length_ = 0;  ///< of a row of tokens; 0 without tokens
};

/// Makes the batch of the next step while a step runs.
class Feeder {
 public:
  Feeder(const Batches& batches, uint64_t seed) : batches_(batches), seed_(seed) {}
  /// The batch of the step; that of the step after it is begun when `goes_on`.
  Batches::Contents take(uint64_t step, bool goes_on);

 private:
  const Batches& batches_;
  uint64_t seed_;
  std::future<Batches::Contents> next_;
};

/// Adds what --batch says to the sizes that --dims gives: the first extent of data. Says where they disagree.
int add_batch(const Entry& entry, int64_t batch, std::vector<std::string>& dims);
/// Adds the sizes that arrays of data have.
int add_sizes(const Entry& entry, const Data& data, SizeTable& sizes);
/// The names of the inputs that take data.
std::vector<std::string> data_inputs(const std::vector<const Entry*>& entries);

}  // namespace tessera::tool::train
