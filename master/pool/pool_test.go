package pool

import (
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

func TestSetFindsPools(t *testing.T) {
	set := Set{{Name: "gpu", Compute: true}, {Name: "aux", Aux: true}}
	if p := set.Named("aux"); p != &set[1] {
		t.Errorf("aux is %+v", p)
	}
	if p := set.Named("gone"); p != nil {
		t.Errorf("found %+v", p)
	}
	for slots, want := range map[int]string{1: "gpu", 8: "gpu", -1: "gpu", 0: "aux"} {
		if p := set.Default(slots); p == nil || p.Name != want {
			t.Errorf("%d slots go to %+v", slots, p)
		}
	}
	if p := set[1:].Default(1); p != nil {
		t.Errorf("without a pool for slots they go to %s", p.Name)
	}
}

func TestDevices(t *testing.T) {
	for _, c := range []struct {
		slots  Slots
		count  int
		device string
		kind   expconf.DeviceType
	}{
		{Slots{Kind: CPUSlots, Device: "nvidia/gpu"}, 1, "", expconf.CPU},
		{Slots{Kind: DeviceSlots, Device: "nvidia/gpu"}, 2, "nvidia/gpu", expconf.CUDA},
		{Slots{Kind: DeviceSlots, Device: "nvidia/gpu/NVIDIA H200"}, 1, "nvidia/gpu/NVIDIA H200", expconf.CUDA},
		{Slots{Kind: DeviceSlots, Device: "amd/gpu"}, 1, "amd/gpu", expconf.ROCM},
		{Slots{Kind: DeviceSlots, Device: "amd/gpu"}, 0, "amd/gpu", expconf.CPU},
	} {
		p := Pool{Slots: c.slots}
		if p.Device() != c.device || p.DeviceType(c.count) != c.kind {
			t.Errorf("%d of %+v: %s, %s", c.count, c.slots, p.Device(), p.DeviceType(c.count))
		}
	}
}

func TestWhatDriversCan(t *testing.T) {
	all := expconf.Capabilities{Containers: true, BindMounts: true, Storage: []string{expconf.SharedFS, expconf.S3}}
	limits := &expconf.ContainerLimits{HostPaths: []string{"/data"}}
	for driver, want := range map[string]struct {
		images, mounts, folder bool
	}{RawExec: {false, true, true}, Exec: {false, false, false}, Docker: {true, true, true}} {
		p := Pool{Driver: driver, Limits: limits}
		can := p.Can(all)
		if can.Containers != want.images || can.BindMounts != want.mounts || slices.Contains(can.Storage, expconf.SharedFS) != want.folder || can.Limits != limits {
			t.Errorf("%s can %+v", driver, can)
		}
	}
	if !slices.Contains(all.Storage, expconf.SharedFS) {
		t.Error("the cluster's own list was changed")
	}
	for policy, shares := range map[SchedulerType]bool{Priority: false, FairShare: true, RoundRobin: false} {
		if p := (Pool{Scheduler: Scheduler{Type: policy}}); p.Can(all).FairShare != shares {
			t.Errorf("%s: weights count: not %v", policy, shares)
		}
	}
	if p := (Pool{Driver: Docker}); p.Can(expconf.Capabilities{}).Containers {
		t.Error("a pool can do what its cluster cannot")
	}
}

func TestDatacenters(t *testing.T) {
	p := Pool{Datacenters: []string{"north", "south-*"}}
	for dc, want := range map[string]bool{"north": true, "south-1": true, "northern": false, "": false} {
		if p.Reaches(dc) != want {
			t.Errorf("%q: %t", dc, !want)
		}
	}
	if any := (Pool{}); !any.Reaches("dc1") {
		t.Error("a pool without datacenters takes none")
	}
}

func TestSlotsOfANode(t *testing.T) {
	for _, c := range []struct {
		slots        Slots
		cores, mb, n int
	}{
		{Slots{CoresPerSlot: 2, MemoryMBPerSlot: 1000}, 9, 3500, 3},
		{Slots{CoresPerSlot: 2}, 9, 0, 4},
		{Slots{MemoryMBPerSlot: 1000}, 0, 3500, 3},
		{Slots{}, 9, 9000, 0},
		{Slots{CoresPerSlot: 1, MaxPerNode: 2}, 9, 0, 2},
	} {
		if n := c.slots.AtMost(c.slots.OfNode(c.cores, 0, c.mb)); n != c.n {
			t.Errorf("%+v makes %d of %d cores and %d MB", c.slots, n, c.cores, c.mb)
		}
	}
}

// TestVolumesUnderExec: a volume may not be in the place of what Nomad and the runner start from.
func TestVolumesUnderExec(t *testing.T) {
	for target, hidden := range map[string]string{"/": "/alloc", "/bin": "/bin", "/usr/local/bin": "/usr", "/lib64": "/lib64", "/lib": "/lib", "/data/../bin": "/bin", "//etc": "/etc",
		"/run/determined": "/run", "/alloc/det": "/alloc", "/secrets": "/secrets", "/local/x": "/local", "/data": "", "/mnt/bin": "", "/binary": "", "/home/me": ""} {
		if got := HiddenUnderExec(target); got != hidden {
			t.Errorf("a volume at %s hides %q, want %q", target, got, hidden)
		}
	}
}
