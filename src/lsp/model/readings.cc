#include "lsp/model/readings.h"

#include <algorithm>
#include <set>

#include "frontend/format/readings.h"

namespace tessera::lsp {

namespace {

std::vector<Range> inactive_tokens(const Piece& piece) {
  std::vector<Range> ranges;
  for (const RawToken& token : piece.tokens) {
    if (token.role == TokenRole::Inactive) ranges.push_back({token.offset, token.offset + token.length});
  }
  return ranges;
}

bool is_in(const std::vector<Range>& ranges, uint32_t offset) {
  auto after = std::upper_bound(ranges.begin(), ranges.end(), offset,
                                [](uint32_t at, const Range& range) { return at < range.begin; });
  return after != ranges.begin() && (after - 1)->contains(offset);
}

/// The branches of a piece.
Readings read_branches(const Piece& piece) {
  Readings made;
  std::vector<Range> inactive = inactive_tokens(piece);
  formatter::CutText cut;
  if (inactive.empty() || !formatter::cut(piece.text(), "branches", cut)) return made;
  ParseOptions options;
  // The includes are known from the branches that are taken.
  options.read = [](const std::string&, std::string& text, std::string&) {
    text.clear();
    return true;
  };
  std::set<uint32_t> known;
  for (size_t i = 0; i < cut.branches->reading_count(); ++i) {
    auto reading = parse_piece(std::make_shared<SourceManager>(), "branches",
                               cut.branches->reading(piece.text(), i), options);
    reading->is_reading = true;
    for (const Occurrence& occurrence : reading->names.occurrences) {
      bool counts = is_in(inactive, occurrence.range.begin) && known.insert(occurrence.range.begin).second;
      if (counts) made.names.push_back({reading.get(), &occurrence});
    }
    made.pieces.push_back(std::move(reading));
  }
  std::sort(made.names.begin(), made.names.end(), [](const InactiveName& a, const InactiveName& b) {
    return a.occurrence->range.begin < b.occurrence->range.begin;
  });
  return made;
}

}  // namespace

const Readings& readings_of(const Piece& piece) {
  if (!piece.readings) piece.readings = std::make_shared<Readings>(read_branches(piece));
  // The piece may have moved.
  for (const std::shared_ptr<Piece>& reading : piece.readings->pieces) reading->begin = piece.begin;
  return *piece.readings;
}

bool has_inactive(const Piece& piece, std::string_view word) {
  return std::any_of(piece.tokens.begin(), piece.tokens.end(), [&](const RawToken& token) {
    return token.role == TokenRole::Inactive && piece.text(token).find(word) != std::string_view::npos;
  });
}

}  // namespace tessera::lsp
