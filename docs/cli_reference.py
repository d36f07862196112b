"""The reference of the command line, made from what the program says about itself.

    python docs/cli_reference.py        prints the Markdown

The program is REMBLAI, or build/release/remblai. Its help has a fixed shape (cli/help.cpp): headings that end
in a colon, then entries that begin after two spaces and have their text from column 30 on.
"""

import os
import pathlib
import re
import subprocess

TEXT_COLUMN = 30


def program() -> str:
    return os.environ.get("REMBLAI") or str(
        pathlib.Path(__file__).resolve().parent.parent / "build/release/remblai"
    )


def ask(program: str, *arguments: str) -> str:
    return subprocess.run(
        [program, *arguments], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def parse(text: str) -> dict:
    """{"about", "usage", "groups": [(heading, [(left, text)])], "footer"} of one help text."""
    about, usage, groups, footer = [], "", [], []
    for line in text.splitlines():
        if line.startswith("Usage: "):
            usage = line.removeprefix("Usage: ")
        elif re.fullmatch(r"[A-Z][\w ]*:", line):
            groups.append((line[:-1], []))
        elif groups and line.startswith(" " * TEXT_COLUMN):
            left, words = groups[-1][1][-1]
            groups[-1][1][-1] = (left, f"{words} {line.strip()}".strip())
        elif groups and line.startswith("  "):
            # An entry that is too long for the column has its text on the lines that follow.
            left, _, words = line.strip().partition("  ")
            groups[-1][1].append((left, words.strip()))
        elif line.strip():
            (footer if usage else about).append(line)
    return {"about": about, "usage": usage, "groups": groups, "footer": footer}


def plain(text: str) -> str:
    """As Markdown that shows just this text."""
    return re.sub(r"([\\`*_\[\]<>$^])", r"\\\1", text)


def entry(left: str, text: str) -> str:
    """One option or argument, with a link of its own."""
    default = re.search(r" \[default: (.*)\]$", text)
    required = text.endswith(" [required]")
    words = text.removesuffix(" [required]")
    if default:
        words = words[: default.start()]
    words = plain(words[:1].upper() + words[1:]) + ("" if words.endswith(".") else ".")
    if default:
        words += f" Default: `{default.group(1)}`."
    if required:
        words += " Required."
    return f"```{{option}} {left.replace(',-', ', -')}\n\n{words}\n```\n"


def markdown(program: str) -> str:
    main = parse(ask(program, "--help"))
    commands = next(entries for heading, entries in main["groups"] if heading == "Subcommands")
    parts = [" ".join(main["about"]), "\n", "```{program} remblai\n```\n"]
    for heading, entries in main["groups"]:
        if heading != "Subcommands":
            parts += [entry(*item) for item in entries]
    parts += ["| command | does |\n|---|---|"]
    parts += [f"| [`{name}`](#remblai-{name}) | {plain(text)} |" for name, text in commands]
    parts += ["\n" + plain("\n".join(main["footer"])) + "\n"]
    for name, _ in commands:
        help = parse(ask(program, name, "--help"))
        about = " ".join(help["about"])
        parts += [f"(remblai-{name})=\n## {name}\n", plain(about[:1].upper() + about[1:]) + ".\n"]
        parts += [f"```text\n{help['usage']}\n```\n", f"```{{program}} remblai {name}\n```\n"]
        for heading, entries in help["groups"]:
            parts += [f"**{heading}**\n"] + [entry(*item) for item in entries]
        if help["footer"] and help["footer"][0] not in main["footer"]:
            parts += [plain("\n".join(help["footer"])) + "\n"]
    return "\n".join(parts)


if __name__ == "__main__":
    print(markdown(program()))
