"""`qkv.survey`: what the heads of arrays and of captures look like, as dicts, columns and words."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
import qkv
from numpy_attention import numpy_attention

TOOL = Path(__file__).resolve().parents[2] / "build" / "qkv"


def weights_of(q, k, **options):
    keys = k.shape[2]
    return numpy_attention(q, k, np.broadcast_to(np.eye(keys, dtype=q.dtype), (*k.shape[:3], keys)), **options)


def heads(seed=0, *, batch=2, query_heads=4, kv_heads=2, tokens=30, width=8):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((batch, query_heads, tokens, width), dtype=np.float32),
            rng.standard_normal((batch, kv_heads, tokens, width), dtype=np.float32))


def test_statistics_are_those_of_the_weights():
    q, k = heads()
    p = weights_of(q, k, causal=True)[:, :, 1:]  # row 0 sees one key
    surveyed = qkv.survey(q, k, causal=True)
    for h, head in enumerate(surveyed):
        mine = p[:, h]
        entropy = -np.where(mine > 0, mine * np.log(np.where(mine > 0, mine, 1)), 0).sum(-1)
        assert head["entropy"] == pytest.approx(entropy.mean(), abs=1e-5)
        assert head["first_key"] == pytest.approx(mine[:, :, 0].mean(), abs=1e-6)
        assert head["previous"] == pytest.approx(np.mean([np.diag(each[:, :-1]) for each in mine]), abs=1e-6)
        assert head["gradient"] == pytest.approx((mine * (1 - mine)).sum(-1).mean(), abs=1e-6)
        assert sum(head["distances"]) == pytest.approx(1, abs=1e-5)
        assert head["induction"] is None and head["layer"] is None


def test_tokens_make_duplicates_known():
    q, k = heads(batch=1)
    ids = np.arange(30)[None] % 5
    head = qkv.survey(q, k, causal=True, tokens=ids)[0]
    p = weights_of(q, k, causal=True)[0, 0]
    same = (ids[0][:, None] == ids[0]) & np.tri(30, k=-1, dtype=bool)
    assert head["duplicate"] == pytest.approx((p * same).sum(-1)[1:].mean(), abs=1e-6)


def test_batch_entries_together_or_apart():
    q, k = heads()
    assert [(head["batch"], head["head"]) for head in qkv.survey(q, k)] == [(None, h) for h in range(4)]
    apart = qkv.survey(q, k, apart=True)
    assert [(head["batch"], head["head"]) for head in apart] == [(b, h) for b in range(2) for h in range(4)]
    assert apart[5]["entropy"] == pytest.approx(qkv.survey(q[1:], k[1:])[1]["entropy"], abs=1e-12)


def test_a_survey_sorts_filters_and_gives_columns():
    q, k = heads()
    surveyed = qkv.survey(q, k, causal=True)
    falling = [head["entropy"] for head in surveyed.sorted("entropy")]
    assert falling == sorted(surveyed.columns()["entropy"], reverse=True)
    assert falling[::-1] == [head["entropy"] for head in surveyed.sorted("entropy", ascending=True)]
    assert [head["head"] for head in surveyed.where(lambda head: head["head"] > 1)] == [2, 3]
    assert len(surveyed[:2]) == 2 and isinstance(surveyed[:2], qkv.Survey)
    assert set(qkv.Survey.statistics) < set(surveyed[0])
    with pytest.raises(ValueError, match="there is no column 'entropie'; expected one of call, layer"):
        surveyed.sorted("entropie")


def test_a_survey_prints_a_table_that_fits(monkeypatch):
    q, k = heads()
    for columns in (80, 120):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = str(qkv.survey(q, k, causal=True)).splitlines()
        assert len(lines) == 5 and max(map(len, lines)) <= columns
        assert "looks like" in lines[0]
    assert repr(qkv.Survey([])) == "no heads"


def test_a_frame_needs_pandas_and_says_so():
    surveyed = qkv.survey(*heads())
    try:
        import pandas  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="pip install pandas"):
            surveyed.frame()
    else:
        assert list(surveyed.frame()["head"]) == [0, 1, 2, 3]


def test_what_does_not_fit_is_refused():
    q, k = heads()
    with pytest.raises(TypeError, match="survey of a int: expected a capture, the path of one, or q and k"):
        qkv.survey(3)
    with pytest.raises(ValueError, match=r"tokens \[B,Tk\] is \[2,3\]; expected \[2,30\]"):
        qkv.survey(q, k, tokens=np.zeros((2, 3), np.int64))
    with pytest.raises(TypeError, match="where takes a function"):
        qkv.survey(q, k).where("previous>0.5")
    with pytest.raises(ValueError, match="layers, heads and progress are for a capture"):
        qkv.survey(q, k, layers=[0])
    with pytest.raises(ValueError, match="k has 3 heads"):
        qkv.survey(q, np.zeros((2, 3, 30, 8), np.float32))


def test_padding_is_neither_a_query_nor_the_first_key():
    q, k = heads(batch=1)
    mask = np.arange(30)[None] >= 10  # padded on the left
    found = qkv.survey(q, k, key_mask=mask)
    alone = qkv.survey(q[:, :, 10:], k[:, :, 10:])
    for one, other in zip(found, alone, strict=True):
        assert one["rows"] == 20
        for name in ("entropy", "first_key", "previous", "distance", "sink"):
            assert one[name] == pytest.approx(other[name], abs=1e-6), name


# What needs a captured model: PyTorch makes it.


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    torch = pytest.importorskip("torch", reason="captures are made with PyTorch")

    class TwoLayers(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(16, 48) for _ in range(2))

        def forward(self, x):
            for layer in self.layers:
                q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in layer(x).chunk(3, dim=-1))
                x = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            return x

    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("captured") / "two.safetensors"
    qkv.capture(TwoLayers(), path, inputs=torch.randn(1, 20, 16), tokens=[f"t{i % 7}" for i in range(20)])
    return path


def test_a_capture_is_surveyed_with_its_own_masks_and_tokens(captured):
    surveyed = qkv.survey(captured)
    assert [head["head"] for head in surveyed] == [0, 1, 0, 1]
    call = qkv.open(captured)[1]
    assert surveyed[3]["call"] == call.name
    p = call.weights(head=1)
    assert surveyed[3]["first_key"] == pytest.approx(p[1:, 0].mean(), abs=1e-6)
    assert surveyed[3]["error"] < 1e-5
    assert surveyed[3]["duplicate"] is not None  # by the tokens' texts


def test_layers_heads_and_progress_of_a_capture(captured):
    seen = []
    surveyed = qkv.survey(qkv.open(captured), heads=[1], progress=lambda done, total: seen.append((done, total)))
    assert len(surveyed) == 2 and seen == [(1, 2), (2, 2)]
    assert len(qkv.survey(captured, heads=1)) == 2
    with pytest.raises(ValueError, match=r"head 9 was not captured; there are the heads \[0, 1\]"):
        qkv.survey(captured, heads=[0, 9])
    with pytest.raises(ValueError, match="layer 9 was not captured"):
        qkv.survey(captured, layers=[9])
    with pytest.raises(ValueError, match="a capture says itself what was computed"):
        qkv.survey(captured, causal=True)


@pytest.mark.skipif(not TOOL.is_file(), reason="there is no build/qkv (make build)")
def test_the_command_and_the_package_say_the_same(captured):
    outcome = subprocess.run([TOOL, "survey", captured, "--json"], capture_output=True, text=True, check=True)
    told = json.loads(outcome.stdout)["heads"]
    for head, mine in zip(told, qkv.survey(captured), strict=True):
        assert (head["call"], head["head"], head["pattern"]) == (mine["call"], mine["head"], mine["pattern"])
        for name, value in head["statistics"].items():
            assert mine[name] == value, name
