// tsr generate: a text is continued by an entry that gives scores of the next token.

#include <CLI/CLI.hpp>

#include "runtime/tsr/command.h"
#include "runtime/tsr/train/generator.h"
#include "tools/command_line/sizes.h"

namespace tessera::tool {

namespace {

using train::GenerateOptions;

constexpr const char* generate_epilogue =
    "The entry takes integers [1, S] or [B, S], tokens of the text, and gives scores [B, V] or [B, S, V]:\n"
    "those of the last token count. If it keeps state, as a KVCache, it reads the prompt at once and then\n"
    "each token by itself. Otherwise it reads the last --context tokens each time; a condition of the\n"
    "entry, as S <= 64, limits it, too.\n"
    "\n"
    "What follows the prompt is written as it is made. The same seed gives the same text.\n"
    "\n"
    "Examples:\n"
    "  tsr generate table.bundle --params table.safetensors --prompt 'The ' --tokens 50 --context 8\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   an error in command line, files or tensors\n"
    "  70  an internal error";

void add_sampling_options(CLI::App& command, GenerateOptions& options) {
  command.add_option("--temperature", options.sampling.temperature,
                     "how far scores are evened out; 0 takes the highest one each time")
      ->type_name("T")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6).name(""));
  CLI::Option* top_k =
      command.add_option("--top-k", options.sampling.top_k, "choose among so many of the highest scores");
  command_line::take_count(*top_k->type_name("N"), 1, uint64_t(1) << 40);
  command.add_option("--top-p", options.sampling.top_p,
                     "choose among the fewest tokens that have this probability together")
      ->type_name("P")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1.0).name(""));
  CLI::Option* seed = command.add_option("--seed", options.seed, "seed of the random numbers");
  command_line::take_count(*seed->type_name("N")->capture_default_str(), 0);
}

}  // namespace

void add_generate_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<GenerateOptions>();
  command.footer(generate_epilogue);
  command.add_option("BUNDLE", options->bundle, "bundle that has the entry")->required();
  command.add_option("--params", options->params, "safetensors file with parameters; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_option("--prompt", options->prompt, "the text to continue")->type_name("TEXT")->required();
  CLI::Option* tokens = command.add_option("--tokens", options->tokens, "how many tokens are made at most");
  command_line::take_count(*tokens->type_name("N")->capture_default_str(), 1, uint64_t(1) << 40);
  add_sampling_options(command, *options);
  command.add_option("--stop", options->stops, "end before this text; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->check([](const std::string& text) { return text.empty() ? "--stop is empty" : std::string(); });
  CLI::Option* context = command.add_option("--context", options->context,
                                            "tokens that the entry reads at most, where the program leaves it open");
  command_line::take_count(*context->type_name("N"), 1, uint64_t(1) << 32);
  command.add_option("--vocabulary", options->vocabulary, "file of 'tsr tokenize' that says what tokens are, not bytes")
      ->type_name("FILE");
  command.add_flag("--ids", options->has_ids, "the prompt and the text are numbers of tokens");
  command.add_option("--entry", options->entry, "name of the entry")->type_name("ENTRY")->capture_default_str();
  command.add_option("--set", options->settings, "a number that the entry takes; may be given several times")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  command_line::add_sizes_option(command, options->dims, "sizes of state that the program leaves open, as S_max=1024");
  add_device_options(command, options->device);
  command.callback([options, &exit_code] { exit_code = train::Generator(*options).run(); });
}

}  // namespace tessera::tool
