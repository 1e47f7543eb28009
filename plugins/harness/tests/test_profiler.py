import pathlib
import sys
import types
from typing import Any, Dict, Iterator, List

import pytest

from determined import core, gpu
from determined.common.api import errors
from determined.core import _probes
from determined.core._profiler import _Collector
from tests.conftest import MakeTask
from tests.stub_master import DEADLINE, Stub, error

STAT = "cpu  100 0 100 700 100 0 0 0 0 0\ncpu0 1 1 1 1\nintr 1\n"
STAT_LATER = "cpu  150 0 150 750 150 0 0 0 0 0\ncpu0 1 1 1 1\nintr 1\n"
MEMINFO = "MemTotal: 100 kB\nMemFree: 10 kB\nMemAvailable:   60 kB\n"
DISKSTATS = (
    " 259 0 nvme0n1 10 0 100 0 20 0 200 0 0 0 0\n"
    " 259 1 nvme0n1p1 10 0 100 0 20 0 200 0 0 0 0\n"
    "   8 0 sda 1 0 2 0 3 0 4 0 0 0 0\n"
    "   8 1 sda1 1 0 2 0 3 0 4 0 0 0 0\n"
    "   7 0 loop0 99 0 99 0 99 0 99 0 0 0 0\n"
    " 252 0 vda1 1 0 1 0 1 0 1 0 0 0 0\n"
)
NETDEV = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets\n"
    "    lo: 999 1 0 0 0 0 0 0 999 1 0 0 0 0 0 0\n"
    "  eth0: 100 1 0 0 0 0 0 0 50 1 0 0 0 0 0 0\n"
    "  eth1:7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0\n"
)


@pytest.fixture
def proc(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "net").mkdir()
    (tmp_path / "stat").write_text(STAT)
    (tmp_path / "meminfo").write_text(MEMINFO)
    (tmp_path / "diskstats").write_text(DISKSTATS)
    (tmp_path / "net" / "dev").write_text(NETDEV)
    return tmp_path


def test_cpu(proc: pathlib.Path) -> None:
    probe = _probes.cpu_probe(proc)
    (proc / "stat").write_text(STAT_LATER)
    assert probe.sample() == {"cpu_util_simple": pytest.approx(50.0)}
    assert probe.sample() == {}


def test_memory(proc: pathlib.Path) -> None:
    assert _probes.memory_probe(proc).sample() == {"memory_free": 60 * 1024.0}


def test_disk(proc: pathlib.Path) -> None:
    # A disk's numbers include its partitions; a partition without its disk counts.
    assert _probes.disk_counters(proc) == {
        "disk_iops": 30.0 + 4.0 + 2.0,
        "disk_throughput_read": (100 + 2 + 1) * 512.0,
        "disk_throughput_write": (200 + 4 + 1) * 512.0,
    }
    sample = _probes.disk_probe(["/", "/no/such/place"], proc).sample()
    inner = sample["/"]
    assert isinstance(inner, dict) and 0 <= inner["disk_util"] <= 100
    assert "/no/such/place" not in sample


def test_network(proc: pathlib.Path) -> None:
    expected = {"net_throughput_recv": 107.0, "net_throughput_sent": 58.0}
    assert _probes.network_counters(proc) == expected


def test_nothing_to_read(tmp_path: pathlib.Path) -> None:
    for make in (_probes.cpu_probe, _probes.memory_probe, _probes.network_probe):
        assert make(tmp_path).sample() == {}
    assert _probes.disk_probe([], tmp_path).sample() == {}


def test_rates() -> None:
    clock: Iterator[float] = iter([10.0, 12.0, 14.0])
    counters: Iterator[Dict[str, float]] = iter([{"a": 5.0}, {"a": 9.0, "b": 1.0}, {"a": 1.0}])
    rates = _probes.Rates(lambda: next(counters), lambda: next(clock))
    assert rates.sample() == {"a": 2.0}
    assert rates.sample() == {"a": 0.0}


def test_average() -> None:
    samples: List[_probes.Sample] = [{"a": 1.0, "g": {"x": 2.0}}, {"a": 3.0}, {"g": {"x": 4.0}}]
    assert _probes.average(samples) == {"a": 2.0, "g": {"x": 3.0}}
    assert _probes.average([{}]) == {}


class StandInForNVML(types.ModuleType):
    """The functions of pynvml that are called: two GPUs, the second one divided."""

    class NVMLError(Exception):
        pass

    broken = False

    def nvmlInit(self) -> None:
        if self.broken:
            raise self.NVMLError("Driver Not Loaded")

    def nvmlDeviceGetCount(self) -> int:
        return 2

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetUUID(self, device: int) -> Any:
        return (b"GPU-aaaa", "GPU-bbbb")[device]

    def nvmlDeviceGetMemoryInfo(self, device: int) -> Any:
        return types.SimpleNamespace(used=2**30, total=4 * 2**30)

    def nvmlDeviceGetUtilizationRates(self, device: int) -> Any:
        if device == 1:
            raise self.NVMLError("Not Supported")
        return types.SimpleNamespace(gpu=50)


def test_gpus_from_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    nvml = StandInForNVML("pynvml")
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.setenv("PATH", "")
    assert gpu.get_gpus() == [
        gpu.GPU(0, "GPU-aaaa", 0.5, 2.0**30, 2.0**32),
        gpu.GPU(1, "GPU-bbbb", 0.0, 2.0**30, 2.0**32),
    ]
    with monkeypatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "1")
        assert gpu.get_gpu_uuids() == ["GPU-bbbb"]
    nvml.broken = True
    assert gpu.get_gpus() == []


def test_gpus_of_amd(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of two AMD GPUs, beside those of a display and of another vendor's GPU."""
    files = {
        "card0": {"vendor": "0x1a03"},
        "card2": {
            "vendor": "0x1002",
            "unique_id": "aa01",
            "gpu_busy_percent": "25",
            "mem_info_vram_used": "1024",
            "mem_info_vram_total": "4096",
        },
        "card10": {"vendor": "0x1002", "unique_id": "bb02", "mem_info_vram_total": "4096"},
        "card2-DP-1": {"vendor": "0x1002", "mem_info_vram_total": "4096"},
        "card11": {"vendor": "0x10de", "mem_info_vram_total": "4096"},
    }
    for card, named in files.items():
        (tmp_path / card / "device").mkdir(parents=True)
        for name, text in named.items():
            (tmp_path / card / "device" / name).write_text(text + "\n")
    monkeypatch.setattr(gpu, "_DRM", tmp_path)
    monkeypatch.setenv("PATH", "")
    assert gpu.get_gpus() == [
        gpu.GPU(0, "GPU-aa01", 0.25, 1024.0, 4096.0),
        gpu.GPU(1, "GPU-bb02", 0.0, 0.0, 4096.0),
    ]
    for variable, value, seen in (
        ("ROCR_VISIBLE_DEVICES", "1", ["GPU-bb02"]),
        ("HIP_VISIBLE_DEVICES", "0", ["GPU-aa01"]),
        ("ROCR_VISIBLE_DEVICES", "GPU-aa01", ["GPU-aa01"]),
        ("ROCR_VISIBLE_DEVICES", "", []),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert gpu.get_gpu_uuids() == seen, f"{variable}={value}"


def test_gpus(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\n"
        "echo '0, GPU-aaaa, 50, 1024, 4096'\n"
        "echo '1, GPU-bbbb, [N/A], 0, 4096'\n"
        "echo 'No devices were found'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert gpu.get_gpu_uuids() == ["GPU-aaaa", "GPU-bbbb"]
    assert _probes.gpu_probe().sample() == {
        "GPU-aaaa": {"gpu_util": 50.0, "gpu_free_memory": 3072.0 * 2**20},
        "GPU-bbbb": {"gpu_util": 0.0, "gpu_free_memory": 4096.0 * 2**20},
    }
    for variable, value, seen in (
        ("CUDA_VISIBLE_DEVICES", "GPU-bbbb", ["GPU-bbbb"]),
        ("CUDA_VISIBLE_DEVICES", "1,GPU-aa", ["GPU-aaaa", "GPU-bbbb"]),
        ("CUDA_VISIBLE_DEVICES", "0", ["GPU-aaaa"]),
        ("CUDA_VISIBLE_DEVICES", "", []),
        ("CUDA_VISIBLE_DEVICES", "MIG-cccc", []),
        ("NVIDIA_VISIBLE_DEVICES", "all", ["GPU-aaaa", "GPU-bbbb"]),
        ("NVIDIA_VISIBLE_DEVICES", "void", []),
        ("NVIDIA_VISIBLE_DEVICES", "GPU-aaaa", ["GPU-aaaa"]),
        ("NVIDIA_VISIBLE_DEVICES", "3,7", ["GPU-aaaa", "GPU-bbbb"]),
    ):
        with monkeypatch.context() as patch:
            patch.setenv(variable, value)
            assert gpu.get_gpu_uuids() == seen, f"{variable}={value}"
            assert sorted(_probes.gpu_probe().sample()) == seen
    with monkeypatch.context() as patch:
        # A worker that uses one GPU still reports all GPUs of the task.
        patch.setenv("NVIDIA_VISIBLE_DEVICES", "GPU-aaaa,GPU-bbbb")
        patch.setenv("CUDA_VISIBLE_DEVICES", "0")
        assert gpu.get_gpu_uuids() == ["GPU-aaaa", "GPU-bbbb"]
    program.write_text("#!/bin/sh\nexit 9\n")
    assert gpu.get_gpus() == []
    monkeypatch.setenv("PATH", "")
    assert gpu.get_gpus() == []


def test_reports(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    taken = {"dear": 0}

    def dear() -> _probes.Sample:
        taken["dear"] += 1
        return {"GPU-1": {"gpu_util": 5.0}}

    probes = [
        _probes.Probe("cpu", lambda: {"cpu_util_simple": 10.0}),
        _probes.Probe("gpu", dear, once=True),
        _probes.Probe("disk", dict),
    ]
    with core.init() as context:
        collector = _Collector(context._metrics, "node-1", 0.001, 3, probes)
        collector.start()
        stub.wait_for(lambda: len(stub.order) >= 4)
        collector.stop()
    groups = {group for _, group, _ in stub.order}
    assert groups == {"cpu", "gpu"}
    bodies = [request.json for request in stub.sent("POST", "metrics")]
    for body in bodies:
        assert body["metrics"]["stepsCompleted"] is None
        assert body["metrics"]["reportTime"]
        values = body["metrics"]["metrics"]["avgMetrics"]
        if body["group"] == "cpu":
            assert values == {"node-1": {"cpu_util_simple": 10.0}}
        else:
            assert values == {"node-1": {"GPU-1": {"gpu_util": 5.0}}}
    times = {group: [key[2] for key in stub.order if key[1] == group] for group in groups}
    # All groups of a round have the same time.
    assert times["cpu"][: len(times["gpu"])] == times["gpu"][: len(times["cpu"])]
    rounds = len(stub.order) / 2
    assert rounds <= taken["dear"] <= rounds + 1


METRICS = ("POST", "/api/v1/trials/12/metrics")


def test_training_hears_what_is_refused(stub: Stub, make_task: MakeTask) -> None:
    """The profiler reports in between, and does not consume an error meant for training."""
    make_task()
    stub.replies[METRICS] = [error(400, "InvalidArgument", "no such metric"), (200, {})]
    probes = [_probes.Probe("cpu", lambda: {"cpu_util_simple": 10.0})]
    with core.init() as context:
        context.train.report_training_metrics(1, {"loss": 1.0})
        stub.wait_for(lambda: stub.replies[METRICS] == [(200, {})])
        collector = _Collector(context._metrics, "node-1", 0.001, 1, probes)
        collector.start()
        stub.wait_for(lambda: len(stub.sent("POST", "/metrics")) >= 4)
        collector.stop()
        with pytest.raises(errors.APIException, match="no such metric"):
            context.train.report_training_metrics(2, {"loss": 1.0})


def test_refused_system_metrics_do_not_end_training(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    stub.replies[METRICS] = [error(400, "InvalidArgument", "no such group"), (200, {})]
    probes = [_probes.Probe("cpu", lambda: {"cpu_util_simple": 10.0})]
    with core.init() as context:
        collector = _Collector(context._metrics, "node-1", 0.001, 1, probes)
        collector.start()
        collector.join(DEADLINE)
        assert not collector.is_alive()
        context.train.report_training_metrics(1, {"loss": 1.0})


def test_real_machine(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        context.profiler.on(0.1, 2)
        context.profiler.on(0.1, 2)
        stub.wait_for(lambda: {"memory"} <= {group for _, group, _ in stub.order})
        context.profiler.off()
        context.profiler.off()


def test_mistakes_are_named(stub: Stub, make_task: MakeTask) -> None:
    make_task()
    with core.init() as context:
        with pytest.raises(ValueError, match="at least 0.1 s"):
            context.profiler.on(sampling_interval=0)
        with pytest.raises(ValueError, match="above 0"):
            context.profiler.on(samples_per_report=0)
