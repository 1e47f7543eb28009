"""Reports metrics to a master: through the Core API, and with a bare request for each."""

from __future__ import annotations

import http.client
import json
import os
import pathlib
import statistics
import sys
import time
from typing import Dict, List
from urllib import parse

from determined import core

REPORTS = 300


def through_us(count: int, first: int) -> Dict[str, float]:
    """Report; return what a call takes, and the processor time until the last is delivered."""
    metrics = {f"metric_{number}": number / 7 for number in range(count)}
    took = []
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as core_context:
        cpu = time.process_time()
        started = time.perf_counter()
        for step in range(first, first + REPORTS):
            before = time.perf_counter()
            core_context.train.report_training_metrics(step, metrics)
            took.append(time.perf_counter() - before)
    return {
        "call": 1e6 * statistics.median(took),
        "cpu": 1e6 * (time.process_time() - cpu) / REPORTS,
        "all": 1e6 * (time.perf_counter() - started) / REPORTS,
    }


def by_hand(count: int, first: int) -> Dict[str, float]:
    """Send the same reports one after another over one connection."""
    metrics = {f"metric_{number}": number / 7 for number in range(count)}
    url = parse.urlsplit(os.environ["DET_MASTER"])
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    headers = {
        "Content-Type": "application/json",
        "Authorization": f"Bearer {os.environ['DET_SESSION_TOKEN']}",
    }
    took = []
    cpu = time.process_time()
    for step in range(first, first + REPORTS):
        before = time.perf_counter()
        body = {
            "metrics": {
                "trialId": 12,
                "trialRunId": 1,
                "stepsCompleted": step,
                "metrics": {"avgMetrics": metrics},
            },
            "group": "by_hand",
        }
        connection.request("POST", "/api/v1/trials/12/metrics", json.dumps(body), headers)
        response = connection.getresponse()
        answer = response.read()
        assert response.status == 200, answer
        took.append(time.perf_counter() - before)
    connection.close()
    return {
        "call": 1e6 * statistics.median(took),
        "cpu": 1e6 * (time.process_time() - cpu) / REPORTS,
        "all": 1e6 * sum(took) / REPORTS,
    }


def main(rounds: int) -> None:
    found: Dict[str, Dict[str, List[Dict[str, float]]]] = {}
    first = 1
    for count in (1, 5, 50):
        both = found.setdefault(str(count), {"ours": [], "yard": []})
        for _ in range(rounds):
            both["ours"].append(through_us(count, first))
            both["yard"].append(by_hand(count, first))
            first += REPORTS
    pathlib.Path(os.environ["BENCH_OUT"]).write_text(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]))
