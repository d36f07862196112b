"""The code of every page runs, and the generated pages say all that they should."""

import pathlib
import re
import subprocess
import sys

import pytest
from blocks import BUILD, ROOT, RUN, SHOWN, blocks, pages, run, same_line

sys.path.insert(0, str(ROOT / "docs"))
import cli_reference  # noqa: E402
import cpp_reference  # noqa: E402

PROGRAM = str(BUILD / "remblai")


def name(page: pathlib.Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", pages(), ids=name)
def test_the_code_of_a_page_runs(page, tmp_path):
    run(page, tmp_path)


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_block_has_a_language_that_is_run_or_shown(page):
    for block in blocks(page):
        assert block.language in RUN | SHOWN, f"{name(page)}:{block.line}: {block.language!r}"
    # Whatever a parser of Markdown thinks: each fence of the text is one of these blocks or a directive.
    fences = re.findall(r"^(`{3,}|~{3,})[ ]*([^\s`]+)", page.read_text(), flags=re.M)
    code = [language for _, language in fences if not language.startswith("{")]
    assert len(code) == len(blocks(page))


def test_most_blocks_are_run():
    every = [block for page in pages() for block in blocks(page) if block.language in RUN]
    left_out = [block for block in every if "not run" in block.notes]
    assert len(every) >= 40
    assert len(left_out) <= len(every) // 8, [block.notes for block in left_out]


def test_no_page_names_a_place_of_one_machine():
    for page in pages():
        places = re.findall(r"(?:^|[\s'\"`=(])(/[a-z]+/[\w.-]+)", page.read_text(), flags=re.M)
        for place in places:
            assert re.match(r"/usr/|/tmp/(digits|labels.npy)$", place), f"{name(page)}: {place}"


def test_the_cli_reference_has_every_flag_of_the_completion():
    # The completion is made by the program from the same parser, by other code than its help.
    script = subprocess.run(
        [PROGRAM, "completion", "bash"], check=True, capture_output=True, text=True
    ).stdout
    page = cli_reference.markdown(PROGRAM)
    flags = re.findall(r"^\s+(\w+):(--[\w-]+)\)", script, flags=re.M)
    assert len(flags) > 60
    for command, flag in flags:
        part = page.split(f"{{program}} remblai {command}\n")[1].split("{program}")[0]
        assert re.search(rf"^```{{option}} .*{flag}\b", part, flags=re.M), f"{command} {flag}"


def test_the_cpp_reference_has_every_comment_of_the_headers():
    folder = ROOT / "include/remblai"
    page = cpp_reference.markdown(folder).replace("\\", "").replace("``", "`")
    page = " ".join(page.split())
    for path in folder.glob("*.h"):
        private = False
        for line in path.read_text().splitlines():
            private = (private or "private:" in line) and line != "};"
            words = re.search(r"///<?\s*(.*)", line)
            if words and not private and "spelling of each value" not in line and line != "/// files.":
                assert " ".join(words.group(1).split()) in page, f"{path.name}: {line}"


@pytest.mark.parametrize(
    "shown, printed, same",
    [
        ("accuracy 80.6 %", "accuracy  80.4 %", True),
        ("accuracy 80.6 %", "accuracy 60.4 %", False),
        ("12 steps in 0.31 s", "13 steps in 9 s", True),
        ("error 3e-08", "error 9.1e-09", True),
        ("error 3e-08", "error 0.1", False),
        ("wrote ... of it", "wrote all of it", True),
        ("exit 2", "exit 3", False),
        ("model.npz", "model2.npz", False),
    ],
)
def test_what_counts_as_the_same_line(shown, printed, same):
    assert same_line(shown, printed) == same
