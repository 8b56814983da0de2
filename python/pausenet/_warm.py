"""Processes of the program that are kept for the next command, as starting one takes longer than a short run."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple

#: Commands that such a process runs. The others, above all those of live fabrics, get a process of their own.
COMMANDS = ("run", "why", "bound", "estimate", "check", "validate", "list", "show", "schema", "report", "published", "version")


def interrupt(process: "subprocess.Popen[str]") -> None:
    """End a process of the program in order, as Ctrl-C does. It takes 10 s at most."""
    if process.poll() is None:
        process.send_signal(signal.SIGINT if os.name != "nt" else signal.SIGTERM)
        try:
            process.communicate(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


class Process:
    """A process of ``pausenet serve``, which runs one command at a time."""

    def __init__(self, binary: str) -> None:
        self.binary, self.environment = binary, dict(os.environ)
        # In a session of its own, as Ctrl-C is passed on below, once.
        self.process = subprocess.Popen([binary, "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        encoding="utf-8", errors="replace", start_new_session=True)

    def serves(self, binary: str) -> bool:
        """Return whether a command of this binary would do the same here as in a new process."""
        return self.binary == binary and self.process.poll() is None and self.environment == dict(os.environ)

    def execute(self, words: Sequence[str], stdin: Optional[str]) -> Tuple[int, str, str]:
        """Run a command and return its exit code, standard output and standard error."""
        assert self.process.stdin is not None and self.process.stdout is not None
        request: Dict[str, Any] = {"command": list(words), "directory": os.getcwd(), "stdin": stdin or ""}
        line = ""
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        except BaseException:
            interrupt(self.process)
            raise
        if not line.endswith("\n"):  # it was killed, or it crashed
            return self.process.wait(), "", ""
        reply = json.loads(line)
        return reply["exit_code"], reply["stdout"], reply["stderr"]

    def end(self) -> None:
        """End the process, which is idle."""
        self.process.communicate()


_idle: List[Process] = []
_lock = threading.Lock()


def execute(binary: str, words: Sequence[str], stdin: Optional[str]) -> Tuple[int, str, str]:
    """Run a command in an idle process, or in a new one, which is kept then. Calls may be from several threads."""
    process = None
    with _lock:
        while _idle and process is None:
            process = _idle.pop()
            if not process.serves(binary):
                process.end()
                process = None
    if process is None:
        process = Process(binary)
    result = process.execute(words, stdin)
    with _lock:
        _idle.append(process)
    return result


def _forget() -> None:
    """In a forked process: the processes are the parent's."""
    global _lock
    _idle.clear()
    _lock = threading.Lock()


@atexit.register
def _end() -> None:
    while _idle:
        _idle.pop().end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
