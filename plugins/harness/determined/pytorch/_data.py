"""The data loader of trial classes, and a function that moves batches to a device."""

from __future__ import annotations

import logging
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Type,
    Union,
)

import torch
from torch.utils import data

from determined.pytorch import samplers

logger = logging.getLogger("determined.pytorch")

_Data = Union[Dict[str, Any], Sequence[Any], Any]

# The type of a batch, for annotations: a tensor, or a sequence or map of tensors.
TorchData = Union[Dict[str, torch.Tensor], Sequence[torch.Tensor], torch.Tensor]


class DataLoader:
    """Describes a ``torch.utils.data.DataLoader``, which the platform then builds for each worker.

    It takes the arguments of PyTorch's own, and ``batch_size`` is that of one worker. Each
    worker's share of the data, and where it resumes, are the platform's matter.

    Example::

        def build_training_data_loader(self):
            size = self.context.get_per_slot_batch_size()
            return pytorch.DataLoader(self.dataset, batch_size=size, shuffle=True)
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: Optional[int] = 1,
        shuffle: bool = False,
        sampler: Optional[Any] = None,
        batch_sampler: Optional[Any] = None,
        num_workers: int = 0,
        collate_fn: Optional[Callable[[List[Any]], Any]] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable[[int], None]] = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: Optional[int] = None,
        persistent_workers: bool = False,
    ) -> None:
        if isinstance(dataset, data.IterableDataset):
            raise TypeError(
                "an IterableDataset has no order to shard or to resume in: return a "
                "torch.utils.data.DataLoader that does both itself, after calling "
                "context.experimental.disable_dataset_reproducibility_checks()"
            )
        if batch_sampler is None and batch_size is None:
            raise ValueError("give DataLoader a batch_size or a batch_sampler")
        options: Dict[str, Any] = (
            {} if prefetch_factor is None else {"prefetch_factor": prefetch_factor}
        )
        # PyTorch's own checks the arguments and fills in what is left out.
        plain = data.DataLoader(
            dataset,
            batch_size=1 if batch_size is None else batch_size,
            shuffle=shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            num_workers=num_workers,
            collate_fn=collate_fn,
            pin_memory=pin_memory,
            drop_last=drop_last,
            timeout=timeout,
            worker_init_fn=worker_init_fn,
            multiprocessing_context=multiprocessing_context,
            generator=generator,
            persistent_workers=persistent_workers,
            **options,
        )
        self.dataset = dataset
        self.batch_size = plain.batch_size
        self.num_workers = num_workers
        self.collate_fn = plain.collate_fn
        self.pin_memory = pin_memory
        self.drop_last = plain.drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.sampler = plain.sampler
        self.batch_sampler = plain.batch_sampler
        self.prefetch_factor = prefetch_factor
        self.persistent_workers = persistent_workers
        self._shuffles_itself = shuffle and generator is None

    def get_data_loader(
        self, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
    ) -> Any:
        """Return the ``torch.utils.data.DataLoader`` of one worker.

        Example::

            loader.get_data_loader(repeat=True, skip=100, num_replicas=4, rank=1)
        """
        options: Dict[str, Any] = {}
        if self.prefetch_factor is not None:
            options["prefetch_factor"] = self.prefetch_factor
        return data.DataLoader(
            self.dataset,
            batch_sampler=adapt_batch_sampler(
                self.batch_sampler, repeat=repeat, skip=skip, num_replicas=num_replicas, rank=rank
            ),
            num_workers=self.num_workers,
            collate_fn=self.collate_fn,
            pin_memory=self.pin_memory,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
            multiprocessing_context=self.multiprocessing_context,
            generator=self.generator,
            persistent_workers=self.persistent_workers,
            **options,
        )

    def _seed_shuffle(self, seed: int) -> None:
        """Give ``shuffle=True`` a generator of its own, which continues from epoch to epoch.

        Otherwise it would use the global one, whose state depends on all training
        code, and the order of later epochs could not be reproduced.
        """
        if self._shuffles_itself:
            self.sampler.generator = torch.Generator().manual_seed(seed)

    def __iter__(self) -> Iterator[Any]:
        """Iterate once over all data.

        Example::

            for batch in pytorch.DataLoader(dataset, batch_size=8):
                ...
        """
        return iter(self.get_data_loader())

    def __len__(self) -> int:
        return len(self.batch_sampler)


def adapt_batch_sampler(
    batch_sampler: Any, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
) -> Any:
    """Return a batch sampler that repeats, then takes a worker's share, then skips.

    Example::

        adapt_batch_sampler(batch_sampler, repeat=True, skip=100, num_replicas=4, rank=1)
    """
    if repeat:
        batch_sampler = samplers.RepeatBatchSampler(batch_sampler)
    if num_replicas > 1:
        batch_sampler = samplers.DistributedBatchSampler(batch_sampler, num_replicas, rank)
    if skip > 0:
        batch_sampler = samplers.SkipBatchSampler(batch_sampler, skip)
    return batch_sampler


def data_length(data: _Data) -> int:
    """Return how many records a batch has: the length of its first array.

    Example::

        data_length({"x": torch.zeros(8, 3), "y": torch.zeros(8)})  # 8
    """
    if hasattr(data, "shape"):
        return len(data)
    if isinstance(data, Mapping) and data:
        parts = list(data.values())
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes)) and len(data):
        parts = list(data)
    else:
        raise TypeError(f"a batch is a tensor, a sequence or a map, not {type(data).__name__}")
    known = [part for part in parts if not isinstance(part, (str, bytes, int, float, type(None)))]
    return data_length((known or parts)[0])


def to_device(data: _Data, device: Any, warned_types: Optional[Set[Type[Any]]] = None) -> Any:
    """Return a batch with its tensors and NumPy arrays on a device, whatever holds them.

    What is neither stays where it is, with one warning per type.

    Example::

        images, labels = pytorch.to_device(batch, torch.device("cuda"))
    """
    warned = set() if warned_types is None else warned_types
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if hasattr(data, "shape") and type(data).__module__ == "numpy":
        try:
            return torch.as_tensor(data).to(device, non_blocking=True)
        except TypeError:
            # An array of strings or objects.
            return _left_alone(data, warned)
    if isinstance(data, dict):
        return {name: to_device(value, device, warned) for name, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(to_device(value, device, warned) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(to_device(value, device, warned) for value in data)
    move = getattr(data, "to", None)
    if callable(move):
        return move(device)
    return _left_alone(data, warned)


def _left_alone(data: Any, warned: Set[Type[Any]]) -> Any:
    if type(data) not in warned:
        warned.add(type(data))
        logger.warning(
            "cannot move data of type %s to a device; it stays where it is", type(data).__name__
        )
    return data
