"""libtessera from Python by ctypes, on tensors of any library that speaks DLPack.

    library = Library("libtessera.so.2")
    module = library.context("cuda:0").load("gemm.bundle", allow_jit=True)
    module.function("bf16_kn")([a, b], [c])      # queued on the device's default stream
"""

import ctypes
import pathlib

ALLOW_JIT = 1
FOREVER = 0xFFFFFFFF


class Error(Exception):
    """What a function of libtessera says is wrong."""


class Tensor(ctypes.Structure):
    """DLPack's DLTensor, which is tsr_tensor_t."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


def _capsule(tensor):
    """The tensor's DLPack capsule, without waiting for any stream; numpy's takes no stream."""
    if tensor.__dlpack_device__()[0] == 1:
        return tensor.__dlpack__()
    return tensor.__dlpack__(stream=-1)


# Floats of 8 bits travel as bytes: not every version of DLPack knows them. The codes are those of tsr_dtype_t.
_f8_codes = {"torch.float8_e4m3fn": 10, "torch.float8_e5m2": 12}


def _pointer(tensor, capsules):
    """The tensor's DLTensor; its capsule is added to those that keep it alive."""
    code = _f8_codes.get(str(tensor.dtype))
    if code:
        import torch

        tensor = tensor.view(torch.uint8)
    capsules.append(_capsule(tensor))
    pointer = _capsule_pointer(capsules[-1], b"dltensor")
    if code:
        ctypes.cast(pointer, ctypes.POINTER(Tensor)).contents.code = code
    return pointer


class Arguments:
    """Pointers to the DLTensors of a list of tensors, which stay alive with this."""

    def __init__(self, tensors):
        self.capsules = []
        pointers = [_pointer(tensor, self.capsules) for tensor in tensors]
        self.count = len(pointers)
        self.array = (ctypes.c_void_p * max(self.count, 1))(*pointers)


class Library:
    """An opened libtessera."""

    def __init__(self, path):
        path = pathlib.Path(path)
        beside = path.parent / "libtbb.so.12"
        if beside.exists():  # what libtessera needs, where the system has none
            ctypes.CDLL(str(beside), mode=ctypes.RTLD_GLOBAL)
        self.c = ctypes.CDLL(str(path))
        self.c.tsrGetLastError.restype = ctypes.c_char_p

    def check(self, status):
        if status != 0:
            raise Error(self.c.tsrGetLastError().decode())

    def context(self, device="cpu"):
        return Context(self, device)


class ContextOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("device", ctypes.c_char_p), ("checks", ctypes.c_uint32),
                ("threads", ctypes.c_uint32), ("allocator", ctypes.c_void_p), ("log", ctypes.c_void_p),
                ("log_user", ctypes.c_void_p)]


class ModuleOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Context:
    """A device and what was made on it."""

    def __init__(self, library, device):
        self.library = library
        self.handle = ctypes.c_void_p()
        options = ContextOptions(ctypes.sizeof(ContextOptions), device.encode())
        library.check(library.c.tsrCreateContextWith(ctypes.byref(options), ctypes.byref(self.handle)))

    def load(self, path, allow_jit=False):
        module = ctypes.c_void_p()
        options = ModuleOptions(ctypes.sizeof(ModuleOptions), ALLOW_JIT if allow_jit else 0)
        status = self.library.c.tsrLoadModuleFile(
            self.handle, str(path).encode(), ctypes.byref(options), ctypes.byref(module))
        self.library.check(status)
        return Module(self, module)

    def synchronize(self):
        status = self.library.c.tsrSynchronize(self.handle, None, ctypes.c_uint32(FOREVER))
        self.library.check(status)

    def close(self):
        """Ends everything made on the context."""
        self.library.c.tsrDestroyContext(self.handle)
        self.handle = ctypes.c_void_p()


class Module:
    """A loaded bundle."""

    def __init__(self, context, handle):
        self.context = context
        self.library = context.library
        self.handle = handle

    @property
    def target(self):
        text = ctypes.c_char_p()
        self.library.check(self.library.c.tsrGetModuleTarget(self.handle, ctypes.byref(text)))
        return text.value.decode()

    def function(self, name):
        handle = ctypes.c_void_p()
        status = self.library.c.tsrGetFunction(self.handle, name.encode(), ctypes.byref(handle))
        self.library.check(status)
        return Function(self.library, handle)

    def bind(self, parameters):
        """Binds a dict of tensors, which the caller keeps alive."""
        names = (ctypes.c_char_p * max(len(parameters), 1))(
            *[name.encode() for name in parameters])
        tensors = Arguments(parameters.values())
        status = self.library.c.tsrBindParameters(
            self.handle, names, tensors.array, ctypes.c_size_t(tensors.count))
        self.library.check(status)


class Function:
    """An entry of a bundle."""

    def __init__(self, library, handle):
        self.library = library
        self.handle = handle

    def prepare(self, inputs, outputs):
        """A function without arguments that makes this call; for measuring."""
        given, wanted = Arguments(inputs), Arguments(outputs)
        call = self.library.c.tsrCall
        fixed = (self.handle, None, given.array, ctypes.c_size_t(given.count), wanted.array,
                 ctypes.c_size_t(wanted.count), None)

        def run():
            status = call(*fixed)
            if status != 0:
                self.library.check(status)

        run.arguments = (given, wanted)
        return run

    def __call__(self, inputs, outputs):
        self.prepare(inputs, outputs)()
