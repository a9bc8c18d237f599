// Sizes of the caller in a kernel. A kernel has dims of its own, and names that it shares with the
// caller are unrelated: the M of a kernel of rows may be the caller's N, and a size S of the caller
// may be no dim of the kernel. Functions that the kernel is given (`mask_mod=lambda b, h, i, j: i -
// j < W`), the file around it and the function that it is defined in refer to the caller's sizes by
// name. So a value from one of their scopes is converted when it is read: a size that the operands'
// dims determine is written in them, and any other becomes a dim of the kernel, which the call
// binds like the rest. Scopes that are opened while the kernel is built have sizes of the kernel
// already.
//
// Passes may change the dims of a call after it was built; `sizes` of the request has the current
// dims of the names.

#include "frontend/lower/kernel/kernel_builder.h"
#include "support/diagnostic_rows.h"

namespace tessera::frontend {

namespace {

std::string subject_of(const IrValue& value) {
  return value.name.empty() ? std::string("a tensor") : fmt::format("tensor '{}'", value.name);
}

}  // namespace

Datum KernelBuilder::received(const Scope& from, Datum value) {
  bool is_own = !kernel_.has_symbols || kernel_.own_scopes.count(&from) != 0;
  if (is_own) return value;
  if (!value.is_ir()) {
    return evaluator_.may_make(value.measure().parts, request_.loc) ? captured(value) : Datum::poison();
  }
  const IrValue& tensor = value.as_ir();
  report(diag::unsupported_construct, request_.loc, fmt::format("a kernel that reads {} from around it",
                                                                subject_of(tensor)))
      .label(tensor.origin, "the tensor")
      .help("a kernel reads only its parameters");
  return Datum::poison();
}

/// A value of the caller in the kernel's symbols.
Datum KernelBuilder::captured(const Datum& value) {
  if (value.is(DatumKind::Dim)) return Datum::dim(captured_size(value.as_dim()));
  if (value.is_sequence()) {
    std::vector<Datum> elements;
    for (const Datum& element : value.elements()) elements.push_back(captured(element));
    return value.is(DatumKind::Tuple) ? Datum::tuple(std::move(elements)) : Datum::list(std::move(elements));
  }
  if (value.is(DatumKind::Dict)) {
    Dictionary entries;
    for (const auto& [key, entry] : value.entries().entries) entries.entries.emplace_back(key, captured(entry));
    return Datum::dict(std::move(entries));
  }
  return value;
}

/// The kernel's size for one in the symbols of its source; those that it has not become dims of the kernel.
Dim KernelBuilder::captured_size(Dim of_source) {
  Dim of_caller = dims().substitute(of_source, {request_.sizes.begin(), request_.sizes.end()});
  if (Dim own = own_dim(of_caller)) return own;
  return dims().substitute(of_caller, [&](std::string_view symbol) {
    Dim size = dims().symbol(symbol);
    if (Dim own = own_dim(size)) return own;
    std::string name(symbol);
    for (unsigned n = 1; kernel_.bindings.dims.count(name) != 0; ++n) name = fmt::format("{}_{}", symbol, n);
    kernel_.bindings.dims[name] = {size, request_.loc, fmt::format("'{}'", symbol)};
    return dims().symbol(name);
  });
}

/// The kernel's size for one of the caller, which may be an expression; null if it has none.
Dim KernelBuilder::own_size(Dim of_caller) const {
  if (Dim own = own_dim(of_caller)) return own;
  bool known = true;
  Dim own = dims().substitute(of_caller, [&](std::string_view name) {
    Dim symbol = own_dim(dims().symbol(name));
    known = known && symbol;
    return symbol;
  });
  return known ? own : nullptr;
}

/// A compile-time argument in the kernel's symbols.
Datum KernelBuilder::own_argument(Attr attr) {
  if (!attr->is(AttrKind::Dim)) return from_attr(attr);
  Dim own = own_size(attr->dim);
  TSR_CHECK(own, "a size that a kernel is given is none of its own");
  return Datum::dim(own);
}

}  // namespace tessera::frontend
