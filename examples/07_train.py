"""A head learns to look one token back, by gradient descent; then it reads a sequence token by token from a cache.

Run it after `make python`: .venv/bin/python examples/07_train.py
"""

import numpy as np
import qkv

KINDS, LENGTH, WIDTH = 8, 12, 16  # of tokens; of a sequence; of the head
rng = np.random.default_rng(3)


def embed(tokens):
    """[B,T] to x [B,T,C]: which token, and where it stands, each as a one in a row of zeros."""
    where = np.broadcast_to(np.eye(LENGTH, dtype=np.float32), (*tokens.shape, LENGTH))
    return np.concatenate([np.eye(KINDS, dtype=np.float32)[tokens], where], axis=-1)


def loss_and_gradient(y, wanted):
    """Cross entropy of y [B,T,KINDS] against the tokens that it should name, from the second position on."""
    p = np.exp(y - y.max(axis=-1, keepdims=True))
    p /= p.sum(axis=-1, keepdims=True)
    d_y = p - np.eye(KINDS, dtype=np.float32)[wanted]
    d_y[:, 0] = 0  # nothing stands before the first token
    count = wanted[:, 1:].size
    return -np.log(np.take_along_axis(p[:, 1:], wanted[:, 1:, None], -1)).sum() / count, d_y / count


channels = KINDS + LENGTH
parameters = {name: rng.standard_normal((channels, WIDTH), dtype=np.float32) * 0.3 for name in ("wq", "wk", "wv")}
parameters["wo"] = rng.standard_normal((WIDTH, KINDS), dtype=np.float32) * 0.3
options = {"query_heads": 1, "norm": "none"}
momentum = {name: np.zeros_like(array) for name, array in parameters.items()}

for step in range(201):
    tokens = rng.integers(KINDS, size=(64, LENGTH))
    x = embed(tokens)
    y, kept = qkv.layer(x, parameters, causal=True, return_kept=True, **options)
    loss, d_y = loss_and_gradient(y, np.roll(tokens, 1, axis=1))
    gradients = qkv.layer_backward(x, parameters, d_y, causal=True, kept=kept, **options)
    for name, array in parameters.items():
        momentum[name] = 0.9 * momentum[name] + gradients["d" + name]
        array -= 0.1 * momentum[name]
    if step % 50 == 0:
        print(f"step {step:3}  loss {loss:.4f}")

# One token at a time: the cache keeps the keys and values of those before.
tokens = rng.integers(KINDS, size=(1, LENGTH))
cache = qkv.KeyValueCache(np.empty((1, 1, LENGTH, WIDTH), np.float32), np.empty((1, 1, LENGTH, WIDTH), np.float32),
                          np.zeros(1, np.int64))
read = [qkv.layer_decode(embed(tokens)[:, i : i + 1], parameters, cache, **options) for i in range(LENGTH)]
print("tokens       ", *tokens[0])
print("one back       ", *np.concatenate(read, axis=1).argmax(axis=-1)[0, 1:])
