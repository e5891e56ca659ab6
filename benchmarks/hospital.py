"""Seconds from a fresh clone and a CSV file of one's own to a verdict and a PDF.

The hospital's task. A file as a German spreadsheet writes it: four clinics with umlauts, commas in
their names, decimal commas, a text to predict. The numbers in it are those of the Wisconsin
breast-cancer data that come with scikit-learn. What is timed: cloning this repository's last
commit, installing by the rule of `make quickstart`, a first configuration from the file, stating
what is public in it, the run with its verdict, and the report as a PDF where Chromium is installed.
On the clock on the wall, one run each.

    python benchmarks/hospital.py              installs into the clone
    python benchmarks/hospital.py --here       with what is installed for this Python
    python benchmarks/hospital.py --out DIR    keeps what was made
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import tempfile

from fresh_clone import fresh_clone, timed

CLINICS = ("Köln", "Münster, Süd", "Görlitz", "Weißenfels")
#: Columns of the data, what the clinics call them, and what they state about them in public.
FEATURES = {
    0: ("Radius, mittel", "0.0, 40.0"),
    1: ("Textur", "0.0, 50.0"),
    4: ("Glätte", "0.0, 0.3"),
    20: ("Größe, größte", "0.0, 50.0"),
    27: ("Einbuchtungen", "0.0, 0.5"),
}
DIAGNOSES = ("bösartig", "gutartig")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--here", action="store_true", help="use this Python's installation")
    parser.add_argument("--out", type=pathlib.Path, help="keep the files in this folder")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        clone = fresh_clone(folder, given.here)
        total, surroundings = clone.seconds, clone.surroundings
        command = [clone.python, "-m", "fedbandits"]
        work = given.out or folder / "work"
        work.mkdir(parents=True, exist_ok=True)
        write_visits(work / "visits.csv")
        init = [
            "init", "mine.toml", "--data", "visits.csv", "--site", "Klinik",
            "--target", "Diagnose", "--person", "Patientin",
        ]  # fmt: skip
        total += timed("configuration", [*command, *init], surroundings, work)
        state_what_is_public(work / "mine.toml")
        run = [*command, "run", "mine.toml", "--out", "result"]
        total += timed("run, with compilation", run, surroundings, work)
        total += pdf(work)
        print(f"{'in all':28}{total:7.1f} s", flush=True)


def write_visits(path: pathlib.Path) -> None:
    """The clinics' file."""
    from sklearn.datasets import load_breast_cancer

    data = load_breast_cancer()
    titles = ["Klinik", "Patientin", *(name for name, _ in FEATURES.values()), "Diagnose"]
    lines = [";".join(titles)]
    for row, (values, label) in enumerate(zip(data.data, data.target, strict=True)):
        cells = [CLINICS[row % 4], f'"Müller, Änne {row // 2}"']
        cells += [str(values[column]).replace(".", ",") for column in FEATURES]
        lines.append(";".join([*cells, DIAGNOSES[label]]))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def state_what_is_public(path: pathlib.Path) -> None:
    """Replace what the draft read off the data by what the clinics agree to state."""
    text = path.read_text(encoding="utf-8")
    kept = [line for line in text.splitlines() if not line.startswith(("scaling", "# "))]
    stated = ["[environment.ranges]"]
    stated += [f'"{name}" = [{limits}]' for name, limits in FEATURES.values()]
    place = next(i for i, line in enumerate(kept) if line.startswith("[[systems]]"))
    classes = f"classes = [{', '.join(repr(name) for name in DIAGNOSES)}]"
    target = next(i for i, line in enumerate(kept) if re.match("target *=", line))
    kept[place:place] = [*stated, ""]
    kept.insert(target + 1, classes)
    path.write_text("\n".join(kept) + "\n", encoding="utf-8")


def pdf(work: pathlib.Path) -> float:
    """Print the report, where there is a browser; the seconds."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        print("no Chromium here: open result/report.html and print it")
        return 0.0
    page = (work / "result" / "report.html").resolve().as_uri()
    printing = [
        browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
        f"--print-to-pdf={work / 'report.pdf'}", page,
    ]  # fmt: skip
    return timed("PDF", printing, dict(os.environ), work)


if __name__ == "__main__":
    main()
