#pragma once
// The requests, each from the client's parameters to the result. Parameters are not trusted: those
// that name no file or place give null or an empty list.

#include "lsp/features/context.h"

namespace tessera::lsp {

// symbols.cc
Json document_symbols(Context& context, const Json& params);
Json workspace_symbols(Context& context, const Json& params);
// folding.cc
Json folding_ranges(Context& context, const Json& params);
Json selection_ranges(Context& context, const Json& params);
// semantic_tokens.cc
Json semantic_token_legend();
Json semantic_tokens(Context& context, const Json& params);
Json semantic_tokens_in_range(Context& context, const Json& params);
// navigation.cc
Json definition(Context& context, const Json& params);
Json references(Context& context, const Json& params);
Json document_highlights(Context& context, const Json& params);
// rename.cc: `error` says why nothing is renamed.
Json prepare_rename(Context& context, const Json& params, std::string& error);
Json rename(Context& context, const Json& params, std::string& error);
// hover.cc
Json hover(Context& context, const Json& params);
// completion.cc
Json completion(Context& context, const Json& params);
Json resolve_completion(Context& context, const Json& item);
// calls.cc
Json prepare_call_hierarchy(Context& context, const Json& params);
Json incoming_calls(Context& context, const Json& params);
Json outgoing_calls(Context& context, const Json& params);
// inlay_hints.cc
Json inlay_hints(Context& context, const Json& params);
// formatting.cc: null where the text does not parse.
Json format_document(Context& context, const Json& params);
Json format_range(Context& context, const Json& params);
Json format_on_type(Context& context, const Json& params);
// code_lens.cc
Json code_lenses(Context& context, const Json& params);
// code_actions.cc
Json code_actions(Context& context, const Json& params);
// signature_help.cc
Json signature_help(Context& context, const Json& params);

}  // namespace tessera::lsp
