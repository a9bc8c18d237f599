#include "lsp/server/publisher.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace tessera::lsp {

namespace {

/// Those of a file: the same one, of several documents that the file is part of, once.
std::vector<const PlacedDiagnostic*> in_order(std::vector<const PlacedDiagnostic*> list) {
  auto shown = [](const PlacedDiagnostic* d) { return std::tie(d->range, d->id, d->message, d->notes, d->helps); };
  auto before = [&](const PlacedDiagnostic* a, const PlacedDiagnostic* b) { return shown(a) < shown(b); };
  std::set<const PlacedDiagnostic*, decltype(before)> said(before);
  std::erase_if(list, [&](const PlacedDiagnostic* diagnostic) { return !said.insert(diagnostic).second; });
  // What the file's own check found needs no call that leads there.
  auto place = [](const PlacedDiagnostic* d) { return std::tuple(d->range.begin, d->range.end, d->id, d->message); };
  std::set<decltype(place(nullptr))> own;
  for (const PlacedDiagnostic* diagnostic : list) {
    if (diagnostic->notes.empty()) own.insert(place(diagnostic));
  }
  std::erase_if(list, [&](const PlacedDiagnostic* diagnostic) {
    return !diagnostic->notes.empty() && own.count(place(diagnostic)) != 0;
  });
  std::stable_sort(list.begin(), list.end(), [](const PlacedDiagnostic* a, const PlacedDiagnostic* b) {
    return a->range.begin < b->range.begin;
  });
  return list;
}

}  // namespace

void Publisher::changed(const std::string& path) {
  auto mark = [&](const std::string& uri) {
    waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), uri), waiting_.end());
    waiting_.push_back(uri);
  };
  for (const auto& [uri, document] : context_.workspace.documents()) {
    const AnalysisResult* known = result(uri);
    bool reads = known && std::find(known->files.begin(), known->files.end(), path) != known->files.end();
    if (reads && document.model->path() != path) mark(uri);
  }
  if (Document* own = context_.workspace.document_of(path)) mark(own->uri);
}

void Publisher::all_changed() {
  caches_.clear();
  look_again();
}

void Publisher::look_again() {
  waiting_.clear();
  for (const auto& [uri, document] : context_.workspace.documents()) waiting_.push_back(uri);
}

void Publisher::closed(const std::string& uri, const std::string& path) {
  waiting_.erase(std::remove(waiting_.begin(), waiting_.end(), uri), waiting_.end());
  results_.erase(uri);
  caches_.erase(uri);
  changed(path);
  // Findings of other files are about a text that is gone: they are reported again if they hold on
  // disk, too.
  if (!context_.workspace.document_of(path)) {
    for (auto& [other, result] : results_) {
      std::erase_if(result.diagnostics, [&](const PlacedDiagnostic& found) { return found.path == path; });
    }
  }
  publish();
  // The client forgets a version with the document.
  told_.erase(uri);
}

const AnalysisResult* Publisher::result(const std::string& uri) const {
  auto found = results_.find(uri);
  return found == results_.end() ? nullptr : &found->second;
}

bool Publisher::work() {
  if (waiting_.empty()) return false;
  std::string uri = waiting_.back();
  waiting_.pop_back();
  Document* document = context_.workspace.document(uri);
  if (!document) return true;
  begins_(uri);
  AnalysisResult result = analyse(context_.workspace, *document->model, caches_[uri], library_,
                                  context_.is_cancelled);
  begins_("");
  if (!result.finished) {
    waiting_.insert(waiting_.begin(), uri);
    return true;
  }
  results_[uri] = std::move(result);
  publish();
  return true;
}

bool Publisher::takes_in(const Document& document, const std::string& path) {
  const AnalysisResult* known = result(document.uri);
  const std::string& own = document.model->path();
  if (!known || own == path) return false;
  const std::vector<std::string>& includers = context_.workspace.includers(path);
  return std::any_of(includers.begin(), includers.end(), [&](const std::string& from) {
    bool is_read = from == own || std::find(known->files.begin(), known->files.end(), from) != known->files.end();
    return from != path && is_read;
  });
}

bool Publisher::is_part(const std::string& path) {
  const auto& documents = context_.workspace.documents();
  return std::any_of(documents.begin(), documents.end(),
                     [&](const auto& entry) { return takes_in(entry.second, path); });
}

/// An analysis that says what there is to say of a file is of an older text.
bool Publisher::waits(const std::string& path) {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const std::string& uri) {
    Document* document = context_.workspace.document(uri);
    return document && (document->model->path() == path || takes_in(*document, path));
  });
}

/// A file that others include is reported as part of these, not on its own.
std::map<std::string, std::vector<const PlacedDiagnostic*>> Publisher::by_path(Which which) {
  std::map<std::string, std::vector<const PlacedDiagnostic*>> lists;
  for (const auto& [uri, document] : context_.workspace.documents()) {
    const AnalysisResult* known = result(uri);
    bool is_old = std::find(waiting_.begin(), waiting_.end(), uri) != waiting_.end();
    if (!known || (is_old && which == Which::Current)) continue;
    const std::string& own = document.model->path();
    lists[own];
    bool says_own = !is_part(own);
    for (const PlacedDiagnostic& diagnostic : known->diagnostics) {
      if (says_own || diagnostic.path != own) lists[diagnostic.path].push_back(&diagnostic);
    }
  }
  return lists;
}

std::vector<const PlacedDiagnostic*> Publisher::said_of(const std::string& path) {
  return in_order(by_path(Which::Current)[path]);
}

void Publisher::publish() {
  std::set<std::string> gone;
  for (const auto& [uri, told] : told_) gone.insert(uri);
  for (const auto& [path, list] : by_path(Which::All)) {
    FileModel* file = context_.workspace.model(path);
    if (!file) continue;
    gone.erase(context_.workspace.uri(*file));
    publish_file(path, list);
  }
  for (const std::string& uri : gone) {
    notify_("textDocument/publishDiagnostics", {{"uri", uri}, {"diagnostics", Json::array()}});
    told_.erase(uri);
  }
}

/// No more than a reader looks at. More than those of the list were found where it `is_cut`.
Json Publisher::diagnostics_of(const FileModel& file, std::vector<const PlacedDiagnostic*> list, bool is_cut) {
  list = in_order(std::move(list));
  Json made = Json::array();
  for (size_t i = 0; i < std::min(list.size(), max_diagnostics); ++i) {
    made.push_back(diagnostic_json(context_, file, *list[i]));
  }
  is_cut = is_cut || list.size() > made.size();
  if (is_cut && !made.empty()) made.push_back(cut_json(made.back()["range"]));
  return made;
}

void Publisher::publish_file(const std::string& path, const std::vector<const PlacedDiagnostic*>& list) {
  FileModel* file = context_.workspace.model(path);
  Document* document = context_.workspace.document_of(path);
  const AnalysisResult* own = document ? result(document->uri) : nullptr;
  Json diagnostics = diagnostics_of(*file, list, own && own->is_cut);
  std::string uri = context_.workspace.uri(*file);
  // A document's result may be older than its text: it is then published after the next analysis.
  int64_t version = document ? document->version : -1;
  std::pair<int64_t, std::string> state(version, to_line(diagnostics));
  auto known = told_.find(uri);
  bool same = known != told_.end() && known->second == state;
  if (same || (document && known != told_.end() && waits(path))) return;
  if (!document && diagnostics.empty() && known == told_.end()) return;
  told_[uri] = std::move(state);
  Json params = {{"uri", uri}, {"diagnostics", std::move(diagnostics)}};
  if (document) params["version"] = version;
  notify_("textDocument/publishDiagnostics", std::move(params));
}

}  // namespace tessera::lsp
