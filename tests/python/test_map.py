"""`qkv.map_overview`, `map_tile` and `map_row`: the weights of one head, pooled, in part, and explained."""

import numpy as np
import pytest
import qkv

RNG = np.random.default_rng(5)
Q = RNG.standard_normal((2, 4, 50, 8), dtype=np.float32)
K = RNG.standard_normal((2, 2, 70, 8), dtype=np.float32)
OPTIONS = {"causal": True, "corner": "bottom_right", "softcap": 5.0}
P = qkv.trace(Q, K, K, **OPTIONS)["p"]


def pooled(p, step, reduce):
    rows, columns = (range(0, length, step) for length in p.shape)
    return np.array([[reduce(p[i:i + step, j:j + step]) for j in columns] for i in rows])


@pytest.mark.parametrize(("batch", "head"), [(0, 0), (1, 3)])
def test_the_overview_of_a_head_is_its_weights_pooled(batch, head):
    for pixels, step in ((100, 1), (20, 4)):
        found = qkv.map_overview(Q, K, head=head, batch=batch, pixels=pixels, **OPTIONS)
        assert found.step == step
        assert np.allclose(found.max, pooled(P[batch, head], step, np.max), atol=1e-6)
        assert np.allclose(found.mean, pooled(P[batch, head], step, np.mean), atol=1e-6)
    assert np.allclose(found.largest, P[batch, head].max(axis=1), atol=1e-6)
    assert np.allclose(found.lse, qkv.attention(Q, K, K, return_lse=True, **OPTIONS)[1][batch, head], atol=1e-5)


def test_a_tile_is_a_part_of_it_at_any_zoom():
    lse = qkv.map_overview(Q, K, head=2, batch=1, **OPTIONS).lse
    part = P[1, 2, 7:40, 3:61]
    for step in (1, 3):
        found = qkv.map_tile(Q, K, lse, rows=(7, 40), columns=(3, 61), step=step, head=2, batch=1, **OPTIONS)
        # The last pixel of a row may look beyond the rectangle, as far as the step is wide.
        assert found[0][:10, :18] == pytest.approx(pooled(part, step, np.max)[:10, :18], abs=1e-6)
        assert found[1][:10, :18] == pytest.approx(pooled(part, step, np.mean)[:10, :18], abs=1e-6)


def test_a_row_says_which_keys_and_by_which_dimension():
    row = qkv.map_row(Q, K, 11, top=4, head=1, **OPTIONS)
    order = np.argsort(-P[0, 1, 11], kind="stable")[:4]
    assert row.keys.tolist() == order.tolist() and row.allowed == 32
    assert np.allclose(row.weights, P[0, 1, 11, order], atol=1e-12)
    assert np.allclose(row.cumulative, np.cumsum(row.weights)) and row.products.shape == (4, 8)
    assert np.allclose(row.products.sum(axis=1), row.scores)
    assert np.allclose(row.scores, K[0, 0, order].astype(float) @ Q[0, 1, 11] / 8**0.5, atol=1e-6)


def test_pictures_and_rows_print_in_a_line():
    assert repr(qkv.map_overview(Q, K, pixels=20, **OPTIONS)) == (
        "<qkv.Overview of 50 rows in 13 × 18 pixels, step 4>")
    assert repr(qkv.map_row(Q, K, 11, **OPTIONS)).startswith("<qkv.MapRow of 32 keys, entropy ")


def test_what_is_not_there_is_refused():
    with pytest.raises(ValueError, match="map: head is 4; expected 0 to 3"):
        qkv.map_overview(Q, K, head=4, **OPTIONS)
    with pytest.raises(ValueError, match="map: row 50 is none of 50"):
        qkv.map_row(Q, K, 50, **OPTIONS)
    with pytest.raises(ValueError, match="lse has 3 rows"):
        qkv.map_tile(Q, K, [0, 0, 0], rows=(0, 2), columns=(0, 2), **OPTIONS)
    with pytest.raises(ValueError, match="height is 0; expected at least 1"):
        qkv.map_tile(Q, K, np.zeros(50), rows=(2, 2), columns=(0, 2), **OPTIONS)
    with pytest.raises(ValueError, match="map: step is 0"):
        qkv.map_tile(Q, K, np.zeros(50), rows=(0, 2), columns=(0, 2), step=0, **OPTIONS)
