"""A random-access store on local disk, for data that is remote or expensive to compute.

The first process of a node that needs a data set builds it; all other processes, of this trial and
of later ones, read it: sharded by rank, shuffled by seed and epoch, resumed within an epoch.
``determined.data.pytorch`` and ``determined.data.tensorflow`` connect it to these frameworks.

Example::

    from determined import data

    store = data.Store()

    @store.cacheable("digits", "1")
    def digits():
        for image, label in read_slowly():
            yield image, label

    stream = digits().stream(shuffle=True, shard_rank=rank, num_shards=size)
    for batch in stream.batches(32):
        ...
"""

from determined.data._dataset import Dataset
from determined.data._errors import DamagedData, InUse, NotStored, StoreFull
from determined.data._sources import FileRecords, bucket, folder
from determined.data._store import Store, Stored
from determined.data._stream import Stream

__all__ = [
    "DamagedData",
    "Dataset",
    "FileRecords",
    "InUse",
    "NotStored",
    "Store",
    "StoreFull",
    "Stored",
    "Stream",
    "bucket",
    "folder",
]
