#pragma once
// The cost of kernels and entries, as `tesserac --report` prints it: work, bytes, registers, a
// roofline's estimate. The compiler computes it in another process when a hover first asks for it.
// The result is kept as long as the file, its imports and the settings stay. Until it is there, a
// hover says that it is being computed.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lsp/server/jobs.h"
#include "lsp/workspace/analysis.h"
#include "lsp/workspace/compiler.h"
#include "lsp/workspace/resolve.h"

namespace tessera::lsp {

class Reports {
 public:
  Reports(Workspace& workspace, const CompilerSettings& settings, Jobs& jobs)
      : workspace_(workspace), settings_(settings), jobs_(jobs) {}
  Reports(const Reports&) = delete;

  /// The report of `file` about a kernel or entry, in Markdown; empty for anything else, for what
  /// is not compiled there, and where `analysis` found errors or is of an older text.
  std::string about(const FileModel& file, const Symbol& symbol, const AnalysisResult* analysis);
  void forget(const std::string& path) { known_.erase(path); }

 private:
  struct Kernel {
    std::string name;
    NamedPlace place;
    std::string text;
  };
  struct Report {
    uint64_t key = 0;  ///< of all that it depends on
    bool is_there = false;
    uint64_t job = 0;
    std::string target;
    std::vector<Kernel> kernels;
    std::map<std::string, std::string> entries;  ///< texts by name
  };

  uint64_t key_of(const FileModel& file, const AnalysisResult& analysis) const;
  Report& begin(const FileModel& file, const AnalysisResult& analysis, uint64_t key);
  static void read(Report& report, const Compilation& compilation, const Json& json);
  static std::string describe(const Report& report, const Symbol& symbol);

  Workspace& workspace_;
  const CompilerSettings& settings_;
  Jobs& jobs_;
  std::map<std::string, Report> known_;  ///< by path, of its last text
};

}  // namespace tessera::lsp
