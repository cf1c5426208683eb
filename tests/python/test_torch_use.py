"""qkv.torch.use(): PyTorch's own attention inside a block, what is left to it, and everything as before afterwards."""

import re
import threading
import warnings
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qkv.torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn.functional import scaled_dot_product_attention as imported_by_name  # noqa: E402


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


X = random(2, 4, 6, 8)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", qkv.torch.FallbackWarning)
        yield


def test_pytorch_s_function_is_taken_over_by_whatever_name_it_goes():
    want = F.scaled_dot_product_attention(X, X, X, is_causal=True)
    with qkv.torch.use() as usage:
        for name in (F.scaled_dot_product_attention, imported_by_name, torch._C._nn.scaled_dot_product_attention):
            assert torch.allclose(name(X, X, X, is_causal=True), want, atol=1e-6)
    assert usage.calls == 3 and not usage.fallbacks
    F.scaled_dot_product_attention(X, X, X)
    assert usage.calls == 3


def test_blocks_nest_and_one_object_can_be_entered_again():
    block = qkv.torch.use()
    with block as outer:
        F.scaled_dot_product_attention(X, X, X)
        with block as inner, qkv.torch.use() as another:
            F.scaled_dot_product_attention(X, X, X)
        F.scaled_dot_product_attention(X, X, X)
        assert outer.calls == 3 and inner is outer and another is outer
    with block as again:
        F.scaled_dot_product_attention(X, X, X)
    assert again.calls == 1 and outer.calls == 3


def test_it_is_a_decorator_too(monkeypatch):
    calls = []
    monkeypatch.setattr(qkv._core, "attention", lambda *given, of=qkv._core.attention: calls.append(1) or of(*given))

    @qkv.torch.use()
    def attend():
        return F.scaled_dot_product_attention(X, X, X)

    attend()
    attend()
    assert len(calls) == 2


def test_an_exception_leaves_everything_as_it_was():
    with pytest.raises(ZeroDivisionError), qkv.torch.use() as usage:
        raise ZeroDivisionError
    F.scaled_dot_product_attention(X, X, X)
    assert usage.calls == 0 and torch.overrides._get_current_function_mode() is None


def test_a_block_acts_on_its_own_thread():
    inside, done = threading.Event(), threading.Event()
    usages = []

    def other():
        with qkv.torch.use() as usage:
            inside.set()
            done.wait(10)
            F.scaled_dot_product_attention(X, X, X)
            usages.append(usage)

    thread = threading.Thread(target=other)
    thread.start()
    inside.wait(10)
    F.scaled_dot_product_attention(X, X, X)
    with qkv.torch.use() as usage:
        F.scaled_dot_product_attention(X, X, X)
        done.set()
        thread.join()
    assert usage.calls == 1 and usages[0].calls == 1


def test_four_threads_at_once():
    x = random(2, 4, 64, 16)
    want = qkv.torch.sdpa(x, x, x, is_causal=True)
    found = []

    def attend():
        for _ in range(5):
            with qkv.torch.use() as usage:
                found.append((F.scaled_dot_product_attention(x, x, x, is_causal=True), usage.calls))

    threads = [threading.Thread(target=attend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20 and all(calls == 1 and torch.equal(o, want) for o, calls in found)
    assert F.scaled_dot_product_attention is imported_by_name


def nested():
    return (torch.nested.nested_tensor([X[0, :, :3].transpose(0, 1), X[1].transpose(0, 1)], layout=torch.jagged)
            .transpose(1, 2),) * 3


class Subclass(torch.Tensor):
    pass


FALLBACKS = {
    "dropout_p is 0.5, and qkv has no dropout": lambda: F.scaled_dot_product_attention(X, X, X, dropout_p=0.5),
    "a nested tensor": lambda: F.scaled_dot_product_attention(*nested()),
    "a tensor of the class Subclass": lambda: F.scaled_dot_product_attention(*[X.as_subclass(Subclass)] * 3),
    "the type is torch.complex64": lambda: F.scaled_dot_product_attention(*[X.to(torch.complex64)] * 3),
    "the device is meta, and qkv computes on the CPU": lambda: F.scaled_dot_product_attention(*[X.to("meta")] * 3),
}


@pytest.mark.parametrize("reason", FALLBACKS)
def test_what_qkv_lacks_goes_to_pytorch_with_one_warning_that_names_the_reason(reason):
    with warnings.catch_warnings(record=True) as caught, qkv.torch.use() as usage:
        warnings.simplefilter("always")
        for _ in range(2):
            try:
                FALLBACKS[reason]()
            except (RuntimeError, NotImplementedError):  # PyTorch's own answer, for some of them
                assert "complex" in reason or "meta" in reason
    messages = [str(one.message) for one in caught if one.category is qkv.torch.FallbackWarning]
    assert messages == [f"qkv.torch.use: attention that qkv leaves to PyTorch: {reason}"]
    assert usage.calls == 0 and usage.fallbacks == {reason: 2}


def test_the_warning_points_at_the_call():
    with pytest.warns(qkv.torch.FallbackWarning) as caught, qkv.torch.use():
        FALLBACKS["a nested tensor"]()
    assert caught[0].filename == __file__


def test_what_pytorch_refuses_is_refused_inside_too():
    with qkv.torch.use(), pytest.raises(RuntimeError, match="is_causal=True"):
        F.scaled_dot_product_attention(X, X, X, attn_mask=torch.ones(6, 6, dtype=torch.bool), is_causal=True)


MASK = random(6, 6, seed=5) > -1
TERMS = {
    "nothing": {}, "grouped heads": {"enable_gqa": True}, "causal": {"is_causal": True}, "scale": {"scale": 0.3},
    "a mask": {"attn_mask": MASK}, "a mask with an empty row": {"attn_mask": MASK & (torch.arange(6) != 2)[:, None]},
    "a bias": {"attn_mask": random(4, 6, 6, seed=4).double()},
}


@pytest.mark.parametrize("terms", TERMS)
def test_a_second_derivative_goes_to_pytorch(terms):
    heads = 2 if terms == "grouped heads" else 4
    leaves = [random(2, h, 6, 3, seed=seed).double().requires_grad_() for seed, h in enumerate((4, heads, heads))]
    if terms == "a bias":
        leaves.append(TERMS[terms]["attn_mask"].requires_grad_())

    def second():
        o = F.scaled_dot_product_attention(*leaves[:3], **TERMS[terms])
        weights = torch.linspace(-1, 1, o.numel(), dtype=o.dtype).reshape(o.shape)
        first = torch.autograd.grad((weights * o.square()).sum(), leaves, create_graph=True)
        return torch.autograd.grad(sum(x.square().sum() for x in first), leaves)

    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        want = second()
    with pytest.warns(qkv.torch.FallbackWarning, match="a second derivative") as caught, qkv.torch.use() as usage:
        ours = second()
    assert usage.calls == 1 and len(caught) == 1
    for one, other in zip(ours, want):
        assert torch.allclose(one, other)


def test_terms_that_only_a_model_asks_for_have_a_second_derivative_too():
    q, k = (random(1, 2, 4, 3, seed=seed).double().requires_grad_() for seed in range(2))
    sinks, bias = random(2, seed=3).double().requires_grad_(), random(4, 4, seed=4).double().requires_grad_()
    options = {"causal": True, "window": (1, 0), "key_mask": torch.tensor([[True, True, False, True]]), "softcap": 2.0}
    with warnings.catch_warnings(), qkv.torch.use():
        warnings.simplefilter("ignore")
        assert torch.autograd.gradgradcheck(
            lambda q, k, s, b: qkv.torch.attention(q, k, k, sinks=s, bias=b, **options), (q, k, sinks, bias))


def test_torch_compile_inside_a_block(monkeypatch):
    calls, graphs = [], []
    monkeypatch.setattr(qkv._core, "attention", lambda *given, of=qkv._core.attention: calls.append(1) or of(*given))

    def backend(graph, inputs):
        graphs.append(graph)
        return graph

    torch._dynamo.reset()
    compiled = torch.compile(lambda x: F.scaled_dot_product_attention(x, x, x) * 2, backend=backend, fullgraph=True)
    plain = compiled(X)
    assert not calls
    for _ in range(3):
        with qkv.torch.use():
            assert torch.equal(compiled(X), 2 * qkv.torch.sdpa(X, X, X))
    assert len(calls) == 6 and len(graphs) == 2  # once, with the operator in it
    assert torch.equal(compiled(X), plain) and len(calls) == 6


@pytest.mark.parametrize("training", [True, False])
def test_multihead_attention(training):
    torch.manual_seed(0)
    attend = nn.MultiheadAttention(16, 4, batch_first=True).train(training)
    x, padding = random(2, 5, 16), torch.tensor([[False] * 5, [False, False, False, True, True]])
    hidden = nn.Transformer.generate_square_subsequent_mask(5)
    for options in ({}, {"key_padding_mask": padding}, {"attn_mask": hidden, "is_causal": True}, {"attn_mask": hidden}):
        want, _ = attend(x, x, x, need_weights=False, **options)
        with qkv.torch.use() as usage:
            ours, _ = attend(x, x, x, need_weights=False, **options)
        assert torch.allclose(ours, want, atol=1e-5) and usage.calls == 1


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_an_encoder_leaves_its_fused_path(training, padded):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    encoder = nn.TransformerEncoder(layer, 2).train(training)
    x = random(2, 5, 16)
    padding = torch.tensor([[False] * 5, [False, False, False, True, True]]) if padded else None
    want = encoder(x, src_key_padding_mask=padding)
    with qkv.torch.use() as usage:
        ours = encoder(x, src_key_padding_mask=padding)
    seen = slice(None) if padding is None else ~padding
    assert usage.calls == 2 and not usage.fallbacks and torch.allclose(ours[seen], want[seen], atol=1e-5)


def test_a_decoder_with_memory():
    torch.manual_seed(0)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 1)
    x, memory, mask = random(2, 5, 16), random(2, 7, 16, seed=1), nn.Transformer.generate_square_subsequent_mask(5)
    want = decoder(x, memory, tgt_mask=mask, tgt_is_causal=True)
    with qkv.torch.use() as usage:
        ours = decoder(x, memory, tgt_mask=mask, tgt_is_causal=True)
    assert usage.calls == 2 and torch.allclose(ours, want, atol=1e-5)


def test_the_python_in_the_document_runs():
    text = (Path(__file__).resolve().parents[2] / "docs" / "python.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^<!-- not run: [^\n]*test_torch_use.py [^\n]*-->\n```python\n(.*?)^```", text, re.M | re.S)
    assert len(blocks) == 2
    names = {}
    for block in blocks:
        if "transformers" in block:
            pytest.importorskip("transformers", reason="transformers is not installed")
        exec(compile(block, "docs/python.md", "exec"), names)
