#pragma once
// A kernel library for tests: kernels as IR text, with the dims of the operands filled in.

#include <fmt/format.h>

#include "ir/schedule/kernel_library.h"
#include "ir/text/parser.h"

namespace tessera {

class KernelLibraryDouble : public schedule::KernelLibrary {
 public:
  std::vector<std::string> asked;  ///< kernels in the order of the requests

  Result<schedule::KernelInstance> instantiate(Module& module, const schedule::KernelRequest& request) override {
    asked.push_back(request.kernel);
    module_ = &module;
    instance_ = {};
    std::string text;
    if (request.kernel == "matmul") text = matmul(request);
    if (request.kernel == "matmul_batched") text = matmul_batched(request);
    if (request.kernel == "softmax") text = softmax(request);
    if (request.kernel == "embedding") text = embedding(request);
    if (request.kernel == "twice") text = twice(request);
    if (text.empty()) return failure;
    FileId file = module.sources().add(fmt::format("kernel{}.tir", asked.size()), text);
    DiagnosticEngine diagnostics(module.sources());
    auto parsed = parse_modules(module.context(), file, diagnostics);
    TSR_CHECK(bool(parsed), render_all(diagnostics, {}) + text);
    std::map<Value*, Value*> values;
    instance_.kernel = module.clone((*parsed)[0]->body()->front(), values);
    instance_.kernel->move_to_end(module.body());
    return instance_;
  }

 private:
  /// The text of an extent: a number, or the kernel's own symbol, which is bound to the caller's dim.
  std::string dim(Dim caller, const std::string& name) {
    if (caller->constant()) return caller->text;
    instance_.dims[name] = caller;
    return name;
  }
  std::string attr(const std::string& extent) { return std::isdigit(extent[0]) ? extent : "<" + extent + ">"; }
  void result(std::vector<Dim> dims, DType dtype) {
    instance_.results.push_back(module_->context().tensor(std::move(dims), dtype));
  }
  std::string wrap(const schedule::KernelRequest& request, const std::string& parameters, const std::string& axes,
                   const std::string& grid, const std::string& arguments, const std::string& body) {
    return fmt::format(
        "module @k level(schedule) version(1) {{\n sched.kernel @{}({}) {{axes = [{}], kernel = \"{}\", outputs = 1, "
        "schedule = {{}}}} {{\n sched.tile {{axes = [{}]}} do({}) {{\n{}\n sched.yield []\n }}\n sched.return\n "
        "}}\n}}\n",
        request.symbol, parameters, axes, request.kernel, grid, arguments, body);
  }
  std::string axis(const std::string& name, const std::string& extent, const std::string& block, bool grid) {
    return fmt::format("{{block = {}, extent = {}, grid = {}, name = \"{}\"}}", block, attr(extent), grid, name);
  }

  std::string matmul(const schedule::KernelRequest& request) {
    const std::vector<Dim>& a = request.operands[0]->dims;
    const std::vector<Dim>& b = request.operands[1]->dims;
    std::string m = dim(a[0], "M"), k = dim(a[1], "K"), n = dim(b[1], "N");
    std::string in(to_string(request.operands[0]->dtype)), out(to_string(request.results[0]));
    result({a[0], b[1]}, request.results[0]);
    return wrap(
        request,
        fmt::format("%a: tensor<{0} x {1}, {3}>, %b: tensor<{1} x {2}, {3}>, %c: tensor<{0} x {2}, {4}>", m, k, n, in,
                    out),
        axis("m", m, "64", true) + ", " + axis("n", n, "128", true) + ", " + axis("k", k, "32", false), "\"m\", \"n\"",
        "%i: i64, %j: i64",
        fmt::format(
            "%z: tile<64 x 128, {1}> = sched.full {{value = 0}}\n"
            "%acc: tile<64 x 128, {1}> = sched.pipeline [%z], [] {{axis = \"k\", count = <({2} + 31)//32>}} do(%kk: "
            "i64, %s: tile<64 x 128, {1}>) {{\n"
            "%x: tile<64 x 32, {0}> = sched.load %a, [%i, %kk]\n%y: tile<32 x 128, {0}> = sched.load %b, [%kk, %j]\n"
            "%d: tile<64 x 128, {1}> = sched.dot %x, %y, %s\nsched.yield [%d]\n}}\n"
            "%h: tile<64 x 128, {1}> = sched.hook %acc {{name = \"epilogue\"}}\nsched.store %h, %c, [%i, %j]",
            in, out, k));
  }

  std::string matmul_batched(const schedule::KernelRequest& request) {
    const std::vector<Dim>& a = request.operands[0]->dims;
    const std::vector<Dim>& b = request.operands[1]->dims;
    std::string l = dim(a[0], "L"), m = dim(a[1], "M"), k = dim(a[2], "K"), n = dim(b[2], "N");
    std::string dtype(to_string(request.results[0]));
    result({a[0], a[1], b[2]}, request.results[0]);
    return wrap(
        request,
        fmt::format(
            "%a: tensor<{3} x {0} x {1}, {4}>, %b: tensor<{3} x {1} x {2}, {4}>, %c: tensor<{3} x {0} x {2}, {4}>", m,
            k, n, l, dtype),
        axis("l", l, "1", true) + ", " + axis("m", m, "64", true) + ", " + axis("n", n, "128", true) + ", " +
            axis("k", k, attr(k), false),
        "\"l\", \"m\", \"n\"", "%i: i64, %j: i64, %n: i64",
        fmt::format(
            "%0: i64 = sched.dim {{value = 0}}\n%x: tile<1 x 64 x {1}, {0}> = sched.load %a, [%i, %j, %0]\n%y: tile<1 "
            "x {1} x 128, {0}> = sched.load %b, [%i, %0, %n]\n"
            "%p: tile<64 x {1}, {0}> = sched.reshape %x\n%q: tile<{1} x 128, {0}> = sched.reshape %y\n"
            "%z: tile<64 x 128, {0}> = sched.full {{value = 0}}\n%d: tile<64 x 128, {0}> = sched.dot %p, %q, %z\n"
            "%h: tile<64 x 128, {0}> = sched.hook %d {{name = \"epilogue\"}}\n"
            "%r: tile<1 x 64 x 128, {0}> = sched.reshape %h\nsched.store %r, %c, [%i, %j, %n]",
            dtype, k));
  }

  std::string softmax(const schedule::KernelRequest& request) {
    const std::vector<Dim>& x = request.operands[0]->dims;
    std::string m = dim(x[0], "M"), n = dim(x[1], "N");
    std::string dtype(to_string(request.results[0]));
    result(x, request.results[0]);
    return wrap(
        request, fmt::format("%x: tensor<{0} x {1}, {2}>, %y: tensor<{0} x {1}, {2}>", m, n, dtype),
        axis("m", m, "4", true) + ", " + axis("n", n, attr(n), false), "\"m\"", "%i: i64",
        fmt::format(
            "%0: i64 = sched.dim {{value = 0}}\n%v: tile<4 x {0}, {1}> = sched.load %x, [%i, %0]\n"
            "%m: tile<4, {1}> = sched.reduce %v {{axis = 1, kind = \"max\"}}\n%zero: tile<4, {1}> = sched.full {{value "
            "= 0}}\n"
            "%none: tile<4, {1}> = sched.full {{value = -inf}}\n%empty: tile<4, bool> = sched.eq %m, %none\n"
            "%top: tile<4, {1}> = sched.select %empty, %zero, %m\n%r: tile<4 x 1, {1}> = sched.reshape %top\n"
            "%b: tile<4 x {0}, {1}> = sched.broadcast %r\n%s: tile<4 x {0}, {1}> = sched.sub %v, %b\n"
            "%e: tile<4 x {0}, {1}> = sched.exp %s\n%t: tile<4, {1}> = sched.reduce %e {{axis = 1, kind = \"sum\"}}\n"
            "%nil: tile<4, bool> = sched.eq %t, %zero\n%one: tile<4, {1}> = sched.full {{value = 1}}\n"
            "%sum: tile<4, {1}> = sched.select %nil, %one, %t\n"
            "%u: tile<4 x 1, {1}> = sched.reshape %sum\n%w: tile<4 x {0}, {1}> = sched.broadcast %u\n"
            "%q: tile<4 x {0}, {1}> = sched.div %e, %w\n%h: tile<4 x {0}, {1}> = sched.hook %q {{name = "
            "\"epilogue\"}}\n"
            "sched.store %h, %y, [%i, %0]",
            n, dtype));
  }

  std::string embedding(const schedule::KernelRequest& request) {
    Dim rows = request.operands[0]->dims[0];
    const std::vector<Dim>& table = request.operands[1]->dims;
    std::string m = dim(rows, "M"), v = dim(table[0], "V"), d = dim(table[1], "D");
    std::string dtype(to_string(request.results[0]));
    result({rows, table[1]}, request.results[0]);
    return wrap(
        request,
        fmt::format("%ids: tensor<{0}, {4}>, %t: tensor<{1} x {2}, {3}>, %y: tensor<{0} x {2}, {3}>", m, v, d, dtype,
                    to_string(request.operands[0]->dtype)),
        axis("m", m, "16", true) + ", " + axis("d", d, "64", true), "\"m\", \"d\"", "%i: i64, %j: i64",
        fmt::format("%r: tile<16, {1}> = sched.load %ids, [%i]\n%g: tile<16 x 64, {0}> = sched.gather %t, %r, %j\n"
                    "sched.store %g, %y, [%i, %j]",
                    dtype, to_string(request.operands[0]->dtype)));
  }

  /// A user's kernel whose result is stored twice, so that nothing can be folded into it.
  std::string twice(const schedule::KernelRequest& request) {
    std::string n = dim(request.operands[0]->dims[0], "N");
    result(request.operands[0]->dims, DType::F32);
    return wrap(request, fmt::format("%x: tensor<{0}, f32>, %y: tensor<{0}, f32>", n), axis("n", n, "64", true),
                "\"n\"", "%i: i64",
                "%v: tile<64, f32> = sched.load %x, [%i]\nsched.store %v, %y, [%i]\n%w: tile<64, f32> = sched.add %v, "
                "%v\nsched.store %w, %y, [%i]");
  }

  Module* module_ = nullptr;
  schedule::KernelInstance instance_;
};

}  // namespace tessera
