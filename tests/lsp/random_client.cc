#include "lsp/random_client.h"

#include <algorithm>

namespace lsp_test {

using Json = nlohmann::json;

namespace {

const char* const methods[] = {
    "textDocument/hover",
    "textDocument/completion",
    "textDocument/definition",
    "textDocument/references",
    "textDocument/documentHighlight",
    "textDocument/signatureHelp",
    "textDocument/prepareRename",
    "textDocument/rename",
    "textDocument/documentSymbol",
    "textDocument/foldingRange",
    "textDocument/semanticTokens/full",
    "textDocument/semanticTokens/range",
    "textDocument/prepareCallHierarchy",
    "textDocument/selectionRange",
    "textDocument/codeAction",
    "textDocument/codeLens",
    "textDocument/inlayHint",
    "textDocument/formatting",
    "textDocument/rangeFormatting",
    "textDocument/onTypeFormatting",
    "workspace/symbol",
};

const char* const snippets[] = {
    "\n",       "\n    ", "(",     ")",        "[",       "]",     "{",          "}",        "\"",     "\"\"\"",
    "#",        ":",      ",",     ".",        "=",       "@",     " x",         "def ",     "module ", "%if A\n",
    "%endif\n", "\t",     "\\\n",  "self.",    "tile.",   "f32",   "Tensor[B, ", "return ",  "\r\n",   "\xC3\xA9",
    "0x",       "1e",     "!{rng", " where B", "import ", "from tessera.nn import ", "lambda x: ", "if x:\n        pass\n",
    "\n\ndef added(x: Tensor[B, D, T], by: float = 1.0) -> Tensor[B, D, T]:\n    return x * by\n",
    "\n@jit\ndef made(x: Tensor[B, 8, f32]):\n    return x + added(x, by=2.0)\n",
    "\nconst N = 4\n", "\xF0\x9D\x84\x9E",
};

}  // namespace

RandomClient::RandomClient(unsigned seed, std::vector<std::string> texts)
    : random_(seed), originals_(texts), texts_(std::move(texts)), versions_(texts_.size(), 1), diagnostics_(texts_.size()) {
  start();
}

void RandomClient::start() {
  server_ = std::make_unique<tessera::lsp::Server>(
      [this](const std::string& body) {
        Json message = Json::parse(body);
        ++answers_;
        if (message.contains("error")) ++errors_;
        if (message.contains("id")) last_answer_ = message;
        if (message.value("method", "") != "textDocument/publishDiagnostics") return;
        for (size_t i = 0; i < texts_.size(); ++i) {
          if (message["params"]["uri"] == uri(i)) diagnostics_[i] = message["params"]["diagnostics"];
        }
      },
      tessera::lsp::ServerOptions{"test", {}, {}});
  Json capabilities;
  capabilities["textDocument"]["documentSymbol"]["hierarchicalDocumentSymbolSupport"] = true;
  send({{"jsonrpc", "2.0"}, {"id", next_id_++}, {"method", "initialize"}, {"params", {{"capabilities", capabilities}}}});
  send({{"jsonrpc", "2.0"}, {"method", "initialized"}, {"params", Json::object()}});
  open_all();
}

void RandomClient::open_all() {
  for (size_t i = 0; i < texts_.size(); ++i) {
    Json document = {{"uri", uri(i)}, {"languageId", "tessera"}, {"version", versions_[i]}, {"text", texts_[i]}};
    send({{"jsonrpc", "2.0"}, {"method", "textDocument/didOpen"}, {"params", {{"textDocument", document}}}});
  }
}

/// In UTF-16 units; offsets lie between characters.
Json RandomClient::position(const std::string& text, size_t offset) const {
  size_t line = size_t(std::count(text.begin(), text.begin() + ptrdiff_t(offset), '\n'));
  size_t begin = offset == 0 ? std::string::npos : text.rfind('\n', offset - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  size_t units = 0;
  for (size_t at = begin; at < offset; ++at) {
    auto byte = static_cast<unsigned char>(text[at]);
    if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
  }
  return {{"line", line}, {"character", units}};
}

std::string RandomClient::snippet() {
  if (below(8) == 0) return std::string(1 + below(3), char('a' + below(26)));
  return snippets[below(std::size(snippets))];
}

Json RandomClient::edit_message() {
  size_t document = below(texts_.size());
  std::string& text = texts_[document];
  Json changes = Json::array();
  constexpr size_t most_bytes = 40'000;
  if (text.size() > most_bytes || below(200) == 0) {
    text = originals_[document];
    changes.push_back({{"text", text}});
  }
  for (size_t n = 1 + below(2); n > 0; --n) {
    auto between = [&](size_t offset) {
      while (offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80) ++offset;
      // "\r\n" is one end of a line.
      if (offset > 0 && offset < text.size() && text[offset] == '\n' && text[offset - 1] == '\r') ++offset;
      return offset;
    };
    size_t begin = between(below(text.size() + 1));
    size_t longest = below(10) == 0 ? 200 : 6;
    size_t end = between(std::min(text.size(), begin + (below(2) == 0 ? below(longest) : 0)));
    std::string added = below(3) == 0 ? "" : snippet();
    changes.push_back({{"range", {{"start", position(text, begin)}, {"end", position(text, end)}}}, {"text", added}});
    text.replace(begin, end - begin, added);
  }
  Json params = {{"textDocument", {{"uri", uri(document)}, {"version", ++versions_[document]}}},
                 {"contentChanges", std::move(changes)}};
  return {{"jsonrpc", "2.0"}, {"method", "textDocument/didChange"}, {"params", std::move(params)}};
}

Json RandomClient::request_message() {
  size_t document = below(texts_.size());
  size_t lines = size_t(std::count(texts_[document].begin(), texts_[document].end(), '\n'));
  Json start = {{"line", below(lines + 2)}, {"character", below(60)}};
  Json end = {{"line", below(lines + 2)}, {"character", below(60)}};
  Json params = {{"textDocument", {{"uri", uri(document)}}},
                 {"position", start},
                 {"positions", Json::array({start, end})},
                 {"range", {{"start", start}, {"end", end}}},
                 {"context", {{"includeDeclaration", below(2) == 0}, {"diagnostics", Json::array()}}},
                 {"options", {{"tabSize", 4}, {"insertSpaces", true}}},
                 {"ch", "\n"},
                 {"newName", below(3) == 0 ? "a b" : "renamed"},
                 {"query", std::string(below(3), 'a')}};
  return {{"jsonrpc", "2.0"}, {"id", next_id_++}, {"method", methods[below(std::size(methods))]}, {"params", params}};
}

void RandomClient::edit() { send(edit_message()); }

void RandomClient::request() { send(request_message()); }

void RandomClient::garble() {
  // Edits that are garbled would part our text from the server's without a trace.
  std::string body = request_message().dump();
  for (size_t n = below(6); n > 0; --n) {
    size_t at = below(body.size());
    switch (below(4)) {
      case 0: body[at] = char(below(256)); break;
      case 1: body.erase(at, 1 + below(20)); break;
      case 2: body.insert(at, snippet()); break;
      default: body.insert(at, body.substr(below(body.size()), below(30))); break;
    }
    if (body.empty()) body = "x";
  }
  bool ends = body.find("\"exit\"") != std::string::npos || body.find("\"shutdown\"") != std::string::npos;
  if (!ends) server_->receive(body);
}

void RandomClient::work(bool all) {
  for (size_t n = all ? SIZE_MAX : below(2); n > 0 && server_->work(); --n) {
  }
}

Json RandomClient::answer(const std::string& method, size_t document) {
  send({{"jsonrpc", "2.0"}, {"id", next_id_++}, {"method", method}, {"params", {{"textDocument", {{"uri", uri(document)}}}}}});
  return last_answer_["result"];
}

std::string RandomClient::summary(size_t document) {
  work(true);
  Json all;
  for (const char* method : {"textDocument/documentSymbol", "textDocument/semanticTokens/full", "textDocument/foldingRange"}) {
    all[method] = answer(method, document);
  }
  all["diagnostics"] = diagnostics_[document];
  return all.dump(1);
}

std::string RandomClient::fresh_summary(size_t document) const {
  RandomClient fresh(1, texts_);
  return fresh.summary(document);
}

}  // namespace lsp_test
