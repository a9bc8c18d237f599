"""Safetensors files and NumPy arrays; bf16 is float32 here."""
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


def save(path, params, bf16=False):
    """Writes float32 arrays; as bf16, which they are, if asked for."""
    header, parts, end = {}, [], 0
    for name, value in params.items():
        raw = (value.view(np.uint32) >> 16).astype("<u2").tobytes() if bf16 else value.astype("<f4").tobytes()
        header[name] = {"dtype": "BF16" if bf16 else "F32", "shape": value.shape, "data_offsets": [end, end + len(raw)]}
        parts.append(raw)
        end += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def layers(params, name):
    """The parameters `name.<i>.<key>` as one dictionary for each i."""
    found = {}
    for key, value in params.items():
        head, _, rest = key.partition(".")
        number, _, rest = rest.partition(".")
        if head == name:
            found.setdefault(int(number), {})[rest] = value
    return [found[i] for i in range(len(found))]
