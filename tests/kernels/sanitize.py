"""Run the C kernels under the address and undefined-behaviour sanitizers: `make sanitize`.

Writes the forms that sanitize.c goes through as a header, with the tables that the package itself
hands to the kernels, then compiles and runs it for float and double, for this processor and for
any. Everything goes to the folder that is given, `build` by default.
"""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = [
    *("-std=gnu11", "-O0", "-g1", "-Wall", "-Wextra", "-Wno-unknown-pragmas", "-pthread"),
    *("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"),
    *("-fno-math-errno", "-fno-trapping-math"),
]
MACHINES = {"native": ["-march=native", "-fopenmp"], "portable": ["-fopenmp"]}
# One form alone, as the library for many outputs is built: kind, base, variables, degrees, heads.
ALONE = {"one": ("softplus", "gelu", 1, (3, 2), 1), "two": ("sos", "silu", 2, (4, 4), 2)}


def forms():
    """All kinds and bases, several heads, with and without a gate, lowest to highest degrees."""
    from rational_anova.functional import BASES, DENOMINATORS

    bases = cycle(BASES)
    degrees = [(1, each) for each in ((0, 1), (3, 2), (8, 8), (1, 5))]
    degrees += [(2, each) for each in ((0, 1), (2, 2), (3, 5), (8, 8))]
    kinds = [*DENOMINATORS, "softplus+1", "square+1"]  # with a constant in q
    for variables, each in degrees:
        for kind in kinds:
            for heads, gated in ((1, True), (3, True), (2, False)):
                yield kind, next(bases), variables, each, heads, gated
    for base in BASES:
        for variables in (1, 2):
            yield "square", base, variables, (2, 2), 1, True
    for form in ALONE.values():
        yield *form, True


def packed(kind, base, variables, degrees, heads, gated=True):
    """What `rational_anova.kernels` makes of a form for the C side."""
    from rational_anova.functional import Form
    from rational_anova.kernels import _c

    kind, _, constant = kind.partition("+")
    form = Form.make(variables, degrees, kind, base, None, bool(constant))
    return _c._pack(form.spec, heads, gated)


def header():
    """Write all forms as C tables."""
    tables, rows = [], []
    for n, form in enumerate(forms()):
        made = packed(*form)
        tables.append(f"static const int32_t table_{n}[] = {{{', '.join(map(str, made.table))}}};")
        struct = made.struct
        counts = (struct.heads, struct.above, struct.below, struct.polynomials)
        names = (struct.kind, struct.base, struct.gated)
        numbers = ", ".join(map(str, (*counts, *names, struct.shift)))
        rows.append(f"    {{{form[2]}, {{{numbers}, (const Layout *)table_{n}}}}},")
    lines = [*tables, "static const Form FORMS[] = {", *rows, "};"]
    return "\n".join(lines) + "\n"


def run(folder, name, options):
    """Compile and run one build; return its name, seconds and what it said if it failed."""
    began = time.perf_counter()
    program = folder / f"sanitize-{name}"
    source = HERE.parents[1] / "rational_anova" / "kernels" / "source"
    command = [os.environ.get("CC") or "cc", *FLAGS, *options, "-I", source, "-I", folder]
    command += [HERE / "sanitize.c", "-o", program, "-lm"]
    # Threads that wait for work must not take the processor from those that have it.
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    for step in (command, [program]):
        done = subprocess.run(step, capture_output=True, text=True, env=environment)
        report = done.stdout + done.stderr
        if done.returncode:
            break
    return name, time.perf_counter() - began, done.returncode, report


def main(folder):
    """Run all builds, as many at once as there are processors; returns an exit code."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sanitize.h").write_text(header())
    builds = {
        f"{machine}-{'f32' if single else 'f64'}": [f"-DSINGLE={single}", *options]
        for machine, options in MACHINES.items()
        for single in (1, 0)
    }
    for name, form in ALONE.items():
        builds[f"alone-{name}"] = [*builds["native-f32"], *packed(*form).form]
    failed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, seconds, code, report in pool.map(lambda b: run(folder, *b), builds.items()):
            print(f"{name:14}{'failed' if code else 'clean':8}{seconds:5.0f} s")
            print(report if code else report.strip())
            failed |= bool(code)
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "build")))
