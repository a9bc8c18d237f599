#include "runtime/tsr/train/batches.h"

#include <algorithm>
#include <set>

#include "ir/numbers/philox.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"

namespace tessera::tool::train {

namespace {

using format::cat;
using format::in_quotes;

std::string title_of(const tsr_tensor_info_t& info) {
  return cat("the input ", in_quotes(info.name), ", ", info.dtype, info.shape, ",");
}

/// The number below `count` that a random one stands for.
int64_t below(uint64_t random, int64_t count) {
  return int64_t((static_cast<unsigned __int128>(random) * uint64_t(count)) >> 64);
}

bool is_number(const std::string& text) { return text.find_first_not_of("0123456789") == text.npos; }

}  // namespace

uint64_t random_number(uint64_t seed, Purpose purpose, uint64_t step, uint32_t row) {
  philox::Counter counter = {uint32_t(step), uint32_t(step >> 32), row, uint32_t(purpose)};
  philox::Counter words = philox::block(counter, philox::Key{uint32_t(seed), uint32_t(seed >> 32)});
  return words[0] | uint64_t(words[1]) << 32;
}

int Batches::open(const Session& session, Entry& entry, const Data& data, const SizeTable& sizes, Range range,
                  const std::string& part) {
  data_ = &data;
  range_ = range;
  for (size_t i : entry.inputs_of(Role::Data)) {
    const tsr_tensor_info_t& info = entry.input(i);
    std::vector<int64_t> shape;
    if (int code = sizes.resolve(info, shape)) return code;
    if (int code = open_input(info, data.rows_of(info.name), shape)) return code;
    if (int code = inputs_.back().tensor.reshape(session, info, shape, false)) return code;
    entry.bind(i, inputs_.back().tensor);
  }
  return check_room(part);
}

int Batches::open_input(const tsr_tensor_info_t& info, const Rows* rows, const std::vector<int64_t>& shape) {
  if (!inputs_.empty() && batch_ != shape[0]) {
    return fail(cat(title_of(info), " has ", shape[0], " rows, and other data ", batch_));
  }
  batch_ = shape[0];
  inputs_.emplace_back().rows = rows;
  if (rows) return check_rows(info, *rows, shape);
  if (int code = check_tokens(info)) return code;
  if (length_ != 0) return fail(cat(title_of(info), " is a second one for tokens; --data ", info.name,
                                    "=FILE.npy gives it rows of an array"));
  length_ = shape[1];
  return length_ > 0 ? exit_ok : fail(cat(title_of(info), " has rows of no tokens"));
}

int Batches::check_rows(const tsr_tensor_info_t& info, const Rows& rows, const std::vector<int64_t>& shape) const {
  std::vector<int64_t> wanted(shape.begin() + 1, shape.end()), given(rows.shape.begin() + 1, rows.shape.end());
  if (wanted != given) {
    return fail(cat(rows.path, " has rows ", format::shape_text(given), ", and ", title_of(info), " takes ",
                    format::shape_text(wanted)));
  }
  if (rows.dtype == *format::find_dtype(info.dtype)) return exit_ok;
  return fail(cat(rows.path, " has dtype ", format::dtype_name(rows.dtype), ", and ", title_of(info), " takes ",
                  info.dtype));
}

int Batches::check_tokens(const tsr_tensor_info_t& info) const {
  bool takes_tokens = info.ndim == 2 && is_integer(*format::find_dtype(info.dtype));
  if (data_->tokens().empty() || !takes_tokens) {
    std::string file = takes_tokens ? "--data FILE names a text or tokens for it, or --data " : "--data ";
    return fail(cat(title_of(info), " has no data; ", file, info.name, "=FILE.npy an array"));
  }
  return data_->tokens().check_fit(info.name, *format::find_dtype(info.dtype));
}

int Batches::check_room(const std::string& part) const {
  if (inputs_.empty() || place_count() > 0) return exit_ok;
  std::string help = part == "held-out" ? "; --held-out gives another part, 0 none" : "";
  if (length_) {
    return fail(cat("the ", part, " data have ", range_.end - range_.begin, " tokens, and one row takes ", length_,
                    help));
  }
  return fail(cat("the ", part, " data have no rows", help));
}

Batches::Contents Batches::at(const std::vector<int64_t>& places) const {
  Contents contents;
  for (const Input& input : inputs_) {
    std::string& bytes = contents.emplace_back();
    bytes.reserve(input.tensor.bytes());
    for (int64_t place : places) {
      if (input.rows) {
        size_t size = input.rows->row_bytes();
        bytes += input.rows->bytes.substr(size_t(place) * size, size);
      } else {
        data_->tokens().append(place, length_, input.tensor.dtype(), bytes);
      }
    }
  }
  return contents;
}

Batches::Contents Batches::of_step(uint64_t seed, uint64_t step) const {
  std::vector<int64_t> places(static_cast<size_t>(batch_));
  for (size_t row = 0; row < places.size(); ++row) {
    uint64_t random = random_number(seed, Purpose::Rows, step, uint32_t(row));
    places[row] = range_.begin + below(random, place_count());
  }
  return at(places);
}

Batches::Contents Batches::of_evaluation(int64_t i, int64_t count) const {
  std::vector<int64_t> places(static_cast<size_t>(batch_));
  for (size_t row = 0; row < places.size(); ++row) {
    __int128 at = __int128(i * batch_ + int64_t(row)) * place_count();
    places[row] = range_.begin + int64_t(at / (count * batch_));
  }
  return at(places);
}

int Batches::write(const Session& session, const Contents& contents) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (int code = inputs_[i].tensor.write(session, contents[i])) return code;
  }
  return exit_ok;
}

Batches::Contents Feeder::take(uint64_t step, bool goes_on) {
  Batches::Contents contents = next_.valid() ? next_.get() : batches_.of_step(seed_, step);
  if (goes_on) {
    next_ = std::async(std::launch::async, [this, step] { return batches_.of_step(seed_, step + 1); });
  }
  return contents;
}

int add_batch(const Entry& entry, int64_t batch, std::vector<std::string>& dims) {
  for (size_t i : entry.inputs_of(Role::Data)) {
    const tsr_tensor_info_t& info = entry.input(i);
    std::string extent = extents_of(info.shape)[0];
    if (is_number(extent)) {
      if (batch == 0 || extent == std::to_string(batch)) continue;
      return fail(cat("--batch says ", batch, ", and ", title_of(info), " always has ", extent, " rows"));
    }
    auto is_it = [&](const std::string& text) { return cat(",", text).find(cat(",", extent, "=")) != text.npos; };
    bool is_given = std::ranges::any_of(dims, is_it);
    auto agrees = [&](const std::string& text) {
      return !is_it(text) || cat(",", text, ",").find(cat(",", extent, "=", batch, ",")) != text.npos;
    };
    if (batch != 0 && !std::ranges::all_of(dims, agrees)) {
      return fail(cat("--batch says ", batch, ", and --dims gives another number for ", extent));
    }
    if (batch != 0 && !is_given) dims.push_back(cat(extent, "=", batch));
    if (batch != 0 || is_given) continue;
    return fail(cat("how many rows a batch has is not known: ", extent, " of ", title_of(info),
                    " is a size that --batch N gives"));
  }
  return exit_ok;
}

int add_sizes(const Entry& entry, const Data& data, SizeTable& sizes) {
  for (size_t i : entry.inputs_of(Role::Data)) {
    const tsr_tensor_info_t& info = entry.input(i);
    const Rows* rows = data.rows_of(info.name);
    if (!rows) continue;
    if (size_t(info.ndim) != rows->shape.size()) {
      return fail(cat(rows->path, " has shape ", format::shape_text(rows->shape), ", and ", title_of(info),
                      " has another rank"));
    }
    // Its first extent is how many rows there are, not how many a batch has.
    std::vector<std::string> extents = extents_of(info.shape);
    tsr_tensor_info_t row = info;
    std::string shape = "[";
    for (size_t axis = 1; axis < extents.size(); ++axis) shape += (axis > 1 ? ", " : "") + extents[axis];
    shape += "]";
    row.shape = shape.c_str();
    if (int code = sizes.add(row, {rows->shape.begin() + 1, rows->shape.end()})) return code;
  }
  return exit_ok;
}

std::vector<std::string> data_inputs(const std::vector<const Entry*>& entries) {
  std::set<std::string> names;
  for (const Entry* entry : entries) {
    for (size_t i : entry->inputs_of(Role::Data)) names.insert(entry->input(i).name);
  }
  return {names.begin(), names.end()};
}

}  // namespace tessera::tool::train
