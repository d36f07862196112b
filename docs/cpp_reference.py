"""The reference of the C++ library, made from the installed headers and their `///` comments.

    python docs/cpp_reference.py        prints the Markdown

Reads the plain C++ that these headers are written in: namespaces, structs and classes, enums, functions,
`using`, comments before a declaration (`///`) or behind it (`///<`). A declaration that it cannot name stops
the build of the site, through Sphinx's own parser of C++.
"""

import pathlib
import re
import sys

# The order of a reader, not of the alphabet; a header that is not named here comes last.
ORDER = (
    "remblai domain options resources fit fit_path model map predict evaluate metric transport exact "
    "spd io model_io report page preprocess sample threads version types error api"
).split()


class Declaration:
    def __init__(self, code: str, comment: str, members: list | None = None):
        self.code, self.comment, self.members = code, comment, members or []


def split(text: str):
    """The declarations of a piece of C++, each with its comment; bodies of functions are left out."""
    declarations, comment, code = [], [], ""
    depth, body = 0, []
    for raw in text.split("\n"):
        line, stripped = raw, raw.strip()
        if depth == 0 and stripped.startswith("///<") and declarations:
            declarations[-1].comment += " " + stripped[4:].strip()
            continue
        if depth == 0 and not code and stripped.startswith("///"):
            comment.append(stripped[3:].strip())
            continue
        if depth == 0 and (not stripped or stripped.startswith(("//", "#"))):
            if not stripped and not code:
                comment = []
            continue
        behind = re.search(r"///<\s*(.*)$", line)
        line = re.sub(r"\s*//.*$", "", line)
        if depth == 0 and not code and re.fullmatch(r"\s*(public|private|protected):\s*", line):
            if "private" in line:
                break
            continue
        if depth > 0:
            body.append(raw)
        else:
            code += (" " if code else "") + line.strip()
        depth += line.count("{") - line.count("}")
        if depth == 0 and code and (code.endswith((";", "}")) or (body and body[-1].strip().startswith("}"))):
            declarations.append(finish(code, comment, "\n".join(body)))
            if behind and not body:
                declarations[-1].comment += " " + behind.group(1)
            code, comment, body = "", [], []
        elif behind and depth == 0:
            comment.append(behind.group(1))
    if code:
        raise ValueError(f"a declaration without an end: {code}")
    return [d for d in declarations if d is not None]


def finish(code: str, comment: list, body: str) -> Declaration:
    words = "\n".join(comment)
    scope = re.match(r"(template <[^>]*> )?(struct|class)\s+\w+[^;{]*\{", code)
    if scope:
        inner = re.sub(r"\n?\s*\};?\s*$", "", body)
        return Declaration(code.split("{")[0].strip(), words, split(inner))
    if code.startswith("enum"):
        return Declaration(code.rstrip(";").strip(), words)
    if "{" in code and not re.search(r"=\s*\{", code) and "(" in code:
        code = re.sub(r"\) : .*", ")", code.split("{")[0])  # an inline function or constructor
    return Declaration(code.rstrip("; ").strip(), words)


def kind(code: str) -> str:
    for word, name in (("struct ", "struct"), ("class ", "class"), ("using ", "type"), ("enum ", "enum-class")):
        if re.sub(r"^template <[^>]*> ", "", code).startswith(word):
            return name
    if code.startswith("template"):
        return "function" if "(" in code else "member"
    head, longer = re.sub(r"(?<!operator)(?<!operator=)=.*", "", code), ""
    while head != longer:  # the arguments of templates, from the inside
        head, longer = re.sub(r"<[^<>]*>", "", head), head
    return "function" if "(" in head else "member"


def prose(text: str, indent: str) -> list[str]:
    """A comment as reStructuredText that shows just this text; `words` in backticks become code."""
    lines = []
    for paragraph in filter(None, re.split(r"\n\s*\n", text.strip())):
        words = " ".join(paragraph.split())
        pieces = re.split(r"`([^`]+)`", words)
        pieces[::2] = [re.sub(r"([\\*_|])", r"\\\1", piece) for piece in pieces[::2]]
        pieces[1::2] = [f"``{piece}``" for piece in pieces[1::2]]
        lines += [indent + "".join(pieces), ""]
    return lines


def directive(declaration: Declaration, indent: str = "") -> list[str]:
    code, comment = declaration.code, declaration.comment
    what = kind(code)
    if what == "enum-class":
        name, values = re.match(r"enum class (\w+)\s*\{(.*)\}", code).groups()
        lines = [f"{indent}.. cpp:enum-class:: {name}", ""] + prose(comment, indent + "   ")
        for value in values.split(","):
            lines += [f"{indent}   .. cpp:enumerator:: {value.strip()}", ""]
        return lines
    code = re.sub(r"^(template <[^>]*> )?(struct|class|using)\s+", r"\1", code)
    if what in ("struct", "class") and code.endswith(";"):
        return []
    pair = re.fullmatch(r"(\S+) (\w+), (\w+)", code)  # two members in one line
    if pair:
        code = f"{pair[1]} {pair[2]}\n{indent}{' ' * len('.. cpp:member:: ')}{pair[1]} {pair[3]}"
    lines = [f"{indent}.. cpp:{what}:: {code}", ""] + prose(comment, indent + "   ")
    for member in declaration.members:
        lines += directive(member, indent + "   ")
    return lines


def with_help(declarations: list, text: str) -> list:
    """The fields of options have their words in for_each_option."""
    words = {
        field: "".join(re.findall(r'"([^"]*)"', help))
        for field, help in re.findall(r'visit\("[\w-]+", [or]\.(\w+),\s*((?:"[^"]*"\s*)+)\)', text)
    }
    for declaration in declarations:
        owns = declaration.code in ("struct Options", "struct PredictOptions")
        for member in declaration.members if owns else []:
            name = re.match(r"[\w:<>]+ (\w+) =", member.code)
            if name:
                member.comment = member.comment or words.get(name.group(1), "")
    return declarations


def header(path: pathlib.Path) -> str:
    text = path.read_text().replace("REMBLAI_API ", "")
    about = []
    for line in text.splitlines():
        if not line.startswith("//"):
            break
        about.append(line[2:].strip())
    lines = [f"## {path.name}", "", "````{eval-rst}"]
    lines += prose("\n".join(about), "")
    spaces = re.findall(r"^namespace ([\w:]+) \{$(.*?)^\}  // namespace", text, flags=re.S | re.M)
    for name, inner in spaces:
        lines += [f".. cpp:namespace:: {name}", ""]
        for declaration in with_help(split(inner), text):
            # A class that is only announced is not part of the interface.
            if re.fullmatch(r"(class|struct) \w+", declaration.code) and not declaration.members:
                continue
            # How enums are spelled: one function each, for programs.
            if re.match(r"(constexpr|template).*\bnames?\(", declaration.code):
                continue
            if re.match(r"static_assert", declaration.code):
                continue
            lines += directive(declaration)
    lines += [".. cpp:namespace:: 0", "", "````", ""]
    return "\n".join(lines)


def markdown(folder: pathlib.Path) -> str:
    def place(path):
        return (ORDER.index(path.stem) if path.stem in ORDER else len(ORDER), path.stem)

    return "\n".join(header(path) for path in sorted(folder.glob("*.h"), key=place))


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parent.parent
    print(markdown(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else root / "include/remblai"))
