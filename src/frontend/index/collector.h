#pragma once
// Makes the semantic index of an evaluation: an observer that stores what is reported to it.
//
//     IndexCollector collector;
//     options.observer = &collector;
//     compile_source(context, file, options, diagnostics);
//     SemanticIndex index = collector.take();

#include <map>
#include <set>
#include <string>
#include <tuple>

#include "frontend/index/semantic_index.h"
#include "frontend/values/observer.h"
#include "frontend/values/value.h"

namespace tessera::frontend {

struct CollectorOptions {
  /// Of the expressions only names and members are kept, these at the place of their name.
  bool names_only = false;
  /// Different values of one place beyond this many are left out.
  size_t values = 16;
};

class IndexCollector : public EvaluationObserver {
 public:
  explicit IndexCollector(CollectorOptions options = {}) : options_(options) {}

  /// Everything observed since the last call.
  SemanticIndex take();

  void started(Session& session) override { session_ = &session; }
  void bound(std::string_view name, Loc loc, const Datum& value) override;
  void evaluated(const ast::Expr& expr, const Datum& value) override;
  void called(const ast::Call& call, const Datum& callee) override;
  void returned(const Function& function, const Datum& result,
                const std::set<std::string>& effects) override;
  void placed(std::string_view device) override { device_ = device; }

 private:
  /// Of what begins at one place, the longest comes first.
  using Place = std::tuple<FileId, uint32_t, uint32_t, uint32_t>;
  /// The values of one place. `last` is the one that was reported last, by what makes it up:
  /// iterations of loops mostly report the same.
  struct Values {
    PlaceFacts facts;
    const void* last_type = nullptr;
    DType last_storage = DType::F32;
    Policies last_policies;
    std::string last_device;
  };
  struct Returned {
    Loc loc;
    std::vector<ValueFacts> results;
    std::set<std::string> effects;
  };

  static Place place_of(Loc loc) { return {loc.file, loc.line, loc.column, ~loc.length}; }
  bool wants(Loc loc);
  void keep(Values& values, Loc loc, const Datum& value);

  CollectorOptions options_;
  Session* session_ = nullptr;
  std::map<FileId, bool> wanted_;
  std::map<Place, Values> bindings_;
  std::map<Place, Values> expressions_;
  std::map<std::pair<Place, Place>, CallSite> calls_;
  std::map<Place, Returned> returned_;
  std::string device_;
};

}  // namespace tessera::frontend
