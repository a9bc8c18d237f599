// What stands before the first step: entries, data, parameters and states, and where the run begins.

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/train/trainer.h"
#include "support/same_file.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::in_quotes;

constexpr const char* beginning_entry = "init";
constexpr const char* evaluation_entry = "evaluate";

/// The result 'loss' of an entry.
int find_loss(const Entry& entry, size_t& index) {
  int found = entry.find_output("loss");
  bool fits = found >= 0 && entry.outputs()[size_t(found)].ndim == 0 &&
              entry.outputs()[size_t(found)].dtype == std::string_view("f32");
  index = size_t(found);
  if (fits) return exit_ok;
  return fail(cat(entry.name(), " has to give 'loss', f32[]; its results are ", entry.result_names()));
}

bool is_metric(const tsr_tensor_info_t& info) {
  return info.ndim == 0 && info.dtype != std::string_view("i4");
}

/// Names that logs have for numbers of their own.
bool is_taken(std::string_view name) {
  for (std::string_view taken : {"step", "held_out", "tokens", "rows", "seconds"}) {
    if (name == taken) return true;
  }
  return false;
}

/// No parameter and no state is changed by an evaluation.
int check_evaluation(const Entry& entry) {
  for (size_t i = 0; i < entry.outputs().size(); ++i) {
    if (!entry.is_update(i)) continue;
    return fail(cat(entry.name(), " updates ", in_quotes(entry.outputs()[i].alias_of),
                    "; an evaluation leaves the model as it is"));
  }
  return exit_ok;
}

}  // namespace

int Trainer::check_options() const {
  if (options_.checkpoints.empty() && options_.resume) return fail("--resume needs --checkpoints DIR");
  for (const std::string& file : {options_.out, options_.log, options_.curve}) {
    std::filesystem::path folder = std::filesystem::path(file).parent_path();
    std::error_code ignored;
    if (folder.empty() || std::filesystem::is_directory(folder, ignored)) continue;
    return fail(cat("cannot write ", in_quotes(file), ": the folder ", in_quotes(folder.string()), " does not exist"));
  }
  if (!options_.log.empty()) {
    if (int code = Log::check_path(options_.log)) return code;
  }
  if (!options_.curve.empty() && !options_.curve.ends_with(".svg")) {
    return fail(cat("--curve writes .svg, not ", in_quotes(options_.curve)));
  }
  if (!options_.out.empty()) {
    if (int code = require_safetensors("--out", options_.out)) return code;
  }
  for (const std::string* written : {&options_.out, &options_.log, &options_.curve}) {
    bool is_read = !written->empty() && is_same_file(options_.bundle, *written);
    if (is_read) return fail(cat(in_quotes(*written), " is the bundle, which is read"));
  }
  return exit_ok;
}

int Trainer::open_entries() {
  std::vector<std::string> names = session_.entry_names();
  auto has = [&](const std::string& name) { return std::ranges::find(names, name) != names.end(); };
  if (!has(options_.step_entry)) {
    return fail(cat(options_.bundle, " has no entry ", in_quotes(options_.step_entry), "; its entries are ",
                    listed(names), "; --step-entry names the one that is a step of training"));
  }
  if (int code = step_.open(session_, options_.step_entry, {})) return code;
  if (int code = check_results()) return code;
  States names_only;
  for (size_t i : step_.inputs_of(Role::State)) names_only[step_.input(i).name];
  has_beginning_ = has(beginning_entry) && options_.step_entry != beginning_entry;
  has_evaluation_ = has(evaluation_entry) && options_.step_entry != evaluation_entry;
  if (has_beginning_) {
    if (int code = beginning_.open(session_, beginning_entry, names_only)) return code;
  }
  if (!has_evaluation_) return refuse_evaluation();
  if (int code = evaluation_.open(session_, evaluation_entry, names_only)) return code;
  if (int code = find_loss(evaluation_, held_out_loss_)) return code;
  return check_evaluation(evaluation_);
}

/// Options of an evaluation that there is no entry for.
int Trainer::refuse_evaluation() const {
  std::string_view option;
  if (options_.eval_batches != TrainOptions().eval_batches) option = "--eval-batches";
  if (options_.eval_every != 0) option = "--eval-every";
  if (options_.held_out >= 0) option = "--held-out";
  if (option.empty()) return exit_ok;
  return fail(cat(option, " needs an entry ", in_quotes(evaluation_entry), ", and ", options_.bundle, " has none"));
}

int Trainer::check_results() {
  if (int code = find_loss(step_, loss_)) return code;
  for (size_t i = 0; i < step_.outputs().size(); ++i) {
    const tsr_tensor_info_t& info = step_.outputs()[i];
    if (step_.is_update(i) || i == loss_) continue;
    if (!is_metric(info)) {
      return fail(cat(step_.name(), " gives ", in_quotes(info.name), ", ", info.dtype, info.shape,
                      "; beside loss, results are single numbers or update parameters and state"));
    }
    if (is_taken(info.name)) return fail(cat("a result cannot be called ", in_quotes(info.name), ": logs have that"));
    metrics_.push_back(i);
  }
  warn_without_training();
  return exit_ok;
}

/// A step that changes none of the parameters, or nothing where there are none, trains nothing.
void Trainer::warn_without_training() const {
  std::vector<std::string> parameters = session_.parameter_names();
  for (size_t i = 0; i < step_.outputs().size(); ++i) {
    bool is_trained = parameters.empty() || std::ranges::count(parameters, step_.outputs()[i].alias_of);
    if (step_.is_update(i) && is_trained) return;
  }
  warn(cat("entry ", in_quotes(step_.name()), " updates no parameter: update(w, …) in it gives a param w a value"));
}

int Trainer::bind_settings() {
  if (int code = settings_.read(options_.settings)) return code;
  if (int code = step_.bind_settings(session_, settings_)) return code;
  if (has_beginning_) {
    if (int code = beginning_.bind_settings(session_, settings_)) return code;
  }
  if (has_evaluation_) {
    if (int code = evaluation_.bind_settings(session_, settings_)) return code;
  }
  return settings_.check_used();
}

int Trainer::open_model() {
  if (!data_.tokens().empty() && !data_.rows().empty()) {
    return fail("--data gives both tokens and arrays of rows; a batch is of one or the other");
  }
  std::vector<std::string> dims = options_.dims;
  if (int code = add_batch(step_, options_.batch, dims)) return code;
  std::vector<tsr_tensor_info_t> inputs = step_.inputs();
  for (const Entry* entry : {&beginning_, &evaluation_}) {
    inputs.insert(inputs.end(), entry->inputs().begin(), entry->inputs().end());
  }
  if (int code = sizes_.add_options(dims)) return code;
  if (int code = sizes_.check_options(inputs, step_.outputs())) return code;
  if (int code = add_sizes(step_, data_, sizes_)) return code;
  return exit_ok;
}

int Trainer::open_states() {
  if (int code = model_.make_states(step_, sizes_)) return code;
  step_.bind_states(model_.states());
  if (has_evaluation_) evaluation_.bind_states(model_.states());
  if (!has_beginning_) return exit_ok;
  for (size_t i : beginning_.inputs_of(Role::State)) {
    std::string name = beginning_.input(i).name;
    if (model_.states().contains(name)) continue;
    return fail(cat(beginning_.name(), " has the state ", in_quotes(name), ", which ", step_.name(), " does not have"));
  }
  beginning_.bind_states(model_.states());
  if (beginning_.has(Role::Data)) {
    return fail(cat(beginning_.name(), " takes ", in_quotes(beginning_.input(beginning_.inputs_of(Role::Data)[0]).name),
                    "; what begins training takes state and numbers only"));
  }
  return exit_ok;
}

void Trainer::split(Range& training, Range& held_out) const {
  int64_t count = data_.rows().empty() ? data_.tokens().count() : data_.rows()[0].shape[0];
  double fraction = options_.held_out >= 0 ? options_.held_out : has_evaluation_ ? 0.1 : 0;
  int64_t kept = std::clamp(int64_t(std::llround(double(count) * fraction)), int64_t(0), count);
  training = {0, count - kept};
  held_out = {count - kept, count};
}

int Trainer::open_data() {
  Range training, held_out;
  split(training, held_out);
  if (int code = batches_.open(session_, step_, data_, sizes_, training, "training")) return code;
  if (!has_evaluation_) return exit_ok;
  if (held_out.begin == held_out.end && options_.held_out == 0) {
    has_evaluation_ = false;
    return exit_ok;
  }
  return held_out_batches_.open(session_, evaluation_, data_, sizes_, held_out, "held-out");
}

int Trainer::begin() {
  position_.seed = options_.seed;
  if (!options_.checkpoints.empty()) {
    if (int code = checkpoints_.open(options_.resume)) return code;
  }
  bool are_replaced = options_.resume && checkpoints_.has_any();
  if (int code = model_.bind_parameters(options_.bundle, options_.params, options_.seed, are_replaced)) return code;
  if (int code = open_states()) return code;
  bool is_resumed = false;
  if (options_.resume) {
    if (int code = checkpoints_.resume(model_, position_, is_resumed)) return code;
  }
  if (int code = is_resumed ? check_resumed() : call_beginning()) return code;
  Snapshot snapshot;
  if (int code = model_.read(snapshot)) return code;
  not_finite_ = snapshot.not_finite();
  if (options_.log.empty()) return exit_ok;
  std::vector<std::string> metrics;
  for (size_t i : metrics_) metrics.push_back(step_.outputs()[i].name);
  return log_.open(options_.log, position_.step, metrics, unit());
}

int Trainer::check_resumed() {
  saved_step_ = position_.step;
  if (!options_.has_seed || options_.seed == position_.seed) return exit_ok;
  return fail(cat("the checkpoint was made with --seed ", position_.seed, ", and --seed says ", options_.seed));
}

int Trainer::call_beginning() {
  if (!has_beginning_) return exit_ok;
  if (int code = beginning_.write_numbers(session_, Role::Step, 0)) return code;
  if (int code = beginning_.write_numbers(session_, Role::Steps, options_.steps)) return code;
  uint64_t seed = random_number(position_.seed, Purpose::Beginning, 0);
  if (int code = beginning_.write_numbers(session_, Role::Seed, seed)) return code;
  if (int code = beginning_.shape_results(session_)) return code;
  return beginning_.call(session_);
}

int Trainer::shape_results() {
  for (Entry* entry : {&step_, &evaluation_}) {
    if (entry == &evaluation_ && !has_evaluation_) continue;
    for (Role role : {Role::Step, Role::Seed}) {
      if (int code = entry->write_numbers(session_, role, 0)) return code;
    }
    if (int code = entry->write_numbers(session_, Role::Steps, options_.steps)) return code;
    if (int code = entry->shape_results(session_)) return code;
  }
  return exit_ok;
}

}  // namespace tessera::tool::train
