#pragma once
// Makes the semantic index of a compilation: an observer that keeps what it hears, and joins it
// with the names when the front end is done.
//
//     IndexCollector collector;
//     options.observer = &collector;
//     compile_source(context, file, options, diagnostics);
//     SemanticIndex index = collector.take();

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "frontend/index/semantic_index.h"
#include "frontend/observer.h"
#include "frontend/value.h"

namespace tessera::frontend {

class NameIndexer;

class IndexCollector : public EvaluationObserver {
 public:
  /// The index, once the front end is done; empty before.
  SemanticIndex take() { return std::move(index_); }

  void started(Session& session) override;
  void bound(std::string_view name, Loc loc, const Datum& value) override;
  void evaluated(const ast::Expr& expr, const Datum& value) override;
  void used(Loc use, Loc definition) override;
  void called(const ast::Call& call, const Datum& callee) override;
  void returned(const Function& function, const Datum& result,
                const std::map<std::string, Loc>& effects) override;
  void placed(std::string_view device) override { device_ = device; }
  void finished(Session& session) override;

 private:
  using Position = std::tuple<FileId, uint32_t, uint32_t>;
  using Place = std::tuple<FileId, uint32_t, uint32_t, uint32_t>;  ///< with the length
  /// The values of one place. `last` is the one that was told last, by what makes it up: turns of
  /// loops mostly tell the same.
  struct Values {
    Loc loc;
    std::vector<ValueFacts> facts;
    const void* last_type = nullptr;
    DType last_storage = DType::F32;
    Policies last_policies;
    std::string last_device;
    bool more = false;
  };
  struct Returned {
    std::vector<ValueFacts> results;
    std::set<std::string> effects;
  };
  struct Called {
    Loc call;
    Loc definition;  ///< of the callee
    std::vector<std::pair<std::string, Loc>> keywords;
  };

  bool wants(Loc loc);
  void keep(Values& values, Loc loc, const Datum& value);
  void join_uses(const NameIndexer& names);
  void join_calls(const NameIndexer& names, const SourceManager& sources);

  Session* session_ = nullptr;
  std::map<FileId, bool> wanted_;
  std::map<Place, Values> bindings_;
  std::map<Place, Values> expressions_;
  std::map<Position, std::pair<Loc, Loc>> uses_;
  std::map<Position, Called> calls_;
  std::map<Position, Returned> returned_;
  std::string device_;
  SemanticIndex index_;
};

/// Puts an index in the order that SemanticIndex states.
void sort_index(SemanticIndex& index);

}  // namespace tessera::frontend
