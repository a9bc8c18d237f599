// Inlay hints: the types of variables, and the parameters that literals are for.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "frontend/syntax/ast_walk.h"
#include "lsp/features/describe_symbol.h"
#include "lsp/features/features.h"
#include "lsp/protocol/numbers.h"

namespace tessera::lsp {

namespace {

constexpr size_t most_hints = 5000;

bool has_type(frontend::ValueKind kind) {
  switch (kind) {
    case frontend::ValueKind::Tensor:
    case frontend::ValueKind::Tile:
    case frontend::ValueKind::Scalar:
    case frontend::ValueKind::Size:
    case frontend::ValueKind::Instance: return true;
    default: return false;
  }
}

bool is_literal(const ast::Expr& expr) {
  switch (expr.kind) {
    case ast::NodeKind::Integer:
    case ast::NodeKind::Float:
    case ast::NodeKind::Bool:
    case ast::NodeKind::None:
    case ast::NodeKind::String: return true;
    case ast::NodeKind::Unary: return is_literal(*ast::cast<ast::Unary>(expr).operand);
    default: return false;
  }
}

class Hinter {
 public:
  Hinter(Context& context, FileModel& file, Range range)
      : context_(context), file_(file), range_(range), resolver_(context.workspace) {}

  Json run() {
    const AnalysisResult* result = context_.analysis(file_);
    for (const std::shared_ptr<Piece>& piece : file_.pieces()) {
      uint32_t end = piece->begin + uint32_t(piece->text().size());
      if (end <= range_.begin || piece->begin >= range_.end || context_.is_cancelled()) continue;
      if (result) types(*result, *piece);
      for (const ast::Declaration& declaration : piece->declarations) {
        ast::walk(*declaration.stmt, [&](const ast::Node& node) {
          if (const auto* call = ast::as<ast::Call>(&node)) parameters(*piece, *call);
        });
      }
    }
    return std::move(out_);
  }

 private:
  void types(const AnalysisResult& result, const Piece& piece);
  void parameters(const Piece& piece, const ast::Call& call);
  void add(uint32_t offset, const std::string& label, int kind) {
    if (offset < range_.begin || offset > range_.end || out_.size() >= most_hints) return;
    Json hint = {{"position", to_json(file_.lines().position(file_.text(), offset, context_.encoding()))},
                 {"label", label},
                 {"kind", kind}};
    out_.push_back(std::move(hint));
  }

  Context& context_;
  FileModel& file_;
  Range range_;
  Resolver resolver_;
  Json out_ = Json::array();
};

/// Beside each name that is given a value; parameters say their types themselves.
void Hinter::types(const AnalysisResult& result, const Piece& piece) {
  for (const frontend::PlaceFacts& facts : bindings_of(result, piece)) {
    if (!has_type(facts.values[0].kind)) continue;
    Loc loc = facts.loc;
    loc.file = piece.file;
    uint32_t offset = piece.range(loc).begin;
    const Occurrence* name = piece.names.at(offset);
    bool variable = name && name->range.begin == offset && name->writes && name->local >= 0 &&
                    piece.names.locals[size_t(name->local)].kind == SymbolKind::Variable;
    if (!variable) continue;
    // One that is annotated says it as well.
    size_t next = piece.text().find_first_not_of(' ', name->range.end);
    if (next != std::string_view::npos && piece.text()[next] == ':') continue;
    std::string label = ": " + facts.values[0].text;
    if (facts.values.size() > 1) label += " | …";
    add(piece.begin + name->range.end, label, number::Hint::type);
  }
}

void Hinter::parameters(const Piece& piece, const ast::Call& call) {
  bool any = std::any_of(call.arguments.begin(), call.arguments.end(),
                         [](const ast::Argument& argument) { return is_literal(*argument.value); });
  const auto* attribute = ast::as<ast::Attribute>(call.callee);
  Loc name = attribute ? attribute->name.loc : call.callee->loc;
  bool named = attribute || call.callee->kind == ast::NodeKind::Name;
  if (!any || !named || name.file != piece.file) return;
  uint32_t offset = piece.range(name).begin;
  const Occurrence* occurrence = piece.names.at(offset);
  if (!occurrence || occurrence->range.begin != offset) return;
  auto symbol = resolver_.resolve({&file_, &piece, occurrence});
  auto callee = symbol ? resolver_.callee(*symbol) : std::nullopt;
  if (!callee) return;
  Signature signature = signature_of(*callee);
  // Of one argument the name of the function says enough.
  if (call.arguments.size() < 2) return;
  for (size_t i = 0; i < call.arguments.size() && i < signature.positional; ++i) {
    const ast::Argument& argument = call.arguments[i];
    bool rest = signature.rest_positional && i + 1 >= signature.positional;
    bool hinted = argument.name.text.empty() && !rest && is_literal(*argument.value) && argument.loc.file == piece.file;
    if (hinted) add(piece.begin + piece.range(argument.loc).begin, signature.names[i] + "=", number::Hint::parameter);
  }
}

}  // namespace

Json inlay_hints(Context& context, const Json& params) {
  FileModel* file = file_of(context, params);
  if (!file) return Json::array();
  return Hinter(context, *file, range_of(context, *file, member(params, "range"))).run();
}

}  // namespace tessera::lsp
