"""qkv::attention meets torch.compile, torch.func and PyTorch's own checks of operators."""

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qkv.torch  # noqa: E402
from torch.func import grad, hessian, jacrev, vmap  # noqa: E402


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def inputs():
    return random(3, 4, 5, 8), random(3, 2, 5, 8, seed=1), random(3, 2, 5, 6, seed=2)


def causal(q, k, v):
    return qkv.torch.attention(q, k, v, causal=True)


def gradients(call, inputs):
    leaves = [x.clone().requires_grad_() for x in inputs]
    return torch.autograd.grad(call(*leaves).square().sum(), leaves)


def assert_equal(ours, theirs):
    for one, other in zip(ours, theirs, strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("options", ["plain", "bias and sinks", "masks"])
def test_pytorch_s_checks_of_an_operator(options, inputs):
    given = {
        "plain": (), "bias and sinks": (random(4, 5, 5).requires_grad_(), random(4).requires_grad_()),
        "masks": (None, None, random(5, 5) > -1, random(3, 5) > -1, torch.tensor([5, 3, 4]))}[options]
    tensors = (*given, *(None for _ in range(8 - len(given))))
    leaves = [x.requires_grad_() for x in inputs]
    others = (False, None, 2.0, True, "top_left", None, [2, 0], None, None)
    torch.library.opcheck(torch.ops.qkv.attention.default, (*leaves, *tensors, *others))


@pytest.mark.parametrize("call", [causal, lambda q, k, v: qkv.torch.sdpa(q, k, v, is_causal=True, enable_gqa=True)],
                         ids=["attention", "sdpa"])
def test_torch_compile_keeps_it_as_one_call(call, inputs):
    torch._dynamo.reset()
    compiled = torch.compile(call, fullgraph=True, backend="aot_eager")
    assert_equal([compiled(*inputs)], [call(*inputs)])
    assert_equal(gradients(compiled, inputs), gradients(call, inputs))
    shorter = [x[:, :, :3] for x in inputs]
    assert_equal([compiled(*shorter)], [call(*shorter)])


def test_vmap_adds_its_axis_to_the_batch(inputs, monkeypatch):
    calls = []
    compute = qkv._core.attention
    monkeypatch.setattr(qkv._core, "attention", lambda *given: (calls.append(given), compute(*given))[1])
    many = [random(2, *x.shape, seed=seed) for seed, x in enumerate(inputs)]
    o = vmap(causal)(*many)
    assert len(calls) == 1
    assert_equal(o, [causal(*one) for one in zip(*many)])


def test_vmap_over_anything(inputs):
    q, k, v = inputs
    assert_equal([vmap(causal)(q, k, v)], [causal(q, k, v)])  # [H,T,D]
    with torch.no_grad():
        assert_equal([vmap(causal)(q, k, v)], [causal(q, k, v)])
    assert_equal([vmap(causal, in_dims=(None, 0, 0))(q[0], k, v)], [causal(q[:1].expand_as(q), k, v)])
    last = vmap(causal, in_dims=-1, out_dims=-1)(*(torch.stack((x, x), -1) for x in (q, k, v)))
    assert_equal([last[..., 1]], [causal(q, k, v)])
    biases, sinks = random(2, 3, 1, 5, 5, seed=3), random(2, 4, seed=4)
    for name, values in (("bias", biases), ("sinks", sinks)):
        o = vmap(lambda value, name=name: qkv.torch.attention(q, k, v, **{name: value}))(values)
        assert_equal(o, [qkv.torch.attention(q, k, v, **{name: value}) for value in values])
    keys = torch.tensor([[5, 3, 4], [1, 5, 2]])
    o = vmap(lambda lengths: qkv.torch.attention(q, k, v, key_lengths=lengths))(keys)
    assert_equal(o, [qkv.torch.attention(q, k, v, key_lengths=lengths) for lengths in keys])


def test_gradients_for_each_entry_of_vmap(inputs):
    def loss(q, k, v):
        return causal(q, k, v).square().sum()

    each = vmap(grad(loss, argnums=(0, 1, 2)))(*inputs)
    assert_equal(each, gradients(causal, inputs))
    assert_equal(grad(lambda *x: vmap(causal)(*x).square().sum(), argnums=(0, 1, 2))(*inputs),
                 gradients(causal, inputs))
    q, k, v = inputs
    bias = random(3, 4, 5, 5, seed=3)
    found = vmap(grad(lambda b, q, k, v: qkv.torch.attention(q, k, v, bias=b).sum()))(bias, q, k, v)
    leaf = bias.clone().requires_grad_()
    (want,) = torch.autograd.grad(qkv.torch.attention(q, k, v, bias=leaf).sum(), leaf)
    assert_equal([found], [want])


def test_a_jacobian_is_taken_backward_and_a_hessian_refused(inputs):
    q, k, v = (x[0, :2, :2, :3] for x in inputs)
    assert torch.allclose(jacrev(causal)(q, k, v), torch.autograd.functional.jacobian(lambda q: causal(q, k, v), q))
    with pytest.raises(RuntimeError, match="qkv has no (forward-mode|second) derivative"):
        hessian(lambda q: causal(q, k, v).sum())(q)
    with pytest.raises(RuntimeError, match="qkv has no second derivative"):
        jacrev(jacrev(lambda q: causal(q, k, v).sum()))(q)


def test_checkpointing_recomputes_it(inputs):
    def checkpointed(q, k, v):
        return torch.utils.checkpoint.checkpoint(causal, q, k, v, use_reentrant=False)

    assert_equal(gradients(checkpointed, inputs), gradients(causal, inputs))


def test_a_mode_sees_the_operator_even_where_no_gradient_is_asked_for(inputs):
    class Names(torch.utils._python_dispatch.TorchDispatchMode):
        seen = []

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with torch.no_grad(), Names() as names:
        causal(*inputs)
    assert "qkv.attention.default" in names.seen
