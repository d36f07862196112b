"""The runner of code blocks notices what is wrong with a page."""

import blocks
import pytest

FENCE = "```"


@pytest.fixture
def page(tmp_path, monkeypatch):
    """Runs a page with this text."""
    monkeypatch.setattr(blocks, "ROOT", tmp_path)

    def run(text):
        path = tmp_path / "page.md"
        path.write_text(text.replace("'''", FENCE))
        (tmp_path / "folder").mkdir(exist_ok=True)
        (tmp_path / "folder/data").unlink(missing_ok=True)
        return blocks.Page(path, tmp_path / "folder").run()

    return run


def test_blocks_share_a_folder_and_a_namespace(page):
    page(
        "'''sh\necho 3 > three\n'''\n"
        "'''python\nthree = int(open('three').read())\n'''\n"
        "'''python\nprint(three + 1)\n'''\n'''text\n4\n'''\n"
        "'''console\n$ cat three\n3\n'''\n"
    )


@pytest.mark.parametrize(
    "text, words",
    [
        ("'''sh\nfalse\n'''\n", "page.md:2: ended with 1, not 0"),
        ("'''sh\nfalse\ntrue\n'''\n", "ended with 1"),
        ("'''ruby\nputs 1\n'''\n", "no way to run 'ruby'"),
        ("'''sh\nfalse | cat\n'''\n", "ended with 1"),
        ("<!-- exit: 3 -->\n'''sh\nexit 3\n'''\n", None),
        ("<!-- exit: 3 -->\n'''sh\ntrue\n'''\n", "ended with 0, not 3"),
        ("'''sh\necho 5 apples\n'''\n'''text\n5 pears\n'''\n", "5 pears"),
        ("'''sh\nprintf 'a\\nb\\n'\n'''\n'''text\nb\na\n'''\n", "the line"),
        ("'''sh\necho '{\"a\": 1, \"b\": [2]}'\n'''\n'''json\n{\"a\": 1}\n'''\n", None),
        ("'''sh\necho '{\"a\": 1}'\n'''\n'''json\n{\"b\": 1}\n'''\n", ".b is not in the output"),
        ("'''python\nassert 1 == 2\n'''\n", ""),
        ("<!--\n'''sh\nfalse\n'''\n-->\n", "page.md:3: ended with 1"),
        ("<!-- not run: -->\n'''sh\nfalse\n'''\n", "say why"),
        ("text\n\n    echo hello\n", "an indented block"),
        ("'''cmake\nfind_package(remblai)\n'''\n", "needs a cpp block"),
    ],
)
def test_what_is_noticed(page, text, words):
    if words is None:
        page(text)
    else:
        with pytest.raises(AssertionError) as error:
            page(text)
        assert words in str(error.value)


def test_what_is_left_out_is_told(page):
    left_out = page("<!-- not run: too long -->\n'''sh\nfalse\n'''\n\n<!-- needs: no_such_module -->\n'''python\nx\n'''\n")
    assert left_out == ["page.md:3: too long", "page.md:8: the Python package no_such_module is not installed"]
