"""libtessera by ctypes with numpy alone: tensors of any dtype as raw bits, in memory that tsrAlloc gives."""

import ctypes
import pathlib

import numpy

import tessera_ctypes

CODES = {"f64": (2, 64), "f32": (2, 32), "bf16": (4, 16), "f16": (2, 16), "f8e4m3": (10, 8), "f8e5m2": (12, 8),
         "bool": (6, 8), **{f"i{bits}": (0, bits) for bits in (8, 16, 32, 64)},
         **{f"u{bits}": (1, bits) for bits in (8, 16, 32, 64)}}
HERE = pathlib.Path(__file__).resolve().parent


def bits_type(dtype):
    return numpy.dtype(f"u{CODES[dtype][1] // 8}")


class Array:
    """Elements of a dtype on a context's device, and the DLTensor that says so."""

    def __init__(self, context, dtype, bits=None, shape=None, offset=0, strides=None, device=None):
        """`bits` are copied there; else the memory holds a poison. `offset` bytes lie before the first element."""
        self.context, self.dtype = context, dtype
        shape = bits.shape if bits is not None else shape
        code, width = CODES[dtype]
        self.count = int(numpy.prod(shape, dtype=numpy.int64))
        self.bytes = self.count * width // 8
        self.memory = ctypes.c_void_p()
        size = max(self.bytes + offset, 1)
        library = context.library
        library.check(library.c.tsrAlloc(context.handle, ctypes.c_size_t(size), 1, ctypes.byref(self.memory)))
        self.start = self.memory.value + offset
        fill = bits if bits is not None else numpy.full(self.bytes, 0x5B, numpy.uint8)
        self.copy(self.start, numpy.ascontiguousarray(fill).ctypes.data)
        device_type = 2 if context.device.startswith("cuda") else 1
        number = int(context.device.partition(":")[2] or 0)
        self.shape = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        self.strides = (ctypes.c_int64 * len(shape))(*strides) if strides else None
        self.extents = tuple(shape)
        device_type, number = device or (device_type, number)
        self.tensor = tessera_ctypes.Tensor(self.start, device_type, number, len(shape), code, width, 1,
                                            self.shape, self.strides, 0)

    def copy(self, to, source):
        if self.bytes:
            c = self.context.library.c
            status = c.tsrCopy(self.context.handle, None, ctypes.c_void_p(to), ctypes.c_void_p(source),
                               ctypes.c_size_t(self.bytes))
            self.context.library.check(status)
            self.context.synchronize()

    def bits(self):
        out = numpy.empty(self.extents, bits_type(self.dtype))
        self.copy(out.ctypes.data, self.start)
        return out

    def free(self):
        self.context.library.check(self.context.library.c.tsrFree(self.context.handle, self.memory))


def pointers(arrays):
    return (ctypes.POINTER(tessera_ctypes.Tensor) * max(len(arrays), 1))(
        *[ctypes.pointer(a.tensor) for a in arrays])


def call_status(function, inputs, outputs):
    """Calls it and waits; the status of what failed first, with its text."""
    c = function.library.c
    status = c.tsrCall(function.handle, None, pointers(inputs), ctypes.c_size_t(len(inputs)), pointers(outputs),
                       ctypes.c_size_t(len(outputs)), None)
    if status == 0:
        context = inputs[0].context if inputs else outputs[0].context
        status = c.tsrSynchronize(context.handle, None, ctypes.c_uint32(tessera_ctypes.FOREVER))
    c.tsrStatusName.restype = ctypes.c_char_p
    text = c.tsrGetLastError().decode() if status else ""
    return c.tsrStatusName(status).decode(), text


def run(function, inputs, outputs):
    """Runs the entry on pairs of dtype and bits; `outputs` are pairs of dtype and shape. Gives the results' bits."""
    context = function.context
    given = [Array(context, dtype, bits) for dtype, bits in inputs]
    wanted = [Array(context, dtype, shape=shape) for dtype, shape in outputs]
    status, text = call_status(function, given, wanted)
    if status != "TSR_SUCCESS":
        raise tessera_ctypes.Error(f"{status}: {text}")
    results = [array.bits() for array in wanted]
    for array in given + wanted:
        array.free()
    return results


def open_library():
    return tessera_ctypes.Library(HERE / "lib" / "libtessera.so.2")


def context_of(library, device):
    context = library.context(device)
    context.device = device
    return context


def load(context, bundle, allow_jit=True):
    module = context.load(HERE / "bundles" / f"{bundle}.bundle", allow_jit=allow_jit)

    def function(name):
        found = module.function(name)
        found.context = context
        return found

    module.entry = function
    return module
