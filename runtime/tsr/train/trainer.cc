#include "runtime/tsr/train/trainer.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/terminal.h"
#include "runtime/tsr/train/interrupt.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::in_quotes;

/// The exit status of a program that a signal ends.
constexpr int status_of_signal(int signal) { return 128 + signal; }

}  // namespace

int Trainer::run() {
  began_ = std::chrono::steady_clock::now();
  Interrupt interrupt;
  if (int code = check_options()) return code;
  if (int code = session_.open(options_.bundle, options_.device)) return code;
  if (int code = open_entries()) return code;
  if (int code = data_.read(options_.data, data_inputs({&step_, &evaluation_}))) return code;
  if (int code = bind_settings()) return code;
  if (int code = open_model()) return code;
  if (int code = open_data()) return code;
  if (int code = begin()) return code;
  if (int code = shape_results()) return code;
  LiveLine line(position_.step, options_.steps, batches_.units(), unit());
  say_what_there_is(line);
  position_.data = data_text();
  if (int code = loop(line)) return code;
  return end(line);
}

double Trainer::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

bool Trainer::is_out_of_time() const { return options_.minutes > 0 && seconds() >= options_.minutes * 60; }

std::string Trainer::data_text() const {
  if (data_.is_empty()) return {};
  int64_t count = data_.rows().empty() ? data_.tokens().count() : data_.rows()[0].shape[0];
  return cat("batches of ", batches_.batch(), " rows from ", count, " ", unit());
}

void Trainer::say_what_there_is(LiveLine& line) const {
  std::string data = data_text();
  line.say(cat(model_.summary(), data.empty() ? "" : "; ", data));
  bool is_done = position_.step >= options_.steps;
  if (is_done) {
    line.say(cat("nothing is left to do: the checkpoint is of step ", position_.step, " of ", options_.steps));
  }
  if (position_.step > 0 && !is_done) line.say(cat("resumes after step ", position_.step));
  if (position_.data.empty() || position_.data == data) return;
  line.say(cat("the steps before had other data, ", position_.data));
}

int Trainer::loop(LiveLine& line) {
  Feeder feeder(batches_, position_.seed);
  began_ = std::chrono::steady_clock::now();
  while (position_.step < options_.steps && !Interrupt::signal() && !is_out_of_time()) {
    Record record;
    if (int code = step(feeder, record)) return code;
    if (!std::isfinite(record.loss)) return refuse_not_finite(record);
    bool is_last = position_.step == options_.steps;
    uint64_t every = options_.eval_every ? options_.eval_every : std::max<uint64_t>(options_.steps / 10, 1);
    if (has_evaluation_ && (is_due(every) || is_last)) {
      if (int code = evaluate(record)) return code;
    }
    record.seconds = seconds();
    curve_.train.push_back({double(record.step), double(record.loss)});
    line.show(record);
    if (int code = log_.add(record)) return code;
    if (!options_.checkpoints.empty() && is_due(options_.save_every)) {
      if (int code = save()) return code;
    }
  }
  return exit_ok;
}

int Trainer::step(Feeder& feeder, Record& record) {
  bool goes_on = position_.step + 1 < options_.steps;
  if (int code = batches_.write(session_, feeder.take(position_.step, goes_on))) return code;
  if (int code = step_.write_numbers(session_, Role::Step, position_.step)) return code;
  uint64_t seed = random_number(position_.seed, Purpose::Steps, position_.step);
  if (int code = step_.write_numbers(session_, Role::Seed, seed)) return code;
  if (int code = step_.call(session_)) return code;
  double loss = 0;
  if (int code = step_.read_number(session_, loss_, loss)) return code;
  record.loss = float(loss);
  for (size_t output : metrics_) {
    double metric = 0;
    if (int code = step_.read_number(session_, output, metric)) return code;
    record.metrics.push_back(metric);
  }
  record.step = ++position_.step;
  record.units = record.step * uint64_t(batches_.units());
  return exit_ok;
}

int Trainer::evaluate(Record& record) {
  double sum = 0;
  for (int64_t i = 0; i < options_.eval_batches; ++i) {
    Batches::Contents contents = held_out_batches_.of_evaluation(i, options_.eval_batches);
    if (int code = held_out_batches_.write(session_, contents)) return code;
    if (int code = evaluation_.write_numbers(session_, Role::Step, position_.step)) return code;
    uint64_t seed = random_number(position_.seed, Purpose::Evaluations, uint64_t(i));
    if (int code = evaluation_.write_numbers(session_, Role::Seed, seed)) return code;
    if (int code = evaluation_.call(session_)) return code;
    double loss = 0;
    if (int code = evaluation_.read_number(session_, held_out_loss_, loss)) return code;
    sum += loss;
  }
  record.held_out = float(sum / double(options_.eval_batches));
  curve_.held_out.push_back({double(position_.step), double(*record.held_out)});
  if (!std::isfinite(*record.held_out)) curve_.held_out.pop_back();
  return exit_ok;
}

int Trainer::refuse_not_finite(const Record& record) {
  Snapshot snapshot;
  if (int code = model_.read(snapshot)) return code;
  std::string text = cat("the loss of step ", record.step, " is ", std::isnan(record.loss) ? "NaN" : "infinite");
  for (const std::string& name : snapshot.not_finite()) {
    if (std::ranges::find(not_finite_, name) != not_finite_.end()) continue;
    text += cat("; the first tensor with a NaN or an infinity is ", in_quotes(name));
    break;
  }
  if (!options_.checkpoints.empty()) text += "; checkpoints are of steps before it";
  return fail(diag::check_failed, text);
}

int Trainer::check_finite(const Snapshot& snapshot) const {
  for (const std::string& name : snapshot.not_finite()) {
    if (std::ranges::find(not_finite_, name) != not_finite_.end()) continue;
    return fail(diag::check_failed, cat("after step ", position_.step, " ", in_quotes(name),
                                        " has a NaN or an infinity; no file of it is written"));
  }
  return exit_ok;
}

int Trainer::save() {
  if (saved_step_ == position_.step) return exit_ok;
  Snapshot snapshot;
  if (int code = model_.read(snapshot)) return code;
  if (int code = check_finite(snapshot)) return code;
  if (int code = checkpoints_.save(snapshot, position_)) return code;
  saved_step_ = position_.step;
  return exit_ok;
}

int Trainer::end(LiveLine& line) {
  int signal = Interrupt::signal();
  bool has_checkpoints = !options_.checkpoints.empty();
  if (has_checkpoints) {
    if (int code = save()) return code;
  }
  if (signal != 0) {
    line.say(cat("ended by a signal behind step ", position_.step,
                 has_checkpoints ? cat("; ", checkpoints_.path_of(position_.step), " goes on from there with --resume")
                                 : "; without --checkpoints nothing is kept"));
    return status_of_signal(signal);
  }
  if (position_.step < options_.steps) line.say(cat("the time is over behind step ", position_.step));
  if (int code = write_results()) return code;
  return draw();
}

int Trainer::write_results() {
  if (options_.out.empty()) return exit_ok;
  Snapshot snapshot;
  if (int code = model_.read(snapshot)) return code;
  if (int code = check_finite(snapshot)) return code;
  return write_parameters(snapshot, options_.out);
}

int Trainer::draw() const {
  if (curve_.train.empty()) return exit_ok;
  std::fputs(curve_text(curve_, terminal_width(STDOUT_FILENO), output_style().enabled()).c_str(), stdout);
  if (options_.curve.empty()) return exit_ok;
  std::string problem;
  return write_file(options_.curve, curve_svg(curve_), problem) ? exit_ok : fail_write(options_.curve, problem);
}

}  // namespace tessera::tool::train
