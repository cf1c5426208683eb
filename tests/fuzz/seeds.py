#!/usr/bin/env python3
"""Writes a few good inputs for every fuzz target: what mutations start from. Usage: seeds.py FOLDER"""

import json
import struct
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def npy(shape, data, descr="<f4", order=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data


def safetensors(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def main():
    folder = Path(sys.argv[1])

    def seed(target, name, content):
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    six = struct.pack("<6f", *range(6))
    seed("npy", "small", npy((2, 3), six))
    seed("npy", "fortran", npy((2, 3), six, order=True))
    seed("npy", "big_endian", npy((3,), struct.pack(">3d", 1, 2, 3), ">f8"))
    header = {"__metadata__": {"tokens": '["a","b"]'}, "q": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}}
    seed("safetensors", "small", safetensors(header, six))
    seed("safetensors", "empty", safetensors({}, b""))
    call = {"name": "C0", "order": 0, "layer": 0, "path": "a", "way": "sdpa", "B": 1, "Hq": 2, "Hkv": 1, "Tq": 1,
            "Tk": 2, "D": 1, "Dv": 1, "dtype": "f32", "heads": None, "kv_heads": None, "values": True, "scale": 1.0,
            "softcap": None, "sinks": False, "slopes": False, "causal": True, "corner": None, "offset": 1,
            "window": [1, 0], "mask": "causal", "tokens": True, "query_start": 1, "rows": [0],
            "error": {"max": 0.0, "allowed": 0.1}}
    document = {"version": 1, "model": {"name": "m"}, "calls": [call],
                "tokens": [{"text": "ab", "ids": [1, 2], "pieces": ["a", "b"]}]}
    shapes = {"C0.q": [1, 2, 1, 1], "C0.k": [1, 1, 2, 1], "C0.v": [1, 1, 2, 1], "C0.o": [1, 2, 1, 1]}
    tensors = {name: {"dtype": "F32", "shape": shape, "data_offsets": [8 * i, 8 * i + 8]}
               for i, (name, shape) in enumerate(shapes.items())}
    capture = {"__metadata__": {"qkv.capture": json.dumps(document)}} | tensors
    seed("capture", "small", safetensors(capture, struct.pack("<8f", *range(8))))
    seed("capture", "document", json.dumps(document))
    for name, method in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        (folder / "npz").mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(folder / "npz" / name, "w", method) as archive:
            archive.writestr("q.npy", npy((2, 3), six))
            archive.writestr("tokens.npy", npy((2,), "ab".encode("utf-32-le"), "<U1"))
    for file in (ROOT / "examples").glob("*.json"):
        seed("explain", file.stem, file.read_text(encoding="utf-8"))
        seed("json", file.stem, file.read_text(encoding="utf-8"))
    seed("explain", "bank", '{"example":"bank","set":["v[river]=0,1"],"row":1}')
    seed("explain", "scores", '{"op":"scores","n":4,"d_k":3}')
    seed("explain", "shapes", '{"op":"shapes","n":5,"C":4,"heads":2}')
    seed("problem", "all",
         "attention B2 H6/2 T3x5 D7/11 causal=bottom_right window=2,0 keep=2x1x3x5 key_mask softcap=30 bf16 lse")
    seed("problem", "packed", "attention H2 T3x5 D4 cu_q=0,2,3 cu_k=0,2,5 slopes sinks scale=0.5 seed=7")
    seed("http", "get", "GET / HTTP/1.1\r\nHost: 127.0.0.1:8758\r\n\r\n")
    post = ("POST /api/explain HTTP/1.1\r\nHost: localhost:8758\r\nContent-Type: application/json\r\n"
            "Content-Length: 2\r\n\r\n{}")
    seed("http", "post", post)


if __name__ == "__main__":
    main()
