"""Makes docs/_static/demo.png, the picture of the demo's page in README and site, with the system's Chromium.

    make test                                              # once: builds the program, installs Playwright
    build/release/report/venv/bin/python docs/demo_picture.py
"""

import pathlib
import shutil
import subprocess
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
SIZE = {"width": 1000, "height": 1240}  # to the end of the heat map


def main():
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page_file = pathlib.Path(folder, "demo.html")
        program = ROOT / "build/release/remblai"
        subprocess.run([program, "demo", "--quiet", "--report", page_file], check=True)
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport=SIZE)
        page.goto(page_file.as_uri())
        page.wait_for_timeout(1000)  # charts move into place
        page.screenshot(path=ROOT / "docs/_static/demo.png")
        chromium.close()


if __name__ == "__main__":
    main()
