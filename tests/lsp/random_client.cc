#include "lsp/random_client.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace lsp_test {

using Json = nlohmann::json;

namespace {

const char* const snippets[] = {
    "\n",
    "\n    ",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "\"\"\"",
    "#",
    ":",
    ",",
    ".",
    "=",
    "@",
    " x",
    "def ",
    "module ",
    "%if A\n",
    "%endif\n",
    "\t",
    "\\\n",
    "self.",
    "tile.",
    "f32",
    "Tensor[B, ",
    "return ",
    "\r\n",
    "\xC3\xA9",
    "import part0\n",
    "from part1 import helper\n",
    "part0.helper(",
    "helper(x)",
    "%include \"part1.tsr\"\n",
    "%include \"doc0.tsr\"\n",
    "0x",
    "1e",
    "!{rng",
    " where B",
    "import ",
    "from tessera.nn import ",
    "lambda x: ",
    "if x:\n        pass\n",
    "\n\ndef added(x: Tensor[B, D, T], by: float = 1.0) -> Tensor[B, D, T]:\n    return x * by\n",
    "\n@jit\ndef made(x: Tensor[B, 8, f32]):\n    return x + added(x, by=2.0)\n",
    "\nconst N = 4\n",
    "\xF0\x9D\x84\x9E",
};

/// What a file on disk may have; an empty one is no file.
const char* const parts[] = {
    "",
    "def helper(x: Tensor[B, f32]) -> Tensor[B, f32]:\n    return x * 2.0\n",
    "const WIDTH = 8\n\n\ndef helper(x):\n    return x + missing\n",
    "%if A\ndef helper(x):\n    return x\n%endif\n",
    "def helper(x:\n",
    "from part0 import helper\nimport part1\n",
    "\xFF\xFE\r\"\"\"",
};
constexpr size_t part_count = 2;

std::filesystem::path folder_of(unsigned seed) {
  std::string name = "lsp_random_" + std::to_string(::getpid()) + "_" + std::to_string(seed);
  return std::filesystem::temp_directory_path() / name;
}

/// What stands where something else is expected.
Json odd_value(size_t kind) {
  switch (kind) {
    case 0: return nullptr;
    case 1: return true;
    case 2: return -1;
    case 3: return uint64_t(UINT64_MAX);
    case 4: return 1e300;
    case 5: return "";
    case 6: return std::string(20'000, '[');
    case 7: return Json::array();
    case 8: return Json::object();
    case 9: return Json::array({nullptr, Json::object()});
    default: return {{"uri", "file:///"}, {"line", "x"}};
  }
}
constexpr size_t odd_values = 11;

/// Deeper than the server follows, or just not.
std::string nested(size_t depth, bool objects) {
  std::string open, close;
  for (size_t i = 0; i < depth; ++i) {
    open += objects ? "{\"a\":" : "[";
    close += objects ? "}" : "]";
  }
  return open + "0" + close;
}

}  // namespace

RandomClient::RandomClient(unsigned seed, std::vector<std::string> texts)
    : RandomClient(seed, std::move(texts), folder_of(seed), {}) {
  owns_folder_ = true;
  std::filesystem::create_directories(folder_);
}

RandomClient::RandomClient(unsigned seed, std::vector<std::string> texts, std::filesystem::path folder, Json settings)
    : random_(seed),
      folder_(std::move(folder)),
      originals_(texts),
      texts_(std::move(texts)),
      versions_(texts_.size(), 1),
      diagnostics_(texts_.size()),
      settings_(std::move(settings)),
      methods_(tessera::lsp::request_methods()) {
  start();
}

RandomClient::~RandomClient() {
  if (owns_folder_) std::filesystem::remove_all(folder_);
}

void RandomClient::start() {
  server_ = std::make_unique<tessera::lsp::Server>(
      [this](const std::string& body) {
        Json message = Json::parse(body);
        ++answers_;
        if (message.contains("error")) ++errors_;
        if (message.contains("id")) keep_answer(message);
        if (message.value("method", "") != "textDocument/publishDiagnostics") return;
        for (size_t i = 0; i < texts_.size(); ++i) {
          if (message["params"]["uri"] == uri(i)) diagnostics_[i] = message["params"]["diagnostics"];
        }
      },
      tessera::lsp::ServerOptions{.version = "test",
                                  .is_cancelled = [this](const std::string&) { return gives_up(); },
                                  .has_newer_edit = [this] { return gives_up(); },
                                  .starts_programs = false});
  Json capabilities;
  capabilities["textDocument"]["documentSymbol"]["hierarchicalDocumentSymbolSupport"] = true;
  send(
      {{"jsonrpc", "2.0"}, {"id", next_id_++}, {"method", "initialize"}, {"params", {{"capabilities", capabilities}}}});
  send({{"jsonrpc", "2.0"}, {"method", "initialized"}, {"params", Json::object()}});
  if (!settings_.is_null()) send(settings_message());
  for (size_t i = 0; i < texts_.size(); ++i) send(open_message(i));
}

/// What later requests ask further about.
void RandomClient::keep_answer(const Json& message) {
  last_answer_ = message;
  const Json& result = message.contains("result") ? message["result"] : message;
  const Json& list = result.is_object() && result.contains("items") ? result["items"] : result;
  if (!list.is_array() || list.empty() || !list[0].is_object()) return;
  const Json& item = list[below(list.size())];
  if (item.contains("label")) completion_item_ = item;
  if (item.contains("selectionRange")) call_item_ = item;
}

bool RandomClient::gives_up() { return impatient_ && below(300) == 0; }

Json RandomClient::notification(const std::string& method, Json params) {
  return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

Json RandomClient::open_message(size_t document) {
  return notification("textDocument/didOpen", {{"textDocument",
                                                {{"uri", uri(document)},
                                                 {"languageId", "tessera"},
                                                 {"version", versions_[document]},
                                                 {"text", texts_[document]}}}});
}

Json RandomClient::settings_message() {
  return notification("workspace/didChangeConfiguration", {{"settings", {{"tessera", settings_}}}});
}

void RandomClient::reopen() {
  size_t document = below(texts_.size());
  Json named = {{"textDocument", {{"uri", uri(document)}}}};
  send(notification("textDocument/didClose", named));
  if (below(2) == 0) request();
  if (below(2) == 0) work(below(2) == 0);
  if (below(3) == 0) texts_[document] = originals_[below(originals_.size())];
  ++versions_[document];
  send(open_message(document));
}

void RandomClient::change_disk() {
  std::string name = "part" + std::to_string(below(part_count)) + ".tsr";
  std::string text = parts[below(std::size(parts))];
  if (text.empty()) {
    std::filesystem::remove(folder_ / name);
  } else {
    std::ofstream(folder_ / name) << text;
  }
  Json change = {{"uri", "file://" + (folder_ / name).string()}, {"type", 1 + below(3)}};
  send(notification("workspace/didChangeWatchedFiles", {{"changes", Json::array({change})}}));
}

void RandomClient::change_settings() {
  settings_ = {{"defines", below(2) == 0 ? Json{{"A", "1"}} : Json::object()}};
  send(settings_message());
}

void RandomClient::disturb() {
  switch (below(4)) {
    case 0: return reopen();
    case 1: return change_settings();
    default: return change_disk();
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
                 {"query", std::string(below(3), 'a')},
                 {"item", call_item_},
                 {"command", "tessera.showTile"},
                 {"arguments", Json::array({{{"uri", uri(document)}, {"position", start}}})}};
  const std::string& method = methods_[below(methods_.size())];
  if (method == "completionItem/resolve" && below(4) != 0) params = completion_item_;
  return {{"jsonrpc", "2.0"}, {"id", next_id_++}, {"method", method}, {"params", params}};
}

Json RandomClient::any_message() {
  size_t document = below(texts_.size());
  switch (below(8)) {
    case 0: return edit_message();
    case 1: return open_message(document);
    case 2: return notification("textDocument/didClose", {{"textDocument", {{"uri", uri(document)}}}});
    case 3: return settings_message();
    default: return request_message();
  }
}

/// A value somewhere in a message.
Json& RandomClient::value_in(Json& message) {
  Json* at = &message;
  while (at->is_structured() && !at->empty() && (at == &message || below(4) != 0)) {
    auto next = at->begin();
    std::advance(next, below(at->size()));
    at = &*next;
  }
  return *at;
}

void RandomClient::edit() { send(edit_message()); }

void RandomClient::request() { send(request_message()); }

std::string RandomClient::garbled() {
  Json message = any_message();
  constexpr const char* place = "in the place of what is nested";
  size_t choice = below(40);
  if (choice < 15) value_in(message) = odd_value(below(odd_values));
  if (choice == 15) value_in(message) = place;
  std::string body = message.dump();
  if (choice == 15) {
    std::string quoted = std::string("\"") + place + "\"";
    size_t at = body.find(quoted);
    if (at != std::string::npos) body.replace(at, quoted.size(), nested(below(2) == 0 ? 190 : 20'000, below(2) == 0));
  }
  if (choice <= 15) return body;
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
  return body;
}

void RandomClient::garble() {
  std::string body = garbled();
  bool ends = body.find("\"exit\"") != std::string::npos || body.find("\"shutdown\"") != std::string::npos;
  if (!ends) server_->receive(body);
}

void RandomClient::work(bool all) {
  impatient_ = !all;
  for (size_t n = all ? SIZE_MAX : below(2); n > 0 && server_->work(); --n) {
  }
  impatient_ = true;
}

Json RandomClient::answer(const std::string& method, size_t document) {
  send({{"jsonrpc", "2.0"},
        {"id", next_id_++},
        {"method", method},
        {"params", {{"textDocument", {{"uri", uri(document)}}}}}});
  return last_answer_["result"];
}

std::string RandomClient::summary(size_t document) {
  work(true);
  impatient_ = false;
  Json all;
  for (const char* method :
       {"textDocument/documentSymbol", "textDocument/semanticTokens/full", "textDocument/foldingRange"}) {
    all[method] = answer(method, document);
  }
  all["diagnostics"] = diagnostics_[document];
  impatient_ = true;
  return all.dump(1);
}

std::string RandomClient::fresh_summary(size_t document) const {
  RandomClient fresh(1, texts_, folder_, settings_);
  return fresh.summary(document);
}

}  // namespace lsp_test
