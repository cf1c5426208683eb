"""How qkv.torch is held to PyTorch's own math path: the rule of docs/semantics.md, forward and gradients."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def math_path(*arguments, **options):
    with sdpa_kernel(SDPBackend.MATH):
        return torch.nn.functional.scaled_dot_product_attention(*arguments, **options)


def scores(query, key, *, scale=None, enable_gqa=False, **_):
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    return query.detach() @ key.detach().transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)


def assert_as_math_path(call, query, key, value, attn_mask=None, *, gradients=True, **options):
    """That call(...) errs at most twice as far from float64 as PyTorch's math path plus 4 ulp of the largest v.

    Gradients: three times as far, plus 8 ulp of the largest factor.
    """
    tensors = [x for x in (query, key, value, attn_mask) if x is not None]

    def with_gradients(compute, dtype):
        leaves = [x.detach().to(dtype if x.is_floating_point() else x.dtype) for x in tensors]
        leaves = [x.requires_grad_(gradients and x.is_floating_point()) for x in leaves]
        o = compute(*leaves, **options)
        if not gradients:
            return [o]
        d_o = torch.linspace(-1, 1, o.numel(), dtype=torch.float64).reshape(o.shape).to(o.dtype)
        wanted = [x for x in leaves if x.requires_grad]
        return [o, *torch.autograd.grad(o, wanted, d_o)]

    exact = with_gradients(math_path, torch.float64)
    plain = with_gradients(math_path, query.dtype)
    ours = with_gradients(call, query.dtype)
    ulp = torch.finfo(query.dtype).eps
    factors = [x.detach() for x in (*tensors, *exact, scores(query, key, **options)) if x.is_floating_point()]
    largest = max([1.0, *(float(x.abs().max()) for x in factors)])
    for place, (o, p, e) in enumerate(zip(ours, plain, exact, strict=True)):
        assert o.shape == p.shape and o.dtype == p.dtype
        factor, slack = (2, 4 * ulp * float(value.abs().max())) if place == 0 else (3, 8 * ulp * largest)
        error, of_plain = (float((x.detach().double() - e.detach()).abs().max()) for x in (o, p))
        if query.dtype == torch.float64:  # the math path is its own measure; it errs by about that much
            of_plain = 8 * ulp * largest
        assert error <= factor * of_plain + slack, f"{'oqkvm'[place]}: {error} where the math path has {of_plain}"
