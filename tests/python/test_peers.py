"""bench/peers.py and its report: what they make of lists, rounds and results. No peer is needed, no time asserted."""

import importlib.util
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import qkv

BENCH = Path(__file__).resolve().parents[2] / "bench"


def load(name):
    sys.path.insert(0, str(BENCH))
    try:
        spec = importlib.util.spec_from_file_location(name, BENCH / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(BENCH))
    return module


peers = load("peers")
report = load("peer_report")
python_call = load("python_call")
sys.path.insert(0, str(BENCH))
from contenders import cases  # noqa: E402

LIST = """prefill: plain prefill
  forward  attention B1 H12 T1024 D64
decode: one query
  decode  attention B1 H32/8 T1x8192 D128
all: everything
"""


def measured(**changes):
    """A row of three rounds in which qkv takes 1, 2, 3 ms and PyTorch twice, four times and twice that."""
    fields = {
        "pass": "forward", "problem": "attention B1 H12 T1024 D64", "threads": 1, "flops": 3e6, "bytes": 0,
        "ceiling": [6e9, 6e9, 3e9], "left_out": {"JAX": "not installed"}, "machine": "m", "date": "d", "commit": "c",
        "contenders": {
            "qkv": {"version": "", "error": 3e-7, "calls": 1, "seconds": [1e-3, 2e-3, 3e-3]},
            "PyTorch": {"version": "2", "error": 1e-7, "calls": 1, "seconds": [2e-3, 8e-3, 6e-3]},
            "oneDNN unfused": {"version": "3", "error": 1e-7, "calls": 1, "seconds": [1.5e-3, 3e-3]},
        },
    }
    return report.Measured(fields | changes)


def test_a_list_of_sets_is_read_as_it_is_printed():
    sets = peers.parse_list(LIST)
    assert sets == {"prefill": [("forward", "attention B1 H12 T1024 D64")],
                    "decode": [("decode", "attention B1 H32/8 T1x8192 D128")], "all": []}


def test_each_row_is_measured_once_and_threads_are_outermost():
    sets = peers.parse_list(LIST)
    rows = peers.rows_of(sets, [1, 2], {"f32": ["prefill", "prefill"], "bf16": ["decode", "no such set"]})
    assert [row.key for row in rows] == [
        "1 forward attention B1 H12 T1024 D64", "1 decode attention B1 H32/8 T1x8192 D128 bf16",
        "2 forward attention B1 H12 T1024 D64", "2 decode attention B1 H32/8 T1x8192 D128 bf16"]


@pytest.mark.parametrize("line, want", [
    ("attention B1 H1 T5 D2", "attention B1 H1 T5 D2 bf16"),
    ("attention B1 H1 T5 D2 causal lse seed=3", "attention B1 H1 T5 D2 causal bf16 lse seed=3"),
])
def test_the_type_stands_where_qkv_writes_it(line, want):
    assert peers.with_dtype(line, "bf16") == want
    assert peers.with_dtype(line, "f32") == line


def test_a_results_file_that_was_cut_short_keeps_its_whole_lines(tmp_path):
    path = tmp_path / "peers.jsonl"
    assert peers.load(path) == []
    path.write_text(json.dumps({"pass": "forward", "problem": "p", "threads": 1}) + '\n{"pass": "for', encoding="utf-8")
    assert [peers.key_of(row) for row in peers.load(path)] == ["1 forward p"]


def test_a_forced_blas_kernel_is_taken_out_of_the_environment(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Prescott")
    env = peers.environment(2)
    assert "OPENBLAS_CORETYPE" not in env and env["OMP_NUM_THREADS"] == "2"


def test_in_a_long_row_the_peers_that_are_far_behind_stop_early():
    timer = peers.RowTimer(peers.Row("forward", "p", 1), None, [], {}, [])
    for name in ("qkv", "near", "far", "very far", "PyTorch"):
        timer.timed[name], timer.calls[name] = None, 1
        timer.results[name] = {"seconds": []}
    assert timer.still_timed(0, 7) == ["qkv", "near", "far", "very far", "PyTorch"]
    for name, result in timer.results.items():
        result["seconds"] = [{"qkv": 1.0, "near": 1.5, "far": 3.0}.get(name, 9.0)]
    assert timer.still_timed(1, 7) == ["qkv", "near", "far", "PyTorch"]
    assert timer.still_timed(3, 7) == ["qkv", "near", "PyTorch"]
    for result in timer.results.values():
        result["seconds"] = [0.01] * 3
    assert timer.still_timed(3, 7) == ["qkv", "near", "far", "very far", "PyTorch"]


@pytest.mark.parametrize("line", ["attention H2 T7 D4", "attention B2 H4/2 T7 D4/3", "attention H2 T9 D4 causal",
                                  "attention H2 T9 D4 causal window=3,0", "attention H2 T9 D4 causal bf16"])
def test_the_sampled_rows_are_qkv_s_rows(line):
    problem = cases.parse_problem(line)
    case = cases.make_case(problem, with_gradients=True)
    window = (problem.left, 0) if problem.left >= 0 else None
    o = qkv.attention(case.q, case.k, case.v, causal=problem.causal, window=window, threads=1)
    assert case.error({"o": o}) < 1e-6
    wrong = o.copy()
    wrong[-1, -1, -1, 0] += 1
    assert case.error({"o": wrong}) > case.tolerance
    wrong[-1, -1, -1, 0] = np.nan
    assert case.error({"o": wrong}) == np.inf


def test_the_gradients_of_a_case_are_its_differences():
    case = cases.make_case(cases.parse_problem("attention H2/1 T5 D3 causal"), with_gradients=True)

    def loss(q, k, v):
        moved = cases.Case(case.problem, q, k, v)
        rows = np.arange(5)
        return sum(float((cases.weights(moved, 0, head, rows) @ v[0, 0].astype(np.float64)
                          * case.d_o[0, head]).sum()) for head in range(2))

    arrays = {name: getattr(case, name).astype(np.float64) for name in ("q", "k", "v")}
    for name, at in (("q", (0, 1, 3, 2)), ("k", (0, 0, 2, 1)), ("v", (0, 0, 4, 0))):
        values = []
        for step in (1e-4, -1e-4):
            moved = arrays | {name: arrays[name].copy()}
            moved[name][at] += step
            values.append(loss(**moved))
        (index, want), = [sample for sample in case.want["d" + name] if sample[0][1] == at[1]]
        rows = list(index[2])
        assert abs((values[0] - values[1]) / 2e-4 - want[rows.index(at[2]), at[3]]) < 1e-5


def test_a_problem_that_no_peer_knows_is_refused():
    with pytest.raises(ValueError, match="softcap"):
        cases.parse_problem("attention T5 D2 softcap=3")
    with pytest.raises(ValueError, match="expected 'attention' first"):
        cases.parse_problem("T5 D2")


def test_visible_pairs_are_counted_exactly():
    assert cases.parse_problem("attention T4x6 D2").pairs == 24
    assert cases.parse_problem("attention T4 D2 causal").pairs == 10
    assert cases.parse_problem("attention T4 D2 causal window=1,0").pairs == 7
    assert cases.parse_problem("attention T1x6 D2 causal=bottom_right").pairs == 6


def test_ratios_and_shares_are_taken_round_by_round():
    row = measured()
    assert row.peers == {"oneDNN unfused": 1.5, "PyTorch": 2.0}
    assert row.share() == pytest.approx(1 / 3)  # of 0.5, 0.25, 0.33
    assert row.share("PyTorch") == pytest.approx(1 / 6)
    assert row.time == 2e-3


def test_a_table_names_the_fastest_peer_with_its_share():
    text = report.against_peers([measured()])
    assert "| `H12 T1024 D64` | 1 | 2 ms | **0.33** | oneDNN unfused 0.25 | **1.50×** | 2.00× | 3e-07 |" in text


def test_what_is_missing_is_said_with_its_reason():
    text = report.versions([measured()])
    assert "- JAX: left out, not installed" in text and "- PyTorch 2" in text and "m, d, commit c" in text


def test_tables_replace_what_stands_between_their_markers_and_nothing_else():
    text = "before\n<!-- bench: plain -->\nold\n<!-- end -->\nafter\n"
    assert report.replaced(text, {"plain": "new\n"}) == "before\n<!-- bench: plain -->\nnew\n<!-- end -->\nafter\n"
    with pytest.raises(KeyError):
        report.replaced(text, {})


def test_scaling_and_growth_come_from_qkv_s_own_rounds():
    def row(problem, threads, seconds):
        return {"pass": "forward", "problem": problem, "threads": threads, "seconds": [seconds], "wall": [seconds],
                "ceiling": [1e9 * threads], "flops": 1e6, "bytes": 0, "error": 1e-7, "scratch_bytes": 2**19}

    document = {"rows": [row("attention B1 H1 T4096 D64", 1, 2e-3), row("attention B1 H1 T4096 D64", 2, 1e-3),
                         row("attention B1 H1 T8192 D64", 1, 9e-3)]}
    assert "| forward | `H1 T4096 D64` | 2 ms | 0.50 | 0.50 | **2.00** | 1e-07 |" in report.scaling(document)
    assert "| 8192 | 9 ms | 0.11 | 4.50 | 0.50 MiB |" in report.growth(document)


def test_every_document_has_only_markers_of_tables_that_exist():
    found = report.tables([measured()], {"rows": []})
    for path in report.DOCUMENTS:
        report.replaced(path.read_text(encoding="utf-8"), found)


def test_the_small_calls_that_are_timed_can_be_made():
    calls = python_call.cases()
    for call in calls.values():
        call()
    assert python_call.best_median(calls["attention(q, k, v)"], rounds=1, calls=3) > 0


def test_times_have_the_unit_that_fits():
    assert [report.time_text(s) for s in (1.5, 0.0257, 2.5e-5, 2.5e-7)] == ["1.5 s", "25.7 ms", "25 µs", "250 ns"]
