#!/usr/bin/env python3
"""Grades a class of 60 hand-ins of the challenge twice, in opposite orders, with two jobs and with one, and compares the gradebooks.

Half of the hand-ins are good in different degrees; the others are wrong, loop, explode, flood or try to read files. It says how long both took
and what was left behind, and exits with 1 if the gradebooks differ or anything is left. Those in C need clang for wasm32.

    make && test/grading/class.py bin/pausenet
"""
import csv, os, pathlib, random, shutil, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXERCISES, EXAMPLES = ROOT / "experiments/lab/exercises", ROOT / "examples/controllers"
FULL = "def init(flow):\n    flow.rate = path.line_rate\n    flow.n = 0\n    flow.l = []\n"
ON_ACK = FULL + "def on_ack(flow, ack):\n"

STARLARK = {
    "loop": ON_ACK + "    while True:\n        pass\n",
    "loop-init": "def init(flow):\n    while True:\n        pass\n",
    "loop-top": "x = 0\nwhile True:\n    x = x + 1\ndef init(flow):\n    flow.rate = path.line_rate\n",
    "almost-loop": ON_ACK + "    for i in range(4000):\n        for j in range(5):\n            flow.n = i\n",
    "timer-flood": FULL + "    flow.timer = 1\ndef on_timer(flow, now):\n    flow.timer = now + 1\n",
    "timer-still": FULL + "    flow.timer = 1\ndef on_timer(flow, now):\n    flow.timer = now\n",
    "tick": ON_ACK + "    flow.timer = ack.now + 1\ndef on_timer(flow, now):\n    flow.timer = now + 1000\n",
    "memory": ON_ACK + "    flow.l = flow.l + flow.l + [1, 2, 3]\n",
    "lists": ON_ACK + "    for i in range(4000):\n        flow.l.append([i] * 4000)\n",
    "nan": ON_ACK + "    x = 1e308 * 10\n    flow.rate = x - x\n",
    "negative": ON_ACK + "    flow.rate = -5\n",
    "absurd": ON_ACK + "    flow.rate = 1e300\n",
    "zero-division": ON_ACK + "    flow.rate = 1 / flow.n\n",
    "fail": ON_ACK + "    fail('I give up', 42)\n",
    "recursion": "def f(x):\n    return f(x)\ndef init(flow):\n    flow.rate = f(1)\n",
    "open": ON_ACK + "    open('/etc/passwd')\n",
    "load": "load('/etc/passwd', 'x')\ndef init(flow):\n    flow.rate = path.line_rate\n",
    "syntax": "def init(flow)\n    flow.rate = 1\n",
    "no-init": "def on_ack(flow, ack):\n    flow.rate = 1\n",
    "empty": "",
    "slow": ON_ACK + "    flow.rate = path.line_rate / 1000000\n",
    "short-window": ON_ACK + "    flow.window = 1\n",
    "html": "def init(flow):\n    fail('<script>alert(1)</script>')\n",
    "deep": "x = " + "(" * 20000 + "1" + ")" * 20000 + "\n",
}
C = {
    "loop": "HANDLER(on_ack) { volatile double x = 0; for (;;) x = x + 1; }",
    "almost-loop": "HANDLER(on_ack) { volatile double x = 0; for (int i = 0; i < 90000; i++) x = x + 1; }",
    "nan": "HANDLER(on_ack) { pn.rate = 0 / (pn.now - pn.now); }",
    "trap": "HANDLER(on_ack) { __builtin_trap(); }",
    "wild": "HANDLER(on_ack) { *(volatile double *)0x7fffff00 = 1; }",
    "timer-flood": "HANDLER(on_ack) { pn.timer = pn.now + 1; } HANDLER(on_timer) { pn.timer = pn.now + 1; }",
    "long": "HANDLER(on_ack) { volatile double x = pn.now;" + "x = x * 1.0000001 + 1;\n" * 6000 + "}",
}


def compiled(source, folder):
    (folder / "x.c").write_text('#include "pausenet.h"\nstruct flow { double n; };\nPAUSENET_CONTROLLER("")\nHANDLER(init) { pn.rate = pn.line_rate; }\n' + source)
    subprocess.run(["clang", "--target=wasm32", "-O2", "-nostdlib", f"-I{EXAMPLES}", "-Wl,--no-entry,--stack-first,-z,stack-size=8192", "-o", folder / "x.wasm",
                    folder / "x.c"], check=True)
    return (folder / "x.wasm").read_bytes()


def hand_ins(folder):
    """Names, and for each what puts its files into a folder."""
    def file(name, content):
        data = content if isinstance(content, bytes) else content.encode()
        return lambda to: (to / name).write_bytes(data)
    star, wasm = (lambda text: file("control.star", text)), (lambda data: file("control.wasm", data))
    solution = (EXERCISES / "challenge/solution/control.star").read_text()
    all = {f"good-{i}": star(solution.replace("1.15rtt", f"{1.07 + 0.02 * i:.2f}rtt").replace("line/60", f"line/{20 + 10 * i}")) for i in range(13)}
    all |= {f"from-{e}-{k}": star((EXERCISES / e / k / "control.star").read_text()) for e in ("aimd", "challenge") for k in ("start", "wrong")}
    all |= {f"example-{n}": star((EXAMPLES / f"{n}.star").read_text()) for n in ("aimd", "dcqcn", "timely")}
    all |= {f"module-{n}": wasm((EXAMPLES / f"{n}.wasm").read_bytes()) for n in ("dcqcn", "timely")}
    all |= {n: star(text) for n, text in STARLARK.items()}
    all |= {f"c-{n}": wasm(compiled(source, folder)) for n, source in C.items()}
    random.seed(1)
    all |= {
        "binary": star(random.randbytes(5000)), "damaged": wasm((EXAMPLES / "dcqcn.wasm").read_bytes()[:900]), "huge": star("#" * (50 << 20)), "missing": lambda to: None,
        "link": lambda to: (to / "control.star").symlink_to("/etc/passwd"), "pipe": lambda to: os.mkfifo(to / "control.star"),
        "folder": lambda to: (to / "control.star").mkdir(),
    }
    return all


def main():
    pausenet = pathlib.Path(sys.argv[1]).resolve()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="pausenet-class-"))
    try:
        all = hand_ins(scratch)
        assert len(all) == 60, len(all)
        gradings, left = [], []
        for jobs, order in ((2, list(all)), (1, list(all)[::-1])):
            at = scratch / f"jobs-{jobs}"
            for i, name in enumerate(order):
                to = at / "class" / f"{i:02}-{name}"
                to.mkdir(parents=True)
                all[name](to)
            (at / "tmp").mkdir()
            begin = time.monotonic()
            subprocess.run([pausenet, "lab", "grade", at / "class", "--exercise", "challenge", "--hidden", EXERCISES / "challenge/hidden", "--out", at / "grades", "--jobs",
                            str(jobs)], check=True, stdout=subprocess.DEVNULL, env=os.environ | {"TMPDIR": str(at / "tmp")})
            print(f"{len(all)} hand-ins with --jobs {jobs}: {time.monotonic() - begin:.0f} s")
            with open(at / "grades/gradebook.csv", newline="") as f:
                head, *rows = csv.reader(f)
            gradings.append({row[0][3:]: row[1:] for row in rows})
            left += os.listdir(at / "tmp") + subprocess.run(["pgrep", "-f", "lab grade-one"], capture_output=True, text=True).stdout.split()
        for name in all:
            if gradings[0][name] != gradings[1][name]:
                print(f"{name}: {gradings[0][name]}\n  and then {gradings[1][name]}")
        for what in left:
            print(f"left behind: {what}")
        if gradings[0] != gradings[1] or left:
            return 1
        points = [float(row[0]) for row in gradings[0].values()]
        print(f"equal gradebooks, nothing left behind; {sum(p == 0 for p in points)} with no points, {sum(p == max(points) for p in points)} with {max(points):g}")
        return 0
    finally:
        shutil.rmtree(scratch)


sys.exit(main())
