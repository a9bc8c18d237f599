#pragma once
// Keeps track of the diagnostics that the client has received, and of those still to be sent.
// Analysis is background work: an edit marks files, work() takes them one by one, and a result that
// is older than an edit is dropped.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lsp/features/diagnostics.h"

namespace tessera::lsp {

class Publisher {
 public:
  using Notify = std::function<void(const std::string& method, Json params)>;
  using Begins = std::function<void(const std::string& uri)>;
  /// `begins` is called with what is analysed, and an empty URI when that is done.
  Publisher(Context& context, Notify notify, Begins begins)
      : context_(context), notify_(std::move(notify)), begins_(std::move(begins)) {}

  /// A file changed: it and the open files whose analysis read it are looked at again.
  void changed(const std::string& path);
  /// Anything may have changed.
  void all_changed();
  /// Files that documents import may have changed; what is known of those that have not stays.
  void look_again();
  void closed(const std::string& uri, const std::string& path);
  bool has_work() const { return !waiting_.empty(); }
  /// Analyses one file and publishes what it found; false when there was nothing to do.
  bool work();
  /// The last result for an open file; null before the first.
  const AnalysisResult* result(const std::string& uri) const;
  /// The diagnostics of a file, for the texts as they are: without what is of an older one.
  std::vector<const PlacedDiagnostic*> said_of(const std::string& path);

 private:
  /// Whether the file is a part of what the document includes, or of a file that it imports.
  bool takes_in(const Document& document, const std::string& path);
  bool is_part(const std::string& path);
  bool waits(const std::string& path);
  enum class Which : uint8_t { All, Current };
  std::map<std::string, std::vector<const PlacedDiagnostic*>> by_path(Which which);
  void publish();
  Json diagnostics_of(const FileModel& file, std::vector<const PlacedDiagnostic*> list, bool is_cut);
  void publish_file(const std::string& path, const std::vector<const PlacedDiagnostic*>& list);

  Context& context_;
  Notify notify_;
  Begins begins_;
  std::vector<std::string> waiting_;               ///< URIs, the next one last
  std::map<std::string, AnalysisResult> results_;  ///< by URI
  std::map<std::string, AnalysisCache> caches_;    ///< by URI
  LibraryTrees library_;
  std::map<std::string, std::pair<int64_t, std::string>> told_;  ///< by URI: version and diagnostics
};

}  // namespace tessera::lsp
