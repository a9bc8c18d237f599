#include "runtime/tsr/train/generator.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/terminal.h"
#include "runtime/tsr/train/batches.h"
#include "support/file.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::in_quotes;

std::string title_of_input(const tsr_tensor_info_t& info) {
  return cat("the input ", in_quotes(info.name), ", ", info.dtype, info.shape, ",");
}

bool is_size(const std::string& extent) { return extent.find_first_not_of("0123456789") == extent.npos; }

/// The most that the guards of an entry allow for a size, as `S <= 64` does; 0 where they allow any.
int64_t bound_of(const std::string& bundle, const std::string& entry, const std::string& size) {
  auto manifest = manifest_entry(bundle, entry);
  int64_t bound = 0;
  if (!manifest) return bound;
  for (const format::ManifestGuard& guard : manifest->guards) {
    std::string_view condition = guard.condition;
    std::string begin = cat(size, " <= ");
    int64_t most = 0;
    if (!condition.starts_with(begin)) continue;
    const char *at = condition.data() + begin.size(), *end = condition.data() + condition.size();
    auto [next, status] = std::from_chars(at, end, most);
    if (status == std::errc() && next == end && (bound == 0 || most < bound)) bound = most;
  }
  return bound;
}

/// Text of a model may steer a terminal; files and other programs get its bytes.
int write_now(const std::string& text) {
  if (::isatty(STDOUT_FILENO)) {
    put(text);
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  std::string problem;
  return flush_output(problem) ? exit_ok : fail_write("<stdout>", problem);
}

}  // namespace

int Generator::run() {
  if (int code = open()) return code;
  if (int code = read_prompt()) return code;
  if (int code = find_window()) return code;
  return generate();
}

int Generator::open() {
  if (int code = session_.open(options_.bundle, options_.device)) return code;
  std::vector<std::string> names = session_.entry_names();
  if (std::ranges::find(names, options_.entry) == names.end()) {
    return fail(cat(options_.bundle, " has no entry ", in_quotes(options_.entry), "; its entries are ", listed(names),
                    "; --entry names the one that gives scores of the next token"));
  }
  if (int code = entry_.open(session_, options_.entry, {})) return code;
  if (int code = find_tokens()) return code;
  if (int code = find_scores()) return code;
  if (int code = settings_.read(options_.settings)) return code;
  if (int code = entry_.bind_settings(session_, settings_)) return code;
  if (int code = settings_.check_used()) return code;
  if (int code = open_sizes()) return code;
  if (int code = session_.bind_files(options_.params)) return code;
  if (int code = session_.require_parameters(entry_.function(), options_.params)) return code;
  if (int code = model_.make_states(entry_, sizes_)) return code;
  entry_.bind_states(model_.states());
  warn_of_idle();
  return exit_ok;
}

void Generator::warn_of_idle() const {
  const GenerateOptions unset;
  if (options_.sampling.temperature != 0) return;
  std::vector<std::string> idle;
  if (options_.sampling.top_k != unset.sampling.top_k) idle.push_back("--top-k");
  if (options_.sampling.top_p != unset.sampling.top_p) idle.push_back("--top-p");
  if (options_.seed != unset.seed && !entry_.has(Role::Seed)) idle.push_back("--seed");
  if (idle.empty()) return;
  warn(cat(listed(idle), idle.size() == 1 ? " has" : " have",
           " no effect with --temperature 0, which takes the highest score"));
}

int Generator::find_tokens() {
  std::vector<size_t> data = entry_.inputs_of(Role::Data);
  for (size_t i : data) {
    const tsr_tensor_info_t& info = entry_.input(i);
    bool fits = info.ndim == 2 && is_integer(*format::find_dtype(info.dtype)) && data.size() == 1;
    if (!fits) return fail(cat(entry_.name(), " has ", title_of_input(info), " and should have one input for tokens, "
                               "integers of rank 2, beside state and numbers"));
    tokens_input_ = i;
  }
  if (data.empty()) return fail(cat(entry_.name(), " has no input for tokens, integers of rank 2"));
  return exit_ok;
}

int Generator::find_scores() {
  size_t count = 0;
  for (size_t i = 0; i < entry_.outputs().size(); ++i) {
    const tsr_tensor_info_t& info = entry_.outputs()[i];
    if (entry_.is_update(i) || (info.ndim != 2 && info.ndim != 3) || info.element.code < 2) continue;
    scores_output_ = i;
    ++count;
  }
  if (count == 1) return exit_ok;
  return fail(cat(entry_.name(), " has to give one result with scores of tokens, floats [B, V] or [B, S, V]; its "
                  "results are ", entry_.result_names()));
}

int Generator::open_sizes() {
  std::vector<std::string> dims = options_.dims;
  std::string batch = extents_of(entry_.input(tokens_input_).shape)[0];
  if (is_size(batch) && batch != "1") {
    return fail(cat(title_of_input(entry_.input(tokens_input_)), " has ", batch, " rows; one is continued"));
  }
  if (!is_size(batch)) dims.push_back(cat(batch, "=1"));
  if (int code = sizes_.add_options(dims)) return code;
  return sizes_.check_options(entry_.inputs(), entry_.outputs());
}

int Generator::read_prompt() {
  if (options_.prompt.empty()) return fail("--prompt is empty; the text to continue has one token at least");
  if (!options_.vocabulary.empty()) {
    if (options_.has_ids) return fail("--ids takes numbers of tokens, which need no --vocabulary");
    if (int code = Vocabulary::read(options_.vocabulary, vocabulary_)) return code;
  }
  if (!options_.has_ids) {
    std::vector<Vocabulary::Token> tokens;
    vocabulary_.encode(options_.prompt, tokens);
    tokens_.assign(tokens.begin(), tokens.end());
    return exit_ok;
  }
  const char *at = options_.prompt.data(), *end = at + options_.prompt.size();
  while (at != end) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t token = 0;
    auto [next, status] = std::from_chars(at, end, token);
    if (status != std::errc() || token < 0) return fail("--prompt with --ids takes numbers of tokens, as '12 5 7'");
    tokens_.push_back(token);
    at = next;
  }
  return tokens_.empty() ? fail("--prompt has no tokens") : exit_ok;
}

int Generator::find_window() {
  const tsr_tensor_info_t& info = entry_.input(tokens_input_);
  std::vector<int64_t> shape;
  std::string extent = extents_of(info.shape)[1];
  is_fixed_ = is_size(extent);
  if (is_fixed_) {
    if (int code = sizes_.resolve(info, shape)) return code;
    window_ = shape[1];
    if (options_.context != 0 && options_.context != window_) {
      return fail(cat(title_of_input(info), " always has ", window_, " tokens; --context says ", options_.context));
    }
    if (has_state() && window_ != 1) {
      return fail(cat(title_of_input(info), " has to take a single token, too, as the entry keeps the others"));
    }
    if (int64_t(tokens_.size()) >= window_) return exit_ok;
    return fail(cat(title_of_input(info), " takes ", window_, " tokens, and the prompt has ", tokens_.size()));
  }
  if (has_state() && options_.context != 0) return fail("--context is for entries without state; --dims has its size");
  int64_t bound = bound_of(options_.bundle, options_.entry, extent);
  bool is_beyond = bound != 0 && bound < options_.context;
  if (is_beyond) warn(cat("--context says ", options_.context, ", and ", bound, " is the most that the entry takes"));
  window_ = options_.context == 0 || is_beyond ? bound : options_.context;
  if (has_state() || window_ != 0) return exit_ok;
  return fail(cat("how many tokens the model may see is not known: ", title_of_input(info),
                  " takes any number; --context N limits it"));
}

int Generator::read_tokens() {
  auto count = int64_t(tokens_.size());
  if (!has_state()) {
    int64_t begin = std::max(count - window_, int64_t(0));
    return call(tokens_.data() + begin, count - begin);
  }
  while (seen_ < tokens_.size()) {
    int64_t next = is_fixed_ ? 1 : count - int64_t(seen_);
    if (int code = call(tokens_.data() + seen_, next)) return code;
    seen_ += size_t(next);
  }
  return exit_ok;
}

int Generator::call(const int64_t* tokens, int64_t count) {
  const tsr_tensor_info_t& info = entry_.input(tokens_input_);
  if (int code = input_.reshape(session_, info, {1, count}, false)) return code;
  std::string bytes;
  for (int64_t i = 0; i < count; ++i) bytes += integer_bytes(input_.dtype(), uint64_t(tokens[i]));
  if (int code = input_.write(session_, bytes)) return code;
  entry_.bind(tokens_input_, input_);
  for (Role role : {Role::Step, Role::Steps}) {
    if (int code = entry_.write_numbers(session_, role, calls_)) return code;
  }
  uint64_t seed = random_number(options_.seed, Purpose::Steps, calls_++);
  if (int code = entry_.write_numbers(session_, Role::Seed, seed)) return code;
  if (int code = entry_.shape_results(session_)) return code;
  return entry_.call(session_);
}

int Generator::choose(int64_t& token) {
  DeviceTensor& scores = entry_.result(scores_output_);
  size_t count = size_t(scores.shape().back());
  if (count == 0 || scores.bytes() == 0) return fail("the entry gives no scores");
  std::string content;
  size_t bytes = count * size_t(format::dtype_bits(scores.dtype())) / 8;
  if (int code = scores.read_end(session_, bytes, content)) return code;
  scores_ = numbers_in(scores.dtype(), content);
  if (!options_.has_ids && options_.vocabulary.empty() && scores_.size() > vocabulary_.size()) {
    return fail(cat(entry_.name(), " gives scores of ", scores_.size(),
                    " tokens, and bytes are 256; --vocabulary FILE says what the others are"));
  }
  if (!options_.has_ids) scores_.resize(std::min(scores_.size(), vocabulary_.size()));  // others stand for nothing
  token = choose_token(scores_, options_.sampling, random_number(options_.seed, Purpose::Tokens, tokens_.size()));
  return token >= 0 ? exit_ok : fail(cat("the scores behind token ", tokens_.size(), " have a NaN, or none is finite"));
}

int Generator::write(int64_t token, TextOutput& text, bool& is_ended) {
  is_ended = false;
  std::string piece = options_.has_ids ? cat(token, " ") : vocabulary_.bytes_of(Vocabulary::Token(token));
  std::string shown = text.add(piece, is_ended);
  return shown.empty() ? exit_ok : write_now(shown);
}

int Generator::generate() {
  auto began = std::chrono::steady_clock::now();
  TextOutput text(options_.stops);
  int64_t made = 0;
  for (bool is_ended = false; made < options_.tokens && !is_ended; ++made) {
    if (int code = read_tokens()) return code;
    int64_t token = 0;
    if (int code = choose(token)) return code;
    if (int code = write(token, text, is_ended)) return code;
    tokens_.push_back(token);
  }
  if (int code = write_now(text.rest() + "\n")) return code;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  std::fprintf(stderr, "%lld tokens, %.1f tokens/s\n", static_cast<long long>(made), double(made) / seconds);
  return exit_ok;
}

}  // namespace tessera::tool::train
