#include "lsp/features/usages.h"

#include <algorithm>

#include "lsp/model/readings.h"

namespace tessera::lsp {

namespace {

/// Whether other files can name it.
bool is_visible_outside(const Symbol& symbol) {
  return !symbol.local || (!symbol.local->callable.empty() && symbol.local->callable[0] != '#');
}

class Finder {
 public:
  Finder(Context& context, const Symbol& symbol) : resolver_(context.workspace), symbol_(symbol) {}

  void look_at(const NamePlace& place) {
    const Occurrence& occurrence = *place.occurrence;
    if (!by_path() && place.piece->text(occurrence.range) != symbol_.written()) return;
    auto other = resolver_.resolve(place);
    if (!other || other->key != symbol_.key) return;
    // A name in a signature that means something outside of it declares nothing.
    bool only_read = occurrence.kind == OccurrenceKind::Local && !other->local;
    found_.push_back({place, occurrence.writes && !only_read});
  }
  /// The name of a file is written as one of several parts.
  bool by_path() const { return symbol_.kind == SymbolKind::File && !symbol_.alias; }
  std::vector<Usage> take() { return std::move(found_); }

 private:
  Resolver resolver_;
  const Symbol& symbol_;
  std::vector<Usage> found_;
};

}  // namespace

std::vector<Usage> usages_in(Context& context, FileModel& file, const Symbol& symbol) {
  Finder finder(context, symbol);
  for (const std::shared_ptr<Piece>& piece : file.pieces()) {
    if (context.is_cancelled()) break;
    for (const Occurrence& occurrence : piece->names.occurrences) finder.look_at({&file, piece.get(), &occurrence});
    // A branch without the word is not worth reading.
    if (!has_inactive(*piece, finder.by_path() ? "" : symbol.written())) continue;
    for (const InactiveName& name : readings_of(*piece).names) finder.look_at({&file, name.reading, name.occurrence});
  }
  return finder.take();
}

std::vector<Usage> all_usages(Context& context, const Symbol& symbol, FileModel& asked_in) {
  if (!is_visible_outside(symbol)) return usages_in(context, asked_in, symbol);
  std::vector<FileModel*> files = context.workspace.all_files();
  auto add = [&](FileModel* file) {
    if (file && std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  add(&asked_in);
  add(symbol.alias ? symbol.alias->file : symbol.file);
  bool by_path = symbol.kind == SymbolKind::File && !symbol.alias;
  std::vector<Usage> found;
  for (FileModel* file : files) {
    // A file without the word has nothing to resolve.
    if (!by_path && file->text().find(symbol.written()) == std::string::npos) continue;
    std::vector<Usage> here = usages_in(context, *file, symbol);
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

}  // namespace tessera::lsp
