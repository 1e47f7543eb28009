"""The configuration of an experiment, with methods for the fields that scripts read most."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple, Union


class ExperimentConfig(Dict[str, Any]):
    """A map with the fields of the configuration, as ``info.trial._config`` has it.

    Example::

        config = det.ExperimentConfig(det.get_cluster_info().trial._config)
        slots, entrypoint = config.slots_per_trial(), config.get_entrypoint()
        metric, seed = config.get_searcher_metric(), config.experiment_seed()
        periods = config.get_min_validation_period(), config.get_min_checkpoint_period()
        storage, optimizations = config.get_checkpoint_storage(), config.get_optimizations_config()
        length = config.get_records_per_epoch(), config.scheduling_unit()
        if config.profiling_enabled():
            print(config.profiling_interval(), config.profiling_sync_timings())
        config.debug_enabled(), config.native_parallel_enabled()
        config.average_training_metrics_enabled()
    """

    def _part(self, name: str) -> Dict[str, Any]:
        """Return a section, or an empty one if the configuration has no such section."""
        found = self.get(name)
        return found if isinstance(found, dict) else {}

    def debug_enabled(self) -> bool:
        """Return whether ``debug`` is on."""
        return bool(self.get("debug", False))

    def scheduling_unit(self) -> int:
        """Return over how many batches a report of training metrics averages."""
        return int(self.get("scheduling_unit") or 100)

    def native_parallel_enabled(self) -> bool:
        """Return whether ``resources.native_parallel`` is on."""
        return bool(self._part("resources").get("native_parallel", False))

    def average_training_metrics_enabled(self) -> bool:
        """Return whether training metrics are averaged over all slots."""
        return bool(self._part("optimizations").get("average_training_metrics", True))

    def slots_per_trial(self) -> int:
        """Return how many slots a trial has."""
        return int(self._part("resources").get("slots_per_trial", 1))

    def experiment_seed(self) -> int:
        """Return the seed of the experiment."""
        return int(self._part("reproducibility").get("experiment_seed") or 0)

    def profiling_enabled(self) -> bool:
        """Return whether ``profiling`` is on."""
        return bool(self._part("profiling").get("enabled", False))

    def profiling_interval(self) -> Tuple[int, Optional[int]]:
        """Return the first and the last batch to profile; (0, 0) if profiling is off."""
        if not self.profiling_enabled():
            return 0, 0
        profiling = self._part("profiling")
        return int(profiling.get("begin_on_batch") or 0), profiling.get("end_after_batch")

    def profiling_sync_timings(self) -> bool:
        """Return whether timings wait for the device."""
        return bool(self._part("profiling").get("sync_timings", True))

    def get_records_per_epoch(self) -> Optional[int]:
        """Return the number of records in an epoch, or None if it is not configured."""
        records = self.get("records_per_epoch")
        return None if records is None else int(records)

    def get_min_validation_period(self) -> Dict[str, Any]:
        """Return the period of validations: a unit and a number."""
        return self._part("min_validation_period")

    def get_min_checkpoint_period(self) -> Dict[str, Any]:
        """Return the period of checkpoints: a unit and a number."""
        return self._part("min_checkpoint_period")

    def get_searcher_metric(self) -> str:
        """Return the metric by which the search compares trials."""
        metric = self._part("searcher").get("metric")
        if not isinstance(metric, str):
            raise ValueError(f"searcher.metric is a name, not {metric!r}")
        return metric

    def get_optimizations_config(self) -> Dict[str, Any]:
        """Return the section ``optimizations``."""
        return self._part("optimizations")

    def get_checkpoint_storage(self) -> Dict[str, Any]:
        """Return the section ``checkpoint_storage``."""
        return self._part("checkpoint_storage")

    def get_entrypoint(self) -> Union[str, List[str]]:
        """Return the entrypoint: a line, or a list of words."""
        entrypoint = self["entrypoint"]
        words = entrypoint if isinstance(entrypoint, list) else [entrypoint]
        if not all(isinstance(word, str) for word in words):
            raise ValueError(f"entrypoint is a line or a list of words, not {entrypoint!r}")
        found: Union[str, List[str]] = entrypoint
        return found
