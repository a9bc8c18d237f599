// A long session with the server in this process: random edits, requests, documents and files that come
// and go, then messages that are none.
// Nothing may end it, memory must not grow, and at the end it has to say of each text what a server
// says that has seen nothing else.
//
//     lsp-soak [--edits N] [--messages N] [--seed N] files.tsr…

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "lsp/random_client.h"

namespace {

/// Resident memory of this process in bytes.
size_t resident() {
  std::ifstream in("/proc/self/statm");
  size_t pages = 0, held = 0;
  in >> pages >> held;
  return held * size_t(sysconf(_SC_PAGESIZE));
}

std::string read(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Edits with a request after each; false where memory grew.
bool soak_edits(lsp_test::RandomClient& client, size_t edits) {
  constexpr size_t most_growth = size_t(48) << 20;
  size_t early = 0;
  for (size_t i = 0; i < edits; ++i) {
    client.edit();
    client.request();
    if (i % 20 == 0) client.disturb();
    client.work(i % 10 == 0);
    if (i == edits / 4) early = resident();
  }
  size_t late = resident();
  fmt::print("{} edits and requests, {} answers; resident {} MB after a quarter, {} MB at the end\n", edits,
             client.answers(), early >> 20, late >> 20);
  return late < early + most_growth;
}

bool agrees(lsp_test::RandomClient& client) {
  bool good = true;
  for (size_t i = 0; i < client.document_count(); ++i) {
    std::string found = client.summary(i), expected = client.fresh_summary(i);
    if (found == expected) continue;
    good = false;
    fmt::print("document {}: the server says\n{}\nand a fresh one\n{}\nof\n{}\n", i, found, expected, client.text(i));
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A long random session with the language server.");
  size_t edits = 10'000, messages = 100'000;
  unsigned seed = 1;
  std::vector<std::string> files;
  app.add_option("--edits", edits, "edits, each with a request");
  app.add_option("--messages", messages, "messages with bytes changed");
  app.add_option("--seed", seed, "of the random numbers");
  app.add_option("files", files, "texts to begin with")->required();
  CLI11_PARSE(app, argc, argv);
  std::vector<std::string> texts;
  for (const std::string& file : files) texts.push_back(read(file));
  lsp_test::RandomClient client(seed, texts);
  bool good = soak_edits(client, edits);
  if (!good) fmt::print("memory grew\n");
  good = agrees(client) && good;
  lsp_test::RandomClient garbled(seed + 1, texts);
  for (size_t i = 0; i < messages; ++i) {
    garbled.garble();
    if (i % 50 == 0) garbled.edit();
    if (i % 50 == 0) garbled.work(false);
  }
  fmt::print("{} garbled messages, {} answers, {} of them errors\n", messages, garbled.answers(), garbled.errors());
  return good ? 0 : 1;
}
