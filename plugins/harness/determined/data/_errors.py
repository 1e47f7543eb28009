"""The errors of stored data."""

from __future__ import annotations


class DamagedData(OSError):
    """Stored data was changed or damaged.

    The data set is marked, and the next process that opens it with a source builds it again.

    Example::

        try:
            record = dataset[17]
        except data.DamagedData as err:
            print(err)
    """


class StoreFull(OSError):
    """A data set does not fit into the store, and nothing more can be evicted.

    Example::

        try:
            store.open("large", "1", make_records)
        except data.StoreFull as err:
            print(err)
    """


class NotStored(LookupError):
    """A data set is not in the store, and no source was given to build it from.

    Example::

        try:
            store.fetch("digits", "2")
        except data.NotStored:
            ...
    """


class InUse(RuntimeError):
    """A data set cannot be removed, because a process reads or builds it.

    Example::

        try:
            store.remove("digits", "1")
        except data.InUse as err:
            print(err)
    """
