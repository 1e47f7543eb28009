"""Writes scalars in TensorBoard's file format, without TensorBoard.

An event file is a sequence of records: length, checksum of the length, data, checksum of the
data. The data is an ``Event`` message in protobuf's encoding, of which scalars need little.
"""

from __future__ import annotations

import math
import os
import pathlib
import socket
import struct
import time
from typing import IO, List, Optional

from determined.tensorboard._writers import MetricWriter

FILE_BYTES = 1 << 18


def _crc32c_table() -> List[int]:
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        table.append(crc)
    return table


_CRC32C = tuple(_crc32c_table())


def masked_crc32c(data: bytes) -> int:
    """Return the checksum that record files use: CRC-32C, rotated and shifted."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CRC32C[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """Frame data as one record."""
    length = struct.pack("<Q", len(data))
    return b"".join(
        (
            length,
            struct.pack("<I", masked_crc32c(length)),
            data,
            struct.pack("<I", masked_crc32c(data)),
        )
    )


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _bytes_field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def version_event(wall_time: float) -> bytes:
    """Encode the event that every file begins with."""
    return b"\x09" + struct.pack("<d", wall_time) + _bytes_field(3, b"brain.Event:2")


def scalar_event(wall_time: float, step: int, tag: str, value: float) -> bytes:
    """Encode one point of one curve."""
    # Event{1: wall_time, 2: step, 5: Summary{1: Value{1: tag, 2: simple_value}}}
    try:
        number = struct.pack("<f", value)
    except OverflowError:
        # The format has single precision only.
        number = struct.pack("<f", math.copysign(math.inf, value))
    point = _bytes_field(1, tag.encode("utf-8")) + b"\x15" + number
    return (
        b"\x09"
        + struct.pack("<d", wall_time)
        + b"\x10"
        + _varint(step)
        + _bytes_field(5, _bytes_field(1, point))
    )


class EventWriter(MetricWriter):
    """Appends scalars to one event file, which it creates with the first scalar.

    Example::

        writer = EventWriter(pathlib.Path("events"))
        writer.add_scalar("loss", 0.5, 1)
        writer.close()
    """

    def __init__(self, directory: pathlib.Path) -> None:
        self._directory = directory
        self._file: Optional[IO[bytes]] = None

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Append one point."""
        if self._file is None:
            self._file = self._open()
        self._file.write(record(scalar_event(time.time(), step, name, value)))

    def flush(self) -> None:
        """Make what was added visible to readers."""
        if self._file is None:
            return
        self._file.flush()
        # A file is stored again each time that it has grown, so none may grow large.
        if self._file.tell() > FILE_BYTES:
            self.close()

    def reset(self) -> None:
        """End the file; the next point begins another."""
        self.close()

    def close(self) -> None:
        """End the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> IO[bytes]:
        self._directory.mkdir(parents=True, exist_ok=True)
        now = time.time()
        # TensorBoard reads a folder's files in the order of their names.
        name = f"events.out.tfevents.{now:017.6f}.{socket.gethostname()}.{os.getpid()}"
        out = (self._directory / name).open("wb")
        out.write(record(version_event(now)))
        return out
