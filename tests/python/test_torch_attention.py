"""qkv.torch.attention: every option of qkv.attention on tensors, with gradients by our kernels."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qkv.torch  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402


def random(*shape, seed=0, dtype=torch.float64, grad=True):
    made = torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)
    return made.requires_grad_(grad)


def inputs(tokens=4, keys=6, batch=2, **options):
    return (random(batch, 4, tokens, 3, **options), random(batch, 2, keys, 3, seed=1, **options),
            random(batch, 2, keys, 5, seed=2, **options))


KEEP = torch.tensor([[True, False, True, True, False, True]] * 3 + [[False] * 6])
OPTIONS = {
    "nothing": {}, "scale": {"scale": -0.3}, "softcap": {"softcap": 1.5},
    "causal": {"causal": True, "corner": "bottom_right"}, "offset": {"causal": True, "offset": 1},
    "window": {"window": (2, 1), "corner": "top_left"}, "keep": {"keep": KEEP},
    "key_mask": {"key_mask": torch.tensor([[True] * 6, [False, True, True, True, True, False]])},
    "key_lengths": {"key_lengths": [6, 3]}, "slopes": {"slopes": "alibi", "corner": "bottom_right"},
    "slopes given": {"slopes": [0.5, 0.25, 1.0, 2.0], "corner": "top_left"}, "sinks": {"sinks": [0.1, -0.5, 2.0, 0.0]},
    "all": {"scale": 0.7, "softcap": 2.0, "causal": True, "corner": "bottom_right", "window": (3, 0), "keep": KEEP,
            "key_lengths": torch.tensor([6, 5]), "slopes": "alibi", "sinks": [0.1, -0.5, 2.0, 0.0]},
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_has_qkv_s_numbers_and_the_right_gradient(name):
    q, k, v = inputs()
    options = OPTIONS[name]
    o, lse = qkv.torch.attention(q, k, v, return_lse=True, **options)
    plain = {key: value.numpy() if isinstance(value, torch.Tensor) else value for key, value in options.items()}
    want, want_lse = qkv.attention(*(x.detach().numpy() for x in (q, k, v)), return_lse=True, **plain)
    assert np.array_equal(o.detach().numpy(), want) and np.array_equal(lse.detach().numpy(), want_lse)
    assert gradcheck(lambda *x: qkv.torch.attention(*x, **options), (q, k, v))


def test_packed_sequences_have_the_right_gradient():
    q, k, v = inputs(tokens=6, batch=1)
    options = {"cu_seqlens_q": [0, 2, 2, 6], "cu_seqlens_k": [0, 3, 5, 6], "causal": True, "corner": "bottom_right"}
    assert gradcheck(lambda *x: qkv.torch.attention(*x, **options), (q, k, v))


@pytest.mark.parametrize("shape", [(4, 6), (1, 6), (4, 1, 1), (2, 1, 4, 6), (2, 4, 4, 6)])
def test_bias_and_sinks_have_gradients_and_lse_passes_them_on(shape):
    q, k, v = inputs()
    bias, sinks = random(*shape, seed=3), random(4, seed=4)

    def both(q, k, v, bias, sinks):
        return qkv.torch.attention(q, k, v, bias=bias, sinks=sinks, softcap=3.0, return_lse=True)

    assert gradcheck(both, (q, k, v, bias, sinks))
    assert gradcheck(lambda *x: both(*x)[1], (q, k, v, bias, sinks))  # lse alone


def test_only_the_gradients_that_are_needed_are_computed(monkeypatch):
    asked = []
    compute = qkv._core.attention_backward
    monkeypatch.setattr(qkv._core, "attention_backward", lambda inputs, results, options: (
        asked.append(results[0]), compute(inputs, results, options))[1])
    q, k, v = inputs(grad=False)
    bias = random(4, 6, seed=3)
    qkv.torch.attention(q, k.requires_grad_(), v, bias=bias).sum().backward()
    assert asked == [["dk", "dbias"]] and k.grad is not None and q.grad is None


def test_a_second_derivative_is_refused():
    q, k, v = inputs()
    with pytest.raises(RuntimeError, match="no second derivative of attention.*SDPBackend.MATH"):
        gradgradcheck(lambda *x: qkv.torch.attention(*x), (q, k, v))
    (dq,) = torch.autograd.grad(qkv.torch.attention(q, k, v).sum(), q, create_graph=True)
    with pytest.raises(RuntimeError, match="no second derivative"):
        dq.sum().backward()


def test_forward_mode_is_refused_with_and_without_grad_mode():
    q, k, v = inputs()
    for grad in (True, False):
        with torch.set_grad_enabled(grad), pytest.raises(RuntimeError, match="no forward-mode derivative"):
            torch.func.jvp(lambda q: qkv.torch.attention(q, k, v), (q,), (q,))
        with torch.set_grad_enabled(grad), torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(q.detach(), q.detach())
            with pytest.raises(RuntimeError, match="no forward-mode derivative"):
                qkv.torch.attention(dual, k, v)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_types_are_those_of_the_inputs(dtype):
    q, k, v = inputs(dtype=dtype)
    sinks = random(4, seed=4, dtype=dtype)
    o, lse = qkv.torch.attention(q, k, v, sinks=sinks, return_lse=True)
    o.sum().backward()
    assert o.dtype == q.grad.dtype == k.grad.dtype == v.grad.dtype == sinks.grad.dtype == dtype
    assert lse.dtype == torch.float32


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("layout", ["bhtd", "bthd"])
def test_ranks_and_layouts(rank, layout):
    q, k, v = (random(*((2, 4, 6, 3)[4 - rank:]), seed=seed) for seed in range(3))
    want, want_lse = qkv.torch.attention(q, k, v, causal=True, return_lse=True)
    turned = [x.transpose(-3, -2) if layout == "bthd" and rank > 2 else x for x in (q, k, v)]
    o, lse = qkv.torch.attention(*turned, causal=True, layout=layout, return_lse=True)
    assert torch.equal(o.transpose(-3, -2) if layout == "bthd" and rank > 2 else o, want)
    assert torch.equal(lse, want_lse) and o.shape == turned[0].shape


def test_no_tensor_is_copied_on_the_way_in(monkeypatch):
    seen = []
    compute = qkv._core.attention
    monkeypatch.setattr(qkv._core, "attention", lambda inputs, results, options: (
        seen.extend((*inputs, options[6])), compute(inputs, results, options))[1])
    q, k, v = (random(2, 6, 4, 8, seed=seed, grad=False).transpose(1, 2)[..., ::2] for seed in range(3))
    keep = torch.ones(6, dtype=torch.bool).expand(2, 1, 6, 6)
    qkv.torch.attention(q, k, v, keep=keep)
    assert [x.data_ptr() for x in map(torch.as_tensor, seen)] == [x.data_ptr() for x in (q, k, v, keep)]
    assert [x.stride() for x in map(torch.as_tensor, seen)] == [x.stride() for x in (q, k, v, keep)]


def test_a_view_that_is_negated_when_it_is_read_is_negated():
    x = torch.complex(random(1, 2, 5, 4, grad=False), random(1, 2, 5, 4, seed=1, grad=False))
    negated = x.conj().imag
    assert negated.is_neg()
    assert torch.equal(qkv.torch.attention(negated, negated, negated), qkv.torch.attention(*[-x.imag] * 3))


def test_the_output_keeps_the_order_of_q_in_memory():
    q = random(2, 6, 4, 8, grad=False).transpose(1, 2)
    o = qkv.torch.attention(q, q, q)
    assert o.transpose(1, 2).is_contiguous()  # heads are merged without a copy
    assert qkv.torch.attention(*[q.contiguous()] * 3).is_contiguous()


def test_the_number_of_threads_is_torch_s_and_changes_no_bit(monkeypatch):
    asked = []
    compute = qkv._core.attention
    monkeypatch.setattr(qkv._core, "attention", lambda inputs, results, options: (
        asked.append(options[15]), compute(inputs, results, options))[1])
    x = random(2, 4, 96, 16, grad=False)
    o = qkv.torch.attention(x, x, x)
    assert torch.equal(qkv.torch.attention(x, x, x, threads=3), o)
    monkeypatch.setenv("QKV_THREADS", "1")
    assert torch.equal(qkv.torch.attention(x, x, x), o)
    assert asked == [torch.get_num_threads(), 3, None]


def test_pytorch_s_threads_and_our_own_give_the_same_bits():
    x = random(2, 4, 96, 16, grad=False)
    on_pytorch_s = qkv.torch.attention(x, x, x, causal=True)
    try:
        qkv._core.use_openmp(0)
        assert torch.equal(qkv.torch.attention(x, x, x, causal=True), on_pytorch_s)
    finally:
        qkv.torch._threads.share()


def test_a_forked_child_computes_on():
    code = """if True:
        import os, torch, qkv.torch
        x = torch.randn(4, 8, 128, 64)
        want = qkv.torch.attention(x, x, x).numpy().tobytes()
        child = os.fork()
        if child == 0:
            os._exit(qkv.torch.attention(x, x, x).numpy().tobytes() != want)
        assert os.waitpid(child, 0)[1] == 0"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=120)


def test_autocast_gives_its_type_and_gradients_theirs():
    q, k, v = inputs(dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        o = qkv.torch.attention(q, k, v, bias=random(4, 6, dtype=torch.float32))
    o.float().sum().backward()
    assert o.dtype == torch.bfloat16 and q.grad.dtype == torch.float32


@pytest.mark.parametrize("make, error, message", [
    (lambda x: qkv.torch.attention(x.numpy(), x, x), TypeError, "q is a ndarray; expected a torch.Tensor"),
    (lambda x: qkv.torch.attention(x, x.to("meta"), x), TypeError, r"k is on the device meta.*k.cpu\(\)"),
    (lambda x: qkv.torch.attention(x, x[..., :2], x), ValueError, "D is 3"),
    (lambda x: qkv.torch.attention(x[0, 0, 0], x, x), ValueError, "q has 1 axes"),
    (lambda x: qkv.torch.attention(x, x, x, layout="hbtd"), ValueError, "layout 'hbtd' is unknown"),
    (lambda x: qkv.torch.attention(x, x, x, slopes="alibis", causal=True), ValueError, "slopes"),
    (lambda x: qkv.torch.attention(x, x, x, slopes=torch.ones(4, requires_grad=True), causal=True), ValueError,
     "slopes requires a gradient"),
    (lambda x: qkv.torch.attention(x, x[:, :, :2], x[:, :, :2], causal=True), ValueError, "top_left"),
    (lambda x: qkv.torch.attention(x, x, x, keep=torch.ones(3, 3)), ValueError, "expected bool"),
])
def test_errors_say_what_to_do(make, error, message):
    with pytest.raises(error, match=message):
        make(random(2, 4, 3, 3, grad=False))


@pytest.mark.parametrize("name", [None, *qkv.torch.__all__])
def test_help_fits_into_a_terminal_of_80_columns(name):
    text = inspect.getdoc(qkv.torch if name is None else getattr(qkv.torch, name))
    lines = text.splitlines()
    assert [line for line in lines if len(line) > 72] == [] and (len(lines) < 2 or lines[1] == "")
