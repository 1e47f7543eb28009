"""Reports system metrics of the machines on which a trial trains."""

from __future__ import annotations

import datetime
import logging
import threading
import time
from typing import Dict, List, Optional

from determined.core import _probes
from determined.core._distributed import DistributedContext
from determined.core._metrics import _MetricsContext

logger = logging.getLogger("determined.core")


class ProfilerContext:
    """System metrics of each machine of a trial: GPU, CPU, memory, disk and network.

    Off until ``on`` is called, or ``profiling.enabled`` is set in the configuration.

    Example::

        core_context.profiler.on(sampling_interval=1, samples_per_report=10)
        train()
        core_context.profiler.off()
    """

    def __init__(
        self, agent_id: str, metrics: _MetricsContext, distributed: DistributedContext
    ) -> None:
        self._agent_id = agent_id
        self._metrics = metrics
        self._distributed = distributed
        self._collector: Optional[_Collector] = None

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Sample every ``sampling_interval`` seconds; report averages of ``samples_per_report``.

        Does nothing if it is already on. One worker of each machine samples, the others do not.
        """
        if sampling_interval < 0.1:
            raise ValueError(f"sampling_interval must be at least 0.1 s, not {sampling_interval}")
        if not isinstance(samples_per_report, int) or samples_per_report < 1:
            raise ValueError(
                f"samples_per_report must be a whole number above 0, not {samples_per_report!r}"
            )
        if self._collector is not None or self._distributed.local_rank != 0:
            return
        logger.info("reporting system metrics every %g s", sampling_interval * samples_per_report)
        self._collector = _Collector(
            self._metrics, self._agent_id, sampling_interval, samples_per_report
        )
        self._collector.start()

    def off(self) -> None:
        """Stop sampling."""
        self._close()

    def _close(self) -> None:
        if self._collector is not None:
            self._collector.stop()
            self._collector = None


class DummyProfilerContext(ProfilerContext):
    """Reports nothing.

    Example: ``core.init().profiler.on()``
    """

    def __init__(self) -> None:
        pass

    def on(self, sampling_interval: float = 1, samples_per_report: int = 10) -> None:
        """Do nothing."""

    def off(self) -> None:
        """Do nothing."""

    def _close(self) -> None:
        pass


class _Collector(threading.Thread):
    """Samples and reports until it is stopped."""

    def __init__(
        self,
        metrics: _MetricsContext,
        agent_id: str,
        interval: float,
        samples: int,
        probes: Optional[List[_probes.Probe]] = None,
    ) -> None:
        super().__init__(name="determined-profiler", daemon=True)
        self._metrics = metrics
        self._agent_id = agent_id
        self._interval = interval
        self._samples = samples
        self._probes = _probes.all_probes() if probes is None else probes
        self._stopped = threading.Event()

    def run(self) -> None:
        """Report one round after another."""
        while True:
            taken = self._round()
            if self._stopped.is_set():
                return
            try:
                refusal = self._metrics.background_refusal
                if refusal is None:
                    self._report(taken)
            except Exception as err:
                refusal = err
            if refusal is not None:
                # Training continues without system metrics; it gets the errors of its own reports.
                logger.warning(
                    "cannot report system metrics, so their collection ends: %s", refusal
                )
                return

    def _round(self) -> Dict[str, List[_probes.Sample]]:
        taken: Dict[str, List[_probes.Sample]] = {}
        for index in range(self._samples):
            due = time.monotonic() + self._interval
            for probe in self._probes:
                if index == 0 or not probe.once:
                    taken.setdefault(probe.group, []).append(probe.sample())
            if self._stopped.wait(max(0.0, due - time.monotonic())):
                break
        return taken

    def _report(self, taken: Dict[str, List[_probes.Sample]]) -> None:
        now = datetime.datetime.now(datetime.timezone.utc)
        for group, samples in taken.items():
            averaged = _probes.average(samples)
            if averaged:
                self._metrics.report(
                    group, {self._agent_id: averaged}, report_time=now, background=True
                )

    def stop(self) -> None:
        """End the thread without reporting an incomplete round."""
        self._stopped.set()
        if self.is_alive():
            self.join(15.0)
