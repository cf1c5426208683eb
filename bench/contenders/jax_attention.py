"""JAX's dot_product_attention, compiled by XLA for the CPU."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from .cases import Case
from .timed import NotOffered, Timed

DTYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}


def tokens_first(array: np.ndarray, dtype: str) -> jax.Array:
    """[B,H,T,D] as JAX's [B,T,H,D]."""
    return jnp.asarray(np.ascontiguousarray(array.swapaxes(1, 2))).astype(DTYPES[dtype])


class Jax:
    name = "JAX"

    def __init__(self) -> None:
        self.version = jax.__version__

    def prepare(self, pass_name: str, case: Case, threads: int) -> Timed:
        p = case.problem
        if pass_name not in ("forward", "forward_backward", "decode"):
            raise NotOffered(f"no {pass_name}")
        if p.width != p.value_width:
            raise NotOffered("needs D = Dv")
        if p.left >= 0 or p.key_length * p.query_length > 4096 * 4096:
            raise NotOffered("materialises the scores of every head")
        if p.causal and p.query_length not in (1, p.key_length):
            raise NotOffered("causal is top-left")
        causal = p.causal and p.query_length > 1
        arrays = [tokens_first(array, p.dtype) for array in (case.q, case.k, case.v)]

        def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
            return jax.nn.dot_product_attention(q, k, v, is_causal=causal)

        if pass_name == "forward_backward":
            arrays.append(tokens_first(case.d_o, p.dtype))

            def both(q: jax.Array, k: jax.Array, v: jax.Array, d_o: jax.Array) -> tuple:
                o, pullback = jax.vjp(attend, q, k, v)
                return o, *pullback(d_o)

            compiled = jax.jit(both)
        else:
            compiled = jax.jit(lambda q, k, v: (attend(q, k, v),))
        kept: list = []

        def run() -> None:
            kept[:] = compiled(*arrays)
            for array in kept:
                array.block_until_ready()

        def outputs() -> dict[str, np.ndarray]:
            return {name: np.asarray(array.astype(jnp.float32)).swapaxes(1, 2)
                    for name, array in zip(("o", "dq", "dk", "dv"), kept)}

        return Timed(run, outputs)


def contenders() -> list[Jax]:
    return [Jax()]
