#!/usr/bin/env python3
"""Turns measured rounds into the tables of docs/bench.md and README.md and into plots.

Reads docs/bench/peers.jsonl (bench/peers.py) and docs/bench/qkv_*.json (`qkv bench --json`). A table replaces what
stands between its markers, `<!-- bench: NAME -->` and `<!-- end -->`.
Usage: peer_report.py [--print]   (to the terminal only)
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "bench"
DOCUMENTS = [ROOT / "docs" / "bench.md", ROOT / "README.md"]
SHORT_CALL = 50e-6  # below it a time is the best round's median, as in `qkv bench`
MARKED = re.compile(r"(<!-- bench: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


@dataclass(frozen=True)
class Measured:
    """One line of peers.jsonl."""

    fields: dict

    @property
    def pass_name(self) -> str:
        return self.fields["pass"]

    @property
    def problem(self) -> str:
        return self.fields["problem"]

    @property
    def threads(self) -> int:
        return self.fields["threads"]

    def seconds(self, name: str) -> list[float]:
        return self.fields["contenders"][name]["seconds"]

    def has(self, name: str) -> bool:
        return bool(self.fields["contenders"].get(name, {}).get("seconds"))

    @property
    def time(self) -> float:
        values = self.seconds("qkv")
        return min(values) if median(values) < SHORT_CALL else median(values)

    def share(self, name: str = "qkv") -> float:
        """Median over rounds of the speed over the ceiling of the same round; 0 without a ceiling."""
        work = self.fields["bytes"] or self.fields["flops"]
        shares = [work / s / c for s, c in zip(self.seconds(name), self.fields["ceiling"]) if c > 0]
        return median(shares) if shares else 0.0

    def ratio(self, name: str) -> float:
        """How many times as long as qkv a contender takes: the median of the ratios of the same rounds."""
        return median(a / b for a, b in zip(self.seconds(name), self.seconds("qkv")))

    @property
    def peers(self) -> dict[str, float]:
        """Contenders that are not qkv, fastest first, and their ratios."""
        ratios = {name: self.ratio(name) for name in self.fields["contenders"]
                  if not name.startswith("qkv") and self.has(name)}
        return dict(sorted(ratios.items(), key=lambda item: item[1]))

    @property
    def is_causal(self) -> bool:
        return "causal" in self.problem.split()

    @property
    def dtype(self) -> str:
        return next((word for word in self.problem.split() if word in ("f64", "bf16", "f16")), "f32")


def load_peers(text: str) -> list[Measured]:
    """The last line of each row counts."""
    rows: dict[tuple, Measured] = {}
    for line in text.splitlines():
        row = Measured(json.loads(line))
        rows[row.pass_name, row.problem, row.threads] = row
    return list(rows.values())


def short(problem: str) -> str:
    """The line without the words that go without saying."""
    return " ".join(word for word in problem.split() if word not in ("attention", "B1"))


def time_text(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}×"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def pass_text(row: Measured) -> str:
    return row.pass_name.replace("_", "+")


def against_peers(rows: list[Measured], ceiling: str = "share of peak", with_pass: bool = False) -> str:
    """A row a problem and number of threads."""
    cells = []
    for row in sorted(rows, key=lambda r: r.threads):
        fastest = next(iter(row.peers.items()), None)
        cells.append([
            f"`{short(row.problem)}`", str(row.threads), time_text(row.time), f"**{row.share():.2f}**",
            f"{fastest[0]} {row.share(fastest[0]):.2f}" if fastest else "–",
            f"**{times(fastest[1])}**" if fastest else "–",
            times(row.peers.get("PyTorch")), f"{row.fields['contenders']['qkv']['error']:.0e}",
        ])
        if with_pass:
            cells[-1].insert(0, pass_text(row))
    header = ["problem", "threads", "qkv", ceiling, "fastest peer, its share", "against it", "against PyTorch", "error"]
    return table([*(["pass"] if with_pass else []), *header], cells)


def every_peer(rows: list[Measured]) -> str:
    """How many times as long as qkv each peer takes, one thread."""
    rows = [row for row in rows if row.threads == 1]
    names = sorted({name for row in rows for name in row.peers})
    return table(["pass", "problem", *names],
                 [[pass_text(row), f"`{short(row.problem)}`",
                   *(times(row.peers.get(name)) for name in names)] for row in rows])


def versions(rows: list[Measured]) -> str:
    """What was measured and what was not, with the reasons."""
    found: dict[str, str] = {}
    reasons: dict[str, set[str]] = {}
    for row in rows:
        for name, entry in row.fields["contenders"].items():
            if entry.get("version"):
                found[name] = entry["version"]
        for name, reason in row.fields["left_out"].items():
            reasons.setdefault(name, set()).add(reason)
    where = {name: f" (left out where: {'; '.join(sorted(reason))})" for name, reason in reasons.items()}
    lines = [f"- {name} {version}{where.get(name, '')}" for name, version in sorted(found.items())]
    lines += [f"- {name}: left out, {'; '.join(sorted(reason))}" for name, reason in sorted(reasons.items())
              if name not in found]
    machines = sorted({f"{row.fields.get('machine', '')}, {row.fields.get('date', '')}, commit "
                       f"{row.fields.get('commit', '')}" for row in rows})
    return "\n".join(lines) + f"\n\nMeasured on: {'; '.join(machines)}.\n"


def select(rows: list[Measured], *passes: str, dtype: str | None = None) -> list[Measured]:
    return [row for row in rows if row.pass_name in passes and dtype in (None, row.dtype)]


def is_window(row: Measured) -> bool:
    return "window=" in row.problem or " T16384 " in row.problem


def is_tiny(row: Measured) -> bool:
    """Whether the way to call costs more than the work: only the table of small calls has it."""
    return row.fields["flops"] < 1e5


# ---- what `qkv bench --json` wrote: threads side by side


def own_share(row: dict) -> float:
    work = row["bytes"] or row["flops"]
    shares = [work / s / c for s, c in zip(row["seconds"], row["ceiling"]) if c > 0]
    return median(shares) if shares else 0.0


def own_time(row: dict) -> float:
    return min(row["seconds"]) if median(row["seconds"]) < SHORT_CALL else median(row["seconds"])


def merged(texts: list[str]) -> dict:
    """The rows of several files as one document."""
    return {"rows": [row for text in texts for row in json.loads(text)["rows"]]}


def by_problem(document: dict) -> dict[tuple[str, str], dict[int, dict]]:
    rows: dict[tuple[str, str], dict[int, dict]] = {}
    for row in document["rows"]:
        rows.setdefault((row["pass"], row["problem"]), {})[row["threads"]] = row
    return rows


def scaling(document: dict) -> str:
    """Shares on one and two threads of the same rounds, and the speed-up by the wall clock."""
    cells = []
    for (pass_name, problem), of_threads in by_problem(document).items():
        if 1 not in of_threads or 2 not in of_threads:
            continue
        one, two = of_threads[1], of_threads[2]
        speedup = median(a / b for a, b in zip(one["wall"], two["wall"]))
        cells.append([pass_name.replace("_", "+"), f"`{short(problem)}`", time_text(own_time(one)),
                      f"{own_share(one):.2f}", f"{own_share(two):.2f}", f"**{speedup:.2f}**", f"{one['error']:.0e}"])
    return table(["pass", "problem", "1 thread", "share, 1 thread", "share, 2 threads", "2 threads against 1", "error"],
                 cells)


def growth(document: dict) -> str:
    """time(2T) / time(T) of the problems that are one head long."""
    found: dict[int, dict] = {}
    for (pass_name, problem), of_threads in by_problem(document).items():
        match = re.fullmatch(r"attention B1 H1 T(\d+) D64", problem)
        if match and pass_name == "forward" and 1 in of_threads:
            found[int(match[1])] = of_threads[1]
    cells = [[f"{length}", time_text(own_time(row)), f"{own_share(row):.2f}",
              f"{own_time(row) / own_time(found[length // 2]):.2f}" if length // 2 in found else "–",
              f"{row['scratch_bytes'] / 2**20:.2f} MiB"]
             for length, row in sorted(found.items())]
    return table(["T", "time", "share of peak", "time(T) / time(T/2)", "scratch"], cells)


def small_calls(document: dict, rows: list[Measured]) -> str:
    cells = []
    for (pass_name, problem), of_threads in by_problem(document).items():
        if pass_name == "forward" and 1 in of_threads and own_time(of_threads[1]) < SHORT_CALL:
            cells.append([f"`{short(problem)}`", "qkv, from C++", time_text(own_time(of_threads[1]))])
    for row in rows:
        if row.pass_name == "forward" and row.threads == 1 and row.time < SHORT_CALL:
            for name in ("qkv from Python", *list(row.peers)[:3]):
                if row.has(name):
                    cells.append([f"`{short(row.problem)}`", name, time_text(min(row.seconds(name)))])
    return table(["problem", "who", "a call"], cells)


def window_gain(rows: list[Measured]) -> str:
    """How much faster a window is than all of the past, at the same length."""
    cells = []
    for threads in (1, 2):
        of_threads = {("window=" in row.problem): row for row in select(rows, "forward", dtype="f32")
                      if is_window(row) and row.threads == threads}
        if len(of_threads) == 2:
            cells.append([str(threads), time_text(of_threads[True].time), time_text(of_threads[False].time),
                          f"**{of_threads[False].time / of_threads[True].time:.1f}×**"])
    return table(["threads", "window 511,0", "causal", "gain"], cells)


def tables(rows: list[Measured], document: dict) -> dict[str, str]:
    """Every table by the name of its markers."""
    long_rows = [row for row in rows if not is_tiny(row)]
    forward = [row for row in select(long_rows, "forward") if not is_window(row)]
    return {
        "plain": against_peers([r for r in forward if r.dtype == "f32" and not r.is_causal]),
        "causal": against_peers([r for r in forward if r.dtype == "f32" and r.is_causal]),
        "bf16": against_peers([r for r in forward if r.dtype == "bf16"], "share of the f32 peak"),
        "backward": against_peers(select(rows, "forward_backward", dtype="f32")),
        "backward_bf16": against_peers(select(rows, "forward_backward", dtype="bf16"), "share of the f32 peak"),
        "decode": against_peers(select(rows, "decode"), "share of the read bandwidth"),
        "layer": against_peers(select(rows, "layer", "layer_forward_backward"), with_pass=True),
        "project": against_peers(select(rows, "project")),
        "window": window_gain(rows),
        "every_peer": every_peer(long_rows),
        "versions": versions(rows),
        "scaling": scaling(document),
        "growth": growth(document),
        "small": small_calls(document, rows),
        "summary": against_peers([row for row in rows if row.threads == 1 and is_headline(row)], "share of the ceiling",
                                 with_pass=True),
    }


def is_headline(row: Measured) -> bool:
    """The few rows that README.md shows."""
    return (row.pass_name, row.problem) in {
        ("forward", "attention B1 H12 T1024 D64"),
        ("forward", "attention B1 H12 T1024 D64 causal"),
        ("forward", "attention B1 H32/8 T2048 D128"),
        ("forward", "attention B1 H32/8 T2048 D128 causal"),
        ("forward", "attention B1 H32/8 T2048 D128 causal bf16"),
        ("forward_backward", "attention B1 H12 T1024 D64 causal"),
        ("decode", "attention B1 H32/8 T1x8192 D128"),
        ("layer", "attention B1 H12 T1024 D64 causal"),
    }


def replaced(text: str, found: dict[str, str]) -> str:
    """A document with the tables between its markers. Raises KeyError for a marker of no table."""
    return MARKED.sub(lambda match: match[1] + found[match[2]] + match[3], text)


# ---- plots


COLORS = {"qkv": "#0b6e4f", "PyTorch": "#d1495b", "ORT": "#5c80bc", "OpenBLAS unfused": "#8d6a9f",
          "oneDNN unfused": "#c08552", "JAX": "#9aa5b1"}


def color(name: str) -> str:
    return next((value for key, value in COLORS.items() if name.startswith(key)), "#9aa5b1")


def plot_lengths(rows: list[Measured], path: Path) -> None:
    """Share of the peak by T, plain and causal, 12 heads of 64, one thread."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8.4, 3.8), sharey=True)
    for axis, causal in zip(axes, (False, True)):
        chosen = {}
        for row in select(rows, "forward", dtype="f32"):
            match = re.fullmatch(r"attention B1 H12 T(\d+) D64( causal)?", row.problem)
            if match and row.threads == 1 and bool(match[2]) == causal:
                chosen[int(match[1])] = row
        lengths = sorted(chosen)
        names = ["qkv", *sorted({name for row in chosen.values() for name in row.peers if "math" not in name})]
        for name in names:
            points = [(length, chosen[length].share(name)) for length in lengths if chosen[length].has(name)]
            style = {"ORT MultiHeadAttention": "--", "ORT GroupQueryAttention": ":"}.get(name, "-")
            axis.plot(*zip(*points), label=name, color=color(name), marker="o", markersize=3, linestyle=style,
                      linewidth=2.4 if name == "qkv" else 1.1)
        axis.set_xscale("log", base=2)
        axis.set_xticks(lengths, [str(length) for length in lengths])
        axis.set_title("causal" if causal else "plain", fontsize=10)
        axis.set_xlabel("tokens")
        axis.set_ylim(0, 1)
        axis.grid(alpha=0.25)
    axes[0].set_ylabel("share of the FMA peak")
    handles, names = axes[1].get_legend_handles_labels()
    figure.legend(handles, names, fontsize=7, ncols=4, loc="lower center", frameon=False)
    save(figure, path, bottom=0.14)


def plot_ratios(rows: list[Measured], path: Path) -> None:
    """How many times as long the fastest peer and PyTorch take, row by row, one thread."""
    import matplotlib.pyplot as plt

    chosen = [row for row in rows if row.threads == 1 and row.peers and row.time >= SHORT_CALL]
    figure, axis = plt.subplots(figsize=(8.4, 0.7 + 0.24 * len(chosen)))
    labels = [f"{pass_text(row)}  {short(row.problem)}" for row in chosen]
    for offset, height, name, values in (
        (-0.2, 0.38, "fastest peer", [next(iter(row.peers.values())) for row in chosen]),
        (0.2, 0.38, "PyTorch", [row.peers.get("PyTorch", 0) for row in chosen]),
    ):
        axis.barh([i + offset for i in range(len(chosen))], values, height=height, label=name,
                  color="#5c80bc" if name != "PyTorch" else COLORS["PyTorch"])
    axis.axvline(1, color="#333333", linewidth=1)
    axis.set_yticks(range(len(chosen)), labels, fontsize=7, family="monospace")
    axis.invert_yaxis()
    axis.set_xlabel("time / qkv's time (above 1: qkv is faster)")
    axis.grid(axis="x", alpha=0.25)
    figure.legend(fontsize=8, ncols=2, loc="lower center", frameon=False)
    save(figure, path, bottom=0.35 / figure.get_figheight())


def save(figure, path: Path, bottom: float = 0.0) -> None:
    """`bottom`: share of the height that is left free below for a legend."""
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "qkv"  # the same figures give the same file
    plt.rcParams["svg.fonttype"] = "none"
    figure.tight_layout(rect=(0, bottom, 1, 1))
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--print", action="store_true", help="to the terminal; no document is changed")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the rounds are")
    args = parser.parse_args()
    rows = load_peers((args.folder / "peers.jsonl").read_text(encoding="utf-8"))
    document = merged([path.read_text(encoding="utf-8") for path in sorted(args.folder.glob("qkv_*.json"))])
    found = tables(rows, document)
    if args.print:
        for name, text in found.items():
            if text.count("\n") > 2:
                print(f"{name}\n{text}")
        return 0
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        path.write_text(replaced(text, found), encoding="utf-8")
    try:
        plot_lengths(rows, FOLDER / "share_by_length.svg")
        plot_ratios(rows, FOLDER / "ratio_by_shape.svg")
    except ImportError as error:
        print(f"peer_report: no plots: {error}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
