"""Dense masks that say causal, a window or padding are used as those options, and no other mask is."""

import itertools

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qkv.torch  # noqa: E402
from qkv.torch import _compact  # noqa: E402
from torch_rule import math_path  # noqa: E402


@pytest.fixture(autouse=True)
def every_size(monkeypatch):
    monkeypatch.setattr(_compact, "SMALLEST", 0)


def band(queries, keys, offset, left=None):
    distance = torch.arange(keys) - torch.arange(queries)[:, None] - offset
    return ((distance <= 0) & (distance >= (-keys if left is None else -left)))[None, None]


def padding(keys, *ranges):
    """[B,1,1,keys], true in each entry's range."""
    at = torch.arange(keys)
    return torch.stack([(at >= first) & (at < end) for first, end in ranges])[:, None, None]


MASKS = {
    "causal": (band(6, 6, 0), {"causal", "offset"}),
    "causal after a past": (band(4, 9, 5), {"causal", "offset"}),
    "causal in a cache that is longer": (band(4, 9, 2), {"causal", "offset"}),
    "top left": (band(4, 9, 0), {"causal", "offset"}),
    "window": (band(8, 8, 0, 2), {"causal", "offset", "window"}),
    "window after a past": (band(4, 9, 5, 2), {"causal", "offset", "window"}),
    "padding": (padding(7, (0, 5), (2, 7)).expand(2, 1, 7, 7), {"key_mask"}),
    "padding of all entries": (padding(7, (0, 5)).expand(1, 1, 7, 7), {"key_mask"}),
    "causal, padded on the right": (band(7, 7, 0) & padding(7, (0, 7), (0, 4)), {"causal", "offset", "key_mask"}),
    "causal, padded on the left": (band(7, 7, 0) & padding(7, (0, 7), (3, 7)), {"causal", "offset", "key_mask"}),
    "causal, all padded": (band(7, 7, 0) & padding(7, (2, 7), (3, 7)), {"causal", "offset", "key_mask"}),
    "window, padded on the left": (band(8, 8, 0, 2) & padding(8, (0, 8), (4, 8)),
                                   {"causal", "offset", "window", "key_mask"}),
    "nothing": (torch.ones(1, 1, 6, 6, dtype=torch.bool), set()),
    "everything": (torch.zeros(2, 1, 6, 6, dtype=torch.bool), {"key_mask"}),
}
OTHERS = {
    "a hole": band(6, 6, 0) & ~torch.nn.functional.one_hot(torch.tensor(26), 36).bool().reshape(1, 1, 6, 6),
    "anti-causal": band(6, 6, 0).flip(-1),
    "a chessboard": ((torch.arange(6) + torch.arange(6)[:, None]) % 2).bool()[None, None],
    "a mask a head": band(6, 6, 0).expand(1, 3, 6, 6),
    "packed": torch.block_diag(torch.ones(3, 3), torch.ones(4, 4)).bool()[None, None],
    "a window on both sides": band(7, 7, 1, 3),
}


def inputs(mask, heads=3):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(2, heads, tokens, 8, generator=generator, dtype=torch.float64)
               for tokens in (mask.shape[2], mask.shape[3], mask.shape[3]))
    return q, k, v


def floating(mask, hidden):
    return torch.where(mask, 0.0, torch.tensor(hidden, dtype=torch.float64))


@pytest.mark.parametrize("name", MASKS)
def test_a_mask_becomes_the_options_that_hide_the_same_keys(name):
    mask, names = MASKS[name]
    q, k, v = inputs(mask)
    for given in (mask, floating(mask, -torch.inf)):
        options = _compact.options_of(given, 2, *given.shape[2:])
        assert options.keys() == names
        want = qkv.torch.attention(q, k, v, keep=mask)
        assert torch.equal(qkv.torch.attention(q, k, v, **options), want)
        assert torch.equal(qkv.torch.sdpa(q, k, v, given), want)
        assert torch.allclose(math_path(q, k, v, given), want)


@pytest.mark.parametrize("name", MASKS)
def test_rows_that_a_finite_number_hides_stay_means_of_v(name):
    mask = MASKS[name][0]
    given = floating(mask, torch.finfo(torch.float64).min)
    options = _compact.options_of(given, 2, *mask.shape[2:])
    assert (options is None) == bool((~mask.any(-1)).any())
    q, k, v = inputs(mask)
    assert torch.allclose(qkv.torch.sdpa(q, k, v, given), math_path(q, k, v, given))


@pytest.mark.parametrize("name", OTHERS)
def test_another_mask_stays_itself(name):
    mask = OTHERS[name]
    options = _compact.options_of(mask, 2, *mask.shape[2:])
    q, k, v = inputs(mask)
    want = qkv.torch.attention(q, k, v, keep=mask)
    assert options is None or torch.equal(qkv.torch.attention(q, k, v, **options), want)
    assert (options is None) == (name != "a window on both sides")  # which is a causal window of another offset
    assert torch.equal(qkv.torch.sdpa(q, k, v, mask), want)


def test_every_small_mask_means_what_it_meant():
    bits = torch.tensor(list(itertools.product([False, True], repeat=9))).reshape(-1, 1, 1, 3, 3)
    q, k, v = (x[:1] for x in inputs(bits[0], heads=1))
    compact = 0
    for mask in bits:
        options = _compact.options_of(mask, 1, 3, 3)
        if options is not None:
            compact += 1
            assert torch.equal(qkv.torch.attention(q, k, v, **options), qkv.torch.attention(q, k, v, keep=mask))
    assert compact > 20


def test_a_bias_that_adds_something_stays_one():
    mask = floating(band(6, 6, 0), -torch.inf)
    mask[0, 0, 3, 1] = 0.5
    assert _compact.options_of(mask, 2, 6, 6) is None
    assert _compact.options_of(floating(band(6, 6, 0), -10.0), 2, 6, 6) is None


def test_a_mask_that_is_written_to_is_looked_at_again():
    mask = band(6, 6, 0).clone()
    assert _compact.options_of(mask, 1, 6, 6).keys() == {"causal", "offset"}
    mask[0, 0, 5, 2] = False
    assert _compact.options_of(mask, 1, 6, 6) is None
    with torch.inference_mode():
        mask = band(6, 6, 0).clone()
        assert _compact.options_of(mask, 1, 6, 6).keys() == {"causal", "offset"}
        mask[0, 0, 5, 2] = False
        assert _compact.options_of(mask, 1, 6, 6) is None


def test_what_has_a_gradient_stays_a_bias():
    mask = floating(band(6, 6, 0), -torch.inf).requires_grad_()
    assert _compact.options_of(mask, 2, 6, 6) is None
