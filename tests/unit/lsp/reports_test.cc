// The cost of kernels in hovers. The compiler is a script here; tests/lsp/process_test.py has the
// real one.

#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "unit/lsp/client.h"

using Catch::Contains;
using lsp_test::Client;
using lsp_test::Json;

namespace {

namespace fs = std::filesystem;

const std::string program = R"(@kernel.schedule(Schedule(BN=1024))
def added(x: Tensor[N, f32], y: Tensor[N, f32]) -> Tensor[N, f32]:
    t = tile.context(n=N)
    return tile.load(x) + tile.load(y)


@jit
def entry(x: Tensor[N, f32]) -> Tensor[N, f32]:
    return added(x, x)
)";

/// A folder with a file, and a program in place of the compiler that writes down its arguments each time.
class Place {
 public:
  Place() : folder_(fs::temp_directory_path() / ("lsp_reports_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Place() { fs::remove_all(folder_); }
  std::string uri() const { return "file://" + (folder_ / "model.tsr").string(); }
  /// The option that keeps what is included to the folder.
  std::string root() const { return " --include-root=" + folder_.string(); }
  Json options(const Json& more = {}) const {
    Json all = {{"compilerPath", (folder_ / "compiler").string()}};
    all.update(more.is_object() ? more : Json::object());
    return {{"initializationOptions", all}};
  }
  /// What the compiler does: commands of a shell.
  void compiler(const std::string& does) const {
    std::ofstream(folder_ / "compiler") << "#!/bin/sh\necho \"$@\" >> " << (folder_ / "calls").string()
                                        << "\ncat > /dev/null\n" << does;
    fs::permissions(folder_ / "compiler", fs::perms::owner_all);
  }
  std::vector<std::string> calls() const {
    std::vector<std::string> lines;
    std::ifstream file(folder_ / "calls");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

 private:
  fs::path folder_;
};

std::string reporting(const Json& target) {
  return "cat <<'END'\n" + Json{{"targets", Json::array({target})}}.dump() + "\nEND\n";
}

Json some_report() {
  Json kernel = {{"name", "entry.0"}, {"source", "model.tsr:2:5"}, {"text", "programs   N\n"}};
  Json same = kernel, other = kernel, elsewhere = kernel;
  same["name"] = "entry.1";
  other["name"] = "entry.2";
  other["text"] = "programs   7\n";
  elsewhere["source"] = "model.tsr:8:5";
  elsewhere["text"] = "of another place\n";
  return {{"kernels", {kernel, same, other, elsewhere}},
          {"entries", Json::array({{{"name", "entry"}, {"text", "launches at N = 1024\n"}}})}};
}

std::string hover(Client& client, const std::string& uri, const std::string& name) {
  return client.request("textDocument/hover", client.at(uri, name))["contents"]["value"].get<std::string>();
}

void finish_jobs(Client& client) {
  for (int i = 0; i < 1000 && client.server().has_jobs(); ++i) {
    client.wait_until_idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  REQUIRE(!client.server().has_jobs());
}

}  // namespace

TEST_CASE("a hover of a kernel says what it costs, once that is computed") {
  Place place;
  place.compiler(reporting(some_report()));
  Client client("utf-16", {}, place.options());
  client.open(place.uri(), program);
  CHECK_THAT(hover(client, place.uri(), "added(x: "), !Contains("cost"));
  client.wait_until_idle();
  REQUIRE(client.tags(place.uri()).empty());
  CHECK_THAT(hover(client, place.uri(), "added(x: "), Contains("*cost*: being computed"));
  finish_jobs(client);
  std::string text = hover(client, place.uri(), "added(x: ");
  CHECK_THAT(text, Contains("*cost* on cpu:x86-64-v3, `entry.0`, `entry.1`\n```text\nprograms   N\n```"));
  CHECK_THAT(text, Contains("`entry.2`\n```text\nprograms   7\n```") && !Contains("of another place"));
  CHECK_THAT(hover(client, place.uri(), "entry(x"), Contains("launches at N = 1024"));
  CHECK_THAT(hover(client, place.uri(), "x, x"), !Contains("cost"));
  CHECK(place.calls() == std::vector<std::string>{
            "- --stdin-name=model.tsr --target=cpu:x86-64-v3 --report --json --dims *=1024" + place.root()});
}

TEST_CASE("what a kernel costs follows the text and the settings") {
  Place place;
  place.compiler(reporting(some_report()));
  Json settings = {{"target", "cpu:x86-64-v4"}, {"sizes", {{"N", 8}, {"*", 16}, {"B", -1}}}};
  Client client("utf-16", {}, place.options(settings));
  client.open(place.uri(), program);
  client.wait_until_idle();
  hover(client, place.uri(), "added(x: ");
  finish_jobs(client);
  client.replace(place.uri(), "tile.load(x) +", "tile.load(x) *");
  CHECK_THAT(hover(client, place.uri(), "added(x: "), !Contains("cost"));
  client.wait_until_idle();
  CHECK_THAT(hover(client, place.uri(), "added(x: "), Contains("being computed"));
  finish_jobs(client);
  client.replace(place.uri(), "tile.load(x) *", "tile.lload(x) *");
  client.wait_until_idle();
  CHECK_THAT(hover(client, place.uri(), "added(x: "), !Contains("cost"));
  client.replace(place.uri(), "tile.lload(x) *", "tile.load(x) *");
  client.notify("workspace/didChangeConfiguration", {{"settings", {{"tessera", {{"target", "cuda:sm_90a"}}}}}});
  client.wait_until_idle();
  hover(client, place.uri(), "added(x: ");
  finish_jobs(client);
  CHECK_THAT(hover(client, place.uri(), "added(x: "), Contains("*cost* on cuda:sm_90a"));
  std::string sizes = "--report --json --dims *=16,N=8" + place.root();
  std::string first = "- --stdin-name=model.tsr --target=cpu:x86-64-v4 " + sizes;
  CHECK(place.calls() == std::vector<std::string>{
      first, first, "- --stdin-name=model.tsr --target=cuda:sm_90a " + sizes + " --cubin"});
}

TEST_CASE("a compiler that fails leaves a hover as it is, and is not asked again") {
  Place place;
  for (std::string does : {"exit 1\n", "echo '{'\n", "echo '{\"targets\": [{\"kernels\": 3}]}'\n", "kill -9 $$\n"}) {
    place.compiler(does);
    Client client("utf-16", {}, place.options());
    client.open(place.uri(), program);
    client.wait_until_idle();
    size_t before = place.calls().size();
    hover(client, place.uri(), "added(x: ");
    finish_jobs(client);
    CHECK_THAT(hover(client, place.uri(), "added(x: "), Contains("@kernel") && !Contains("cost"));
    CHECK(place.calls().size() == before + 1);
  }
}
