#include "lsp/server/capabilities.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "lsp/features/features.h"
#include "lsp/features/stages.h"
#include "lsp/protocol/numbers.h"

namespace tessera::lsp {

ClientAbilities read_abilities(const Json& params) {
  const Json& text = at_path(params, "capabilities.textDocument");
  const Json& workspace = at_path(params, "capabilities.workspace");
  ClientAbilities made;
  made.markdown_hover = has_text(at_path(text, "hover.contentFormat"), "markdown");
  made.markdown_completion = has_text(at_path(text, "completion.completionItem.documentationFormat"), "markdown");
  made.snippets = is_set(at_path(text, "completion.completionItem"), "snippetSupport");
  made.hierarchical_symbols = is_set(member(text, "documentSymbol"), "hierarchicalDocumentSymbolSupport");
  made.link_support = is_set(member(text, "definition"), "linkSupport");
  const Json& parameters = at_path(text, "signatureHelp.signatureInformation.parameterInformation");
  made.label_offsets = is_set(parameters, "labelOffsetSupport");
  made.code_action_literals = at_path(text, "codeAction.codeActionLiteralSupport").is_object();
  made.related_information = is_set(member(text, "publishDiagnostics"), "relatedInformation");
  const Json& tags = at_path(text, "publishDiagnostics.tagSupport.valueSet");
  made.unnecessary_tag = tags.is_array() && std::ranges::find(tags, Json(number::Tag::unnecessary)) != tags.end();
  made.line_folding_only = is_set(member(text, "foldingRange"), "lineFoldingOnly");
  made.document_changes = is_set(member(workspace, "workspaceEdit"), "documentChanges");
  made.refresh_inlay_hints = is_set(member(workspace, "inlayHint"), "refreshSupport");
  made.show_document = is_set(at_path(params, "capabilities.window.showDocument"), "support");
  made.own_commands = is_set(member(params, "initializationOptions"), "ownCommands");
  made.watched_files = is_set(member(workspace, "didChangeWatchedFiles"), "dynamicRegistration");
  return made;
}

Encoding choose_encoding(const Json& params) {
  bool utf8 = has_text(at_path(params, "capabilities.general.positionEncodings"), "utf-8");
  return utf8 ? Encoding::Utf8 : Encoding::Utf16;
}

Json server_capabilities(Encoding encoding, const ClientAbilities& client, const std::string& version) {
  Json made;
  made["positionEncoding"] = encoding == Encoding::Utf8 ? "utf-8" : "utf-16";
  made["textDocumentSync"] = {
      {"openClose", true}, {"change", number::Sync::incremental}, {"save", {{"includeText", false}}}};
  made["hoverProvider"] = true;
  made["definitionProvider"] = true;
  made["referencesProvider"] = true;
  made["documentHighlightProvider"] = true;
  made["documentSymbolProvider"] = true;
  made["workspaceSymbolProvider"] = true;
  made["foldingRangeProvider"] = true;
  made["selectionRangeProvider"] = true;
  made["callHierarchyProvider"] = true;
  made["inlayHintProvider"] = true;
  made["codeActionProvider"] = {{"codeActionKinds", {"quickfix"}}};
  made["documentFormattingProvider"] = true;
  made["documentRangeFormattingProvider"] = true;
  made["documentOnTypeFormattingProvider"] = {{"firstTriggerCharacter", "\n"}};
  made["codeLensProvider"] = {{"resolveProvider", false}};
  Json commands = {"tessera.lower"};
  for (const Stage& stage : stages) {
    if (!client.own_commands) commands.push_back(std::string(stage.command));
  }
  made["executeCommandProvider"] = {{"commands", std::move(commands)}};
  made["renameProvider"] = {{"prepareProvider", true}};
  made["completionProvider"] = {{"triggerCharacters", {".", "@", "[", "(", ",", "%"}}, {"resolveProvider", true}};
  made["signatureHelpProvider"] = {{"triggerCharacters", {"(", ","}}, {"retriggerCharacters", {"="}}};
  made["semanticTokensProvider"] = {{"legend", semantic_token_legend()}, {"full", true}, {"range", true}};
  made["workspace"] = {{"workspaceFolders", {{"supported", true}, {"changeNotifications", true}}}};
  return {{"capabilities", std::move(made)}, {"serverInfo", {{"name", "tessera-lsp"}, {"version", version}}}};
}

void read_settings(const Json& settings, WorkspaceOptions& options) {
  const Json& paths = member(settings, "includePaths");
  if (paths.is_array()) {
    options.include_paths.clear();
    for (const Json& path : paths) {
      if (path.is_string()) options.include_paths.push_back(path.get<std::string>());
    }
  }
  const Json& defines = member(settings, "defines");
  if (!defines.is_object()) return;
  options.defines.clear();
  for (const auto& [name, value] : defines.items()) {
    options.defines[name] = value.is_string() ? value.get<std::string>() : to_line(value);
  }
}

std::vector<std::string> wrong_settings(const Json& settings) {
  std::vector<std::string> wrong;
  auto check = [&](const char* name, const char* kind, auto is_right) {
    const Json& value = member(settings, name);
    if (!value.is_null() && !is_right(value)) wrong.push_back(fmt::format("the setting '{}' is not {}", name, kind));
  };
  auto is_text = [](const Json& value) { return value.is_string(); };
  auto is_size = [](const Json& value) { return value.is_number_unsigned(); };
  auto all = [](const Json& list, auto is_right) { return std::all_of(list.begin(), list.end(), is_right); };
  auto is_list = [&](const Json& value) { return value.is_array() && all(value, is_text); };
  auto has_sizes = [&](const Json& value) { return value.is_object() && all(value, is_size); };
  check("includePaths", "a list of texts", is_list);
  check("defines", "an object", [](const Json& value) { return value.is_object(); });
  check("compilerPath", "a text", is_text);
  check("target", "a text", is_text);
  check("sizes", "an object of sizes", has_sizes);
  return wrong;
}

Json watched_files() {
  Json watcher = {{"globPattern", "**/*.tsr"}};
  Json options = {{"watchers", Json::array({std::move(watcher)})}};
  Json registration = {
      {"id", "files"}, {"method", "workspace/didChangeWatchedFiles"}, {"registerOptions", std::move(options)}};
  return {{"registrations", Json::array({std::move(registration)})}};
}

}  // namespace tessera::lsp
