"""qkv.torch.attention of one new token: attention_decode's kernel, the numbers of qkv.attention."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qkv.torch  # noqa: E402

KEYS = 300  # several blocks of the kernel
TYPES = {torch.float64: 1e-13, torch.float32: 2e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}


def random(*shape, seed=0, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def step(keys=KEYS, batch=2, heads=4, kv_heads=2, width=16, value_width=24, tokens=1, **options):
    return (random(batch, heads, tokens, width, **options), random(batch, kv_heads, keys, width, seed=1, **options),
            random(batch, kv_heads, keys, value_width, seed=2, **options))


def masked(*shape, seed=3):
    return random(*shape, seed=seed) > -0.5


def arrays(options):
    """The options as qkv.attention takes them."""
    return {name: value.numpy() if isinstance(value, torch.Tensor) else value for name, value in options.items()}


def by_forward_pass(q, k, v, options):
    """In float64, of the same rounded inputs."""
    o = qkv.attention(*(x.double().numpy() for x in (q, k, v)), **arrays(options))
    return torch.from_numpy(o)


@pytest.fixture
def kernels(monkeypatch):
    """The names of the kernels that have computed an answer."""
    answered = []

    def watch(name):
        compute = getattr(qkv._core, name)

        def watched(*arguments):
            result = compute(*arguments)
            answered.append(name)
            return result

        monkeypatch.setattr(qkv._core, name, watched)

    watch("attention")
    watch("attention_decode")
    return answered


STEPS = {
    "nothing": {}, "scale": {"scale": -0.3}, "softcap": {"softcap": 1.5}, "sinks": {"sinks": [0.1, -0.5, 2.0, 0.0]},
    "causal": {"causal": True, "corner": "bottom_right"}, "offset": {"causal": True, "offset": KEYS - 1},
    "keep": {"keep": masked(2, 4, 1, KEYS)}, "keep of every head": {"keep": masked(KEYS)},
    "bias": {"bias": random(4, 1, KEYS, seed=3)}, "bias that hides": {"bias": random(2, 1, 1, KEYS, seed=3).log()},
    "key_mask": {"key_mask": masked(2, KEYS)}, "a hidden row": {"key_mask": torch.zeros(2, KEYS, dtype=torch.bool)},
    "key_lengths": {"key_lengths": [KEYS, 3]}, "key_lengths as a tensor": {"key_lengths": torch.tensor([0, 77])},
    "slopes": {"slopes": "alibi", "corner": "bottom_right"},
    "slopes given": {"slopes": [0.5, 0.25, 1.0, 2.0], "offset": KEYS - 1},
    "all": {"scale": 0.7, "softcap": 2.0, "causal": True, "corner": "bottom_right", "keep": masked(1, KEYS),
            "bias": random(4, 1, KEYS, seed=4), "key_mask": masked(2, KEYS, seed=5), "key_lengths": [KEYS - 7, 50],
            "slopes": "alibi", "sinks": [0.1, -0.5, 2.0, 0.0]},
}
STEPS["bias that hides"]["bias"] = STEPS["bias that hides"]["bias"].nan_to_num(nan=-torch.inf)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", STEPS)
@torch.no_grad()
def test_a_step_has_the_numbers_of_the_forward_pass(name, dtype, kernels):
    q, k, v = step(dtype=dtype)
    o = qkv.torch.attention(q, k, v, **STEPS[name])
    assert kernels == ["attention_decode"] and o.dtype == dtype and o.shape == (2, 4, 1, 24)
    torch.testing.assert_close(o.double(), by_forward_pass(q, k, v, STEPS[name]), rtol=TYPES[dtype], atol=TYPES[dtype])


@pytest.mark.parametrize("sizes", [
    {"keys": 1}, {"keys": 0}, {"batch": 1}, {"batch": 0}, {"heads": 0, "kv_heads": 0}, {"heads": 71, "kv_heads": 1},
    {"heads": 3, "kv_heads": 3}, {"width": 1, "value_width": 1}, {"width": 257, "value_width": 5},
    {"keys": 5000, "width": 64, "value_width": 64}], ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@torch.no_grad()
def test_a_step_may_have_any_size(sizes, dtype, kernels):
    q, k, v = step(**sizes, dtype=dtype)
    o = qkv.torch.attention(q, k, v)
    assert kernels == ["attention_decode"]
    torch.testing.assert_close(o.double(), by_forward_pass(q, k, v, {}), rtol=TYPES[dtype], atol=TYPES[dtype])


LAID_OUT = {
    "a part of a static cache": lambda x: torch.cat([x, torch.full_like(x, torch.nan)], 2)[:, :, :x.shape[2]],
    "tokens before heads": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "tokens last": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    "every other number": lambda x: x.repeat_interleave(2, dim=3)[..., ::2],
    "one batch for all": lambda x: x[:1].expand(2, -1, -1, -1),
    "no longer at the start of its memory": lambda x: torch.cat([x[:1], x])[1:],
}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", LAID_OUT)
@torch.no_grad()
def test_keys_and_values_are_read_where_they_lie_and_not_written(name, dtype, kernels):
    q, *others = step(dtype=dtype)
    k, v = map(LAID_OUT[name], others)
    lengths = torch.tensor([KEYS, 40], dtype=torch.int32)
    memory = [torch.empty(0, dtype=torch.uint8).set_(x.untyped_storage()) for x in (k, v)]
    before = [x.clone() for x in memory]
    o = qkv.torch.attention(q, k, v, key_lengths=lengths)
    assert kernels == ["attention_decode"] and lengths.tolist() == [KEYS, 40]
    assert all(map(torch.equal, memory, before))
    want = by_forward_pass(q, k, v, {"key_lengths": [KEYS, 40]})
    torch.testing.assert_close(o.double(), want, rtol=TYPES[dtype], atol=TYPES[dtype])


@torch.no_grad()
def test_keys_may_be_the_values_too():
    q, k, _ = step(value_width=16)
    o = qkv.torch.attention(q, k, k)
    torch.testing.assert_close(o.double(), by_forward_pass(q, k, k, {}), rtol=2e-6, atol=2e-6)


@torch.no_grad()
def test_threads_change_no_bit_of_a_step_and_a_target_is_honoured(kernels):
    q, k, v = step(keys=5000, width=64, value_width=64)
    o = qkv.torch.attention(q, k, v, threads=1)
    assert torch.equal(qkv.torch.attention(q, k, v, threads=3), o)
    assert not torch.equal(qkv.torch.attention(q, k, v, target="portable"), o)
    assert kernels == ["attention_decode"] * 3


@pytest.mark.parametrize("options", [
    {"causal": True, "offset": 3}, {"causal": True, "corner": "top_left"}, {"window": (5, 0), "corner": "bottom_right"},
    {"causal": True, "offset": KEYS - 1, "key_lengths": [KEYS, 3]}, {"slopes": "alibi", "corner": "top_left"},
    {"return_lse": True}], ids=str)
@torch.no_grad()
def test_what_is_no_step_goes_through_the_forward_pass(options, kernels):
    q, k, v = step()
    o = qkv.torch.attention(q, k, v, **options)
    assert kernels == ["attention"]
    o = o[0] if options.pop("return_lse", False) else o
    torch.testing.assert_close(o.double(), by_forward_pass(q, k, v, options), rtol=2e-6, atol=2e-6)


def test_several_tokens_packed_ones_and_gradients_go_through_the_forward_pass(kernels):
    with torch.no_grad():
        qkv.torch.attention(*step(tokens=2))
        qkv.torch.attention(*step(batch=1), cu_seqlens_q=[0, 1], cu_seqlens_k=[0, KEYS])
    q, k, v = step()
    qkv.torch.attention(q.requires_grad_(), k, v).sum().backward()
    assert kernels == ["attention"] * 3 and q.grad is not None


@pytest.mark.parametrize("options, error, message", [
    ({"corner": "bottom_right"}, ValueError, "corner has no effect without causal"),
    ({"causal": True, "corner": "bottom_right", "offset": KEYS - 1}, ValueError, "corner and offset are both given"),
    ({"causal": True}, ValueError, "corner"), ({"causal": True, "corner": "right"}, ValueError, "'right' is unknown"),
    ({"keep": torch.ones(1, 5, dtype=torch.bool)}, ValueError, r"^attention: keep \[1,5\] does not broadcast"),
    ({"key_lengths": [KEYS + 1, 3]}, ValueError, "^attention: key_lengths"),
    ({"key_lengths": [3]}, ValueError, "^attention: key_lengths"),
    ({"key_lengths": [3.5, 1.0]}, TypeError, "key_lengths"),
    ({"sinks": [1.0]}, ValueError, "^attention: sinks has 1 values"),
    ({"target": "sse"}, ValueError, "sse"), ({"threads": -1}, ValueError, "^attention: threads")])
@torch.no_grad()
def test_a_step_is_refused_in_the_words_of_attention(options, error, message):
    if options.get("key_lengths") == [3.5, 1.0]:
        options = {"key_lengths": torch.tensor([3.5, 1.0])}
    with pytest.raises(error, match=message) as raised:
        qkv.torch.attention(*step(), **options)
    assert "cache" not in str(raised.value) and raised.value.__context__ is None


@torch.no_grad()
def test_a_step_whose_shapes_do_not_fit_is_refused_in_the_words_of_attention():
    q, k, v = step()
    for wrong in ((q, k, v[:, :, 1:]), (q, k[..., 1:], v), (q, k[:1], v), (q[:, :3], k, v), (q, k.double(), v)):
        with pytest.raises(ValueError, match="^attention: ") as raised:
            qkv.torch.attention(*wrong)
        assert "cache" not in str(raised.value)
