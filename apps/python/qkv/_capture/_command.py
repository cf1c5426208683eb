"""The command qkv-capture: a model of Hugging Face, a text, and the file that `qkv survey` and `qkv.open` read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import _core
from . import MASK_BYTES, Capture, CaptureError, capture

_DESCRIPTION = """\
Records q, k and v of every attention call that a model makes while it reads a
text, in one forward pass, so that its maps can be computed at any length: by
`qkv survey FILE`, or in Python by qkv.open("FILE")."""

_EPILOG = """\
The file can reveal TEXT: keys and values of the first layer tell which tokens
were read. --no-values leaves v out.

examples:
  qkv-capture gpt2 "The cat sat on the mat" -o cat.safetensors
  qkv-capture ./my-model @book.txt --layers 0,5 --heads 3 -o book.safetensors
  cat book.txt | qkv-capture gpt2 - --max-tokens 1024 -o book.safetensors

exit status: 0 done; 2 a mistake in the command, a model that cannot be had, or
a call that cannot be captured (the message says which, and what to do); 130
interrupted. Nothing is then written."""


class _Refusal(Exception):
    """What ends the command with status 2; its message says what to do."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    given = _parser().parse_args(arguments)
    try:
        found = _run(given)
    except (_Refusal, CaptureError) as error:
        print(f"qkv-capture: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nqkv-capture: interrupted; nothing was written", file=sys.stderr)
        return 130
    print(f"{found!r}\n{found.path}: {found.path.stat().st_size / 2**20:.1f} MiB. "
          f"Look at it: qkv survey {found.path}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="qkv-capture", description=_DESCRIPTION, epilog=_EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", help="a name of Hugging Face's, or a local folder")
    parser.add_argument("text", metavar="TEXT", help="the text; @FILE reads a file, - standard input")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the file to write (safetensors)")
    parser.add_argument("--layers", metavar="N,...", type=_parts, help="only these layers: numbers, ranges (0-3), or "
                        "patterns of module paths ('*.self_attn')")
    parser.add_argument("--heads", metavar="N,...", type=_numbers, help="only these query heads: numbers or ranges")
    parser.add_argument("--no-values", action="store_true", help="leave v and o out")
    parser.add_argument("--max-tokens", metavar="N", type=int, help="cut TEXT after so many tokens")
    parser.add_argument("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="float32",
                        help="the type that the model runs in; auto: that of its file (default: %(default)s)")
    parser.add_argument("--device", default="cpu", help="cpu (the only one)")
    parser.add_argument("--mask-mib", metavar="N", type=int, default=MASK_BYTES >> 20,
                        help="how large a mask without a compact form may be (default: %(default)s)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    parser.add_argument("--version", action="version", version=f"qkv-capture {_core.__version__}")
    return parser


def _parts(text: str) -> list[int | str]:
    """"0-2,7,*.attn" is [0, 1, 2, 7, "*.attn"]."""
    found: list[int | str] = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, _, last = part.partition("-")
        if first.isdigit() and (last.isdigit() or part == first):
            found += range(int(first), int(last or first) + 1)
        else:
            found.append(part)
    if not found:
        raise argparse.ArgumentTypeError("expected numbers, such as 0,2-4")
    return found


def _numbers(text: str) -> list[int]:
    found = _parts(text)
    for part in found:
        if not isinstance(part, int):
            raise argparse.ArgumentTypeError(f"'{part}' is no number; expected such as 0,2-4")
    return [int(part) for part in found]


def _run(given: argparse.Namespace) -> Capture:
    if given.device != "cpu":
        raise _Refusal(f"--device {given.device} cannot be used: the command runs on the CPU. In Python, qkv.capture "
                       "takes a model on any device")
    if given.max_tokens is not None and given.max_tokens < 1:
        raise _Refusal(f"--max-tokens is {given.max_tokens}; expected 1 or more")
    text = _read_text(given.text)
    if not text:
        raise _Refusal("TEXT is empty; expected at least one token")
    try:
        import torch
        import transformers
    except ImportError as error:
        raise _Refusal(f"{error}; it is needed: pip install torch transformers") from error
    from ._run import encode, run

    transformers.logging.set_verbosity_error()
    if given.quiet or not sys.stderr.isatty():
        transformers.logging.disable_progress_bar()
    model, tokenizer = _load(transformers, given)
    recording = capture(model, given.output, tokenizer=tokenizer, layers=given.layers, heads=given.heads,
                        values=not given.no_values, mask_bytes=given.mask_mib << 20, progress=not given.quiet)
    cut = {} if given.max_tokens is None else {"truncation": True, "max_length": given.max_tokens}
    inputs = encode(recording, tokenizer, text, **cut)
    _expect_room(model, tokenizer, inputs["input_ids"].shape[1])
    with recording, torch.no_grad():
        run(model, inputs)
    assert recording.capture is not None
    return recording.capture


def _load(transformers: Any, given: argparse.Namespace) -> tuple[Any, Any]:
    """The model without a head and its tokenizer. A model's own code is never run."""
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(given.model, trust_remote_code=False)
        model = transformers.AutoModel.from_pretrained(given.model, dtype=given.dtype, trust_remote_code=False)
    except (OSError, ValueError, ImportError, KeyError) as error:
        said = " ".join(str(error).split())
        if "trust_remote_code" in said:
            raise _Refusal(f"{given.model} comes with code of its own, which this command never runs: capture it in "
                           "Python, where you decide: qkv.capture(model, ...)") from error
        where = ("it is no folder here, so it is looked up at Hugging Face; without a network, or with "
                 "HF_HUB_OFFLINE=1, only what was downloaded before is found" if not Path(given.model).is_dir() else
                 "the folder needs config.json, weights (model.safetensors) and the tokenizer's files")
        raise _Refusal(f"cannot load {given.model}: {where}. transformers said: {said[:400]}") from error
    return model.eval(), tokenizer


def _expect_room(model: Any, tokenizer: Any, count: int) -> None:
    limits = [getattr(model.config, "max_position_embeddings", None), getattr(tokenizer, "model_max_length", None)]
    room = min((limit for limit in limits if isinstance(limit, int) and limit > 0), default=count)
    if count == 0:
        raise _Refusal("TEXT has no tokens; expected at least one")
    if count > room:
        raise _Refusal(f"TEXT has {count} tokens and the model reads {room}: add --max-tokens {room} to cut it there")


def _read_text(text: str) -> str:
    if text != "-" and not text.startswith("@"):
        return text
    try:
        return sys.stdin.read() if text == "-" else Path(text[1:]).read_text(encoding="utf-8")
    except OSError as error:
        raise _Refusal(f"cannot read {text[1:]}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise _Refusal(f"{text.removeprefix('@')} is no UTF-8 text: {error}") from error
