"""The last result under every key, kept so that a run can go on from there."""
from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

from compare_measure import Lines, processor


class Journal:
    def __init__(self, path: Path, names: tuple[str, ...]) -> None:
        """The names are those of the parts of a key."""
        self.lines, self.names = Lines(path), names
        self.entries: dict[tuple[Any, ...], dict[str, Any]] = {
            tuple(entry[name] for name in names): entry for entry in self.lines.before}

    def has(self, key: tuple[Any, ...], who: str) -> bool:
        """Whether it was measured with these versions."""
        return key in self.entries and self.entries[key]["who"] == who

    def add(self, key: tuple[Any, ...], who: str, result: dict[str, Any]) -> None:
        entry = dict(zip(self.names, key)) | {"who": who}
        entry |= {name: value for name, value in result.items()
                  if not (isinstance(value, float) and math.isnan(value))}
        entry |= {"date": str(datetime.date.today()), "processor": processor()}
        self.entries[key] = entry
        self.lines.add(entry)
