"""Calls of libtessera in this process, for tests that look at memory which a call was given."""
import ctypes as c

import numpy as np

from tools import BIN


class _Device(c.Structure):
    _fields_ = [("kind", c.c_int32), ("id", c.c_int32)]


class _DType(c.Structure):
    _fields_ = [("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16)]


class _Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device", _Device), ("ndim", c.c_int32), ("dtype", _DType),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


def _described(array):
    """What the library is told of an array; without memory it is a result that an argument's memory takes."""
    extents = (c.c_int64 * max(1, array.ndim))(*array.shape)
    code = {"i": 0, "u": 1, "f": 2}[array.dtype.kind]
    return _Tensor(array.ctypes.data, _Device(1, 0), array.ndim, _DType(code, 8 * array.itemsize, 1), extents, None, 0)


class Bundle:
    """A bundle on the CPU."""

    def __init__(self, path):
        self._lib = c.CDLL(str(BIN.parent / "lib/libtessera.so.2"))
        self._lib.tsrGetLastError.restype = c.c_char_p
        self._context, self._module = c.c_void_p(), c.c_void_p()
        self._require(self._lib.tsrCreateContext(c.byref(self._context)))
        self._require(self._lib.tsrLoadModuleFile(self._context, str(path).encode(), None, c.byref(self._module)))

    def _require(self, status):
        assert status == 0, self._lib.tsrGetLastError().decode()

    def call(self, entry, inputs, donated):
        """Calls an entry whose results all take memory of arguments, those of the numbers `donated`, which it updates.
        Gives the message of a call that fails, else None."""
        function = c.c_void_p()
        self._require(self._lib.tsrGetFunction(self._module, entry.encode(), c.byref(function)))
        given = [_described(array) for array in inputs]
        taken = [_described(inputs[i]) for i in donated]
        for tensor in taken:
            tensor.data = None
        pointers = [(c.POINTER(_Tensor) * len(each))(*map(c.pointer, each)) for each in (given, taken)]
        failed = self._lib.tsrCall(function, None, pointers[0], c.c_size_t(len(given)), pointers[1],
                                   c.c_size_t(len(taken)), None)
        return self._lib.tsrGetLastError().decode() if failed else None
