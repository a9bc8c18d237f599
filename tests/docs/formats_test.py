#!/usr/bin/env python3
"""What programs read of each diagnostic is valid: of each row with labels, notes and fixes, and of each example in
docs/errors/, where it is also about that diagnostic.

Usage: formats_test.py BUILD_DIR json|sarif

json: each line by docs/diagnostics.schema.json; sarif: by the schema of the format, which tools/setup.sh --editors
fetches. Exits with 77, which counts as skipped, without the Python package jsonschema or without that schema. """
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import errors_test

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from usage import build_folder

try:
    import jsonschema
except ImportError:
    print("skipped: needs python3-jsonschema (tools/setup.sh)")
    sys.exit(77)

SCHEMAS = {"json": errors_test.ROOT / "docs/diagnostics.schema.json",
           "sarif": errors_test.ROOT / "tests/docs/sarif-2.1.0.schema.json"}
TOOLS = {form: re.compile(rf"(?<![\w/.-])({names})(?= )")
         for form, names in (("json", "tesserac|tessera-opt|tsr"), ("sarif", "tesserac|tessera-opt"))}


def printed(page, form, environment):
    """What the tools of the compiler write to standard error in the commands of a page."""
    with tempfile.TemporaryDirectory() as folder:
        if page.source:
            (pathlib.Path(folder) / "f.tsr").write_text(page.source[2])
        text = ""
        for command in page.commands():
            command = TOOLS[form].sub(rf"\1 --error-format={form}", command)
            # Some pages show what comes out of a pipe.
            command = command.replace("2>&1", "")
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, check=False)
            text += done.stderr.decode()
    return text


def every_row(build, form):
    """What tests/unit/support/rows_test.cc makes of every row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([build / "bin/unit_support", "every row in the forms for programs"], check=True, timeout=60,
                       stdout=subprocess.DEVNULL, env=dict(os.environ, TESSERA_ROWS=folder))
        return (pathlib.Path(folder) / f"rows.{form}").read_text()


def check_rows(text, form, validator):
    """Problems of these, and how many tags they are about."""
    objects = [json.loads(text)] if form == "sarif" else [json.loads(line) for line in text.splitlines()]
    problems = [f"{error.message} at {list(error.path)}" for each in objects for error in validator.iter_errors(each)]
    said = [each["tag"] for each in objects if "tag" in each] if form == "json" else \
        [result["ruleId"] for result in objects[0]["runs"][0]["results"]]
    rows = [tag for section in errors_test.sections().values() for tag in section]
    return problems + [f"of {len(rows)} rows {sorted(set(rows) ^ set(said))} are not there"] * (
        sorted(rows) != sorted(said)), len(rows)


def check_json(page, text, validator):
    """Problems of lines of JSON."""
    objects = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    problems = [f"{error.message} in {each}" for each in objects for error in validator.iter_errors(each)]
    tags = [each["tag"] for each in objects if each.get("type") == "diagnostic"]
    if tags != [page.tag]:
        problems.append(f"the diagnostics are {tags}")
    return problems


def check_sarif(page, text, validator):
    """Problems of logs, one for each command."""
    decoder, logs = json.JSONDecoder(), []
    at = text.find("{\n")
    while at >= 0:
        log, end = decoder.raw_decode(text, at)
        logs.append(log)
        at = text.find("{\n", end)
    problems = [f"{error.message} at {list(error.path)}" for log in logs for error in validator.iter_errors(log)]
    rules = [result["ruleId"] for log in logs for result in log["runs"][0]["results"]]
    if rules != [page.tag]:
        problems.append(f"the results are {rules}")
    return problems


def main():
    build, form = build_folder(2), sys.argv[2]
    if not SCHEMAS[form].exists():
        print(f"skipped: needs {SCHEMAS[form].relative_to(errors_test.ROOT)} (tools/setup.sh --editors)")
        return 77
    schema = json.loads(SCHEMAS[form].read_text())
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    validator = kind(schema)
    environment = dict(os.environ, PATH=f"{build / 'bin'}:{os.environ['PATH']}", LC_ALL="C.UTF-8")
    pages = [errors_test.Page(p) for p in sorted(errors_test.PAGES.glob("*.md")) if p.stem != "README"]
    # What tessera-fmt says has one form.
    shown = [page for page in pages if page.console is not None and TOOLS[form].search(page.commands()[-1])]
    check = {"json": check_json, "sarif": check_sarif}[form]
    problems, count = check_rows(every_row(build, form), form, validator)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for page, text in zip(shown, pool.map(lambda p: printed(p, form, environment), shown)):
            problems += [f"{page.tag}: {problem}" for problem in check(page, text, validator)]
    print("\n".join(problems) or f"{count} rows, and {len(shown)} examples")
    return 1 if problems or not shown else 0


if __name__ == "__main__":
    sys.exit(main())
