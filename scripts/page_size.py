#!/usr/bin/env python3
"""What the static page weighs on the way to a reader, file by file; fails where that is more than was promised.

Usage: page_size.py FOLDER   (build-site/, as `make site` builds it)
"""

import gzip
import subprocess
import sys
from pathlib import Path

MOST = 200_000  # bytes, by brotli, of all that the lesson needs before its fonts; KaTeX comes when a formula is seen
# What a reader's browser fetches before the lesson works, and what comes later or not at all.
GROUPS = ("lesson", "formulas", "fonts", "installed")


def group_of(name):
    if name.endswith(".woff2"):
        return "fonts"
    if "katex" in name:
        return "formulas"
    # The worker that keeps the site, and what only an installed page has.
    return "installed" if name.endswith((".png", ".webmanifest", "service_worker.js", "register.js")) else "lesson"


def brotli(paths):
    """The sizes of files after brotli, by Node, which has it built in."""
    script = (
        "const [fs, zlib] = ['fs', 'zlib'].map(require);"
        "for (const name of process.argv.slice(1)) console.log(zlib.brotliCompressSync(fs.readFileSync(name)).length);"
    )
    done = subprocess.run(["node", "-e", script, *map(str, paths)], capture_output=True, text=True, check=True)
    return [int(line) for line in done.stdout.split()]


def main():
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "index.html").is_file():
        sys.exit("usage: scripts/page_size.py FOLDER   (a folder with index.html; make site builds build-site/)")
    site = Path(sys.argv[1])
    paths = sorted(path for path in site.rglob("*") if path.is_file())
    rows = [
        (group_of(path.name), path.relative_to(site).as_posix(), path.stat().st_size,
         len(gzip.compress(path.read_bytes(), 9, mtime=0)), small)
        for path, small in zip(paths, brotli(paths), strict=True)
    ]
    print(f"{'bytes':>9} {'gzip -9':>9} {'brotli':>9}")
    for group in GROUPS:
        of_group = sorted((row for row in rows if row[0] == group), key=lambda row: -row[2])
        for _, name, *sizes in of_group:
            print(" ".join(f"{size:9,}" for size in sizes), "", name)
        totals = [sum(row[i] for row in of_group) for i in (2, 3, 4)]
        print(" ".join(f"{size:9,}" for size in totals), f" = {group}\n")
    lesson = sum(row[4] for row in rows if row[0] == "lesson")
    if lesson > MOST:
        sys.exit(f"page_size: the lesson is {lesson:,} bytes by brotli; expected at most {MOST:,}")


if __name__ == "__main__":
    main()
