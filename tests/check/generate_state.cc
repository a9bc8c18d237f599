// Random programs with state. They are written as a whole: what an entry does to its state is one story, of which no
// part can be left out.

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
    if (random_.one_in(3)) {
      optimiser();
    } else {
      cache();
    }
    static constexpr int64_t extents[] = {1, 2, 3, 5, 8, 17};
    for (int i = 0; i < 3; ++i) {
      program_.samples.push_back({{"M", random_.of(extents)}, {"N", random_.of(extents)}});
    }
    return std::move(program_);
  }

 private:
  static std::string parameter(const std::string& name, const ValueType& type) { return name + ": " + type_text(type); }

  /// An elementwise change of a value.
  std::string changed(const std::string& value) {
    static constexpr const char* forms[] = {"{0}", "{0}", "({0} * 2.0)", "({0} + {0})", "tanh({0})", "relu({0})", "({0} - 0.5)"};
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
      body += fmt::format("    cache = cache.append({}, {})\n", changed(fmt::format("k{}", i)), changed(fmt::format("v{}", i)));
    }
    if (random_.pick(3)) look(body, results, appends, dtype, rolls);
    program_.whole = "@jit\ndef f(" + parameters + ", cache: " + kind + "):\n" + body + "    return " + results + "cache\n";
  }

  /// Reads the cache as it is now.
  void look(std::string& body, std::string& results, int64_t place, DType dtype, bool rolls) {
    std::string name = fmt::format("y{}", place), type(to_string(dtype));
    switch (random_.pick(rolls ? 2 : 3)) {
      case 0: body += fmt::format("    {} = cast(sum(cache.K, axis=2), {})\n", name, type); break;
      case 1: body += fmt::format("    {} = cast(cache.V * 0.5, {})\n", name, type); break;
      default:
        body += fmt::format("    {} = cast(flash_attention(q, cache{}), {})\n", name, random_.one_in(2) ? ", causal=True" : "", type);
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
};

}  // namespace

Program random_state(uint64_t seed) { return StateGenerator(seed).generate(); }

}  // namespace tessera::check
