#include "lsp/workspace/workspace.h"

#include <algorithm>

#include "frontend/binding/imports.h"
#include "frontend/syntax/include_roots.h"
#include "frontend/values/embedded.h"
#include "lsp/protocol/uri.h"
#include "lsp/workspace/library_files.h"
#include "support/file.h"

namespace tessera::lsp {

namespace fs = std::filesystem;

namespace {

/// Dead text that is kept before a new source manager begins.
constexpr size_t most_dead_bytes = size_t(4) << 20;

bool is_source(const fs::path& path) { return path.extension() == ".tsr"; }

}  // namespace

FileModel& Workspace::make(const std::string& path, bool is_library) {
  std::unique_ptr<FileModel>& slot = models_[path];
  if (!slot) slot = std::make_unique<FileModel>(path, is_library);
  return *slot;
}

ParseOptions Workspace::parse_options() {
  ParseOptions parse;
  parse.include_paths = options.include_paths;
  parse.defines = options.defines;
  parse.read = [this](const std::string& path, std::string& text, std::string& error) {
    return read(path, text, error);
  };
  return parse;
}

void Workspace::set_text(FileModel& model, std::string text) {
  model.set_text(std::move(text), store_, parse_options());
  ++generation_;
}

bool Workspace::renew_if_due() {
  if (store_.bytes() <= most_dead_bytes) return false;
  size_t living = 0;
  for (const auto& [path, known] : models_) living += known->text().size();
  if (store_.bytes() <= living + most_dead_bytes) return false;
  store_.renew();
  for (auto& [path, model] : models_) model->set_text(model->text(), store_, parse_options());
  ++generation_;
  return true;
}

void Workspace::reparse_includers(const std::string& path) {
  for (auto& [other, model] : models_) {
    const std::vector<std::string>& included = model->included();
    // One that could not be found may be there now.
    bool concerned = model->is_whole() && other != path &&
                     (std::find(included.begin(), included.end(), path) != included.end() ||
                      !model->pieces()[0]->diagnostics.empty());
    if (concerned) model->set_text(model->text(), store_, parse_options());
  }
}

Document& Workspace::open(const std::string& uri, int64_t version, std::string text) {
  std::string path = canonical(path_of(uri));
  FileModel& model = make(path, path.starts_with(library_folder));
  Document& document = documents_[uri];
  document = {uri, version, &model};
  set_text(model, std::move(text));
  reparse_includers(path);
  return document;
}

bool Workspace::change(const std::string& uri, int64_t version, const std::vector<TextEdit>& edits) {
  Document* known = document(uri);
  if (!known) return false;
  std::string text = known->model->text();
  apply(text, edits, options.encoding);
  known->version = version;
  set_text(*known->model, std::move(text));
  reparse_includers(known->model->path());
  return true;
}

void Workspace::close(const std::string& uri) {
  Document* known = document(uri);
  if (!known) return;
  std::string path = known->model->path();
  documents_.erase(std::string(known->uri));
  if (document_of(path)) return;  // under another URI
  models_.erase(path);
  disk_.erase(path);
  ++generation_;
  reparse_includers(path);
}

Document* Workspace::document(const std::string& uri) {
  auto found = documents_.find(uri);
  return found == documents_.end() ? document_of(canonical(path_of(uri))) : &found->second;
}

Document* Workspace::document_of(std::string_view path) {
  for (auto& [uri, document] : documents_) {
    if (document.model->path() == path) return &document;
  }
  return nullptr;
}

std::map<std::string, std::string> Workspace::unsaved() const {
  std::map<std::string, std::string> texts;
  for (const auto& [uri, document] : documents_) {
    const FileModel& model = *document.model;
    std::error_code error;
    std::string saved, reason;
    bool may_be_saved = fs::file_size(model.path(), error) == model.text().size() && !error;
    bool is_saved = may_be_saved && read_file(model.path(), saved, reason) && saved == model.text();
    if (!is_saved && !model.is_library() && model.path().starts_with('/')) texts[model.path()] = model.text();
  }
  return texts;
}

FileModel* Workspace::known(const std::string& path) const {
  auto found = models_.find(path);
  return found == models_.end() ? nullptr : found->second.get();
}

const std::vector<std::string>& Workspace::includers(const std::string& path) {
  if (includers_generation_ != generation_) {
    includers_.clear();
    for (const auto& [other, model] : models_) {
      for (const std::string& included : model->included()) includers_[included].push_back(other);
    }
    includers_generation_ = generation_;
  }
  static const std::vector<std::string> none;
  auto found = includers_.find(path);
  return found == includers_.end() ? none : found->second;
}

std::vector<FileModel*> Workspace::with_included(FileModel& file) {
  std::vector<FileModel*> files = {&file};
  for (const std::string& path : file.included()) {
    if (FileModel* included = model(path)) files.push_back(included);
  }
  return files;
}

std::vector<FileModel*> Workspace::scope_of(FileModel& file) {
  std::vector<FileModel*> files = with_included(file);
  // Reading a file may make another list, and show that a file of it is gone.
  std::vector<std::string> around = includers(file.path());
  for (const std::string& path : around) {
    FileModel* includer = model(path);
    if (!includer) continue;
    for (FileModel* other : with_included(*includer)) {
      if (std::find(files.begin(), files.end(), other) == files.end()) files.push_back(other);
    }
  }
  return files;
}

std::string Workspace::canonical(std::string path) const {
  std::string below = library_path_of(path);
  return below.empty() ? path : below;
}

FileModel* Workspace::from_disk(const std::string& path) {
  OnDisk& state = disk_[path];
  FileModel* model = known(path);
  if (state.checked && model) return model;
  state.checked = true;
  std::error_code error;
  uintmax_t size = fs::file_size(path, error);
  fs::file_time_type time = error ? fs::file_time_type() : fs::last_write_time(path, error);
  std::string text, reason;
  std::vector<std::string> folders = readable_folders();
  bool readable = !error && size <= max_read_bytes && fs::is_regular_file(path, error);
  bool is_same = readable && model && state.time == time && state.size == size;
  if (is_same && refuse_outside(path, folders).empty()) return model;
  if (!readable || !read_inside(path, folders, text, reason)) {
    if (model) ++generation_;
    models_.erase(path);
    disk_.erase(path);
    return nullptr;
  }
  state.time = time;
  state.size = size;
  FileModel& made = make(path, false);
  set_text(made, std::move(text));
  return &made;
}

FileModel* Workspace::model(const std::string& path) {
  if (document_of(path)) return known(path);
  if (!path.starts_with(library_folder)) return from_disk(path);
  if (FileModel* model = known(path)) return model;
  auto text = frontend::embedded_file(std::string_view(path).substr(library_folder.size()));
  if (!text) return nullptr;
  FileModel& made = make(path, true);
  set_text(made, std::string(*text));
  return &made;
}

std::string Workspace::resolve_import(std::string_view dotted, const std::string& from) {
  names::ModulePlace place =
      names::place_of_module(dotted, from, from.starts_with(library_folder), options.include_paths);
  for (std::string& path : place.paths) {
    if (place.kind == names::ModulePlace::Kind::Library) path.insert(0, library_folder);
    if (model(path)) return path;
  }
  return "";
}

std::string Workspace::uri(const FileModel& model) const {
  for (const auto& [uri, document] : documents_) {
    if (document.model == &model) return uri;
  }
  return uri_of(model.is_library() ? write_library_file(model.path()) : model.path());
}

bool Workspace::read(const std::string& path, std::string& text, std::string& error) {
  if (Document* open = document_of(path)) {
    text = open->model->text();
    return true;
  }
  if (path.size() > 4096) {
    error = "its name is too long";
    return false;
  }
  return read_inside(path, readable_folders(), text, error);
}

FileModel* Workspace::asked_for(const std::string& path) {
  if (path.starts_with('/')) asked_folders_.insert(fs::path(path).parent_path().string());
  return model(path);
}

std::vector<std::string> Workspace::readable_folders() const {
  std::vector<std::string> folders = roots_;
  folders.insert(folders.end(), options.include_paths.begin(), options.include_paths.end());
  folders.insert(folders.end(), asked_folders_.begin(), asked_folders_.end());
  for (const auto& [uri, document] : documents_) {
    std::string folder = fs::path(document.model->path()).parent_path().string();
    bool is_new = folder.starts_with('/') && std::find(folders.begin(), folders.end(), folder) == folders.end();
    if (is_new) folders.push_back(std::move(folder));
  }
  if (folders.empty()) folders.emplace_back("/dev/null");  // none at all would stand for any
  return folders;
}

void Workspace::add_root(const std::string& uri) {
  std::string path = path_of(uri);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  bool known = std::find(roots_.begin(), roots_.end(), path) != roots_.end();
  if (path.starts_with('/') && !known) roots_.push_back(path);
  scanned_ = false;
}

void Workspace::remove_root(const std::string& uri) {
  std::string path = path_of(uri);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  roots_.erase(std::remove(roots_.begin(), roots_.end(), path), roots_.end());
  scanned_ = false;
}

void Workspace::forget_disk() {
  look_again();
  scanned_ = false;
  ++generation_;
  for (auto& [path, model] : models_) {
    if (model->has_directives()) model->set_text(model->text(), store_, parse_options());
  }
}

void Workspace::changed_on_disk(const std::string& path) {
  scanned_ = false;
  if (document_of(path)) return;  // what is typed counts
  auto known = disk_.find(path);
  if (known != disk_.end()) known->second.checked = false;
  ++generation_;
  reparse_includers(path);
}

void Workspace::look_again() {
  for (auto& [path, state] : disk_) state.checked = false;
}

std::vector<FileModel*> Workspace::all_files() {
  if (!scanned_) {
    found_.clear();
    for (const std::string& root : roots_) {
      std::error_code error;
      auto flags = fs::directory_options::skip_permission_denied;
      fs::recursive_directory_iterator at(root, flags, error), end;
      for (size_t seen = 0; !error && at != end && found_.size() < max_indexed_files; at.increment(error)) {
        constexpr size_t most_entries = 200'000;
        if (++seen > most_entries) break;
        std::string name = at->path().filename().string();
        if (name.starts_with('.') || name == "node_modules") at.disable_recursion_pending();
        std::error_code ignored;
        if (!is_source(at->path()) || at->file_size(ignored) > max_indexed_bytes || ignored) continue;
        found_.push_back(at->path().lexically_normal().string());
      }
    }
    scanned_ = true;
  }
  std::vector<FileModel*> files;
  for (const auto& [uri, document] : documents_) {
    if (std::find(files.begin(), files.end(), document.model) == files.end()) files.push_back(document.model);
  }
  for (const std::string& path : found_) {
    FileModel* file = model(path);
    if (file && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  }
  return files;
}

}  // namespace tessera::lsp
