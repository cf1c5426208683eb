"""The Python that the lesson shows (examples/lesson/*.py) computes and prints the lesson's numbers."""

import json
import re
import runpy
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]


def lesson(name):
    return json.loads((ROOT / "tests/data/lesson" / f"{name}.json").read_text())


def run(name):
    return runpy.run_path(str(ROOT / "examples/lesson" / name))


def printed_numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d*(?:e[+-]\d+)?", text)]


def test_bank_computes_and_prints_a_and_o_of_all_three_queries(capsys):
    file, code = lesson("bank"), run("bank.py")
    np.testing.assert_allclose(code["A"], file["expected"]["weights"], atol=1e-12)
    np.testing.assert_allclose(code["O"], file["expected"]["output"], atol=1e-12)
    prints = file["page_prints"]
    wanted = np.concatenate([np.ravel(prints["weights"]), np.ravel(prints["output"])])
    assert printed_numbers(capsys.readouterr().out) == wanted.tolist()


def test_its_attention_does_not_overflow_where_a_plain_exp_would():
    attention = run("bank.py")["attention"]
    weights, output = attention(np.full((1, 4), 1e3), np.eye(2, 4) * 1e3, np.eye(2))
    np.testing.assert_allclose(weights, [[0.5, 0.5]])
    np.testing.assert_allclose(output, [[0.5, 0.5]])


def test_backward_computes_the_lesson_s_gradients_and_its_differences_agree(capsys):
    file, code = lesson("backward"), run("backward.py")
    for theirs, ours in {"q": "Q", "k": "K", "v": "V", "d_output": "dO"}.items():
        np.testing.assert_array_equal(code[ours], file[theirs])
    for theirs, ours in {"dv": "dV", "d_weights": "dA", "d_scores": "dS", "dq": "dQ", "dk": "dK"}.items():
        np.testing.assert_allclose(code[ours], file[theirs], atol=1e-12, err_msg=theirs)
    for name in "QKV":
        np.testing.assert_allclose(code["central_differences"](name), code[f"d{name}"], atol=1e-8)
    assert capsys.readouterr().out.count("largest difference") == 3
