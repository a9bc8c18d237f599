// Names that are in no tree: those of statements that do not parse, and of macros.

#include <algorithm>
#include <numeric>

#include "lsp/model/binder.h"

namespace tessera::lsp {

int32_t Binder::scope_at(uint32_t offset) const {
  int32_t best = -1;
  for (size_t i = 0; i < scopes_.size(); ++i) {
    bool inner = best < 0 || scopes_[i].range.begin >= scopes_[size_t(best)].range.begin;
    if (scopes_[i].range.touches(offset) && inner) best = int32_t(i);
  }
  return best;
}

void Binder::leftover(size_t at, const std::vector<size_t>& code, const std::vector<int32_t>& callees) {
  auto kind = [&](size_t i) { return i < code.size() ? piece_.tokens[code[i]].kind : TokenKind::EndOfFile; };
  const RawToken& token = piece_.tokens[code[at]];
  Range range{token.offset, token.offset + token.length};
  Occurrence made{range};
  auto named = [&](size_t i) {
    auto found = by_offset_.find(piece_.tokens[code[i]].offset);
    return found == by_offset_.end() ? -1 : found->second;
  };
  if (at > 0 && kind(at - 1) == TokenKind::Dot) {
    made.kind = OccurrenceKind::Member;
    made.parent = at > 1 ? named(at - 2) : -1;
  } else if (!callees.empty() && callees.back() >= 0 && kind(at + 1) == TokenKind::Assign) {
    made.kind = OccurrenceKind::Argument;
    made.parent = callees.back();
  } else {
    scope_ = scope_at(token.offset);
    made.local = find(piece_.text(token));
    made.kind = made.local < 0 ? OccurrenceKind::Free : OccurrenceKind::Local;
  }
  by_offset_[token.offset] = int32_t(out_.occurrences.size());
  out_.occurrences.push_back(std::move(made));
}

void Binder::leftovers() {
  std::vector<size_t> code;
  for (size_t i = 0; i < piece_.tokens.size(); ++i) {
    if (piece_.tokens[i].role == TokenRole::Code) code.push_back(i);
  }
  std::vector<int32_t> callees;  // for each open bracket: the name before it, or -1
  for (size_t at = 0; at < code.size(); ++at) {
    const RawToken& token = piece_.tokens[code[at]];
    if (is_opening(token.kind)) {
      auto before = at > 0 ? by_offset_.find(piece_.tokens[code[at - 1]].offset) : by_offset_.end();
      callees.push_back(token.kind == TokenKind::Lparen && before != by_offset_.end() ? before->second : -1);
    } else if (is_closing(token.kind)) {
      if (!callees.empty()) callees.pop_back();
    } else if (token.kind == TokenKind::Name && by_offset_.count(token.offset) == 0) {
      leftover(at, code, callees);
    }
  }
}

/// The names in what %define puts in the place of another are looked up where they are used, which the
/// tree has with that place: here they are the file's.
void Binder::macros() {
  std::string_view word;
  size_t count = 0;
  TokenKind last = TokenKind::EndOfFile;
  for (const RawToken& token : piece_.tokens) {
    if (token.kind == TokenKind::Newline) count = 0;
    if (token.role != TokenRole::Directive || is_trivia(token.kind)) continue;
    ++count;
    if (count == 2) word = piece_.text(token);
    bool in_body = count > 3 && word == "define" && token.kind == TokenKind::Name && last != TokenKind::Dot;
    if (in_body) out_.occurrences.push_back({{token.offset, token.offset + token.length}});
    last = token.kind;
  }
}

void Binder::sort() {
  std::vector<int32_t> order(out_.occurrences.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return out_.occurrences[size_t(a)].range.begin < out_.occurrences[size_t(b)].range.begin;
  });
  std::vector<int32_t> place(order.size());
  std::vector<Occurrence> sorted;
  for (size_t i = 0; i < order.size(); ++i) {
    place[size_t(order[i])] = int32_t(i);
    sorted.push_back(std::move(out_.occurrences[size_t(order[i])]));
  }
  for (Occurrence& occurrence : sorted) {
    if (occurrence.parent >= 0) occurrence.parent = place[size_t(occurrence.parent)];
  }
  out_.occurrences = std::move(sorted);
}

}  // namespace tessera::lsp
