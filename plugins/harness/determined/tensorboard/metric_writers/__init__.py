"""Writers for curves of training code; ``pytorch`` and ``tensorflow`` have one each."""

from determined.tensorboard._writers import BatchMetricWriter, MetricWriter

__all__ = ["BatchMetricWriter", "MetricWriter"]
