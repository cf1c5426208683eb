"""Masks of a model in their smallest form: whatever a mask is, the terms made of it hide and add exactly the same."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import qkv  # noqa: E402
from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from qkv._capture import _terms  # noqa: E402
from qkv._capture._masks import reduced  # noqa: E402
from qkv._capture._terms import Masks, compact  # noqa: E402

MIB = 1 << 20
FILLS = (-np.inf, torch.finfo(torch.float32).min, -10000.0)


def band(queries, keys, least=None, most=None):
    distance = torch.arange(keys)[None, :] - torch.arange(queries)[:, None]
    inside = torch.ones(queries, keys, dtype=torch.bool)
    if least is not None:
        inside &= distance >= least
    if most is not None:
        inside &= distance <= most
    return inside


def filled(keep, fill=-np.inf, bias=0.0):
    return torch.where(keep, torch.as_tensor(bias, dtype=torch.float32), torch.tensor(fill, dtype=torch.float32))


def terms_of(keep=None, bias=None, queries=None, keys=None, batch=1, heads=2, most_bytes=MIB, **options):
    shape = (keep if keep is not None else bias).shape
    q, k = torch.zeros(batch, heads, queries or shape[2], 4), torch.zeros(batch, heads, keys or shape[3], 4)
    given_options = {name: x for name, x in (("keep", keep), ("bias", bias)) if x is not None} | options
    return compact(q, k, given_options, (keep, bias), Masks(most_bytes), None), q, k


def scores(terms, q, k):
    """What the terms add to scores of 0, [B,H,Tq,Tk]: -inf where a key is hidden."""
    q, k = q.numpy(), k.numpy()
    rows = [qkv.trace(q[:, :, i:i + 1], k, k, **terms.options_of_row(i))["masked"] for i in range(q.shape[2])]
    return np.concatenate(rows, axis=2)


@st.composite
def structured(draw):
    """(keep [B,1 or H,Tq,Tk], numbers added to what is kept)"""
    batch, heads = draw(st.integers(1, 3)), draw(st.sampled_from([1, 2]))
    queries, keys = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    side = st.none() | st.integers(-6, 6)
    keep = band(queries, keys, draw(side), draw(side)).expand(batch, heads, -1, -1).clone()
    seed = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    if draw(st.booleans()):
        keep &= torch.rand(batch, 1, 1, keys, generator=seed) > 0.4
    if draw(st.integers(0, 4)) == 0:
        keep &= torch.rand(batch, heads, queries, keys, generator=seed) > 0.3
    kind = draw(st.sampled_from(["nothing", "a key", "a distance", "anything"]))
    bias = torch.zeros(1, heads, queries, keys)
    if kind == "a key":
        bias = torch.randn(1, heads, 1, keys, generator=seed).expand(-1, -1, queries, -1)
    elif kind == "a distance":
        distance = (torch.arange(keys)[None, :] - torch.arange(queries)[:, None]).abs()
        bias = -torch.rand(heads, 1, 1, generator=seed)[None] * distance
    elif kind == "anything":
        bias = torch.randn(1, heads, queries, keys, generator=seed)
    return keep, bias


@settings(max_examples=300, deadline=None)
@given(structured(), st.booleans(), st.sampled_from(FILLS))
def test_terms_hide_and_add_exactly_what_the_mask_does(problem, as_number, fill):
    keep, bias = problem
    mask = filled(keep, fill, bias) if as_number else None
    terms, q, k = terms_of(None if as_number else keep, mask, batch=keep.shape[0])
    expected = np.where(keep, bias.numpy() if as_number else 0.0, -np.inf)
    expected = np.broadcast_to(expected, (keep.shape[0], 2, *keep.shape[2:]))
    found = scores(terms, q, k)
    assert np.array_equal(np.isneginf(found), np.isneginf(expected))
    assert np.allclose(found, expected, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize("fill", [None, *FILLS])
@pytest.mark.parametrize("queries, keys, least, most, found", [
    (6, 6, None, 0, ("causal", 0, None)),
    (4, 9, None, 5, ("causal", 5, None)),  # a cache: the corner at the bottom right
    (4, 9, None, 0, ("causal", 0, None)),  # the corner at the top left
    (1, 9, None, 3, ("causal", 3, None)),  # one query, and room behind the newest key
    (6, 6, -2, 0, ("causal+window", 0, (2, 0))),
    (4, 9, 3, 5, ("causal+window", 5, (2, 0))),
    (6, 6, -2, 2, ("window", 0, (2, 2))),  # to both sides
    (6, 6, None, -1, ("causal", -1, None)),  # not even itself
    (6, 6, -2, None, ("window", 0, (2, -1))),
    (6, 6, None, None, ("none", None, None)),
])
def test_a_band_is_called_what_it_is(queries, keys, least, most, found, fill):
    keep = band(queries, keys, least, most)[None, None]
    terms, _, _ = terms_of(keep if fill is None else None, None if fill is None else filled(keep, fill))
    assert (terms.kinds, terms.offset, terms.window) == found


def test_padding_is_a_mask_of_keys_a_batch_entry():
    padded = torch.tensor([[1, 1, 1, 1, 1], [0, 0, 1, 1, 1]], dtype=torch.bool)
    terms, _, _ = terms_of(padded[:, None, None] & band(5, 5, None, 0), batch=2)
    assert terms.kinds == "causal+padding" and torch.equal(terms.key_mask, padded)


def test_a_mask_that_depends_on_the_head_is_none_of_them():
    keep = torch.stack((band(5, 5, None, 0), band(5, 5, -1, 1)))[None]
    terms, _, _ = terms_of(keep)
    assert terms.kinds == "dense" and torch.equal(terms.keep, keep)


@pytest.mark.parametrize("bias, stored", [
    (torch.zeros(1, 2, 5, 5), None),
    (torch.arange(5.0).expand(1, 1, 5, 5), (1, 1, 1, 5)),
    (torch.arange(2.0)[None, :, None, None].expand(3, 2, 5, 5), (1, 2, 1, 1)),
    (torch.arange(5.0)[:, None].expand(1, 2, 5, 5), (1, 1, 5, 1)),
])
def test_a_bias_is_kept_along_the_axes_where_it_differs(bias, stored):
    assert stored is None or tuple(reduced(bias).shape) == stored
    terms, _, _ = terms_of(bias=bias, batch=bias.shape[0])
    assert (None if terms.bias is None else tuple(terms.bias.shape)) == stored


def test_alibi_is_slopes_with_and_without_a_causal_mask():
    slopes = torch.tensor([0.5, 0.0625])
    distance = (torch.arange(7)[None, :] - torch.arange(7)[:, None]).abs()
    whole = (-slopes[:, None, None] * distance)[None]
    for mask, kinds in ((whole, "none"), (filled(band(7, 7, None, 0), -np.inf, whole), "causal")):
        terms, _, _ = terms_of(bias=mask)
        assert terms.kinds == kinds and terms.bias is None and terms.slopes.tolist() == slopes.tolist()


def test_a_number_that_hides_not_for_certain_stays_a_bias():
    keep = band(5, 5, None, 0)[None, None]
    terms, _, _ = terms_of(bias=filled(keep, -20.0))  # exp(-20) is no zero
    assert terms.kinds == "none" and terms.bias.min() == -20


def test_a_number_that_hides_small_scores_need_not_hide_large_ones():
    keep = band(5, 5, None, 0)[None, None]
    mask = filled(keep, -10000.0)
    small, large = torch.ones(1, 1, 5, 4), torch.full((1, 1, 5, 4), 80.0)  # scores up to 2 and up to 12800
    assert compact(small, small, {"bias": mask}, (mask,), Masks(MIB), None).kinds == "causal"
    assert compact(large, large, {"bias": mask}, (mask,), Masks(MIB), None).kinds == "none"


@pytest.mark.parametrize("name", ["keep", "bias"])
def test_a_large_mask_without_a_compact_form_is_refused_with_its_size(name):
    mask = torch.rand(1, 2, 600, 600) > 0.5 if name == "keep" else torch.randn(1, 2, 600, 600)
    with pytest.raises(qkv.CaptureError, match=r"\[1, 2, 600, 600\] is none of causal.*mask_bytes="):
        terms_of(**{name: mask}, most_bytes=1000)


def test_one_mask_of_all_layers_is_looked_at_once_and_not_kept_alive(monkeypatch):
    described, describe = [], _terms.describe
    monkeypatch.setattr(_terms, "describe", lambda *given: described.append(1) or describe(*given))
    masks, q = Masks(MIB), torch.zeros(1, 2, 6, 4)
    mask = band(6, 6, None, 0)[None, None]
    for _ in range(3):
        compact(q, q, {"keep": mask[:]}, (mask,), masks, None)  # a view, as the reader makes one
    assert len(described) == 1
    mask[0, 0, 0, 5] = True  # changed in place
    assert compact(q, q, {"keep": mask[:]}, (mask,), masks, None).kinds == "dense"
    other = mask.clone()
    del mask
    compact(q, q, {"keep": other}, (other,), masks, None)
    assert len(described) == 3
