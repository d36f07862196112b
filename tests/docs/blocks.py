"""Finds the code blocks of a page and runs them in order, in one folder a page.

- `sh`: bash -e. `console`: the lines that begin with `$ ` are run, the others are what they print.
- `python`: one namespace a page. `cpp`: a whole program, compiled and run against the library that was built.
- `cmake`: configures and builds the `cpp` block before it against an installed copy of the library.
- `text` behind a block that runs: what it prints. Every line must come in the output, in this order; a line
  `...` stands for any lines, `...` in a line for any text. Numbers may differ a little, times at will.
- `json` behind a block: a part of the JSON that it prints. `text` and `json` anywhere else are only shown.

A comment before a block says what is special about it:
`<!-- exit: 2 -->` the code it ends with; `<!-- not run: WHY -->`; `<!-- needs: MODULE -->` of Python.
A block inside a comment is run and not shown. Other languages are refused.
"""

import contextlib
import dataclasses
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = ROOT / "build/release"
RUN = {"sh", "console", "python", "cpp", "cmake"}
SHOWN = {"text", "json"}


@dataclasses.dataclass
class Block:
    language: str
    code: str
    line: int  # of its first line of code, from 1
    notes: dict


def pages() -> list[pathlib.Path]:
    found = [p for p in (ROOT / "docs").rglob("*.md") if "generated" not in p.parts]
    return [ROOT / "README.md"] + sorted(found)


def blocks(page: pathlib.Path) -> list[Block]:
    return list(_blocks(page.read_text(), 0, page))


def _blocks(text: str, first: int, page: pathlib.Path):
    notes: dict = {}
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "html_block":
            inner = re.fullmatch(r"\s*<!--(.*)-->\s*", token.content, flags=re.S)
            if inner and "```" in inner.group(1):
                before = inner.group(1)[: len(inner.group(1)) - len(inner.group(1).lstrip("\n"))]
                skipped = token.map[0] + first + before.count("\n")
                yield from _blocks(inner.group(1).lstrip("\n"), skipped, page)
            elif inner:
                key, _, value = inner.group(1).strip().partition(":")
                notes[key.strip()] = value.strip()
            continue
        if token.type == "code_block" and page.name != "README.md":
            raise AssertionError(
                f"{page.name}:{token.map[0] + first + 1}: an indented block has no language; use a fence"
            )
        if token.type == "fence":
            language = token.info.strip().split()[0] if token.info.strip() else ""
            if not language.startswith("{"):  # a directive is not code
                yield Block(language, token.content, token.map[0] + first + 2, notes)
        notes = {}


class Page:
    """Runs blocks in a folder that has the repository's `data`."""

    def __init__(self, page: pathlib.Path, folder: pathlib.Path):
        self.page, self.folder = page, folder
        self.names: dict = {"__name__": "__main__"}
        self.output = ""
        self.program = ""  # the cpp block last seen
        (folder / "data").symlink_to(ROOT / "data")
        self.environment = os.environ | {
            "PATH": f"{BUILD}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "NO_COLOR": "1",
        }

    def run(self) -> list[str]:
        """What was not run, and why."""
        left_out, ran = [], False
        for block in blocks(self.page):
            where = f"{self.page.relative_to(ROOT)}:{block.line}"
            if "not run" in block.notes:
                left_out.append(f"{where}: {block.notes['not run']}")
                assert block.notes["not run"], f"{where}: say why it is not run"
                ran = False
                continue
            missing = [m for m in self.needs(block) if importlib.util.find_spec(m) is None]
            if missing:
                left_out.append(f"{where}: the Python package {missing[0]} is not installed")
                ran = False
                continue
            try:
                assert block.language in RUN | SHOWN, f"no way to run {block.language!r}"
                if block.language in RUN:
                    self.output = getattr(self, block.language)(block, where)
                    ran = True
                elif ran:
                    compare = same_json if block.language == "json" else same_text
                    compare(block.code, self.output)
            except AssertionError as error:
                raise AssertionError(f"{where}: {error}") from None
        return left_out

    def needs(self, block: Block) -> list[str]:
        modules = block.notes.get("needs", "").split()
        if block.language == "python":
            modules += re.findall(r"^\s*(?:from|import) (remblai)\b", block.code, flags=re.M)
            if "remblai" in self.names.get("_without", ()):
                modules.append("remblai")
        if "remblai" in modules and importlib.util.find_spec("remblai") is None:
            self.names["_without"] = ("remblai",)  # the blocks that follow build on this one
        return modules

    def command(self, command: list[str], expected: int = 0, **settings) -> str:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            **settings,
        )
        assert done.returncode == expected, (
            f"ended with {done.returncode}, not {expected}:\n{done.stdout}"
        )
        return done.stdout

    def sh(self, block: Block, where: str) -> str:
        expected = int(block.notes.get("exit", 0))
        return self.command(["bash", "-e", "-o", "pipefail", "-c", block.code], expected)

    def console(self, block: Block, where: str) -> str:
        lines = block.code.splitlines()
        script = "\n".join(line[2:] for line in lines if line.startswith(("$ ", "> ")))
        assert script, "no line begins with '$ '"
        output = self.sh(dataclasses.replace(block, code=script), where)
        same_text("\n".join(line for line in lines if not line.startswith(("$ ", "> "))), output)
        return output

    def python(self, block: Block, where: str) -> str:
        printed = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.code, str(self.page), "exec")
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            exec(code, self.names)
        return printed.getvalue()

    def cpp(self, block: Block, where: str) -> str:
        self.program = block.code
        (self.folder / "main.cpp").write_text(block.code)
        self.command(
            ["g++", "-std=c++20", "-O0", "-Wall", "-Werror", "-DEIGEN_MAX_ALIGN_BYTES=64"]
            + [f"-I{ROOT}/include", "-I/usr/include/eigen3", "main.cpp", "-o", "main"]
            + [f"-L{BUILD}", "-lremblai", f"-Wl,-rpath,{BUILD}"]
        )
        return self.command(["./main"], int(block.notes.get("exit", 0)))

    def cmake(self, block: Block, where: str) -> str:
        assert self.program, "a cmake block needs a cpp block before it"
        name = re.search(r"target_link_libraries\((\w+)", block.code).group(1)
        text = "cmake_minimum_required(VERSION 3.25)\nproject(page LANGUAGES CXX)\n"
        if "add_executable" not in block.code:
            text += f"add_executable({name} main.cpp)\n"
        (self.folder / "CMakeLists.txt").write_text(text + block.code)
        prefix, build = str(self.folder / "prefix"), str(self.folder / "cmake-build")
        self.command(["cmake", "--install", str(BUILD), "--prefix", prefix])
        self.command(["cmake", "-S", ".", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-G", "Ninja"])
        self.command(["cmake", "--build", build])
        return self.command([f"{build}/{name}"])


NUMBER = r"(?<![\w.])[-+]?\d+(?:[\d,]*\d)?(?:\.\d+)?(?:e[-+]?\d+)?"


def same_line(expected: str, line: str) -> bool:
    expected, line = " ".join(expected.split()), " ".join(line.split())
    pattern, numbers, at = "", [], 0
    for piece in re.finditer(rf"\.\.\.|{NUMBER}", expected):
        pattern += re.escape(expected[at : piece.start()])
        at = piece.end()
        pattern += ".*" if piece.group() == "..." else f"({NUMBER})"
        if piece.group() != "...":
            numbers.append((piece.group(), expected[at:]))
    pattern += re.escape(expected[at:])
    found = re.fullmatch(pattern, line)
    return found is not None and all(
        near(a, b, behind) for (a, behind), b in zip(numbers, found.groups(), strict=True)
    )


def near(a: str, b: str, behind: str) -> bool:
    """Whether another processor may print b for a: the last digits differ, and so does a number of steps.
    Other counts do not."""
    if re.match(r" ?(ms|s|seconds?|min|GFlop/s)\b", behind):
        return True
    x, y = (float(text.replace(",", "")) for text in (a, b))
    if x == y:
        return True
    if "e-" in a or "e-" in b:
        return x * y > 0 and 0.1 <= y / x <= 10
    if re.match(r" ?(steps?|passes|iterations?)\b", behind):
        return abs(x - y) <= max(1, 0.03 * abs(x))
    if re.match(r" ?%", behind):
        return abs(x - y) <= 0.5
    return "." in a and abs(x - y) <= 0.01 * abs(x)


def same_text(expected: str, output: str) -> None:
    lines = iter(output.splitlines())
    for wanted in expected.splitlines():
        if not wanted.strip() or wanted.strip() == "...":
            continue
        if not any(same_line(wanted, line) for line in lines):
            raise AssertionError(f"the page shows the line\n  {wanted}\nbut the output is\n{output}")


def same_json(expected: str, output: str) -> None:
    def check(wanted, found, path):
        if isinstance(wanted, dict):
            for key in wanted:
                assert isinstance(found, dict) and key in found, f"{path}.{key} is not in the output"
                check(wanted[key], found[key], f"{path}.{key}")
        elif isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
            unit = " s" if path.endswith("seconds") else ""
            assert near(repr(wanted), repr(found), unit), f"{path} is {found}, not {wanted}"
        else:
            assert wanted == found, f"{path} is {found}, not {wanted}"

    check(json.loads(expected), json.loads(output), "")


def run(page: pathlib.Path, folder: pathlib.Path) -> None:
    left_out = Page(page, folder).run()
    for line in left_out:
        print(line)
    missing = [line for line in left_out if "is not installed" in line]
    if missing:
        pytest.skip("; ".join(missing))
