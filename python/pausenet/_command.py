"""Find and call the pausenet program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, List, Mapping, NoReturn, Optional, Sequence, Union

from pausenet import _warm

#: Exit codes of the program. 1 is also that of a command that was interrupted.
FAILED, USAGE, ENVIRONMENT = 1, 2, 3

PathLike = Union[str, "os.PathLike[str]"]


class Error(Exception):
    """Raised if the program refuses a command, or fails.

    The text is the program's message: the mistake, its position, and the remedy.
    """

    def __init__(self, message: str, exit_code: int, command: Sequence[str] = ()) -> None:
        super().__init__(message)
        #: The program's exit code: 1 a verdict is FAIL or the command was interrupted, 2 usage or a mistake in a file,
        #: 3 the environment (no root, no space); negative: the signal that ended it.
        self.exit_code = exit_code
        #: The command, as a list of words.
        self.command = list(command)

    def __reduce__(self) -> Any:
        return (type(self), (str(self), self.exit_code, self.command))


class Warning(UserWarning):
    """A warning of the program, or a verdict that is not PASS."""


def binary() -> str:
    """Return the path of the program: the one in this package, else ``$PAUSENET``, else the first on ``PATH``. Raises
    Error if there is none.
    """
    name = "pausenet.exe" if os.name == "nt" else "pausenet"
    packed = Path(__file__).parent / "bin" / name
    if packed.is_file():
        return str(packed)
    named = os.environ.get("PAUSENET")
    if named:
        if shutil.which(named) is None:
            raise Error(f"PAUSENET is {named}, which is no program: name pausenet's", USAGE)
        return named
    for folder in os.get_exec_path():
        found = shutil.which(name, path=folder)
        if found and not _is_script(found):
            return found
    raise Error("the program pausenet is not in this package, nor on PATH: install the wheel that make wheel builds, "
                "or set PAUSENET to the program's path", ENVIRONMENT)


def _is_script(path: str) -> bool:
    """Return whether a program is the script that this package installs, which would call itself forever."""
    try:
        with open(path, "rb") as f:
            return f.read(2) == b"#!"
    except OSError:
        return True


def arguments(flags: Mapping[str, Any]) -> List[str]:
    """Return flags of a command line. None omits the flag, True is a flag without value, and a list is joined by commas."""
    words: List[str] = []
    for name, value in flags.items():
        if value is None or value is False:
            continue
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        else:
            words.append(f"{flag}={listed(value)}")
    return words


def listed(value: Any) -> str:
    """Return a value, or several joined by commas, for a flag."""
    if isinstance(value, (list, tuple, set, frozenset, range)):
        return ",".join(str(v) for v in value)
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)


def setting(value: Any) -> str:
    """Return a value for --set: a text unchanged, anything else as JSON, which is valid YAML."""
    return value if isinstance(value, str) else json.dumps(value)


class Output:
    """Hold the output and the exit code of a command."""

    def __init__(self, command: List[str], code: int, out: str, err: str) -> None:
        self.command, self.code, self.out, self.err = command, code, out, err

    @property
    def message(self) -> str:
        """Return the error at the end of its output."""
        lines = self.err.strip().split("\n")
        at = max((i for i, line in enumerate(lines)
                  if line.startswith("pausenet: ") and ": warning: " not in line
                  and not line.startswith("pausenet: wasm plane: ")), default=0)
        text = "\n".join(lines[at:])
        return text[len("pausenet: "):] if text.startswith("pausenet: ") else text

    @property
    def warnings(self) -> List[str]:
        """Return its warnings."""
        return [line[len("pausenet: "):].replace(": warning: ", ": ", 1) for line in self.err.split("\n")
                if line.startswith("pausenet: ") and ": warning: " in line]

    def fail(self) -> NoReturn:
        """Raise the command's Error."""
        text = self.message
        if not text:
            text = f"it was ended by signal {-self.code}" if self.code < 0 else f"exit code {self.code}"
        raise Error(text, self.code, self.command)


def execute(words: Sequence[str], stdin: Optional[str] = None, show: bool = False) -> Output:
    """Run a command to its end. An interruption (Ctrl-C) ends it in order: it writes the results so far."""
    command = [binary(), *words]
    if not show and words and words[0] in _warm.COMMANDS:
        try:
            return Output(command, *_warm.execute(command[0], words, stdin))
        except OSError as e:
            raise Error(f"{command[0]}: {e.strerror}", ENVIRONMENT, command) from e
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=None if show else subprocess.PIPE,
                                   encoding="utf-8", errors="replace")
    except OSError as e:
        raise Error(f"{command[0]}: {e.strerror}", ENVIRONMENT, command) from e
    try:
        out, err = process.communicate(stdin)
    except BaseException:
        _warm.interrupt(process)
        raise
    return Output(command, process.returncode, out, err or "")


def call(*words: PathLike, stdin: Optional[str] = None) -> str:
    """Run any command of the program and return what it prints: ``pausenet.call("show", "incast", "--source")``.

    stdin is text for its standard input. Raises Error if it fails.
    """
    done = execute([os.fspath(w) for w in words], stdin)
    if done.code != 0:
        done.fail()
    return done.out


def run_in_place(words: Sequence[str]) -> NoReturn:
    """Replace this process by the program."""
    path = binary()
    if os.name == "nt":
        sys.exit(subprocess.call([path, *words]))
    os.execv(path, [path, *words])
