"""Threads, processes and signals around a call: the environment's word, calls at once, fork, Ctrl-C."""

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import qkv
from conftest import normal

q, k, v = (normal(seed, 2, 4, 300, 32) for seed in (1, 2, 3))
x = normal(4, 2, 200, 64)
parameters = {name: normal(5, 64, 64) / 8 for name in ("wq", "wk", "wv", "wo")}


def everything():
    """One answer of every function that computes on threads."""
    o, lse = qkv.attention(q, k, v, causal=True, return_lse=True)
    gradients = qkv.attention_backward(q, k, v, o, lse, o, causal=True)
    cache = qkv.KeyValueCache(k.copy(), v.copy(), np.full(2, 290))
    step = qkv.attention_decode(q[:, :, :3], k[:, :, :3], v[:, :, :3], cache)
    y = qkv.layer(x, parameters, query_heads=4)
    d_x = qkv.layer_backward(x, parameters, y, query_heads=4)
    return [o, lse, *gradients, step, y, *d_x.values()]


WANT = everything()


def assert_the_same_bits(answers):
    for found, wanted in zip(answers, WANT, strict=True):
        np.testing.assert_array_equal(found, wanted)


def run(program, **environment):
    """What a Python of its own prints for a program; its traceback is the assertion's message."""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, capture_output=True,
                          text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_environment_says_how_many_threads():
    assert run("import qkv; print(qkv.info()['threads'])", QKV_THREADS="7") == "7\n"
    assert run("import qkv; print(qkv.info()['threads'])", QKV_THREADS="") == f"{qkv.info()['threads']}\n"


@pytest.mark.parametrize("wrong", ["two", "-1", "1.5", " 1"])
def test_an_environment_that_says_no_number_is_an_error_of_every_call_that_does_not_say_it_itself(wrong, monkeypatch):
    monkeypatch.setenv("QKV_THREADS", wrong)
    message = re.escape(f"environment variable QKV_THREADS is '{wrong}'; expected a number of threads, or 0")
    for call in (lambda: qkv.attention(q, k, v), lambda: qkv.attention(q[:, :, :1], k[:, :, :1], v[:, :, :1]),
                 lambda: qkv.layer(x, parameters, query_heads=4), qkv.info):
        with pytest.raises(ValueError, match=message):
            call()
    qkv.attention(q, k, v, threads=1)


def test_four_python_threads_at_once_get_the_same_bits():
    with ThreadPoolExecutor(4) as pool:
        for answers in pool.map(lambda _: everything(), range(12)):
            assert_the_same_bits(answers)


def test_a_child_of_fork_computes_the_same_bits():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for answers in [pool.apply_async(everything) for _ in range(4)]:
            assert_the_same_bits(answers.get(timeout=60))
    assert_the_same_bits(everything())  # and its parent goes on


def test_a_spawned_process_computes_the_same_bits():
    program = ("import numpy as np, qkv\n"
               "q = np.random.default_rng(1).standard_normal((2, 4, 300, 32)).astype(np.float32)\n"
               "print(qkv.attention(q, q, q).tobytes().hex()[:400])")
    assert run(program).strip() == qkv.attention(q, q, q).tobytes().hex()[:400]


BESIDE_TORCH = """
import numpy as np
{imports}
q = np.random.default_rng(1).standard_normal((2, 4, 300, 32)).astype(np.float32)
for _ in range(3):
    ours = qkv.attention(q, q, q)
    t = torch.from_numpy(q)
    theirs = torch.nn.functional.scaled_dot_product_attention(t, t, t).numpy()
    assert np.abs(ours - theirs).max() < 1e-5
    assert np.array_equal(qkv.attention(t, t, t).numpy(), ours)
"""


@pytest.mark.parametrize("imports", ["import qkv, torch", "import torch, qkv"])
def test_qkv_and_torch_compute_side_by_side_whichever_comes_first(imports):
    pytest.importorskip("torch")
    run(BESIDE_TORCH.format(imports=imports))


LONG = """
import time
import numpy as np
import qkv
rng = np.random.default_rng(1)
q = rng.standard_normal((1, 8, 16384, 64), dtype=np.float32)
x = rng.standard_normal((1, 16384, 512), dtype=np.float32)
parameters = {{name: rng.standard_normal((512, 512), dtype=np.float32) / 22 for name in ("wq", "wk", "wv", "wo")}}
lse = np.zeros(q.shape[:3], np.float32)
short = rng.standard_normal((1, 1, 4000, 64), dtype=np.float32)
cache = qkv.KeyValueCache(q.copy(), q.copy(), np.full(1, 16384))
calls = {{
    "attention": lambda: qkv.attention(q, q, q),
    "attention_backward": lambda: qkv.attention_backward(q, q, q, q, lse, q),
    "attention_decode": lambda: qkv.attention_decode(q, None, None, cache),
    "layer": lambda: qkv.layer(x, parameters, query_heads=8),
    "layer_backward": lambda: qkv.layer_backward(x, parameters, x, query_heads=8),
    "trace": lambda: qkv.trace(short, short, short),
    "check": lambda: qkv.check(lambda q, k, v: q @ np.swapaxes(k, -1, -2) @ v),
}}
print("ready", flush=True)
try:
    calls[{name!r}]()
except KeyboardInterrupt:
    print(time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
"""


@pytest.mark.parametrize("name", ["attention", "attention_backward", "attention_decode", "layer", "layer_backward",
                                  "trace", "check"])
def test_ctrl_c_ends_long_work_at_once(name, record_property):
    child = subprocess.Popen([sys.executable, "-c", LONG.format(name=name)], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.4)  # it is computing
    sent = time.clock_gettime(time.CLOCK_MONOTONIC)
    child.send_signal(signal.SIGINT)
    answer = child.communicate(timeout=60)[0]
    assert answer, f"it ended after {time.clock_gettime(time.CLOCK_MONOTONIC) - sent:.1f} s by itself"
    record_property("milliseconds", round(1000 * (float(answer) - sent)))
    assert float(answer) - sent < 2  # 0.1 s on a machine that does nothing else


