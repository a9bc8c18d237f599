#!/usr/bin/env python3
"""What the C ABI has for programs around, on a GPU: devices, memory, an allocator, DLPack, the driver's streams,
notifications, and PTX without a bundle."""

import ctypes
import sys
import threading

import numpy

import device
import tessera_ctypes

U32, U64, SIZE, POINTER = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_void_p
ALLOCATE = ctypes.CFUNCTYPE(POINTER, POINTER, SIZE, U32, POINTER)
GIVE_BACK = ctypes.CFUNCTYPE(None, POINTER, POINTER, SIZE, U32, POINTER)
DONE = ctypes.CFUNCTYPE(None, POINTER, ctypes.c_int)
DEVICE, ADOPT, COPY, FOREVER = 1, 1, 2, 0xFFFFFFFF

PTX = b"""
.version 7.8
.target sm_80
.address_size 64
.visible .entry fill(.param .u64 to, .param .u32 value) {
  .reg .b32 %r<4>;
  .reg .b64 %d<4>;
  ld.param.u64 %d0, [to];
  ld.param.u32 %r0, [value];
  cvta.to.global.u64 %d1, %d0;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %d2, %r1, 4;
  add.s64 %d3, %d1, %d2;
  st.global.u32 [%d3], %r0;
  ret;
}
"""


class Allocator(ctypes.Structure):
    _fields_ = [("size", SIZE), ("user", POINTER), ("allocate", ALLOCATE), ("free", GIVE_BACK)]


class DeviceInfo(ctypes.Structure):
    _fields_ = [("size", SIZE), ("name", ctypes.c_char_p), ("description", ctypes.c_char_p), ("memory", U64),
                ("type", ctypes.c_int32), ("id", ctypes.c_int32), ("processors", U32), ("capability", U32)]


class MemoryInfo(ctypes.Structure):
    _fields_ = [("size", SIZE), ("used", U64), ("peak", U64), ("limit", U64)]


class StreamOptions(ctypes.Structure):
    _fields_ = [("size", SIZE), ("flags", U32), ("reserved", U32), ("native", POINTER)]


class FlagOptions(ctypes.Structure):
    _fields_ = [("size", SIZE), ("flags", U32), ("reserved", U32)]


class Managed(ctypes.Structure):
    pass


DELETE = ctypes.CFUNCTYPE(None, ctypes.POINTER(Managed))
Managed._fields_ = [("tensor", tessera_ctypes.Tensor), ("manager", POINTER), ("deleter", DELETE)]


class Launch(ctypes.Structure):
    _fields_ = [(name, U32) for name in ("gx", "gy", "gz", "bx", "by", "bz", "shared")]


def sized(kind, **fields):
    return kind(size=ctypes.sizeof(kind), **fields)


class Checks:
    def __init__(self, library, name):
        self.library, self.c, self.name, self.failures = library, library.c, name, 0
        self.context = device.context_of(library, name)

    def expect(self, what, right):
        self.failures += not right
        print(f"{'ok' if right else 'WRONG':<6}{what}", flush=True)

    def works(self, status):
        self.library.check(status)

    def devices(self):
        count = SIZE()
        self.works(self.c.tsrGetDeviceCount(ctypes.byref(count)))
        found = {}
        for index in range(count.value):
            info = sized(DeviceInfo)
            self.works(self.c.tsrGetDeviceInfo(SIZE(index), ctypes.byref(info)))
            found[info.name.decode()] = info
        here = found.get(self.name)
        self.expect("the device is listed", here is not None)
        self.expect("with its memory and processors", bool(here and here.memory > 1 << 30 and here.processors > 1))
        if here:
            print(f"      {here.description.decode()}, {here.memory / 2**30:.0f} GiB, {here.processors} processors, "
                  f"capability {here.capability}")

    def memory(self):
        before, after, memory = sized(MemoryInfo), sized(MemoryInfo), POINTER()
        self.works(self.c.tsrGetMemoryInfo(self.context.handle, ctypes.byref(before)))
        self.works(self.c.tsrAlloc(self.context.handle, SIZE(1 << 20), U32(DEVICE), ctypes.byref(memory)))
        self.works(self.c.tsrGetMemoryInfo(self.context.handle, ctypes.byref(after)))
        self.works(self.c.tsrFree(self.context.handle, memory))
        self.expect("a MiB counts in what is used", after.used - before.used >= 1 << 20)

    def allocator(self):
        """A context whose memory is a piece of what another one has."""
        arena, next_free, out = device.Array(self.context, "u8", shape=(64 << 20,)), [0], []

        def allocate(_, size, flags, __):
            memory = (arena.start + next_free[0] + 63) // 64 * 64
            next_free[0] = memory + size - arena.start
            if next_free[0] > arena.bytes:
                return None
            out.append(memory)
            return memory

        def give_back(_, memory, *__):
            out.remove(memory)

        hooks = sized(Allocator, allocate=ALLOCATE(allocate), free=GIVE_BACK(give_back))
        options = tessera_ctypes.ContextOptions(ctypes.sizeof(tessera_ctypes.ContextOptions), self.name.encode())
        options.allocator = ctypes.cast(ctypes.pointer(hooks), POINTER)
        handle = POINTER()
        self.works(self.c.tsrCreateContextWith(ctypes.byref(options), ctypes.byref(handle)))
        memory = POINTER()
        self.works(self.c.tsrAlloc(handle, SIZE(4096), U32(DEVICE), ctypes.byref(memory)))
        self.expect("memory is the allocator's", memory.value in out)
        self.works(self.c.tsrDestroyContext(handle))
        self.expect("and goes back to it with the context", not out)
        arena.free()

    def dlpack(self):
        source = numpy.arange(24, dtype=numpy.float32).reshape(4, 6)
        shape, strides = (ctypes.c_int64 * 2)(6, 4), (ctypes.c_int64 * 2)(1, 6)
        deleted = []
        delete = DELETE(lambda _: deleted.append(True))
        tensor = tessera_ctypes.Tensor(source.ctypes.data, 1, 0, 2, 2, 32, 1, shape, strides, 0)
        managed, taken = Managed(tensor, None, delete), ctypes.POINTER(tessera_ctypes.Tensor)()
        refused = self.c.tsrTensorFromDLPack(self.context.handle, None, ctypes.byref(managed), None,
                                             ctypes.byref(taken))
        self.expect("a transposed tensor of the host is refused", refused != 0 and not deleted)
        copying = sized(FlagOptions, flags=COPY)
        self.works(self.c.tsrTensorFromDLPack(self.context.handle, None, ctypes.byref(managed), ctypes.byref(copying),
                                              ctypes.byref(taken)))
        back = numpy.zeros((6, 4), numpy.float32)
        self.works(self.c.tsrCopy(self.context.handle, None, POINTER(back.ctypes.data),
                                  POINTER(taken.contents.data + taken.contents.byte_offset), SIZE(back.nbytes)))
        self.context.synchronize()
        self.expect("and copied where that is asked for", bool((back == source.T).all()))
        self.works(self.c.tsrReleaseTensor(self.context.handle, taken))
        self.expect("its deleter is called once", deleted == [True])

    def streams(self):
        """The driver's default stream as the caller's, and a notification behind a copy."""
        stream, done = POINTER(), threading.Event()
        adopting = sized(StreamOptions, flags=ADOPT if self.name.startswith("cuda") else 0)
        self.works(self.c.tsrCreateStream(self.context.handle, ctypes.byref(adopting), ctypes.byref(stream)))
        array = device.Array(self.context, "u32", numpy.arange(1000, dtype=numpy.uint32))
        back = numpy.zeros(1000, numpy.uint32)
        self.works(self.c.tsrCopy(self.context.handle, stream, POINTER(back.ctypes.data), POINTER(array.start),
                                  SIZE(back.nbytes)))
        statuses = []

        def finished(_, status):
            statuses.append(status)
            done.set()

        callback = DONE(finished)
        self.works(self.c.tsrNotify(self.context.handle, stream, callback, None))
        self.expect("a notification comes", done.wait(10) and statuses == [0])
        self.works(self.c.tsrSynchronize(self.context.handle, stream, U32(FOREVER)))
        self.expect("behind the work that was queued", bool((back == numpy.arange(1000)).all()))
        self.works(self.c.tsrCancel(self.context.handle, stream))
        self.works(self.c.tsrDestroyStream(stream))
        array.free()

    def ptx(self):
        module, kernel = POINTER(), POINTER()
        text = ctypes.create_string_buffer(PTX)
        jit = sized(FlagOptions, flags=1)
        self.works(self.c.tsrLoadModuleWith(self.context.handle, text, SIZE(len(PTX)), ctypes.byref(jit),
                                            ctypes.byref(module)))
        self.works(self.c.tsrGetKernel(module, b"fill", ctypes.byref(kernel)))
        array = device.Array(self.context, "u32", numpy.zeros(64, numpy.uint32))
        to, value = U64(array.start), U32(77)
        arguments = (POINTER * 2)(ctypes.addressof(to), ctypes.addressof(value))
        self.works(self.c.tsrLaunch(kernel, None, Launch(1, 1, 1, 64, 1, 1, 0), arguments, SIZE(2)))
        self.context.synchronize()
        self.expect("a kernel of PTX without a bundle runs", bool((array.bits() == 77).all()))
        self.expect("one that is not there is not found",
                    self.c.tsrGetKernel(module, b"fil", ctypes.byref(kernel)) != 0)
        array.free()
        self.works(self.c.tsrUnloadModule(module))


def main():
    checks = Checks(device.open_library(), sys.argv[1] if len(sys.argv) > 1 else "cuda:0")
    checks.devices()
    checks.memory()
    checks.allocator()
    checks.dlpack()
    checks.streams()
    if checks.name.startswith("cuda"):
        checks.ptx()
    print(f"{checks.failures} wrong")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
