#pragma once
// What happened in each step, as lines of JSON or as a table with commas, by the file's ending.

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

namespace tessera::tool::train {

/// One step. Numbers that are not there are left out, or are empty cells.
struct Record {
  uint64_t step = 0;  ///< how many are done, this one included
  float loss = 0;
  std::optional<float> held_out;
  std::vector<double> metrics;  ///< beside the log's names
  uint64_t units = 0;           ///< tokens or rows that all steps so far were given
  double seconds = 0;           ///< since this run began
};

/// The shortest text of a number, as JSON and other programs read it; "null" for one that is not finite.
std::string number_text(float value);
std::string number_text(double value);

/// Functions return 0, or the exit code after saying what is wrong.
class Log {
 public:
  Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;
  ~Log();

  static int check_path(const std::string& path);
  /// Opens a file anew, or goes on after its records up to step `done`, where that is not 0.
  int open(const std::string& path, uint64_t done, std::vector<std::string> metrics, const std::string& unit);
  int add(const Record& record);

 private:
  std::string head() const;
  std::string json_line(const Record& record) const;
  std::string csv_line(const Record& record) const;
  int keep_until(uint64_t done) const;

  std::string path_;
  bool is_json_ = false;
  std::vector<std::string> metrics_;
  std::string unit_;
  std::FILE* file_ = nullptr;
};

}  // namespace tessera::tool::train
