// tsr train: a model is trained by the step that its bundle has.

#include <CLI/CLI.hpp>
#include <cstdio>

#include "runtime/tsr/command.h"
#include "runtime/tsr/train/trainer.h"
#include "tools/command_line/sizes.h"

namespace tessera::tool {

namespace {

using train::TrainOptions;

constexpr const char* train_epilogue =
    "Entries of the bundle:\n"
    "  step      one step of training: it updates parameters and state, and gives 'loss', f32[]. Other\n"
    "            numbers that it gives are logged by their names\n"
    "  init      called once before the first step, to initialise the states; without it they are zeros\n"
    "  evaluate  gives 'loss' of data that are held out\n"
    "  Numbers 'step', 'steps' and seeds are given to them; --set gives others.\n"
    "\n"
    "Data:\n"
    "  FILE           a text, whose bytes are tokens, or an .npy file of integers in one row, as\n"
    "                 'tsr tokenize' writes; several are joined in their order. Each row of a batch is a\n"
    "                 piece at a random place\n"
    "  NAME=FILE.npy  an array for that input, an example in each row\n"
    "  Which rows a batch has depends on --seed and the number of the step alone.\n"
    "\n"
    "SIGINT and SIGTERM end training after the step that runs, with a checkpoint; --resume goes on as if\n"
    "the run had not been interrupted.\n"
    "\n"
    "Examples:\n"
    "  tsr train table.bundle --data text.txt --steps 200 --batch 16 --set rate=0.5 --out table.safetensors\n"
    "  tsr train table.bundle --data text.txt --steps 200 --batch 16 --set rate=0.5 --checkpoints run --resume\n"
    "\n"
    "Exit status:\n"
    "  0         success\n"
    "  1         an error in command line, files or tensors, or a loss that is not finite\n"
    "  70        an internal error\n"
    "  130, 143  ended by SIGINT, by SIGTERM";

void add_data_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--params", options.params, "safetensors file with parameters to begin with; others are\n"
                                                 "initialised; may be given several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
  command.add_option("--data", options.data, "text, tokens or rows to learn from; may be given several times")
      ->type_name("[NAME=]FILE")
      ->allow_extra_args(false);
  command.add_option("--set", options.settings, "a number that entries take; may be given several times")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  CLI::Option* batch =
      command.add_option("--batch", options.batch, "rows of a batch, where the program leaves it open");
  command_line::take_count(*batch->type_name("N"), 1, uint64_t(1) << 32);
  command_line::add_sizes_option(command, options.dims, "other sizes that the program leaves open, as S=256");
  CLI::Option* held_out = command.add_option(
      "--held-out", options.held_out,
      "part of the data, at their end, that is kept for evaluation; 0.1 where there is an entry for it");
  command_line::take_number(*held_out->type_name("FRACTION"), 0, 1);
  CLI::Option* every = command.add_option("--eval-every", options.eval_every,
                                          "evaluate every N steps; the default is a tenth of --steps");
  command_line::take_count(*every->type_name("N"), 1);
  CLI::Option* batches = command.add_option("--eval-batches", options.eval_batches, "batches of an evaluation");
  command_line::take_count(*batches->type_name("N")->capture_default_str(), 1, 1'000'000);
}

void add_file_options(CLI::App& command, TrainOptions& options) {
  command.add_option("--out", options.out, "file for the parameters at the end")->type_name("FILE");
  CLI::Option* folder = command.add_option("--checkpoints", options.checkpoints, "folder for checkpoints");
  folder->type_name("DIR");
  CLI::Option* save = command.add_option("--save-every", options.save_every, "write one every N steps");
  command_line::take_count(*save->type_name("N")->capture_default_str()->needs(folder), 1);
  CLI::Option* keep = command.add_option("--keep", options.keep, "keep the N newest");
  command_line::take_count(*keep->type_name("N")->capture_default_str()->needs(folder), 1, 1'000'000);
  command.add_flag("--resume", options.resume, "go on from the newest checkpoint, if there is one");
  command.add_option("--log", options.log, "file for the numbers of each step, .jsonl or .csv")->type_name("FILE");
  command.add_option("--curve", options.curve, "file for a picture of the losses, .svg")->type_name("FILE");
}

}  // namespace

void add_train_command(CLI::App& command, int& exit_code) {
  auto options = std::make_shared<TrainOptions>();
  command.footer(train_epilogue);
  command.add_option("BUNDLE", options->bundle, "bundle that has the entries")->required();
  CLI::Option* steps = command.add_option("--steps", options->steps, "number of steps in all");
  command_line::take_count(*steps->type_name("N")->required(), 1, uint64_t(1) << 53);
  CLI::Option* minutes =
      command.add_option("--minutes", options->minutes, "end after M minutes, even if steps are left");
  command_line::take_number(*minutes->type_name("M"), 1e-6, 1e9);
  CLI::Option* seed = command.add_option("--seed", options->seed, "seed of parameters, batches and entries");
  command_line::take_count(*seed->type_name("N")->capture_default_str(), 0);
  command.add_option("--step-entry", options->step_entry, "name of the entry that is a step of training")
      ->type_name("ENTRY")
      ->capture_default_str();
  add_data_options(command, *options);
  add_file_options(command, *options);
  add_device_options(command, options->device);
  command.callback([options, seed, &exit_code] {
    options->has_seed = seed->count() > 0;
    exit_code = train::Trainer(*options).run();
  });
}

}  // namespace tessera::tool
