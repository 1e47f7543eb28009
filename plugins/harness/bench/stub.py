"""The stand-in for a master in a process of its own: prints its address, ends with its input."""

from __future__ import annotations

import sys

from tests.stub_master import Answer, Request, Stub


class Forgetful(Stub):
    """Takes each report and keeps none: rounds report the same steps again."""

    def report_metrics(self, request: Request, trial: str) -> Answer:
        self.requests.clear()
        return 200, {}


if __name__ == "__main__":
    stub = Forgetful()
    stub.start()
    print(stub.url, flush=True)
    sys.stdin.read()
    stub.stop()
