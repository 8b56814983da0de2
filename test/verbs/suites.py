#!/usr/bin/env python3
"""Runs other projects' RDMA programs and tests on two hosts of a live fabric, and prints what passed and what did not.

    sudo bin/pausenet exec --up small h1 test/verbs/suites.py [SUITE...]

Each suite needs the Debian package, or the programs on PATH, that it names; without these, its row says so. The exit code is 1
if a program failed other than by a refusal of what is not supported.
"""

import argparse
import collections
import glob
import gzip
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SERVER, CLIENT = "h2", "h1"
ADDRESS, OWN = socket.gethostbyname(SERVER), socket.gethostbyname(CLIENT)
LIMIT = 60  # seconds of wall-clock time of one program
REFUSED = re.compile(r"pausenet: (.* is not (?:supported|lossless) here.*)|(doesn't support dm allocation)|"
                     r"(Unsupported operation)|Operation not supported|EOPNOTSUPP")

ports = iter(range(20000, 30000))


class Row:
    """The result of one program, or of one test."""

    def __init__(self, name, passed, why=""):
        self.name, self.passed, self.why = name, passed, why


def start(host, command, **more):
    """Starts a program on a host: this one's is started here, as this program runs there."""
    if host == SERVER:
        command = [os.environ.get("PAUSENET", "pausenet"), "exec", SERVER] + command
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                            start_new_session=True, **more)


def finish(process, limit=LIMIT):
    try:
        return process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        return stop(process)[0] + f"\nno end after {limit} s", -1


def stop(process):
    """Ends a program and what it has started: exec passes SIGTERM on."""
    for signum in signal.SIGTERM, signal.SIGKILL:
        try:
            os.killpg(process.pid, signum)
            return process.communicate(timeout=5)[0], process.returncode
        except ProcessLookupError:
            return process.communicate()[0], process.returncode
        except subprocess.TimeoutExpired:
            pass
    return "", -1


def reason(*outputs):
    """Says why a program failed: by a refusal, or by its last words."""
    for out in outputs:
        found = REFUSED.search(out)
        if found:
            return "refused: " + (found.group(1) or found.group(2) or found.group(3) or "EOPNOTSUPP")
    for out in outputs:
        lines = [l.strip() for l in out.splitlines() if l.strip() and not set(l.strip()) <= set("-= ")]
        wrong = [l for l in lines if re.search(r"fail|error|unable|couldn|can't|not |no end", l, re.I)]
        if wrong or lines:
            return (wrong or lines)[-1][:110]
    return "no output"


def meet(serve, connect, want=None, wait=0.15, endless=False):
    """Runs a program on one host and its peer on the other, which tries again until the first listens. wait is how long the
    first needs, in seconds; endless says that it does not end by itself."""
    server = start(SERVER, serve)
    deadline = time.monotonic() + LIMIT
    while True:
        time.sleep(wait)
        out, code = finish(start(CLIENT, connect))
        if code == 0 or server.poll() is not None or time.monotonic() > deadline or REFUSED.search(out):
            break
        if not re.search(r"refused|connect|No route|unreachable|rdma_resolve|REJECTED", out, re.I):
            break
    served, ended = stop(server) if code != 0 or endless else finish(server)
    passed = code == 0 and (ended == 0 or endless) and (want is None or re.search(want, out) is not None)
    return Row(" ".join(connect), passed, "" if passed else reason(out, served))


def perftest(only=""):
    """perftest's programs, or only one, by operation, service and option."""
    of = {"read": ["RC", "XRC"], "atomic": ["RC"], "write": ["RC", "UC", "XRC"], "send": ["RC", "UC", "UD", "XRC"]}
    for operation in "write", "read", "send", "atomic":
        for kind in "bw", "lat":
            program = f"ib_{operation}_{kind}"
            for service in of[operation] if only in ("", program) else []:
                options = [[], ["-R"], ["-x", "1"], ["-S", "3"], ["-S", "4"]]
                if service == "RC" or service == "UD":
                    options += [["-e"], ["-s", "1024"], ["-u", "16", "-n", "50"]] if operation != "atomic" else [["-e"]]
                    if operation in ("write", "send"):
                        options += [["-I", "64", "-s", "64"]]
                    if kind == "bw":
                        options += [["-q", "4"], ["-b"], ["-D", "1"], ["-t", "1"], ["--report_gbits", "-N"]]
                    if service == "RC" and operation != "atomic":
                        options += [["-a"], ["-s", "1"], ["-s", "1000000"], ["-m", "256"]]
                    if operation == "send":
                        options += [["--use-srq"]] if service == "RC" else []
                        options += [["-g"]] if service == "UD" else []
                    if operation == "atomic":
                        options += [["-A", "CMP_AND_SWAP"], ["-A", "FETCH_AND_ADD"]]
                    if kind == "bw":
                        options += [["--run_infinitely", "-D", "1"]]
                        if operation != "atomic":  # their messages have one size
                            options += [["--rate_limit=1", "--rate_limit_type=SW", "-s", "1024"]]
                for more in options:
                    if service == "XRC" and more:
                        continue
                    often = [] if "-n" in more or "-D" in more else ["-n", "20"]
                    words = [program, "-F", "-c", service] + often + more + ["-p", str(next(ports))]
                    if "--run_infinitely" in more:
                        yield infinite(words)
                        continue
                    row = meet(words, words + [SERVER])
                    row.name = " ".join([program, "-c", service] + more)
                    yield row


def infinite(words):
    """A program that runs until it is ended reports its rate meanwhile."""
    server, client = start(SERVER, words), None
    time.sleep(1)
    client = start(CLIENT, ["timeout", "-s", "INT", "4", "stdbuf", "-oL"] + words + [SERVER])
    out, _ = finish(client)
    served, _ = stop(server)
    passed = re.search(r"^ *\d+ +\d+ +[\d.]+ +[\d.]+ ", out, re.M) is not None
    return Row(" ".join(w for w in words[:1] + words[2:-2]), passed, "" if passed else reason(out, served))


def rdmacm():
    """rdma-core's examples and the connection manager's programs."""
    yield meet(["rping", "-s", "-C", "5"], ["rping", "-c", "-v", "-V", "-C", "5", "-a", ADDRESS])
    yield meet(["rping", "-s", "-C", "5", "-S", "5000"], ["rping", "-c", "-V", "-C", "5", "-S", "5000", "-a", ADDRESS])
    yield meet(["rping", "-s", "-C", "5", "-a", "::"], ["rping", "-c", "-V", "-C", "5", "-a", "fd00::" + ADDRESS])
    yield meet(["ucmatose", "-c", "4"], ["ucmatose", "-c", "4", "-s", ADDRESS])
    yield meet(["ucmatose", "-m"], ["ucmatose", "-m", "-s", ADDRESS])
    yield meet(["udaddy"], ["udaddy", "-s", ADDRESS])
    yield meet(["udaddy", "-c", "4", "-S", "900"], ["udaddy", "-c", "4", "-S", "900", "-s", ADDRESS])
    yield meet(["cmtime", "-c", "10"], ["cmtime", "-c", "10", "-s", ADDRESS], endless=True)
    yield meet(["rdma_server"], ["rdma_client", "-s", ADDRESS])
    yield meet(["rdma_xserver"], ["rdma_xclient", "-s", ADDRESS])
    yield meet(["rdma_xserver", "-c", "x"], ["rdma_xclient", "-c", "x", "-s", ADDRESS])
    yield meet(["rstream"], ["rstream", "-s", ADDRESS])
    yield meet(["riostream"], ["riostream", "-s", ADDRESS])
    yield meet(["udpong"], ["udpong", "-s", ADDRESS])
    yield meet(["rcopy"], ["rcopy", "/etc/hostname", ADDRESS])
    yield meet(["mckey", "-m", "239.1.1.1"], ["mckey", "-m", "239.1.1.1", "-s"])
    for program, options in (
            ("ibv_rc_pingpong", [[], ["-e"], ["-c"], ["-o"], ["-o", "-P"], ["-t"], ["-j"], ["-N"]]),
            ("ibv_uc_pingpong", [[]]), ("ibv_ud_pingpong", [[], ["-e"], ["-c"]]), ("ibv_srq_pingpong", [[], ["-e"]]),
            ("ibv_xsrq_pingpong", [[]])):
        for more in options:
            words = [program, "-g", "0", "-n", "20", "-p", str(next(ports))] + more
            words += ["-s", "1024"] if program == "ibv_ud_pingpong" else []
            row = meet(words, words + [SERVER])
            row.name = " ".join([program] + more)
            yield row


def fio():
    """fio's engine, by its clients' verbs. The job that reads is the server, whatever its peer's verb. fio wants it at least as deep."""
    for verb in "write", "read", "send":
        port = str(next(ports))
        common = ["--ioengine=rdma", f"--port={port}", "--bs=16k", "--size=256k"]
        serve = ["fio", "--name=serve", "--rw=read", "--iodepth=16"] + common
        connect = ["fio", "--name=connect", "--rw=write", "--iodepth=4"] + common + [f"--hostname={ADDRESS}", f"--verb={verb}"]
        whole = 'out=$("$@"); echo "$out"; case $out in *io=256KiB*) ;; *) echo "connection refused"; exit 1 ;; esac'
        row = meet(serve, ["sh", "-c", whole, "-"] + connect, wait=1)
        row.name = f"fio --verb={verb}"
        yield row


def ucx():
    """ucx_perftest's tests, by UCX's transports and by its protocols."""
    def one(name, serve, connect):
        port = str(next(ports))
        row = meet(serve + ["-p", port], connect[:1] + [ADDRESS] + connect[1:] + ["-p", port, "-n", "50", "-w", "5"], want="Final:")
        row.name = name
        return row

    for transport in "rc_verbs", "ud_verbs":
        words = ["ucx_perftest", "-d", "pausenet0:1", "-x", transport]
        for test in "am_lat", "am_bw", "put_lat", "put_bw", "get", "add_lat", "fadd", "swap", "cswap", "add_mr":
            layouts = ["bcopy", "zcopy"] if test == "get" else ["short"]
            if test.startswith(("am_", "put")):
                layouts = ["short", "bcopy", "zcopy"]
            for layout in layouts:
                yield one(f"-x {transport} -t {test} -D {layout}", words, words + ["-t", test, "-D", layout])
    os.environ.update(UCX_NET_DEVICES="pausenet0:1")
    for transports in "rc_v,self", "ud_v,self", "rc_v,ud_v,self":
        os.environ["UCX_TLS"] = transports
        environment = ["env", "UCX_NET_DEVICES=pausenet0:1", "UCX_TLS=" + transports]
        for test in ("tag_lat", "tag_bw", "tag_sync_lat", "ucp_put_lat", "ucp_put_bw", "ucp_get", "ucp_add", "ucp_fadd",
                     "ucp_swap", "ucp_cswap", "stream_bw", "stream_lat", "ucp_am_lat", "ucp_am_bw"):
            for size in ("8",) if test in ("ucp_add", "ucp_fadd", "ucp_swap", "ucp_cswap") else ("8", "20000"):
                yield one(f"UCX_TLS={transports} -t {test} -s {size}", environment + ["ucx_perftest"],
                          ["ucx_perftest", "-t", test, "-s", size])


def libfabric():
    """libfabric's programs."""
    for endpoint in "rdm", "dgram", "msg":
        words = ["fi_pingpong", "-p", "verbs", "-e", endpoint, "-I", "20", "-S", "1024"]
        yield meet(words, words + [ADDRESS])


def fabtests():
    """libfabric's fabtests, by their own list of functional and short tests, over verbs and the layers above it."""
    def one(provider, test):
        words = test.split() + (["-S", "4096"] if re.search("pingpong|_bw -", test) else [])  # all sizes would take minutes
        command = words[:1] + ["-p", provider] + words[1:] + ["-s"]
        row = meet(command + [ADDRESS], command + [OWN, ADDRESS], wait=3)  # some fail if they connect before the server listens
        row.name = f"{test} ({provider})"
        if "fi_getinfo" in row.why and "No data" in row.why:  # as fabtests' own script takes it
            row.why = "skipped: the provider does not offer it"
        return row

    for test in ("fi_dom_test -n 2", "fi_eq_test", "fi_cq_test", "fi_mr_test", "fi_cntr_test"):
        out, code = finish(start(CLIENT, test.split() + ["-p", "verbs"]))
        yield Row(f"{test} (verbs)", code == 0, "" if code == 0 else reason(out))
    for test in ("fi_cm_data", "fi_cq_data -e msg", "fi_msg", "fi_msg_epoll", "fi_msg_sockets", "fi_shared_ctx -e msg --no-tx-shared-ctx",
                 "fi_multi_mr -e msg -V", "fi_unexpected_msg -e msg -I 10", "fi_msg_inject -A inject -v", "fi_bw -e msg -v -T 1",
                 "fi_msg_pingpong -I 5", "fi_msg_pingpong -I 5 -v", "fi_msg_bw -I 5", "fi_msg_bw -I 5 -v", "fi_rma_bw -e msg -o write -I 5",
                 "fi_rma_bw -e msg -o read -I 5", "fi_rma_bw -e msg -o writedata -I 5", "fi_multi_recv -e msg -I 5"):
        yield one("verbs", test)
    for provider in "verbs;ofi_rxm", "verbs;ofi_rxd":
        for test in ("fi_av_xfer -e rdm", "fi_cq_data -e rdm", "fi_poll -t queue", "fi_poll -t counter", "fi_rdm", "fi_rdm_rma_event",
                     "fi_rdm_tagged_peek", "fi_multi_mr -e rdm -V", "fi_recv_cancel -e rdm -V", "fi_unexpected_msg -e rdm -I 10",
                     "fi_rma_bw -e rdm -o write -I 5", "fi_rma_bw -e rdm -o read -I 5", "fi_rdm_atomic -I 5 -o all",
                     "fi_rdm_cntr_pingpong -I 5", "fi_multi_recv -e rdm -I 5", "fi_rdm_pingpong -I 5", "fi_rdm_pingpong -I 5 -v",
                     "fi_rdm_tagged_pingpong -I 5", "fi_rdm_tagged_bw -I 5"):
            yield one(provider, test)


def mpi(program, *words):
    """Runs a program of MPI with two ranks on two hosts, by Open MPI over UCX."""
    agent = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "mpi", "agent")
    mpirun = ["mpirun", "--allow-run-as-root", "--mca", "plm_rsh_agent", agent, "--mca", "pml", "ucx", "--mca", "osc", "ucx", "--mca", "mpi_yield_when_idle", "1",
              "-x", "UCX_TLS=rc_v,self", "-x", "UCX_NET_DEVICES=pausenet0:1", "-host", ",".join([CLIENT, SERVER]), shutil.which(program)]
    return finish(start(CLIENT, mpirun + list(words)), 180)


def imb():
    """Intel's MPI benchmarks, with checked data where a benchmark checks it."""
    for test in ("PingPong", "PingPing", "Sendrecv", "Exchange", "Uniband", "Biband", "Bcast", "Allreduce", "Reduce", "Reduce_local", "Reduce_scatter",
                 "Reduce_scatter_block", "Allgather", "Allgatherv", "Scatter", "Scatterv", "Gather", "Gatherv", "Alltoall", "Alltoallv", "Barrier"):
        out, code = mpi("IMB-MPI1", test, "-iter", "5", "-msglog", "0:14")
        passed = code == 0 and "All processes entering MPI_Finalize" in out
        yield Row(test, passed, "" if passed else reason(out))


def osu():
    """OSU's micro-benchmarks: each must print a row of its last message size. Those without sizes must end well."""
    folder = os.path.dirname(shutil.which("osu_latency"))
    for program in sorted(os.path.basename(p) for p in glob.glob(folder + "/osu_*")):
        sized = not re.search("barrier|hello|init|cas_latency|fop_latency", program)
        out, code = mpi(program, "-i", "5", "-x", "1", *(["-m", "4:16384"] if sized else []))
        passed = code == 0 and (not sized or re.search(r"^16384 +[\d.]+", out, re.M) is not None)
        yield Row(program, passed, "" if passed else reason(out))


def valkey():
    """valkey's server with its module for RDMA, and the test client of its sources, on two hosts."""
    folder = tempfile.mkdtemp()
    server = start(SERVER, ["valkey-server", "--port", "0", "--save", "", "--dir", folder, "--protected-mode", "no", "--loadmodule",
                            shutil.which("valkey-rdma.so"), f"bind={ADDRESS}", "port=6379"])
    time.sleep(2)
    out, code = finish(start(CLIENT, ["rdma-test", "-h", ADDRESS, "-p", "6379", "-t", "2", "-m", "32", "-M", "64"]))
    served, _ = stop(server)
    shutil.rmtree(folder)
    yield Row("rdma-test", code == 0, "" if code == 0 else reason(out, served))


def pyverbs():
    """rdma-core's own tests, of both ends on one host's device."""
    folder = tempfile.mkdtemp()
    tests = folder + "/tests"
    shutil.copytree("/usr/share/doc/rdma-core/tests", tests)
    for packed in glob.glob(tests + "/*.gz"):
        with gzip.open(packed) as f, open(packed[:-3], "wb") as to:
            shutil.copyfileobj(f, to)
        os.remove(packed)
    out, _ = finish(start(CLIENT, ["/usr/bin/python3", "-c", RUNNER, "--dev", "pausenet0", "--gid", "0"], cwd=folder), 300)
    shutil.rmtree(folder)
    for line in out.splitlines():
        if line.startswith("row "):
            yield Row(*json.loads(line[4:]))


# Runs rdma-core's tests and prints a row of each. They look the interface of a device up in sysfs, where no device is.
RUNNER = """
import json, socket, sys, unittest
sys.path[:0] = [".", "tests"]
import tests.base as base
from args_parser import parser
parser.parse_args()
def by_gid(self, device, port, index):
    try:
        name = [n for _, n in socket.if_nameindex() if n != "lo"][0]
        self.args.append([device, port, index, *self.get_ip_mac_address(name)])
    except LookupError:
        self.args.append([device, port, index, None, None])
base.RDMATestCase._get_ip_mac = by_gid
class Result(unittest.TestResult):
    def row(self, test, passed, why=""):
        print("row " + json.dumps([test.id().removeprefix("tests."), passed, why]), flush=True)
    def addSuccess(self, test): self.row(test, True)
    def addSkip(self, test, why): self.row(test, False, "skipped: " + why)
    def addError(self, test, error): self.row(test, False, str(error[1]).strip().splitlines()[-1])
    addFailure = addError
import tests
unittest.defaultTestLoader.loadTestsFromModule(tests).run(Result())
"""


SUITES = {  # the package of each, and a file of it
    "pyverbs": (pyverbs, "python3-pyverbs", "/usr/share/doc/rdma-core/tests"),
    "rdma-core": (rdmacm, "rdmacm-utils and ibverbs-utils", "/usr/bin/rping"),
    "perftest": (perftest, "perftest", "/usr/bin/ib_write_bw"),
    "fio": (fio, "fio", "/usr/bin/fio"),
    "libfabric": (libfabric, "libfabric-bin", "/usr/bin/fi_pingpong"),
    "ucx": (ucx, "ucx-utils", "/usr/bin/ucx_perftest"),
    "fabtests": (fabtests, "libfabric's fabtests on PATH", "fi_rdm_pingpong"),
    "imb": (imb, "openmpi-bin, and IMB-MPI1 of Intel's MPI benchmarks on PATH", "IMB-MPI1"),
    "osu": (osu, "openmpi-bin, and OSU's micro-benchmarks (mpi/*) on PATH", "osu_latency"),
    "valkey": (valkey, "valkey-server, valkey-rdma.so and rdma-test of valkey's sources on PATH", "valkey-server"),
}


def outcome(row):
    if row.passed:
        return "passed"
    return "not applicable" if row.why.startswith("skipped") else "refused" if row.why.startswith("refused") else "failed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", metavar="SUITE", nargs="*", help=f"of {', '.join(SUITES)} (default: all), or perftest=PROGRAM")
    parser.add_argument("-v", action="store_true", help="print each row")
    options = parser.parse_args()
    failed = False
    for name in options.suites or SUITES:
        name, *only = name.split("=")
        run, package, file = SUITES[name]
        if not shutil.which(file) and not os.path.exists(file):
            print(f"{name}: needs {package}")
            continue
        counts, reasons, began = collections.Counter(), collections.defaultdict(list), time.monotonic()
        for row in run(*only):
            counts[outcome(row)] += 1
            failed = failed or outcome(row) == "failed"
            if not row.passed:
                reasons[row.why].append(row.name)
            if options.v:
                print(f"  {outcome(row):15} {row.name}  {row.why}", flush=True)
        print(f"{name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()) + f" in {time.monotonic() - began:.0f} s", flush=True)
        for why, names in sorted(reasons.items(), key=lambda item: -len(item[1])):
            print(f"  {len(names):4} {why}: {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
