"""qkv.torch.sdpa is PyTorch's scaled_dot_product_attention: results, gradients, shapes and errors."""

import inspect
import itertools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qkv.torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch_rule import assert_as_math_path, math_path  # noqa: E402

DTYPES = {"float64": torch.float64, "float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
B, H, L, S, D = 2, 4, 5, 7, 8


def random(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def keep(*shape, seed=3):
    """A boolean mask, one of its rows all hidden."""
    mask = torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) > 0.3
    mask[..., 0, :] = False
    return mask


LAYOUTS = {
    "contiguous": lambda x: x.contiguous(),
    "tokens before heads": lambda x: x.transpose(-3, -2).contiguous().transpose(-3, -2),
    "every other number": lambda x: torch.stack((x, x), -1).flatten(-2)[..., ::2],
    "one row for all tokens": lambda x: x[..., :1, :].expand(x.shape),
}
MASKS = {
    "none": None, "[L,S]": (L, S), "[1,S]": (1, S), "[L,1]": (L, 1), "[H,L,S]": (H, L, S), "[1,L,S]": (1, L, S),
    "[B,1,1,S]": (B, 1, 1, S), "[B,1,L,S]": (B, 1, L, S), "[B,H,L,S]": (B, H, L, S), "[1,1,1,1]": (1, 1, 1, 1),
}


def test_the_signature_is_pytorch_s():
    query, key, value = inspect.signature(qkv.torch.sdpa).parameters, None, None
    assert list(query) == ["query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"]
    key, value = random(1, 2, 3, 4), random(1, 2, 3, 4)
    for positional in (qkv.torch.sdpa, F.scaled_dot_product_attention):
        positional(key, key, value, None, 0.0, True)
        with pytest.raises(TypeError):
            positional(key, key, value, None, 0.0, True, 0.5)  # scale by position


@pytest.mark.parametrize("dtype", DTYPES)
def test_pytorch_s_own_samples(dtype):
    invocations = pytest.importorskip("torch.testing._internal.common_methods_invocations")
    samples = list(invocations.sample_inputs_scaled_dot_product_attention(None, "cpu", DTYPES[dtype], True))
    assert len(samples) > 20
    for sample in samples:
        if sample.kwargs["dropout_p"] > 0:
            with pytest.raises(NotImplementedError, match="dropout_p is 0.5; qkv has no dropout"):
                qkv.torch.sdpa(sample.input, *sample.args, **sample.kwargs)
        else:
            options = dict(sample.kwargs)
            tensors = [sample.input, *sample.args, options.pop("attn_mask", None)]
            # They are up to 9, and the rule is for numbers of about 1: scores of 200 lose three digits in every kernel.
            tensors = [None if tensor is None else tensor.detach() / 4 for tensor in tensors]
            assert_as_math_path(qkv.torch.sdpa, *tensors, **options)


@pytest.mark.parametrize("heads", [H, 2, 1], ids=["a head each", "grouped heads", "one head for all"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_mask_is_pytorch_s(dtype, layout, heads):
    q, k, v = (LAYOUTS[layout](random(B, h, t, D, seed=seed, dtype=DTYPES[dtype]))
               for seed, h, t in ((0, H, L), (1, heads, S), (2, heads, S)))
    assert_as_math_path(qkv.torch.sdpa, q, k, v, is_causal=True, enable_gqa=True)
    for name, is_boolean in itertools.product(MASKS, (True, False)):
        shape = MASKS[name]
        mask = None if shape is None else keep(*shape) if is_boolean else random(*shape, seed=4, dtype=q.dtype)
        assert_as_math_path(qkv.torch.sdpa, q, k, v, mask, enable_gqa=True, scale=0.4)


@pytest.mark.parametrize("leading", [(), (3,), (2, 3), (2, 2, 3), (2, 1, 2, 3)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_any_number_of_leading_axes(leading, is_causal):
    q, k, v = random(*leading, L, D), random(*leading, S, D, seed=1), random(*leading, S, 3, seed=2)
    assert_as_math_path(qkv.torch.sdpa, q, k, v, is_causal=is_causal)
    if not is_causal:
        assert_as_math_path(qkv.torch.sdpa, q, k, v, keep(L, S))
        assert_as_math_path(qkv.torch.sdpa, q, k, v, random(*leading, L, S, seed=4))
        if leading:
            assert_as_math_path(qkv.torch.sdpa, q, k, v, keep(*leading[:-1], 1, 1, S))


@pytest.mark.parametrize("of_q, of_k, of_v", [
    ((3,), (2, 3), (2, 3)), ((2, 3), (2, 1), (2, 1)), ((2, 3), (1, 3), (1, 3)), ((2, 3), (3,), (3,)),
    ((1, 3), (1, 3), (2, 3)), ((2, 1, 3), (1, 2, 3), (1, 2, 3)), ((), (2, 3), (2, 3)), ((2, 3), (2, 1), (1, 3))])
def test_leading_axes_broadcast(of_q, of_k, of_v):
    q, k, v = random(*of_q, L, D), random(*of_k, S, D, seed=1), random(*of_v, S, D, seed=2)
    assert_as_math_path(qkv.torch.sdpa, q, k, v)
    assert_as_math_path(qkv.torch.sdpa, q, k, v, keep(L, S))


@pytest.mark.parametrize("of_q, of_k, of_v", [
    ((6,), (2,), (2,)), ((2, 6), (1, 2), (1, 2)), ((2, 6), (2, 2), (2, 3)), ((6,), (2, 2), (2, 2)),
    ((2, 2, 6), (2, 2, 3), (2, 2, 3))])
def test_grouped_heads_broadcast(of_q, of_k, of_v):
    q, k, v = random(*of_q, L, D), random(*of_k, S, D, seed=1), random(*of_v, S, D, seed=2)
    assert_as_math_path(qkv.torch.sdpa, q, k, v, is_causal=True, enable_gqa=True)


def test_a_half_type_takes_a_float32_mask():
    q, k, v = (random(B, H, S, D, seed=seed, dtype=torch.bfloat16) for seed in range(3))
    mask = random(S, S, seed=4)
    want = math_path(q.double(), k.double(), v.double(), mask.double())
    assert (qkv.torch.sdpa(q, k, v, mask).double() - want).abs().max() < 0.02


def test_a_row_that_sees_no_key_is_zero_and_so_are_its_gradients():
    q, k, v = (random(1, 1, 3, D, seed=seed).requires_grad_() for seed in range(3))
    mask = torch.tensor([[True, True, True], [False, False, False], [True, False, True]])
    o = qkv.torch.sdpa(q, k, v, mask)
    assert torch.equal(o[0, 0, 1], torch.zeros(D)) and torch.equal(o[0, 0, 1], math_path(q, k, v, mask)[0, 0, 1])
    o.sum().backward()
    assert torch.equal(q.grad[0, 0, 1], torch.zeros(D)) and torch.isfinite(k.grad).all()


@pytest.mark.parametrize("shapes", [
    [(2, 4, 0, 8), (2, 4, 5, 8), (2, 4, 5, 8)], [(2, 4, 3, 8), (2, 4, 0, 8), (2, 4, 0, 8)], [(0, 4, 3, 8)] * 3,
    [(2, 0, 3, 8)] * 3, [(2, 4, 3, 8), (2, 4, 5, 8), (2, 4, 5, 0)]])
def test_tensors_without_elements(shapes):
    q, k, v = (random(*shape).requires_grad_() for shape in shapes)
    want = F.scaled_dot_product_attention(q, k, v)
    o = qkv.torch.sdpa(q, k, v)
    assert o.shape == want.shape and torch.equal(o, want)
    o.sum().backward()
    assert q.grad.shape == q.shape


X = (B, H, S, D)
WRONG = {
    "types differ": lambda x: ((x, x.double(), x), {}),
    "one axis": lambda x: ((x[0, 0, 0], x, x), {}),
    "a mask and causal": lambda x: ((x, x, x, keep(S, S)), {"is_causal": True}),
    "heads without enable_gqa": lambda x: ((x, x[:, :2], x[:, :2]), {}),
    "heads that do not divide": lambda x: ((x, x[:, :3], x[:, :3]), {"enable_gqa": True}),
    "two axes and enable_gqa": lambda x: ((x[0, 0], x[0, 0], x[0, 0]), {"enable_gqa": True}),
    "widths differ": lambda x: ((x, x[..., :7], x), {}),
    "tokens of k and v differ": lambda x: ((x, x, x[..., :5, :]), {}),
    "batches differ": lambda x: ((x, x.expand(3, B, H, S, D)[:, 0], x), {}),
    "a mask of another batch": lambda x: ((x, x, x, keep(3, 1, S, S)), {}),
    "a mask of too few keys": lambda x: ((x, x, x, keep(S, S - 1)), {}),
    "a mask of five axes": lambda x: ((x, x, x, keep(1, 1, 1, S, S)), {}),
    "a mask of another type": lambda x: ((x, x, x, random(S, S).double()), {}),
    "a mask of whole numbers": lambda x: ((x, x, x, keep(S, S).int()), {}),
    "whole numbers": lambda x: ((x.int(), x.int(), x.int()), {}),
    "dropout of 1.5": lambda x: ((x, x, x), {"dropout_p": 1.5}),
    "a word for a scale": lambda x: ((x, x, x), {"scale": "a"}),
    "no tensor": lambda x: ((x, None, x), {}),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_pytorch_refuses_is_refused(wrong):
    arguments, options = WRONG[wrong](random(*X))
    with pytest.raises(Exception) as theirs:
        math_path(*arguments, **options)
    with pytest.raises((theirs.type, TypeError, RuntimeError)) as ours:
        qkv.torch.sdpa(*arguments, **options)
    assert str(ours.value)


def test_autocast_is_pytorch_s():
    q, k, v = (random(B, H, S, D, seed=seed) for seed in range(3))
    with torch.autocast("cpu", torch.bfloat16):
        ours, theirs = qkv.torch.sdpa(q, k, v, random(S, S)), F.scaled_dot_product_attention(q, k, v, random(S, S))
        assert ours.dtype == theirs.dtype == torch.bfloat16
        assert (ours.float() - theirs.float()).abs().max() < 0.02
        assert qkv.torch.sdpa(q.double(), k.double(), v.double()).dtype == torch.float64


def test_another_device_is_named():
    x = random(1, 1, 2, 4)
    with pytest.raises(TypeError, match="device meta"):
        qkv.torch.sdpa(x.to("meta"), x, x)
