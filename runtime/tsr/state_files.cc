#include "runtime/tsr/state_files.h"

#include <charconv>
#include <deque>
#include <filesystem>

#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "support/diagnostic_rows.h"
#include "tools/command_line/sizes.h"

namespace tessera::tool {

namespace {

using format::cat;
using format::in_quotes;

/// The number that a text is; false when it is none from 0 up.
bool read_size(std::string_view text, int64_t& size) {
  auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), size);
  return status == std::errc() && end == text.data() + text.size() && size >= 0;
}

}  // namespace

std::vector<std::string> extents_of(std::string_view shape) {
  std::vector<std::string> extents;
  shape = shape.substr(1, shape.size() - 2);
  for (size_t at = 0; at < shape.size();) {
    // Commas in brackets are those of min and max.
    size_t end = at;
    for (int depth = 0; end < shape.size() && (depth > 0 || shape[end] != ','); ++end) {
      depth += shape[end] == '(' ? 1 : shape[end] == ')' ? -1 : 0;
    }
    extents.emplace_back(shape.substr(at, end - at));
    at = end + 2;
  }
  return extents;
}

void add_names(std::string_view shape, std::set<std::string>& names) {
  auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t i = 0; i < shape.size();) {
    size_t end = i;
    while (end < shape.size() && in_name(shape[end])) ++end;
    std::string_view word = shape.substr(i, end - i);
    bool is_call = end < shape.size() && shape[end] == '(';  // min(A, B)
    if (!word.empty() && !std::isdigit(static_cast<unsigned char>(word[0])) && !is_call) {
      names.insert(std::string(word));
    }
    i = end + 1;
  }
}

int find_states(const std::string& entry, const std::vector<std::string>& assignments,
                const std::vector<tsr_tensor_info_t>& infos, std::vector<StateFile>& states) {
  for (const std::string& text : assignments) {
    Assignment given;
    if (int code = split_assignment(text, "--state", given)) return code;
    StateFile state{given.name, given.value, {}};
    for (size_t i = 0; i < infos.size(); ++i) {
      if (std::string_view(infos[i].name).starts_with(given.name + ".")) state.inputs.push_back(i);
    }
    if (state.inputs.empty()) return fail(cat(entry, " has no state ", in_quotes(given.name)));
    if (!given.value.ends_with(".safetensors")) {
      return fail(cat("state ", in_quotes(given.name), " is kept in a .safetensors file, not in ",
                      in_quotes(given.value)));
    }
    states.push_back(std::move(state));
  }
  return exit_ok;
}

int SizeTable::add_options(const std::vector<std::string>& options) {
  command_line::Sizes given;
  std::string problem = command_line::read_sizes(options, false, given);
  if (!problem.empty()) return fail(problem);
  sizes_ = options_ = std::move(given.named);
  return exit_ok;
}

int SizeTable::check_options(const std::vector<tsr_tensor_info_t>& inputs,
                             const std::vector<tsr_tensor_info_t>& outputs) const {
  std::set<std::string> known;
  for (const auto* infos : {&inputs, &outputs}) {
    for (const tsr_tensor_info_t& info : *infos) add_names(info.shape, known);
  }
  return check_sizes(options_, {known.begin(), known.end()});
}

int SizeTable::add(const tsr_tensor_info_t& info, const std::vector<int64_t>& shape) {
  std::vector<std::string> extents = extents_of(info.shape);
  for (size_t i = 0; i < extents.size() && i < shape.size(); ++i) {
    bool name = extents[i].find_first_of(" +-*/%(") == std::string::npos;
    if (!name) continue;
    sizes_.emplace(extents[i], shape[i]);
    auto option = options_.find(extents[i]);
    if (option == options_.end() || option->second == shape[i]) continue;
    return fail(cat("--dims says that ", extents[i], " is ", option->second, ", and input ", in_quotes(info.name),
                    " that it is ", shape[i]));
  }
  return exit_ok;
}

int SizeTable::resolve(const tsr_tensor_info_t& info, std::vector<int64_t>& shape) const {
  for (const std::string& extent : extents_of(info.shape)) {
    int64_t size = 0;
    auto known = sizes_.find(extent);
    if (known != sizes_.end()) {
      size = known->second;
    } else if (!read_size(extent, size)) {
      return fail(cat("the size ", extent, " of ", in_quotes(info.name), ", ", info.dtype, info.shape,
                      ", is not known; --dims ", extent, "=N gives it"));
    }
    shape.push_back(size);
  }
  return exit_ok;
}

int read_state(Session& session, const StateFile& state, const tsr_tensor_info_t& info, const SizeTable& sizes,
               OwnedTensor*& tensor) {
  format::Dtype dtype = *format::find_dtype(info.dtype);
  if (!std::filesystem::exists(state.path)) {
    std::vector<int64_t> shape;
    if (int code = sizes.resolve(info, shape)) return code;
    if (int code = session.make_tensor(dtype, std::move(shape), "", tensor)) return code;
    return session.write(*tensor, std::string(tensor->bytes, '\0'));
  }
  auto file = format::MappedFile::map(state.path);
  if (!file) return fail_read(state.path, file.error().text);
  auto view = format::SafetensorsView::open(file->bytes());
  if (!view) {
    return fail_content(diag::bad_tensor_file, state.path, file->bytes(), "a safetensors file", view.error().text);
  }
  const format::TensorView* found = view->find(info.name);
  if (!found) return fail(diag::bad_tensor_file, cat(state.path, " has no tensor ", in_quotes(info.name)));
  return session.make_donated(found->dtype, found->shape, found->bytes, tensor);
}

int write_state(const Session& session, PendingFiles& files, const StateFile& state,
                const std::map<std::string, const OwnedTensor*>& tensors) {
  std::vector<format::TensorView> views;
  std::deque<std::string> storage;
  for (const auto& [name, tensor] : tensors) {
    std::string_view content;
    if (int code = session.read(*tensor, storage.emplace_back(), content)) return code;
    views.push_back({name, tensor->dtype, tensor->shape, content});
  }
  auto bytes = format::write_safetensors(std::move(views));
  if (!bytes) return fail(diag::bad_tensor_file, cat(state.path, ": ", bytes.error().text));
  std::string problem;
  return files.write(state.path, *bytes, problem) ? exit_ok : fail_write(state.path, problem);
}

}  // namespace tessera::tool
