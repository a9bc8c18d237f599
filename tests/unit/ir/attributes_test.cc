// Keys of attributes: the type of a row is the type that code reads, and the verifier refuses others.

#include <catch2/catch.hpp>

#include <algorithm>
#include <type_traits>

#include "ir/core/common_attributes.h"
#include "unit/ir/text_fixture.h"

using namespace tessera;

namespace {

using tile::attr::Kernel;

template <typename Key>
using Read = decltype(std::declval<Op>().attr(std::declval<Key>()));

static_assert(std::is_same_v<Read<decltype(target::attr::Wgmma::m)>, int64_t>);
static_assert(std::is_same_v<Read<decltype(target::attr::Wgmma::dtype)>, DType>);
static_assert(std::is_same_v<Read<decltype(target::attr::Func::scratch)>, Dim>);
static_assert(std::is_same_v<Read<decltype(graph::attr::FlashAttention::scale)>, std::optional<double>>);
static_assert(std::is_same_v<Read<decltype(graph::attr::FlashAttention::causal)>, bool>);

/// A module with a kernel that has these attributes besides the three that it needs.
std::string kernel(const std::string& attributes) {
  return "module @k level(tile) version(1) {\n  tile.kernel @k(%x: tensor<N, f32>) {outputs = 0, schedule = {}, grid "
         "= " +
         attributes + "} {\n    tile.return\n  }\n}\n";
}

struct KernelFixture : TextFixture {
  std::unique_ptr<Module> module;
  Op* op = nullptr;

  explicit KernelFixture(const std::string& attributes) {
    FileId file = sources.add("test.tir", kernel(attributes));
    auto modules = parse_modules(context, file, diagnostics);
    REQUIRE(modules);
    module = std::move(modules->front());
    op = module->find("k");
  }
};

}  // namespace

TEST_CASE("an attribute reads as its row says") {
  KernelFixture given("[<N>, 4], threads = 128, kernel = \"f\", epilogue = [\"a\", \"b\"], persistent = true");
  CHECK(given.op->attr(Kernel::outputs) == 0);
  CHECK(given.op->attr(Kernel::threads) == 128);
  CHECK(given.op->attr(Kernel::kernel) == "f");
  CHECK(given.op->attr(Kernel::persistent));
  CHECK(given.op->attr(Kernel::grid).size() == 2);
  CHECK(given.op->attr(Kernel::grid)[0]->text == "N");
  CHECK(given.op->attr(Kernel::grid)[1]->is_constant(4));
  CHECK(std::ranges::equal(given.op->attr(Kernel::epilogue), std::vector<std::string_view>{"a", "b"}));
  CHECK(given.op->attr(common::Kernel::threads) == 128);
}

TEST_CASE("an optional attribute that is not there reads as none, false or empty") {
  KernelFixture given("[]");
  CHECK_FALSE(given.op->has(Kernel::threads));
  CHECK(given.op->attr(Kernel::threads) == std::nullopt);
  CHECK(given.op->attr(Kernel::scratch) == nullptr);
  CHECK_FALSE(given.op->attr(Kernel::persistent));
  CHECK(given.op->attr(Kernel::epilogue).empty());
  CHECK(given.op->attr(Kernel::checks).empty());
}

TEST_CASE("an attribute is set, replaced and removed by its key") {
  KernelFixture given("[]");
  given.op->set(Kernel::threads, 64);
  given.op->set(Kernel::threads, 96);
  given.op->set(Kernel::persistent, true);
  given.op->set(Kernel::kernel, "g");
  CHECK(given.op->attr(Kernel::threads) == 96);
  CHECK(given.op->node(Kernel::threads)->text == "96");
  CHECK(given.op->node(Kernel::kernel)->text == "\"g\"");
  given.op->set(Kernel::persistent, false);
  CHECK_FALSE(given.op->has(Kernel::persistent));
  given.op->remove(Kernel::threads);
  CHECK_FALSE(given.op->has(Kernel::threads));
}

TEST_CASE("an attribute of another type than its row says is refused") {
  auto refused = [](const std::string& attributes, const std::string& reason) {
    std::string text = TextFixture().round_trip(kernel(attributes));
    INFO(text);
    CHECK(text.find(reason) != std::string::npos);
  };
  refused("4", "attribute 'grid' must be a list of sizes, not 4");
  refused("[1, true]", "each of 'grid' must be a size, not true");
  refused("[], threads = 1.5", "attribute 'threads' must be an integer, not 1.5");
  refused("[], own = 1", "attribute 'own' must be true or false, not 1");
  refused("[], epilogue = [@a]", "each of 'epilogue' must be a string, not @a");
  refused("[], work = []", "attribute 'work' must be a dict, not []");
  refused("[], assume = [{left = 1}]", "each of 'assume' must be a relation {left, relation, right} of two dims");
}

TEST_CASE("common attributes are those of rows") {
  TextFixture fixture;
  std::vector<const OpInfo*> ops = fixture.context.all_ops();
  auto is_row = [&](const common::Row& row) {
    return std::ranges::any_of(ops, [&](const OpInfo* op) {
      const Slot* slot = op->find_attribute(row.name);
      return slot && slot->attr == row.type;
    });
  };
  CHECK(common::rows().size() > 20);
  for (const common::Row& row : common::rows()) {
    INFO(row.group << "::" << row.name);
    CHECK((row.group == "Module" || row.group == "Function" || is_row(row)));
  }
}

TEST_CASE("the attributes of a module are those of its rows") {
  auto refused = [](const std::string& attributes, const std::string& reason) {
    std::string text = TextFixture().round_trip("module @k level(tile) version(1) {" + attributes + "} {\n}\n");
    INFO(text);
    CHECK(text.find(reason) != std::string::npos);
  };
  refused("target = 1", "attribute 'target' must be a string, not 1");
  refused("properties = [1]", "each of 'properties' must be a string, not 1");
  refused("colour = 2", "it has no attribute 'colour'");
}
