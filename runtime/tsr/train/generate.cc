// tsr generate: a text is continued by an entry that gives scores of the next token.

#include <CLI/CLI.hpp>

#include "runtime/tsr/command.h"
#include "runtime/tsr/train/generator.h"
#include "tools/command_line/sizes.h"

namespace tessera::tool {

namespace {

using train::GenerateOptions;

constexpr const char* generate_epilogue =
    "The entry takes the tokens of the text as integers [1, S] or [B, S]. It gives scores [B, V] or\n"
    "[B, S, V]; the scores of the last token count. An entry that keeps state, such as a KVCache, reads\n"
    "the prompt in one call and then one token in each call. Any other entry reads the last --context\n"
    "tokens in each call. A condition of the entry, such as S <= 64, limits these, too.\n"
    "\n"
    "The text appears as it is made. The same seed gives the same text.\n"
    "\n"
    "Examples:\n"
    "  tsr generate table.bundle --params table.safetensors --prompt 'The ' --tokens 50 --context 8\n"
    "\n"
    "Exit status:\n"
    "  0   success\n"
    "  1   an error in command line, files or tensors\n"
    "  70  an internal error";

void add_sampling_options(CLI::App& command, GenerateOptions& options) {
  CLI::Option* temperature =
      command.add_option("--temperature", options.sampling.temperature,
                         "divide scores by T before the choice; 0 always takes the highest score");
  command_line::take_number(*temperature->type_name("T")->capture_default_str(), 0, 1e6);
  CLI::Option* top_k =
      command.add_option("--top-k", options.sampling.top_k, "choose among the N highest scores");
  command_line::take_count(*top_k->type_name("N"), 1, uint64_t(1) << 40);
  CLI::Option* top_p = command.add_option("--top-p", options.sampling.top_p,
                                          "choose among the fewest tokens whose probabilities add up to P");
  command_line::take_number(*top_p->type_name("P")->capture_default_str(), 0, 1);
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
  CLI::Option* tokens = command.add_option("--tokens", options->tokens, "most tokens to make");
  command_line::take_count(*tokens->type_name("N")->capture_default_str(), 1, uint64_t(1) << 40);
  add_sampling_options(command, *options);
  command.add_option("--stop", options->stops, "end before this text; may be given several times")
      ->type_name("TEXT")
      ->allow_extra_args(false)
      ->check([](const std::string& text) { return text.empty() ? "--stop is empty" : std::string(); });
  CLI::Option* context = command.add_option("--context", options->context,
                                            "tokens that the entry reads at most, where the program leaves it open");
  command_line::take_count(*context->type_name("N"), 1, uint64_t(1) << 32);
  command.add_option("--vocabulary", options->vocabulary,
                     "vocabulary that 'tsr tokenize' wrote; without it, tokens are bytes")
      ->type_name("FILE");
  command.add_flag("--ids", options->has_ids, "read the prompt, and print the text, as numbers of tokens");
  command.add_option("--entry", options->entry, "name of the entry")->type_name("ENTRY")->capture_default_str();
  command.add_option("--set", options->settings, "a number that the entry takes; may be given several times")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  command_line::add_sizes_option(command, options->dims, "sizes of state that the program leaves open, as S_max=1024");
  add_device_options(command, options->device);
  command.callback([options, &exit_code] { exit_code = train::Generator(*options).run(); });
}

}  // namespace tessera::tool
