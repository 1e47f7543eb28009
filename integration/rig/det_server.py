"""Runs commands of Determined's client, each in a process that is forked after the client's modules were imported.

A test on a cluster runs hundreds of them, and the imports take most of the processor time of one. The request and the answer are lines
of JSON on a Unix socket; the answer has the process id, and then the exit code. The server ends with its standard input.
"""

import atexit
import json
import os
import shutil
import signal
import socket
import sys
import threading

from determined.cli.__main__ import main


def run(request):
    os.setsid()
    os.chdir(request["dir"])
    os.environ.clear()
    os.environ.update(request["env"])
    for number, (path, flags) in enumerate(
        [(request["in"], os.O_RDONLY), (request["out"], os.O_WRONLY), (request["err"], os.O_WRONLY)]
    ):
        opened = os.open(path, flags)
        os.dup2(opened, number)
        os.close(opened)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(write_through=True)
    sys.argv = request["args"]
    try:
        code = main(request["args"][1:])  # by default main has the arguments of the time of its import
    except SystemExit as e:
        code = e.code
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    return code or 0


def serve(connection):
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    lines = connection.makefile("rw")
    request = json.loads(lines.readline())
    print(json.dumps(os.getpid()), file=lines, flush=True)
    try:
        code = run(request)
        threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    print(json.dumps(code & 0xFF), file=lines, flush=True)
    os._exit(code & 0xFF)


listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen(64)


def accept():
    while True:
        connection, _ = listener.accept()
        if os.fork() == 0:
            listener.close()
            serve(connection)
        connection.close()


signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
# Forked processes must not inherit a second thread, so the main thread accepts, and a process of its own waits for the end.
parent = os.getpid()
if os.fork() == 0:
    listener.close()
    sys.stdin.read()
    os.kill(parent, signal.SIGKILL)
    shutil.rmtree(os.path.dirname(sys.argv[1]), ignore_errors=True)
    os._exit(0)
accept()
