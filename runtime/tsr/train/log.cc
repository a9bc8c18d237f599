#include "runtime/tsr/train/log.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "runtime/files/json.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "support/file.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::in_quotes;

template <typename T>
std::string shortest(T value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

/// The step of a record; nothing for a head, or a line that a killed run left.
std::optional<uint64_t> step_of(std::string_view line, bool is_json) {
  constexpr std::string_view begin = R"({"step":)";
  if (is_json && !line.starts_with(begin)) return std::nullopt;
  if (is_json && !line.ends_with('}')) return std::nullopt;
  if (is_json) line.remove_prefix(begin.size());
  uint64_t step = 0;
  auto [end, status] = std::from_chars(line.data(), line.data() + line.size(), step);
  bool is_whole = status == std::errc() && end != line.data() + line.size() && *end == ',';
  return is_whole ? std::optional(step) : std::nullopt;
}

/// A cell of a table; quotes of a name are doubled.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == text.npos) return text;
  std::string quoted = "\"";
  for (char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string number_text(float value) { return shortest(value); }
std::string number_text(double value) { return shortest(value); }

Log::~Log() {
  if (file_) std::fclose(file_);
}

int Log::check_path(const std::string& path) {
  if (path.ends_with(".jsonl") || path.ends_with(".csv")) return exit_ok;
  return fail(cat("--log writes .jsonl or .csv, not ", in_quotes(path)));
}

int Log::open(const std::string& path, uint64_t done, std::vector<std::string> metrics, const std::string& unit) {
  path_ = path;
  is_json_ = path.ends_with(".jsonl");
  metrics_ = std::move(metrics);
  unit_ = unit;
  bool goes_on = done > 0 && std::filesystem::exists(path);
  if (goes_on) {
    if (int code = keep_until(done)) return code;
  }
  file_ = std::fopen(path.c_str(), goes_on ? "a" : "w");
  if (!file_) return fail_write(path, std::strerror(errno));
  if (is_json_ || goes_on) return exit_ok;
  std::string line = head();
  bool is_written = std::fwrite(line.data(), 1, line.size(), file_) == line.size();
  return is_written ? exit_ok : fail_write(path_, std::strerror(errno));
}

int Log::keep_until(uint64_t done) const {
  std::string text, kept = is_json_ ? "" : head(), problem;
  if (!read_file(path_, text, problem)) return fail_read(path_, problem);
  if (!is_json_ && !text.starts_with(kept)) {
    return fail(cat(path_, " is the log of other numbers; it begins with other columns"));
  }
  for (size_t at = 0; at < text.size();) {
    size_t end = text.find('\n', at);
    if (end == text.npos) break;  // a line that has no end was being written
    std::string_view line = std::string_view(text).substr(at, end - at);
    std::optional<uint64_t> step = step_of(line, is_json_);
    if (step && *step <= done) kept += cat(line, "\n");
    at = end + 1;
  }
  return write_file(path_, kept, problem) ? exit_ok : fail_write(path_, problem);
}

std::string Log::head() const {
  std::string line = "step,loss,held_out";
  for (const std::string& name : metrics_) line += cat(",", cell(name));
  return line + cat(",", unit_, ",seconds\n");
}

std::string Log::json_line(const Record& record) const {
  std::string line = cat(R"({"step":)", record.step, R"(,"loss":)", number_text(record.loss));
  if (record.held_out) line += cat(R"(,"held_out":)", number_text(*record.held_out));
  for (size_t i = 0; i < metrics_.size(); ++i) {
    line += cat(",", format::Json(metrics_[i]).compact(), ":", number_text(record.metrics[i]));
  }
  return line + cat(",\"", unit_, "\":", record.units, R"(,"seconds":)", number_text(record.seconds), "}\n");
}

std::string Log::csv_line(const Record& record) const {
  auto number = [](auto value) { return std::isfinite(value) ? number_text(value) : std::string(); };
  std::string line = cat(record.step, ",", number(record.loss), ",");
  if (record.held_out) line += number(*record.held_out);
  for (double metric : record.metrics) line += cat(",", number(metric));
  return line + cat(",", record.units, ",", number_text(record.seconds), "\n");
}

int Log::add(const Record& record) {
  if (!file_) return exit_ok;
  std::string line = is_json_ ? json_line(record) : csv_line(record);
  bool is_written = std::fwrite(line.data(), 1, line.size(), file_) == line.size() && std::fflush(file_) == 0;
  return is_written ? exit_ok : fail_write(path_, std::strerror(errno));
}

}  // namespace tessera::tool::train
