"""Writes the event files of the tests with TensorBoard's own writer, of which PyTorch's SummaryWriter
and others are made: python3 make.py FOLDER, with the package tensorboard 2.19."""

import pathlib
import sys

import numpy
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, types_pb2
from tensorboard.plugins.hparams import api_pb2, plugin_data_pb2
from tensorboard.plugins.hparams import metadata as hparams_metadata
from tensorboard.plugins.scalar import metadata as scalar_metadata
from tensorboard.summary.writer import event_file_writer
from tensorboard.util import tensor_util


def event(step, seconds, *values):
    summary = summary_pb2.Summary(value=values)
    return event_pb2.Event(step=step, wall_time=seconds, summary=summary)


def old(tag, value):
    """A scalar as TensorFlow 1 and PyTorch write it."""
    return summary_pb2.Summary.Value(tag=tag, simple_value=value)


def new(tag, value, first):
    """A scalar as TensorFlow 2 writes it: what it is stands beside the first value only."""
    metadata = scalar_metadata.create_summary_metadata(display_name="", description="")
    tensor = tensor_util.make_tensor_proto(numpy.asarray(value))
    return summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata if first else None)


def content(tag, dtype, raw):
    """A scalar whose number is in the bytes of its tensor, as TensorFlow's own operations write it."""
    metadata = scalar_metadata.create_summary_metadata(display_name="", description="")
    tensor = tensor_pb2.TensorProto(dtype=dtype, tensor_content=raw)
    return summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)


def hparams(**values):
    started = plugin_data_pb2.SessionStartInfo(group_name="a")
    for name, value in values.items():
        field = {bool: "bool_value", str: "string_value"}.get(type(value), "number_value")
        setattr(started.hparams[name], field, value)
    metadata = hparams_metadata.create_summary_metadata(
        plugin_data_pb2.HParamsPluginData(session_start_info=started)
    )
    return summary_pb2.Summary.Value(tag=hparams_metadata.SESSION_START_INFO_TAG, metadata=metadata)


def write(folder, name, events):
    writer = event_file_writer.EventFileWriter(str(folder), filename_suffix="." + name)
    for e in events:
        writer.add_event(e)
    writer.close()
    (made,) = folder.glob("*." + name)
    made.rename(folder / ("events.out.tfevents." + name))


def main():
    folder = pathlib.Path(sys.argv[1])
    start = 1_700_000_000.25
    restart = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
    write(folder, "old", [
        event(0, start, hparams(lr=0.25, optimizer="sgd", nesterov=True)),
        *(event(i, start + i, old("train/loss", 1 / (i + 1)), old("eval/accuracy", i / 10)) for i in range(10)),
        event_pb2.Event(step=8, wall_time=start + 20, session_log=restart),
        event(8, start + 21, old("train/loss", 0.75)),
        event(9, start + 22, old("train/loss", float("nan"))),
    ])
    write(folder, "new", [
        event(0, start, new("epoch_loss", numpy.float32(2.5), True), new("epoch", numpy.int64(7), True)),
        event(1, start + 1, new("epoch_loss", numpy.float32(1.5), False), new("epoch", numpy.int64(-8), False)),
        event(2, start + 2, new("epoch_loss", numpy.float64(0.1), False), new("text", "no scalar", True)),
        event(3, start + 3, new("half", numpy.float16(0.375), True), new("list", numpy.ones(3), True)),
        event(4, start + 4, content("raw", types_pb2.DT_FLOAT, numpy.float32(4.5).tobytes())),
        event(5, start + 5, content("brain", types_pb2.DT_BFLOAT16, b"\x80\x3f")),
    ])


main()
