"""libtessera by ctypes: a context with what was made on it, and memory that it gave."""
import ctypes
import os

from programs import BUILD, np

SUCCESS, EINVAL, ETIMEOUT, EIMAGE, EUNSUPPORTED, ECHECK = 0, 2, 3, 4, 6, 8
DEVICE, HOST, PINNED = 1, 2, 4
CANARIES, GUARDS = 1, 2
FOREVER = ctypes.c_uint32(0xFFFFFFFF)
FAKE_DRIVER = BUILD / "lib/libfake_cuda.so"

os.environ.setdefault("TESSERA_CUDA_DRIVER", str(FAKE_DRIVER))  # which has memory, streams and a few kernels
library = ctypes.CDLL(str(BUILD / "lib/libtessera.so.2"))
library.tsrGetLastError.restype = ctypes.c_char_p
library.tsrStatusName.restype = ctypes.c_char_p


class Launch(ctypes.Structure):
    _fields_ = [(f"{part}_{axis}", ctypes.c_uint32) for part in ("grid", "block") for axis in "xyz"]
    _fields_ += [("smem_bytes", ctypes.c_uint32)]


class Sized(ctypes.Structure):
    """A struct that begins with its size."""

    def __init__(self, **fields):
        super().__init__(ctypes.sizeof(self), **fields)


class Limits(Sized):
    _fields_ = [(name, ctypes.c_uint64) for name in ("size", "steps", "milliseconds", "memory")]


class ContextOptions(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("checks", ctypes.c_uint32),
                ("threads", ctypes.c_uint32), ("allocator", ctypes.c_void_p), ("log", ctypes.c_void_p),
                ("log_user", ctypes.c_void_p)]


class ModuleOptions(Sized):
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


def call(name, *arguments):
    """The status of a function."""
    return getattr(library, name)(*arguments)


def check(name, *arguments):
    status = call(name, *arguments)
    assert status == SUCCESS, f"{name}: {library.tsrStatusName(status).decode()}: {last_error()}"


def last_error():
    return library.tsrGetLastError().decode()


class Context:
    """A device, and handles that end with it."""

    def __init__(self, device="cpu", checks=0):
        self.handle = ctypes.c_void_p()
        options = ContextOptions(device=device.encode(), checks=checks)
        check("tsrCreateContextWith", ctypes.byref(options), ctypes.byref(self.handle))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        check("tsrDestroyContext", self.handle)

    def make(self, name, *arguments):
        """The handle that a function gives as its last argument."""
        handle = ctypes.c_void_p()
        check(name, *arguments, ctypes.byref(handle))
        return handle

    def load(self, image, flags=0):
        """The status of loading the bytes of a bundle, and the module."""
        handle = ctypes.c_void_p()
        status = call("tsrLoadModuleWith", self.handle, image, ctypes.c_size_t(len(image)),
                      ctypes.byref(ModuleOptions(flags=flags)), ctypes.byref(handle))
        return status, handle

    def memory(self, size, flags=DEVICE):
        return self.make("tsrAlloc", self.handle, ctypes.c_size_t(size), ctypes.c_uint32(flags))

    def filled(self, values):
        memory = self.memory(values.nbytes)
        self.copy(memory, values.ctypes.data, values.nbytes)
        return memory

    def copy(self, to, source, size):
        check("tsrCopy", self.handle, None, to if isinstance(to, ctypes.c_void_p) else ctypes.c_void_p(to),
              source if isinstance(source, ctypes.c_void_p) else ctypes.c_void_p(source), ctypes.c_size_t(size))

    def floats(self, memory, count):
        values = np.empty(count, np.float32)
        self.copy(values.ctypes.data, memory, values.nbytes)
        return values


def launch(kernel, stream, pointers, dims, grid=(0, 0, 0)):
    """The status of a launch: buffers, then sizes."""
    values = [*pointers, *(ctypes.c_uint32(value) for value in dims)]
    arguments = (ctypes.c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
    return call("tsrLaunch", kernel, stream, Launch(*grid), arguments, ctypes.c_size_t(len(values)))
