"""A file of JSON lines with the last result under every key, so that a run can go on from there."""
from __future__ import annotations

import datetime
import json
import math
from pathlib import Path
from typing import Any

from compare_measure import processor


class Journal:
    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        """The names are those of the parts of a key."""
        self.path, self.names = path, names
        self.entries: dict[tuple[Any, ...], dict[str, Any]] = {}
        text = path.read_text() if path.exists() else ""
        for line in text.splitlines():
            try:
                entry = json.loads(line)
            except json.JSONDecodeError:  # the end of a run that was killed while writing
                continue
            self.entries[tuple(entry[name] for name in names)] = entry
        if text and not text.endswith("\n"):
            self.append("\n")

    def append(self, text: str) -> None:
        with self.path.open("a") as file:
            file.write(text)

    def has(self, key: tuple[Any, ...], who: str) -> bool:
        """Whether it was measured with these versions."""
        return key in self.entries and self.entries[key]["who"] == who

    def add(self, key: tuple[Any, ...], who: str, result: dict[str, Any]) -> None:
        entry = dict(zip(self.names, key)) | {"who": who}
        entry |= {name: value for name, value in result.items()
                  if not (isinstance(value, float) and math.isnan(value))}
        entry |= {"date": str(datetime.date.today()), "processor": processor()}
        self.entries[key] = entry
        self.append(json.dumps(entry) + "\n")
