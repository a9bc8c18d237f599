#include "lsp/features/usages.h"

#include <algorithm>

namespace tessera::lsp {

bool is_visible_outside(const Symbol& symbol) { return !symbol.local || !symbol.local->callable.empty(); }

std::vector<Usage> usages_in(Context& context, FileModel& file, const Symbol& symbol) {
  Resolver resolver(context.workspace);
  std::vector<Usage> found;
  for (const std::shared_ptr<Piece>& piece : file.pieces()) {
    if (context.is_cancelled()) break;
    // The name of a file is written as one of several parts.
    bool by_path = symbol.kind == SymbolKind::File;
    for (const Occurrence& occurrence : piece->names.occurrences) {
      if (piece->text(occurrence.range) != symbol.name && !by_path) continue;
      auto other = resolver.resolve({&file, piece.get(), &occurrence});
      if (!other || other->key != symbol.key) continue;
      found.push_back({&file, piece->in_document(occurrence.range), occurrence.writes});
    }
  }
  return found;
}

std::vector<Usage> all_usages(Context& context, const Symbol& symbol, FileModel& asked_in) {
  if (!is_visible_outside(symbol)) return usages_in(context, asked_in, symbol);
  std::vector<FileModel*> files = context.workspace.all_files();
  if (std::find(files.begin(), files.end(), &asked_in) == files.end()) files.push_back(&asked_in);
  bool elsewhere = symbol.file && std::find(files.begin(), files.end(), symbol.file) == files.end();
  if (elsewhere) files.push_back(symbol.file);
  std::vector<Usage> found;
  for (FileModel* file : files) {
    // A file without the word has nothing to resolve.
    if (symbol.kind != SymbolKind::File && file->text().find(symbol.name) == std::string::npos) continue;
    std::vector<Usage> here = usages_in(context, *file, symbol);
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

}  // namespace tessera::lsp
