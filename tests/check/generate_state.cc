// Random programs with state. They are written as a whole: what an entry does to its state is one story, of which no
// part can be left out. A cache is appended to in a line, in loops, in branches, and in branches in loops.

#include <fmt/format.h>

#include <algorithm>

#include "check/generate.h"
#include "check/generator.h"

namespace tessera::check {

namespace {

class StateGenerator : public Generator {
 public:
  explicit StateGenerator(uint64_t seed) : Generator(seed) {}

  Program generate() {
    switch (random_.pick(5)) {
      case 0: optimiser(); break;
      case 1:
      case 2: cache(); break;
      default: controlled_cache();
    }
    static constexpr int64_t extents[] = {0, 1, 2, 3, 5, 8, 17};
    for (int i = 0; i < 3; ++i) {
      program_.samples.push_back({{"M", random_.of(extents)}, {"N", random_.of(extents)}});
    }
    return std::move(program_);
  }

 private:
  static std::string parameter(const std::string& name, const ValueType& type) { return name + ": " + type_text(type); }

  /// An elementwise change of a value.
  std::string changed(const std::string& value) {
    static constexpr const char* forms[] = {"{0}",       "{0}",       "({0} * 2.0)", "({0} + {0})",
                                            "tanh({0})", "relu({0})", "({0} - 0.5)"};
    return fmt::format(fmt::runtime(random_.of(forms)), value);
  }

  /// One or two appends, and what is made of the cache before, between or behind.
  void cache() {
    DType dtype = random_.one_in(3) ? DType::BF16 : DType::F32;
    int64_t groups = 1 + int64_t(random_.pick(2)), heads = groups * (1 + int64_t(random_.pick(2)));
    int64_t step = 1 + int64_t(random_.pick(3)), depth = random_.one_in(2) ? 8 : 16;
    int64_t appends = 1 + int64_t(random_.pick(2)), room = step * appends + int64_t(random_.pick(30));
    bool rolls = random_.one_in(3);
    Dim batch = random_.one_in(2) ? symbol("M") : number(2);
    ValueType held{{batch, number(groups), number(room), number(depth)}, dtype};
    ValueType given{{batch, number(groups), number(step), number(depth)}, dtype};
    ValueType asked{{batch, number(heads), number(step), number(depth)}, dtype};
    argument(asked, Fill::Uniform);
    for (int64_t i = 0; i < 2 * appends; ++i) argument(given, random_.one_in(3) ? Fill::Integers : Fill::Uniform);
    argument(held, Fill::Uniform);
    argument(held, Fill::Uniform);
    argument({{}, DType::I64}, Fill::Below);
    program_.nodes.back().salt = uint64_t(rolls ? 3 * room : room - step * appends);
    std::string kind = fmt::format("KVCache[{}, {}, {}, {}, {}]{}", batch->text, groups, room, depth, to_string(dtype),
                                   rolls ? " @rolling_window" : "");
    std::string parameters = parameter("q", asked), body, results;
    for (int64_t i = 0; i < appends; ++i) {
      parameters += fmt::format(", k{0}: {1}, v{0}: {1}", i, type_text(given));
      if (random_.one_in(3)) look(body, results, i, dtype, rolls);
      body += fmt::format("    cache = cache.append({}, {})\n", changed(fmt::format("k{}", i)),
                          changed(fmt::format("v{}", i)));
    }
    if (random_.pick(3)) look(body, results, appends, dtype, rolls);
    program_.whole =
        "@jit\ndef f(" + parameters + ", cache: " + kind + "):\n" + body + "    return " + results + "cache\n";
  }

  /// Appends of one position each in a loop, in a branch, or in a branch in a loop. A rolling cache takes any number of
  /// iterations; of others no more than there is room for.
  void controlled_cache() {
    DType dtype = random_.one_in(3) ? DType::BF16 : DType::F32;
    bool rolls = random_.one_in(2);
    Dim groups = number(1 + int64_t(random_.pick(2))), depth = number(random_.one_in(2) ? 4 : 8);
    int64_t iterations = 1 + int64_t(random_.pick(4)), room = 2 * iterations + int64_t(random_.pick(12));
    Dim batch = random_.one_in(2) ? symbol("M") : number(2), count = rolls ? symbol("N") : number(iterations);
    ValueType held{{batch, groups, number(room), depth}, dtype}, given{{batch, groups, count, depth}, dtype};
    ValueType one{{batch, groups, number(1), depth}, dtype};
    for (const char* name : {"k", "v"}) parameter_of(name, given);
    for (const char* name : {"k0", "v0"}) parameter_of(name, one);
    parameter_of("flag", {{}, DType::I32});
    argument(held, Fill::Uniform);
    argument(held, Fill::Uniform);
    argument({{}, DType::I64}, Fill::Below);
    program_.nodes.back().salt = uint64_t(rolls ? 3 * room : room - 2 * iterations);
    std::string body, results;
    if (random_.one_in(3)) look(body, results, 0, dtype, true);
    body += fmt::format("    y1 = cast(sum(cache.K, axis=2), {})\n", to_string(dtype));
    results += "y1, ";
    switch (random_.pick(3)) {
      case 0: body += turns_of("    ", count); break;
      case 1: body += branch_of("    ", append_of("", "k0", "v0")); break;
      default: body += turns_of("    ", count) + branch_of("    ", append_of("", "k0", "v0"));
    }
    if (random_.one_in(2)) look(body, results, 2, dtype, true);
    std::string kind = fmt::format("KVCache[{}, {}, {}, {}, {}]{}", batch->text, groups->text, room, depth->text,
                                   to_string(dtype), rolls ? " @rolling_window" : "");
    program_.whole =
        "@jit\ndef f(" + parameters_ + "cache: " + kind + "):\n" + body + "    return " + results + "cache\n";
  }

  void parameter_of(const std::string& name, const ValueType& type) {
    argument(type, type.rank() ? Fill::Uniform : Fill::Integers);
    parameters_ += parameter(name, type) + ", ";
  }

  std::string append_of(const std::string& indent, const std::string& k, const std::string& v) {
    return fmt::format("{}cache = cache.append({}, {})\n", indent, changed(k), changed(v));
  }

  /// A loop that appends in each iteration, or in those after some number of iterations, and may look at what is there
  /// by then.
  std::string turns_of(const std::string& indent, Dim count) {
    std::string inner = indent + "    ", body;
    if (random_.one_in(2)) body += inner + "y1 = y1 * 0.5 + cache.K[:, :, -1]\n";
    std::string append = append_of("", "k[:, :, i:i + 1]", "v[:, :, i:i + 1]");
    body += random_.one_in(3) ? branch_of(inner, append) : inner + append;
    if (random_.one_in(2)) body += inner + "y1 = y1 + cache.V[:, :, 0]\n";
    return fmt::format("{}for i in range({}):\n{}", indent, count->text, body);
  }

  std::string branch_of(const std::string& indent, const std::string& append) {
    static constexpr const char* conditions[] = {"flag > 0", "flag > 2", "cache.length > 3"};
    std::string text = fmt::format("{0}if {1}:\n{0}    {2}", indent, random_.of(conditions), append);
    if (random_.one_in(3)) text += fmt::format("{0}else:\n{0}    y1 = y1 * 2.0\n", indent);
    return text;
  }

  /// Reads the cache as it is now.
  void look(std::string& body, std::string& results, int64_t place, DType dtype, bool rolls) {
    std::string name = fmt::format("y{}", place), type(to_string(dtype));
    switch (random_.pick(rolls ? 2 : 3)) {
      case 0: body += fmt::format("    {} = cast(sum(cache.K, axis=2), {})\n", name, type); break;
      case 1: body += fmt::format("    {} = cast(cache.V * 0.5, {})\n", name, type); break;
      default:
        body += fmt::format("    {} = cast(flash_attention(q, cache{}), {})\n", name,
                            random_.one_in(2) ? ", causal=True" : "", type);
    }
    results += name + ", ";
  }

  /// A step with momentum, with a master copy where the weights are narrow.
  void optimiser() {
    DType dtype = random_.one_in(2) ? DType::BF16 : DType::F32;
    Dim rows = random_.one_in(2) ? symbol("M") : number(5), columns = random_.one_in(2) ? symbol("N") : number(8);
    ValueType weights{{rows, columns}, dtype}, wide{{rows, columns}, DType::F32};
    argument(weights, Fill::Uniform);
    argument(weights, Fill::Uniform);
    argument(wide, Fill::Uniform);
    argument(wide, Fill::Positive);
    bool master = dtype != DType::F32;
    if (master) argument(wide, Fill::Uniform);
    argument({{}, DType::I64}, Fill::Below);
    program_.nodes.back().salt = 100;
    std::string kept = master ? "state.master" : "w";
    program_.whole = fmt::format(
        "@jit\ndef f(w: {0}, g: {0}, state: OptimizerState[w]{1}):\n"
        "    gradient = cast(g, f32)\n"
        "    m = state.m * 0.875 + gradient * 0.125\n"
        "    v = state.v * 0.75 + gradient * gradient * 0.25\n"
        "    new = {2} - m * 0.5 / (sqrt(v) + 0.0625)\n"
        "    state = state.replace(m=m, v=v, step=state.step + 1{3})\n"
        "    return cast(new, {4}), state\n",
        type_text(weights), master ? " @fp32_master" : "", kept, master ? ", master=new" : "", to_string(dtype));
  }

  std::string parameters_;
};

}  // namespace

Program random_state(uint64_t seed) { return StateGenerator(seed).generate(); }

}  // namespace tessera::check
