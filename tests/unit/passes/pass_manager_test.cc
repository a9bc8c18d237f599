// The pass manager: levels, properties, printing, and what is left behind by a crash.

#include "passes/pass_manager.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "passes/phases.h"
#include "passes/pipeline.h"
#include "support/file.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

Status succeed(Module&, PassContext&) { return success; }
Status crash(Module&, PassContext&) { TSR_UNREACHABLE("a crash on purpose"); }

/// A pass at Graph level.
constexpr PassInfo pass(std::string_view name, Properties needs, Properties gives, Properties ends) {
  return {name, Level::Graph, Level::Graph, needs, gives, ends, "", "", &succeed};
}

constexpr PassInfo first = pass("first", property::None, property::Canonical, property::None);
constexpr PassInfo second = pass("second", property::Canonical, property::None, property::None);
constexpr PassInfo ending = pass("ending", property::None, property::None, property::Canonical);
constexpr PassInfo below{.name = "below", .reads = Level::Tile, .leaves = Level::Tile, .run = &succeed};
constexpr PassInfo crashing{.name = "crashing", .reads = Level::Graph, .leaves = Level::Graph, .run = &crash};

struct Fixture : TextFixture {
  Module module{context, sources, "m", Level::Graph};
  PassContext pass_context{diagnostics, nullptr, nullptr, {}, {}};

  std::string run(std::vector<PassStep> steps, PassManagerOptions options = {}) {
    PassManager manager(std::move(options));
    bool ok = bool(manager.run(module, steps, pass_context));
    return ok ? "ok" : render_all(diagnostics, {});
  }
};

}  // namespace

TEST_CASE("a pass gives its properties to the module, where a dump shows them") {
  Fixture f;
  CHECK(f.run({{&first, {}}, {&second, {}}}) == "ok");
  CHECK(print(f.module).find("properties = [\"canonical\"]") != std::string::npos);
}

TEST_CASE("a pass ends properties, which later passes then lack") {
  Fixture f;
  CHECK(f.run({{&first, {}}, {&ending, {}}}) == "ok");
  CHECK(print(f.module).find("canonical") == std::string::npos);
  CHECK(Fixture().run({{&first, {}}, {&ending, {}}, {&second, {}}}) ==
        "error: pass 'second' needs a module that is canonical [pass-property]\n"
        "help: these passes make it so: canonicalize\n");
}

TEST_CASE("a pass that lacks what it needs is refused") {
  CHECK(Fixture().run({{&second, {}}}) ==
        "error: pass 'second' needs a module that is canonical [pass-property]\n"
        "help: these passes make it so: canonicalize\n");
}

TEST_CASE("a pass of another level is refused") {
  CHECK(Fixture().run({{&below, {}}}) ==
        "error: pass 'below' reads modules of level tile, and this one is of level graph [pass-level]\n");
}

TEST_CASE("printing before and after is by name") {
  Fixture f;
  std::string printed;
  PassManagerOptions options;
  options.print_after = {"second"};
  options.print = [&](const std::string& text) { printed += text; };
  CHECK(f.run({{&first, {}}, {&second, {}}}, options) == "ok");
  CHECK(printed.rfind("// after second\nmodule @m", 0) == 0);
  CHECK(printed.find("// after first") == std::string::npos);
}

TEST_CASE("pipelines that name what does not exist are refused") {
  Fixture f;
  CHECK_FALSE(parse_pipeline("no_such_pass", f.diagnostics));
  CHECK_FALSE(parse_pipeline(",", f.diagnostics));
  CHECK(render_all(f.diagnostics, {}).find("error: there is no pass 'no_such_pass' [unknown-pass]") == 0);
  CHECK(parse_pipeline("", f.diagnostics)->empty());
}

TEST_CASE("every pass of the table is read back from its printed pipeline") {
  Fixture f;
  for (const PassInfo& pass : all_passes()) {
    PassStep step{&pass, {}};
    auto parsed = parse_pipeline(print_pipeline({&step, 1}), f.diagnostics);
    REQUIRE(parsed);
    CHECK(parsed->front().pass == &pass);
    CHECK_FALSE(parse_pipeline(std::string(pass.name) + "{nosuch=1}", f.diagnostics));
  }
  if (!all_passes().empty()) CHECK(render_all(f.diagnostics, {}).find("[unknown-pass-option]") != std::string::npos);
}

TEST_CASE("the phases together are a target's pipeline") {
  for (const char* name : {"cpu:x86-64-v3", "cuda:sm_90a"}) {
    const Machine* machine = find_machine(name);
    REQUIRE(machine);
    std::vector<PassStep> all;
    for (const Phase& phase : all_phases()) {
      std::vector<PassStep> steps = steps_of_phase(phase.name, machine).value();
      all.insert(all.end(), steps.begin(), steps.end());
    }
    std::vector<PassStep> whole = steps_of(graph_pipeline());
    std::vector<PassStep> rest = steps_of(pipeline_for(*machine));
    whole.insert(whole.end(), rest.begin(), rest.end());
    CHECK(print_pipeline(all) == print_pipeline(whole));
  }
}

TEST_CASE("a crash names the pass and leaves a reproducer") {
  char state[] = "/tmp/tessera-state-XXXXXX";
  REQUIRE(mkdtemp(state));
  int pipes[2];
  REQUIRE(pipe(pipes) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(pipes[1], STDERR_FILENO);
    PassManagerOptions options;
    options.reproducer = "tessera-test";
    setenv("XDG_STATE_HOME", state, 1);
    Fixture().run({{&first, {{"x", "1"}}}, {&crashing, {}}}, options);
    _exit(0);
  }
  close(pipes[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(pipes[0], buffer, sizeof buffer)) > 0;) text.append(buffer, size_t(n));
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 70);
  CHECK(text.find("a crash on purpose") != std::string::npos);
  CHECK(text.find("in pass crashing") != std::string::npos);
  std::string begin = std::string(state) + "/tessera/tessera-test-crash-", reproducer, error;
  size_t at = text.find(begin);
  REQUIRE(at != std::string::npos);
  std::string path = text.substr(at, text.find('\n', at) - at);
  struct stat info {};
  REQUIRE(stat(path.c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0600);
  REQUIRE(read_file(path, reproducer, error));
  CHECK(reproducer == "// tessera-opt --passes=first{x=1},crashing\nmodule @m level(graph) version(1) {\n}\n");
  std::filesystem::remove_all(state);
}
