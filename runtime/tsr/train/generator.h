#pragma once
// Continuing a text: an entry gives scores of the next token, one is chosen, and the entry is called with it.

#include <string>
#include <vector>

#include "runtime/tsr/train/model.h"
#include "runtime/tsr/train/sampling.h"
#include "runtime/tsr/train/text_output.h"
#include "runtime/tsr/train/vocabulary.h"

namespace tessera::tool::train {

struct GenerateOptions {
  std::string bundle;
  std::string entry = "next";
  std::vector<std::string> params, settings, dims, stops;
  std::string prompt;
  bool has_ids = false;    ///< the prompt and the text are numbers of tokens
  std::string vocabulary;  ///< a file; empty for bytes
  DeviceOptions device;
  int64_t tokens = 200;
  int64_t context = 0;  ///< 0: not given
  Sampling sampling;
  uint64_t seed = 0;
};

/// Functions return 0, or the exit code after saying what is wrong.
class Generator {
 public:
  explicit Generator(const GenerateOptions& options) : options_(options), model_(session_) {}
  int run();

 private:
  int open();
  /// The highest score is among those that any choice is made of.
  void warn_of_idle() const;
  int find_tokens();
  int find_scores();
  int open_sizes();
  int read_prompt();
  /// How many tokens a call takes.
  int find_window();

  bool has_state() const { return entry_.has(Role::State); }
  /// Lets the entry read all tokens that it has not seen.
  int read_tokens();
  int call(const int64_t* tokens, int64_t count);
  int choose(int64_t& token);
  int write(int64_t token, TextOutput& text, bool& is_ended);
  int generate();

  const GenerateOptions& options_;
  Session session_;
  Model model_;
  Entry entry_;
  Settings settings_;
  SizeTable sizes_;
  size_t tokens_input_ = 0, scores_output_ = 0;
  Vocabulary vocabulary_;
  DeviceTensor input_;  ///< the tokens of a call
  int64_t window_ = 0;       ///< tokens of a call; 0: as many as there are
  bool is_fixed_ = false;    ///< each call has exactly that many
  std::vector<int64_t> tokens_;
  size_t seen_ = 0;          ///< tokens that are in the entry's state
  uint64_t calls_ = 0;
  std::vector<double> scores_;
};

}  // namespace tessera::tool::train
