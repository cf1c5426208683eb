#!/usr/bin/env python3
"""Times qkv beside its peers, row by row, in rounds; `make bench` calls it in an environment that has the peers.

Every contender's output is held to float64 first. A round measures the machine's ceiling and then each contender once,
in an order that rotates; ratios are taken round by round. Rows are appended to a file as they are done, and rows that
are there are not measured again. One process measures the rows of one number of threads, bound to as many CPUs.

Usage: peers.py [--quick] [--fresh] [--threads 1,2] [--rounds 7] [--only REGEX] [--results FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
ROUND_SECONDS = 0.03  # of calls, where one is shorter
LONG_CALL = 0.5  # seconds; the first one says how long it takes
LONG_ROW_SECONDS = 30.0  # above it the peers that are far behind get fewer rounds
FEWER_ROUNDS = ((3.0, 1), (1.6, 3))  # (times the fastest peer, rounds after which it stops)
# What a full run measures: sets of `qkv bench --list` by element type.
FULL = {"f32": ["prefill", "causal", "window", "small", "odd", "decode", "backward", "layer", "project", "lengths"],
        "bf16": ["prefill", "causal", "decode", "backward", "project"]}
QUICK = re.compile(r"(forward|forward_backward) attention B1 H12 T1024 D64|decode attention B1 |layer |project |T5 D2$")


@dataclass(frozen=True)
class Row:
    """What is measured: a pass of `qkv bench`, a problem line, a number of threads."""

    pass_name: str
    problem: str
    threads: int

    @property
    def key(self) -> str:
        return f"{self.threads} {self.pass_name} {self.problem}"


def parse_list(text: str) -> dict[str, list[tuple[str, str]]]:
    """Sets and their (pass, problem), as `qkv bench --list` prints them."""
    sets: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines():
        if match := re.fullmatch(r"(\w+): .*", line):
            sets[match[1]] = []
        elif match := re.fullmatch(r"  (\w+)  (attention .*)", line):
            list(sets.values())[-1].append((match[1], match[2]))
    return sets


def with_dtype(problem: str, dtype: str) -> str:
    """The line in another element type, in the order of words that qkv writes: before layout, lse and seed."""
    if dtype == "f32":
        return problem
    words = problem.split()
    later = [i for i, word in enumerate(words) if re.fullmatch(r"bthd|lse|backward|dlse|seed=.*", word)]
    words.insert(later[0] if later else len(words), dtype)
    return " ".join(words)


def rows_of(sets: dict[str, list[tuple[str, str]]], threads: list[int], chosen: dict[str, list[str]]) -> list[Row]:
    """Each row once, threads outermost."""
    rows = [Row(pass_name, with_dtype(problem, dtype), count)
            for count in threads for dtype, names in chosen.items()
            for name in names for pass_name, problem in sets.get(name, [])]
    return list(dict.fromkeys(rows))


def load(path: Path) -> list[dict]:
    """The rows of a results file; a line that was cut short by an interruption is dropped."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"peers: {path}: a broken line is left out", file=sys.stderr)
    return found


def key_of(result: dict) -> str:
    return Row(result["pass"], result["problem"], result["threads"]).key


# ---- the worker: one process for the rows of one number of threads


def find_contenders(folder: Path) -> tuple[list, dict[str, str]]:
    """Every peer that is there, and why the others are not."""
    from contenders import qkv_native, unfused

    def torch_peers() -> list:
        from contenders import torch_sdpa

        return torch_sdpa.contenders()

    def ort_peers() -> list:
        from contenders import onnx_runtime

        return onnx_runtime.contenders()

    def jax_peers() -> list:
        from contenders import jax_attention

        return jax_attention.contenders()

    found, missing = [], {}
    makers = {"PyTorch": torch_peers, "ONNX Runtime": ort_peers, "JAX": jax_peers,
              "OpenBLAS unfused": lambda: [unfused.OpenBlas(folder)],
              "oneDNN unfused": lambda: [unfused.OneDnn(folder)],
              "qkv from Python": lambda: [qkv_native.FromPython()]}
    for name, make in makers.items():
        try:
            found += make()
        except (ImportError, OSError, AttributeError) as error:
            missing[name] = str(error).splitlines()[0] or type(error).__name__
    return found, missing


def say(**event: object) -> None:
    """One event a line for the process that started this one."""
    print(json.dumps(event), flush=True)


def time_calls(run, calls: int) -> float:
    """Seconds of a call: the median over `calls`."""
    stamps = [time.perf_counter()]
    for _ in range(calls):
        run()
        stamps.append(time.perf_counter())
    return statistics.median(b - a for a, b in zip(stamps, stamps[1:]))


class RowTimer:
    """Prepares, checks, warms up and times the contenders of one row."""

    def __init__(self, row: Row, native, contenders: list, missing: dict[str, str], skip: list[str]):
        self.row, self.native, self.contenders, self.skip = row, native, contenders, skip
        self.left_out = dict(missing)
        self.timed: dict = {}
        self.calls: dict[str, int] = {}
        self.results: dict[str, dict] = {}

    def measure(self, rounds: int) -> dict:
        from contenders import qkv_native
        from contenders.cases import make_case, make_product, parse_problem

        subject = qkv_native.Subject(self.native, self.row.pass_name, self.row.problem, self.row.threads)
        ceiling = qkv_native.Ceiling(self.native, subject.bytes, self.row.threads)
        self.enter("qkv", "", subject.timed(), None)
        problem = parse_problem(self.row.problem)
        case = make_product(problem) if self.row.pass_name == "project" else make_case(
            problem, self.row.pass_name == "forward_backward")
        for contender in self.contenders:
            self.prepare(contender, case)
        ceilings = self.time_rounds(rounds, ceiling)
        ceiling.free()
        self.timed.clear()
        subject.free()
        return {"pass": self.row.pass_name, "problem": self.row.problem, "threads": self.row.threads,
                "flops": subject.flops, "bytes": subject.bytes, "ceiling": ceilings, "contenders": self.results,
                "left_out": self.left_out}

    def prepare(self, contender, case) -> None:
        from contenders.timed import NotOffered

        if contender.name in self.skip:
            self.left_out[contender.name] = "crashed"
            return
        say(event="start", row=self.row.key, contender=contender.name)
        try:
            self.enter(contender.name, contender.version, contender.prepare(self.row.pass_name, case, self.row.threads),
                       case)
        except NotOffered as reason:
            self.left_out[contender.name] = str(reason)
        except (RuntimeError, MemoryError, ValueError, TypeError) as error:
            self.left_out[contender.name] = f"failed: {str(error).splitlines()[0][:150]}"

    def enter(self, name: str, version: str, timed, case) -> None:
        """Checks the output of one call, then times another to learn how many make a round."""
        from contenders.timed import NotOffered

        once = time_calls(timed.run, 1)
        error = timed.error if timed.error is not None else case.error(timed.outputs())
        if case is not None and error > case.tolerance:
            raise NotOffered(f"wrong: {error:.1e} from float64")
        if once < LONG_CALL:
            once = min(time_calls(timed.run, 1) for _ in range(2))
        self.timed[name] = timed
        self.calls[name] = max(1, min(10_000, int(ROUND_SECONDS / max(once, 1e-9)) + 1))
        self.results[name] = {"version": version, "error": error, "calls": self.calls[name], "seconds": []}

    def time_rounds(self, rounds: int, ceiling) -> list[float]:
        ceilings = []
        for i in range(rounds):
            names = self.still_timed(i, rounds)
            before = ceiling.measure()
            for name in names[i % len(names):] + names[:i % len(names)]:
                if self.row.threads > 1:
                    time.sleep(0.02)  # until the threads of the one before have gone to sleep
                self.results[name]["seconds"].append(time_calls(self.timed[name].run, self.calls[name]))
            ceilings.append((before + ceiling.measure()) / 2)
        return ceilings

    def still_timed(self, i: int, rounds: int) -> list[str]:
        """In a long row the peers that are far behind the fastest one stop early."""
        medians = {name: statistics.median(result["seconds"]) for name, result in self.results.items()
                   if result["seconds"]}
        if sum(medians[name] * self.calls[name] for name in medians) * rounds < LONG_ROW_SECONDS:
            return list(self.timed)
        fastest = min((seconds for name, seconds in medians.items() if name != "qkv"), default=0)

        def is_out(name: str) -> bool:
            return any(i >= after and medians[name] > times * fastest for times, after in FEWER_ROUNDS)

        return [name for name in self.timed if name in ("qkv", "PyTorch") or not is_out(name)]


def worker(folder: Path) -> None:
    """Reads {"rows": [...], "rounds": N, "skip": {row: [names]}} and answers with events."""
    from contenders import qkv_native

    job = json.load(sys.stdin)
    native = qkv_native.Native(BUILD / "bench" / "libqkv_bench_native.so")
    contenders, missing = find_contenders(folder)
    for fields in job["rows"]:
        row = Row(**fields)
        say(event="start", row=row.key, contender="qkv")
        try:
            timer = RowTimer(row, native, contenders, missing, job["skip"].get(row.key, []))
            say(event="row", result=timer.measure(job["rounds"]))
        except Exception as error:  # a row that qkv cannot do is said, and the next one is measured
            say(event="failed", row=row.key, reason=str(error))


# ---- the process that the user starts


def environment(threads: int) -> dict[str, str]:
    """The peers' own defaults: no forced BLAS kernel, no GPU."""
    env = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    return env | {"OMP_NUM_THREADS": str(threads), "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}


def summary(result: dict) -> str:
    """One line of progress."""
    own = statistics.median(result["contenders"]["qkv"]["seconds"])
    peers = {name: statistics.median(entry["seconds"]) for name, entry in result["contenders"].items()
             if not name.startswith("qkv")}
    text = f"{result['threads']} thr  {result['pass']:<17} {result['problem'][10:]:<34} {own * 1e3:9.3f} ms"
    if not peers:
        return text
    name = min(peers, key=peers.get)
    return text + f"  {peers[name] / own:5.2f}x {name}"


def run_worker(rows: list[Row], args: argparse.Namespace, skip: dict[str, list[str]], out) -> list[Row]:
    """Measures rows until done or the worker dies; returns those that are left."""
    threads = rows[0].threads
    cpus = sorted(os.sched_getaffinity(0))[-threads:]
    job = {"rows": [asdict(row) for row in rows], "rounds": args.rounds, "skip": skip}
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", str(args.libraries)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=environment(threads), preexec_fn=lambda: os.sched_setaffinity(0, cpus))
    json.dump(job, process.stdin)
    process.stdin.close()
    left = {row.key: row for row in rows}
    at: tuple[str, str] | None = None
    try:
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "start":
                at = (event["row"], event["contender"])
            elif event["event"] == "row":
                result = event["result"] | args.stamp
                out.write(json.dumps(result) + "\n")
                out.flush()
                left.pop(key_of(result))
                print(summary(result), flush=True)
            else:
                print(f"{event['row']}: {event['reason']}", file=sys.stderr)
                left.pop(event["row"])
    except KeyboardInterrupt:
        process.terminate()
        raise
    if process.wait() != 0 and at and at[0] in left:
        print(f"peers: {at[1]} ended the process at {at[0]}; it is left out there", file=sys.stderr)
        skip.setdefault(at[0], []).append(at[1])
        if at[1] == "qkv":
            left.pop(at[0])
    return list(left.values())


def stamp() -> dict[str, str]:
    """When and on what."""
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    names = [line.split(": ", 1)[1] for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
             if line.startswith("model name")]
    return {"date": time.strftime("%Y-%m-%d"), "commit": commit.stdout.strip(), "machine": names[0] if names else ""}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few rows on one thread, about three minutes")
    parser.add_argument("--fresh", action="store_true", help="measure every row again")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="", help="a regular expression for `PASS attention ...`")
    parser.add_argument("--results", type=Path, default=ROOT / "docs" / "bench" / "peers.jsonl")
    parser.add_argument("--libraries", type=Path, default=ROOT / ".venv-bench" / "lib")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.worker:
        worker(args.worker)
        return 0
    listed = subprocess.run([BUILD / "qkv", "bench", "--list"], capture_output=True, text=True, check=True).stdout
    threads = [1] if args.quick else [int(count) for count in args.threads.split(",")]
    rows = [row for row in rows_of(parse_list(listed), threads, FULL)
            if re.search(args.only, f"{row.pass_name} {row.problem}")
            and (not args.quick or QUICK.search(f"{row.pass_name} {row.problem}"))]
    args.results.parent.mkdir(parents=True, exist_ok=True)
    if args.fresh:
        args.results.unlink(missing_ok=True)
    done = {key_of(result) for result in load(args.results)}
    todo = [row for row in rows if row.key not in done]
    print(f"peers: {len(todo)} rows to measure, {len(rows) - len(todo)} are done", flush=True)
    args.stamp = stamp()
    skip: dict[str, list[str]] = {}
    with args.results.open("a", encoding="utf-8") as out:
        for count in threads:
            left = [row for row in todo if row.threads == count]
            while left:
                before = len(left), sum(map(len, skip.values()))
                left = run_worker(left, args, skip, out)
                if (len(left), sum(map(len, skip.values()))) == before:
                    print("peers: the worker ended without a word; see above", file=sys.stderr)
                    return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("peers: interrupted; the rows so far are kept", file=sys.stderr)
        sys.exit(130)
