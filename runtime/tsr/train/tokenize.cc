// tsr tokenize: texts become tokens in an .npy file, by a vocabulary that is learned from them or read.

#include <CLI/CLI.hpp>
#include <cstdio>
#include <deque>

#include "runtime/files/file.h"
#include "runtime/files/npy.h"
#include "runtime/files/text.h"
#include "runtime/tsr/command.h"
#include "runtime/tsr/train/vocabulary.h"
#include "support/diagnostic_rows.h"
#include "support/file.h"
#include "support/same_file.h"

namespace tessera::tool {

namespace {

using format::cat;
using train::Vocabulary;

struct TokenizeOptions {
  std::vector<std::string> texts;
  std::string vocabulary, output;
  uint64_t learn = 0;  ///< 0: the vocabulary is read
};

constexpr const char* tokenize_epilogue =
    "Tokens 0 to 255 are bytes; each of the others is a frequent pair of tokens (byte-pair encoding). Any text has\n"
    "tokens. They are written as an .npy file of u16, which 'tsr train --data' takes.\n"
    "\n"
    "Examples:\n"
    "  tsr tokenize text.txt --learn 300 --vocabulary words.json -o tokens.npy\n"
    "  tsr tokenize text.txt --vocabulary words.json -o again.npy\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   an error in command line or files\n"
    "  70  an internal error";

int check_written(const TokenizeOptions& options) {
  std::vector<std::string> read = options.texts, written = {options.output};
  (options.learn ? written : read).push_back(options.vocabulary);
  for (const std::string& path : written) {
    auto is_same = [&](const std::string& each) { return is_same_file(each, path); };
    if (std::any_of(read.begin(), read.end(), is_same)) return fail(cat(format::in_quotes(path), " is what is read"));
  }
  if (options.learn && (options.output == options.vocabulary || is_same_file(options.output, options.vocabulary))) {
    return fail("tokens and vocabulary go to the same file");
  }
  return options.output.ends_with(".npy") ? exit_ok : fail("-o writes .npy");
}

int write_tokens(const TokenizeOptions& options, Vocabulary& vocabulary, const std::vector<std::string_view>& texts) {
  std::vector<Vocabulary::Token> tokens;
  for (std::string_view text : texts) vocabulary.encode(text, tokens);
  std::string bytes;
  bytes.reserve(tokens.size() * 2);
  for (Vocabulary::Token token : tokens) bytes += {char(token & 0xff), char(token >> 8)};
  auto array = format::write_npy({format::Dtype::U16, {int64_t(tokens.size())}, bytes});
  if (!array) return fail(diag::bad_tensor_file, cat(options.output, ": ", array.error().text));
  PendingFiles files;
  std::string path = options.output, problem;
  bool is_written = files.write(options.output, *array, problem);
  if (is_written && options.learn) {
    path = options.vocabulary;
    is_written = files.write(options.vocabulary, vocabulary.to_json(), problem);
  }
  if (!is_written || !files.commit(path, problem)) return fail_write(path, problem);
  size_t count = 0;
  for (std::string_view text : texts) count += text.size();
  std::fprintf(stderr, "%zu bytes are %zu tokens of a vocabulary of %zu\n", count, tokens.size(), vocabulary.size());
  return exit_ok;
}

int tokenize(const TokenizeOptions& options) {
  if (int code = check_written(options)) return code;
  std::deque<format::MappedFile> files;
  std::vector<std::string_view> texts;
  for (const std::string& path : options.texts) {
    auto file = format::MappedFile::map(path);
    if (!file) return fail_read(path, file.error().text);
    files.push_back(std::move(*file));
    texts.push_back(files.back().bytes());
  }
  Vocabulary vocabulary;
  if (options.learn) {
    vocabulary = Vocabulary::learn(texts, options.learn);
  } else if (int code = Vocabulary::read(options.vocabulary, vocabulary)) {
    return code;
  }
  return write_tokens(options, vocabulary, texts);
}

}  // namespace

void add_tokenize_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<TokenizeOptions>();
  command.footer(tokenize_epilogue);
  command.add_option("FILE", options->texts, "texts, which are joined in their order")->required();
  command.add_option("--vocabulary", options->vocabulary, "file of the vocabulary")->type_name("FILE")->required();
  CLI::Option* learn = command.add_option("--learn", options->learn,
                                          "learn a vocabulary of N tokens and write it; without it, it is read");
  command_line::take_count(*learn->type_name("N"), 257, Vocabulary::most_tokens);
  command.add_option("-o,--output", options->output, "the .npy file to write")->type_name("FILE")->required();
  command.callback([options, &exit_code] { exit_code = tokenize(*options); });
}

}  // namespace tessera::tool
