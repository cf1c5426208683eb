"""What a check found, for people and as a document."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import _core


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Report:
    """What `check` found.

    verdict       "right", "wrong" or "cannot judge"
    headline      one sentence
    mistakes      what its answers are equal to: more than one where the
                  probes cannot tell them apart, none where no mistake that
                  is known explains them. Each a dict: names, sentence,
                  error (the largest difference)
    partial       what explains some of the wrong answers, where nothing
                  explains all
    policies      questions that libraries answer differently, and the
                  answers that were found
    invariants    what must hold whatever the numbers are, with the
                  deviation and its bound
    probes        every problem that was asked, with the worst element of
                  each tensor
    smallest      the line of the smallest problem that still fails, or None
    matrices      of the first problem that fails and of the smallest: got,
                  want, error, weights, weights_got
    document      all of it, as docs/check.md describes it
    """

    document: dict[str, Any]

    @property
    def verdict(self) -> str:
        return str(self.document["verdict"])

    @property
    def headline(self) -> str:
        return str(self.document["headline"])

    @property
    def mistakes(self) -> list[dict[str, Any]]:
        return list(self.document["mistakes"])

    @property
    def partial(self) -> list[dict[str, Any]]:
        return list(self.document["partial"])

    @property
    def policies(self) -> list[dict[str, Any]]:
        return list(self.document["policies"])

    @property
    def invariants(self) -> list[dict[str, Any]]:
        return list(self.document["invariants"])

    @property
    def probes(self) -> list[dict[str, Any]]:
        return list(self.document["probes"])

    @property
    def smallest(self) -> str | None:
        return self.document.get("smallest")

    @property
    def matrices(self) -> list[dict[str, Any]]:
        return list(self.document["matrices"])

    def to_json(self) -> str:
        """The document as `qkv check --json` writes it."""
        return json.dumps(self.document, indent=1, ensure_ascii=False) + "\n"

    def html(self) -> str:
        """A page in one file, as `qkv check --html` writes it.

        Raises RuntimeError in a build without it.
        """
        return _core.report_page(self.to_json())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes html() to a .html file, to_json() to a .json one.

        The file is written whole, or not at all.
        """
        path = Path(path)
        writers = {".html": self.html, ".json": self.to_json}
        if path.suffix not in writers:
            raise ValueError(f"{path} does not say a format; expected .html or .json")
        text = writers[path.suffix]()
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"<{self.document['subject']}: {self.headline}>"

    def __str__(self) -> str:
        return "\n".join([self.headline, *self._details()])

    def _details(self) -> list[str]:
        lines = [f"  {policy['question']} {policy['answer']}" for policy in self.policies if not policy["ours"]]
        lines += [f"  does not hold: {one['says']} ({one['deviation']} > {one['bound']:.2g})"
                  for one in self.invariants if one["asked"] and not one["holds"]]
        wrong = [probe for probe in self.probes if not probe["right"]]
        lines += [f"  {probe['problem']}: {_failure_of(probe)}" for probe in wrong[:5]]
        if len(wrong) > 5:
            lines.append(f"  ... and {len(wrong) - 5} more")
        refused = list(dict.fromkeys(str(probe["message"]) for probe in self.probes if probe["end"] == "refused"))
        if refused:
            lines.append(f"  not judged, {self.document['counts']['refused']} problems refused: {'; '.join(refused)}")
        if self.smallest is not None:
            lines.append(f"  smallest that fails: {self.smallest}")
        return lines


def _failure_of(probe: dict[str, Any]) -> str:
    if probe["end"] != "answered":
        return str(probe["message"])
    tensor = next(tensor for tensor in probe["tensors"] if not tensor["right"])
    worst = tensor["worst"]
    place = ",".join(str(entry) for entry in worst["index"])
    return (f"{tensor['wrong']} of {tensor['elements']} wrong, worst {tensor['name']}[{place}]: "
            f"got {worst['got']}, want {worst['want']}")
