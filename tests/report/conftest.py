"""Pages that the program writes, and the system's Chromium to open them in."""

import os
import random
import struct
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

EVIL = "</script><img src=x onerror=alert(1)><b>bold</b>&lt;"
ROOT = Path(__file__).resolve().parents[2]


def remblai(*words, code=0):
    done = subprocess.run([os.environ["REMBLAI"], *map(str, words)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done.stdout


def write_table(path, names, seed):
    """Two classes in four features, the last one constant."""
    draw = random.Random(seed)
    quoted = ",".join('"' + name.replace('"', '""') + '"' for name in names)
    rows = []
    for i in range(40):
        at = 4 * (i % 2) - 2
        rows.append(",".join(str(value) for value in (draw.gauss(at, 1), draw.gauss(0, 2), draw.gauss(at, 0.5), 1, i % 2)))
    path.write_text("\n".join([quoted, *rows]) + "\n", encoding="utf-8")


def write_digits(folder):
    """Files like MNIST's: bright rows and columns of 6 x 6 pixels in noise."""
    draw = random.Random(5)
    folder.mkdir(parents=True)
    for part, each in (("t10k", 60), ("train", 510)):
        labels = [k % 10 for k in range(10 * each)]
        draw.shuffle(labels)
        pixels = bytearray()
        for label in labels:
            for p in range(36):
                on = p // 6 == label if label < 6 else p % 6 == label - 6
                pixels.append(min(255, draw.randrange(120) + (90 if on else 0)))
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, len(labels), 6, 6) + pixels)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, len(labels)) + bytes(labels))


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Name to file: what the tests look at."""
    folder = tmp_path_factory.mktemp("pages")
    made = {name: folder / f"{name}.html" for name in ("demo", "hostile", "plain", "experiment", "bare")}
    remblai("demo", "--quiet", "--report", made["demo"])
    for name, columns in (("hostile", [EVIL, "javascript:alert(2)", "\u202e\u2028 x", "<svg onload=alert(3)>", "class"]),
                          ("plain", ["alcohol", "ash", "hue", "still", "class"])):
        # The names of files are shown too.
        source, target = folder / f"{name}<img src=x>source.csv", folder / f"{name}target.csv"
        write_table(source, columns, 1)
        write_table(target, columns, 2)
        remblai("adapt", "--source", source, "--source-labels", f"{source}:class", "--target", target,
                "--target-labels", f"{target}:class", "--out", folder / name, "--report", made[name], "--quiet")
    # No labels, exact transport, one step.
    remblai("fit", "--source", folder / "plaintarget.csv", "--target", folder / "plaintarget.csv", "--lambda", 0,
            "--metric", "w", "--out", folder / "bare.npz", "--quiet")
    remblai("report", folder / "bare.npz", "--quiet", "--title", EVIL)
    write_digits(folder / "data" / "mnist")
    remblai("reproduce", "mnist", "--data", folder / "data", "--out", folder / "reproduce", "--quiet", "--seeds", 1,
            "--skew", "10,30,50", "--digit", 2, "--lambda-grid", "1,0.2", "--methods", "none,ot-identity,learned",
            "--report", made["experiment"])
    return made


@pytest.fixture(scope="session")
def browser():
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=os.environ["CHROMIUM"], args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def show(browser, pages):
    """show(name, ...) opens a page; at the end nothing may have gone wrong in any of them."""
    contexts, trouble = [], []

    def open_page(name, scheme="light", width=1100):
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: trouble.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (trouble.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        own = pages[name].as_uri()
        page.on("request", lambda request: request.url == own or request.url.startswith("data:")
                or trouble.append(f"request: {request.url}"))
        page.goto(own)
        page.wait_for_selector("section")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert trouble == []
