#include "runtime/tsr/train/checkpoints.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "runtime/files/file.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"

namespace tessera::tool::train {

namespace {

namespace fs = std::filesystem;
using format::cat;
using format::in_quotes;

constexpr std::string_view prefix = "step-", suffix = ".safetensors", version = "1";

bool read_step(std::string_view text, uint64_t& step) {
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), step);
  return status == std::errc() && end == text.data() + text.size();
}

int write_tensors(const std::string& path, std::vector<format::TensorView> tensors,
                  const std::map<std::string, std::string>& metadata) {
  auto bytes = format::write_safetensors(std::move(tensors), metadata);
  if (!bytes) return fail(diag::bad_tensor_file, cat(path, ": ", bytes.error().text));
  std::string problem;
  return write_file(path, *bytes, problem) ? exit_ok : fail_write(path, problem);
}

/// A number of a checkpoint's metadata; says in `problem` that there is none.
uint64_t number_of(const std::map<std::string, std::string>& metadata, const std::string& key, std::string& problem) {
  uint64_t number = 0;
  auto found = metadata.find(key);
  if (found == metadata.end() || !read_step(found->second, number)) problem = cat("its metadata have no ", key);
  return number;
}

}  // namespace

Checkpoints::Checkpoints(std::string folder, int keep, std::string bundle)
    : folder_(std::move(folder)), keep_(size_t(keep)), bundle_(fs::path(bundle).filename()) {}

std::string Checkpoints::path_of(uint64_t step) const {
  std::string digits = std::to_string(step);
  if (digits.size() < 6) digits.insert(0, 6 - digits.size(), '0');
  return cat(folder_, folder_.ends_with('/') ? "" : "/", prefix, digits, suffix);
}

std::vector<uint64_t> Checkpoints::steps() const {
  std::vector<uint64_t> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    std::string name = entry.path().filename();
    if (!name.starts_with(prefix) || !name.ends_with(suffix)) continue;
    std::string digits = name.substr(prefix.size(), name.size() - prefix.size() - suffix.size());
    uint64_t step = 0;
    if (read_step(digits, step) && path_of(step).ends_with(cat("/", name))) found.push_back(step);
  }
  std::sort(found.rbegin(), found.rend());
  return found;
}

int Checkpoints::open(bool resume) const {
  std::error_code problem;
  fs::create_directories(folder_, problem);
  if (problem || !fs::is_directory(folder_)) {
    return fail_write(folder_, problem ? problem.message() : "it is not a folder");
  }
  std::vector<uint64_t> there = steps();
  if (resume || there.empty()) return exit_ok;
  return fail(cat(in_quotes(folder_), " has checkpoints up to step ", there[0],
                  "; --resume goes on from there, or another folder begins anew"));
}

int Checkpoints::resume(Model& model, Position& position, bool& found) const {
  found = false;
  std::vector<uint64_t> there = steps();
  for (uint64_t step : there) {
    std::string unreadable, path = path_of(step);
    if (int code = read(model, path, position, unreadable)) return code;
    if (unreadable.empty()) {
      found = true;
      return exit_ok;
    }
    std::fprintf(stderr, "tsr: %s\n", format::one_line(cat(path, " cannot be used: ", unreadable)).c_str());
  }
  return there.empty() ? exit_ok : fail(cat("no checkpoint in ", in_quotes(folder_), " can be read"));
}

int Checkpoints::read(Model& model, const std::string& path, Position& position, std::string& unreadable) const {
  auto file = format::MappedFile::map(path);
  if (!file) return unreadable = file.error().text, exit_ok;
  auto view = format::SafetensorsView::open(file->bytes());
  if (!view) return unreadable = view.error().text, exit_ok;
  auto metadata = format::safetensors_metadata(file->bytes());
  if (!metadata) return unreadable = metadata.error().text, exit_ok;
  Position there{number_of(*metadata, "step", unreadable), number_of(*metadata, "seed", unreadable), {}};
  if (auto data = metadata->find("data"); data != metadata->end()) there.data = data->second;
  uint64_t format_version = number_of(*metadata, "format_version", unreadable);
  if (!unreadable.empty()) return exit_ok;
  if (std::to_string(format_version) != version) {
    return fail(cat(path, " has version ", format_version, " of the format; this program knows ", version));
  }
  std::string problem;
  if (int code = model.write(view->tensors(), problem)) return code;
  if (!problem.empty()) return fail(diag::bad_tensor_file, cat(path, " is of another model: ", problem));
  position = there;
  return exit_ok;
}

int Checkpoints::save(const Snapshot& snapshot, const Position& position) const {
  std::map<std::string, std::string> metadata = {{"format_version", std::string(version)},
                                                 {"step", std::to_string(position.step)},
                                                 {"seed", std::to_string(position.seed)},
                                                 {"data", position.data},
                                                 {"bundle", bundle_}};
  if (int code = write_tensors(path_of(position.step), snapshot.tensors, metadata)) return code;
  std::vector<uint64_t> there = steps();
  for (size_t i = keep_; i < there.size(); ++i) {
    std::error_code ignored;
    fs::remove(path_of(there[i]), ignored);
  }
  return exit_ok;
}

int write_parameters(const Snapshot& snapshot, const std::string& path) {
  std::vector<format::TensorView> tensors(snapshot.tensors.begin(),
                                          snapshot.tensors.begin() + long(snapshot.parameters));
  return write_tensors(path, std::move(tensors), {});
}

}  // namespace tessera::tool::train
