#pragma once
// Hears an evaluation and keeps what names and attributes came to.

#include <set>
#include <tuple>

#include "frontend/observer.h"
#include "lsp/analysis.h"

namespace tessera::lsp {

class FactCollector : public frontend::EvaluationObserver {
 public:
  /// What is heard from now on goes to `result`.
  void collect(DeclarationResult& result);
  /// Puts what was heard into the result. Functions that were run are in `ran`, by file and line.
  void finish(std::set<std::pair<FileId, uint32_t>>& ran);

  void started(frontend::Session& session) override { session_ = &session; }
  void bound(std::string_view name, Loc loc, const frontend::Datum& value) override;
  void evaluated(const ast::Expr& expr, const frontend::Datum& value) override;
  void returned(const frontend::Function& function, const frontend::Datum& result,
                const std::map<std::string, Loc>& effects) override;

 private:
  using Place = std::tuple<FileId, uint32_t, uint32_t>;
  struct Values {
    PlaceFacts facts;
    // What the last value was made of: turns of loops mostly tell the same.
    const void* last_type = nullptr;
    DType last_storage = DType::F32;
    Policies last_policies;
  };
  bool wants(Loc loc);
  void keep(Loc loc, const frontend::Datum& value, bool binding);

  frontend::Session* session_ = nullptr;
  DeclarationResult* result_ = nullptr;
  std::map<FileId, bool> wanted_;
  std::map<Place, Values> places_;
  std::map<Place, FunctionFacts> functions_;
};

}  // namespace tessera::lsp
