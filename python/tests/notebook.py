"""Execute a notebook with this Python: python3 notebook.py FROM TO [FOLDER]. make notebook and the tests do."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Optional


def execute(notebook: Path, to: Path, cwd: Optional[Path] = None) -> None:
    """Execute a notebook's cells, in order, in a folder (default: a temporary one), and write it with their outputs. Raises if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        # The kernel that Debian has installed is /usr/bin/python3's, which does not know an environment's packages.
        kernel = Path(folder) / "kernels" / "this-python"
        kernel.mkdir(parents=True)
        (kernel / "kernel.json").write_text(json.dumps({
            "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"], "display_name": "Python 3", "language": "python",
        }))
        os.environ["JUPYTER_PATH"] = folder
        os.environ["IPYTHONDIR"] = folder
        os.environ.pop("MPLBACKEND", None)  # the kernel's own: figures in the notebook
        import nbformat
        from nbconvert.preprocessors import ExecutePreprocessor

        made = nbformat.read(notebook, as_version=4)
        ExecutePreprocessor(timeout=600, kernel_name="this-python", record_timing=False).preprocess(made, {"metadata": {"path": str(cwd or folder)}})
        made.metadata.kernelspec = {"display_name": "Python 3", "language": "python", "name": "python3"}
        made.metadata.language_info = {"name": "python"}  # without this machine's version
        nbformat.write(made, to)


if __name__ == "__main__":
    execute(*map(Path, sys.argv[1:]))
