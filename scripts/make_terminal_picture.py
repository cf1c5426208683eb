"""Runs a command in a terminal of 80 columns and writes what it showed, colours and all, as an SVG picture. Needs rich.

Usage: make_terminal_picture.py OUT.svg COMMAND [ARGUMENT ...]
"""

import html
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

COLUMNS = 80
CELL = 12.2  # width of a character in rich's pictures
# Only fonts that the reader has: a picture in a README must not ask another host for one.
PICTURE = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix {{ font-family: Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: {char_height}px;
line-height: {line_height}px; white-space: pre; }} {styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">{matrix}</g></g></svg>
"""


def shown_by(command):
    """The text that the command writes to a terminal."""
    ours, theirs = pty.openpty()
    environment = dict(os.environ, COLUMNS=str(COLUMNS), TERM="xterm-256color")
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        chunks = []
        try:
            while data := os.read(ours, 65536):
                chunks.append(data)
        except OSError:
            pass  # Linux reports the closed terminal as an error
    if process.returncode != 0:
        sys.exit(f"make_terminal_picture: {command[0]} failed with {process.returncode}")
    return b"".join(chunks).decode()


def words(text):
    """A run of text as one element a word: some renderers drop or squeeze the spaces between."""
    style, left, top, content = text[1], float(text[2]), text[3], text[4].replace("&#160;", " ")
    characters = html.unescape(content)
    return "".join(
        f'<text class="{style}" x="{left + CELL * word.start():g}" y="{top}">{html.escape(word[0])}</text>'
        for word in re.finditer(r"[^ \n]+", characters)
    )


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out, command = Path(sys.argv[1]), sys.argv[2:]
    console = Console(record=True, width=COLUMNS, file=open(os.devnull, "w"), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(shown_by(command).replace("\r\n", "\n")))
    name = " ".join([Path(command[0]).name, *command[1:]])
    picture = console.export_svg(title=f"$ {name}", code_format=PICTURE, unique_id="terminal")
    out.write_text(re.sub(r'<text class="([^"]*)" x="([^"]*)" y="([^"]*)"[^>]*>([^<]*)</text>', words, picture), encoding="utf-8")


if __name__ == "__main__":
    main()
