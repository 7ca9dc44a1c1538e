"""Runs the shell commands that the documents show."""

import os
import signal
import subprocess


def run(root, command, timeout, programs=None):
    """(exit status or None after `timeout` seconds, output) of a command under bash -euo pipefail in the root.

    The folder `programs` is searched first for programs. Whatever the command started ends with it.
    """
    environment = dict(os.environ)
    if programs:
        environment["PATH"] = programs + os.pathsep + environment["PATH"]
    with subprocess.Popen(["bash", "-euo", "pipefail", "-c", command], cwd=root, env=environment, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, start_new_session=True) as process:
        try:
            output, status = process.communicate(timeout=timeout)[0], process.returncode
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        if status is None:
            output = process.communicate()[0]
    return status, output
