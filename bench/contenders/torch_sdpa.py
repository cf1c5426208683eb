"""PyTorch's scaled_dot_product_attention: its flash kernel, its math path, and its modules around it."""

from __future__ import annotations

import copy
import time

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention

from .cases import Case, ProductCase
from .timed import NotOffered, Timed

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def numpy_of(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().float().numpy()


class Torch:
    """One of the two paths."""

    def __init__(self, name: str, backend: SDPBackend):
        self.name, self.backend = name, backend
        self.version = f"{torch.__version__}, {torch.backends.cpu.get_cpu_capability()}"

    def prepare(self, pass_name: str, case: Case, threads: int) -> Timed:
        torch.set_num_threads(threads)
        if pass_name in ("layer", "layer_forward_backward"):
            if self.backend != SDPBackend.FLASH_ATTENTION:
                raise NotOffered("the modules choose their path")
            return layer(case, pass_name == "layer_forward_backward")
        if pass_name == "project":
            if self.backend != SDPBackend.FLASH_ATTENTION:
                raise NotOffered("no project")
            return self.fastest([product(case, transposed) for transposed in (False, True)])
        if pass_name not in ("forward", "forward_backward", "decode"):
            raise NotOffered(f"no {pass_name}")
        p = case.problem
        if p.left >= 0:
            raise NotOffered("no window")
        if self.backend == SDPBackend.FLASH_ATTENTION and p.width != p.value_width:
            raise NotOffered("flash needs D = Dv")
        if self.backend == SDPBackend.MATH and p.key_length > 4096:
            raise NotOffered("materialises the scores of every head")
        if p.causal and p.query_length not in (1, p.key_length):
            raise NotOffered("causal is top-left")
        return self.fastest([self.variant(pass_name, case, expand) for expand in self.expansions(case)])

    def expansions(self, case: Case) -> list[bool]:
        """With grouped heads: repeat k and v beforehand, or let PyTorch do it; whichever it likes best."""
        p = case.problem
        return [False] if p.query_heads == p.kv_heads else [True, False]

    def variant(self, pass_name: str, case: Case, expand: bool) -> Timed | None:
        p = case.problem
        backward = pass_name == "forward_backward"
        if expand and backward:
            return None  # the gradients would not be those of k and v
        dtype = DTYPES[p.dtype]
        q, k, v = (torch.from_numpy(array).to(dtype) for array in (case.q, case.k, case.v))
        if expand:
            k, v = (t.repeat_interleave(p.query_heads // p.kv_heads, dim=1) for t in (k, v))
        grouped = p.query_heads != p.kv_heads and not expand
        causal = p.causal and p.query_length > 1
        kept: dict[str, torch.Tensor] = {}

        def attend() -> torch.Tensor:
            with sdpa_kernel(self.backend):
                return scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=grouped)

        if backward:
            inputs = [t.requires_grad_() for t in (q, k, v)]
            d_o = torch.from_numpy(case.d_o).to(dtype)

            def run() -> None:
                kept["o"] = attend()
                kept["dq"], kept["dk"], kept["dv"] = torch.autograd.grad(kept["o"], inputs, d_o)
        else:

            def run() -> None:
                with torch.inference_mode():
                    kept["o"] = attend()

        return Timed(run, lambda: {name: numpy_of(tensor) for name, tensor in kept.items()})

    def fastest(self, variants: list[Timed | None]) -> Timed:
        best, best_seconds, reason = None, float("inf"), "no kernel"
        for variant in variants:
            if variant is None:
                continue
            try:
                variant.run()
            except RuntimeError as error:
                reason = str(error).splitlines()[0]
                continue
            start = time.perf_counter()
            variant.run()
            seconds = time.perf_counter() - start
            if seconds < best_seconds:
                best, best_seconds = variant, seconds
        if best is None:
            raise NotOffered(reason)
        return best


def product(case: ProductCase, transposed: bool) -> Timed:
    """addmm, with the matrix as it is or as torch.nn.Linear keeps it."""
    dtype = DTYPES[case.problem.dtype]
    x, w, b = (torch.from_numpy(array).to(dtype) for array in (case.x, case.w, case.b))
    if transposed:
        w = w.T.contiguous().T
    y = torch.empty(x.shape[0], w.shape[1], dtype=dtype)

    def run() -> None:
        with torch.inference_mode():
            torch.addmm(b, x, w, out=y)

    return Timed(run, lambda: {"y": numpy_of(y)})


class Layer(torch.nn.Module):
    """LayerNorm, one projection for q k v, causal or plain attention, output projection, as GPT-2 has them."""

    def __init__(self, case: Case):
        super().__init__()
        p = case.problem
        self.problem = p
        model_width = p.query_heads * p.width
        self.widths = [model_width, p.kv_heads * p.width, p.kv_heads * p.width]
        self.norm = torch.nn.LayerNorm(model_width)
        self.project_in = torch.nn.Linear(model_width, sum(self.widths))
        self.project_out = torch.nn.Linear(model_width, model_width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        p = self.problem
        heads = self.project_in(self.norm(x)).split(self.widths, dim=-1)
        q, k, v = (t.unflatten(-1, (-1, p.width)).transpose(1, 2) for t in heads)
        grouped = p.query_heads != p.kv_heads
        o = scaled_dot_product_attention(q, k, v, is_causal=p.causal, enable_gqa=grouped)
        return self.project_out(o.transpose(1, 2).flatten(2))


def layer(case: Case, backward: bool) -> Timed:
    """The modules, held to themselves in float64."""
    p = case.problem
    torch.manual_seed(0)
    exact = Layer(case).to(DTYPES[p.dtype]).double()
    module = copy.deepcopy(exact).to(DTYPES[p.dtype])
    x, d_y = (torch.randn(p.batch, p.query_length, p.query_heads * p.width).to(DTYPES[p.dtype]) for _ in range(2))

    def call(module: torch.nn.Module, x: torch.Tensor, d_y: torch.Tensor) -> list[torch.Tensor]:
        if not backward:
            with torch.inference_mode():
                return [module(x)]
        x = x.requires_grad_()
        y = module(x)
        return [y, *torch.autograd.grad(y, [x, *module.parameters()], d_y)]

    pairs = zip(call(module, x, d_y), call(exact, x.detach().double(), d_y.double()))
    error = max(float((got.double() - want).detach().abs().max() / want.detach().abs().max().clamp(min=1))
                for got, want in pairs)
    return Timed(lambda: call(module, x, d_y), dict, error)


class Flex:
    """flex_attention, compiled: the one that has windows. Without one the flash kernel is faster."""

    name = "PyTorch flex"

    def __init__(self) -> None:
        self.version = torch.__version__

    def prepare(self, pass_name: str, case: Case, threads: int) -> Timed:
        p = case.problem
        if pass_name != "forward" or p.left < 0 or p.query_length != p.key_length:
            raise NotOffered("asked for windows only")
        torch.set_num_threads(threads)
        q, k, v = (torch.from_numpy(array).to(DTYPES[p.dtype]) for array in (case.q, case.k, case.v))

        def seen(b, h, i, j):
            return (j <= i) & (j >= i - p.left)

        mask = create_block_mask(seen, None, None, p.query_length, p.key_length, device="cpu")
        compiled = torch.compile(flex_attention)
        grouped = p.query_heads != p.kv_heads
        kept: list[torch.Tensor] = []

        def run() -> None:
            with torch.inference_mode():
                kept[:] = [compiled(q, k, v, block_mask=mask, enable_gqa=grouped)]

        run()  # compiles
        return Timed(run, lambda: {"o": numpy_of(kept[0])})


def contenders() -> list:
    return [Torch("PyTorch", SDPBackend.FLASH_ATTENTION), Torch("PyTorch math", SDPBackend.MATH), Flex()]
