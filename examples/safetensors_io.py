"""Reads safetensors files into NumPy arrays; bf16 becomes f32."""
import json
import struct

import numpy as np

DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
          "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?"}


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, info in header.items():
        begin, end = info["data_offsets"]
        raw = data[8 + size + begin:8 + size + end]
        if info["dtype"] == "BF16":
            words = np.frombuffer(raw, "<u2").astype(np.uint32) << 16
            array = words.view(np.float32)
        else:
            array = np.frombuffer(raw, DTYPES[info["dtype"]])
        tensors[name] = array.reshape(info["shape"])
    return tensors


def layers(params, name):
    """The parameters `name.<i>.<key>` as one dictionary for each i."""
    found = {}
    for key, value in params.items():
        head, _, rest = key.partition(".")
        number, _, rest = rest.partition(".")
        if head == name:
            found.setdefault(int(number), {})[rest] = value
    return [found[i] for i in range(len(found))]
