//go:build cgo && linux

package nvidia

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxa100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/dgxh100"
	"github.com/NVIDIA/go-nvml/pkg/nvml/mock/server"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

// groupsOf writes the groups of a scan by the places of the GPUs: "0123 4567".
func groupsOf(m *machine, scan gpus.Scan) string {
	var words []string
	for _, group := range scan.Linked {
		word := ""
		for _, id := range group {
			word += fmt.Sprint(slices.Index(m.ids(), id))
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// nvlinks reads pairs such as "01 23".
func nvlinks(pairs string) func(i, j int) nvml.GpuP2PStatus {
	return func(i, j int) nvml.GpuP2PStatus {
		if slices.Contains(strings.Fields(pairs), fmt.Sprint(min(i, j))+fmt.Sprint(max(i, j))) {
			return nvml.P2P_STATUS_OK
		}
		return nvml.P2P_STATUS_NOT_SUPPORTED
	}
}

// tree is the common ancestor of GPUs of which each two are behind a PCIe switch, and each four of a processor.
func tree(i, j int) nvml.GpuTopologyLevel {
	switch {
	case i/2 == j/2:
		return nvml.TOPOLOGY_SINGLE
	case i/4 == j/4:
		return nvml.TOPOLOGY_NODE
	}
	return nvml.TOPOLOGY_SYSTEM
}

// processors is the common ancestor of GPUs of which each four are of a processor.
func processors(i, j int) nvml.GpuTopologyLevel { return max(tree(i, j), nvml.TOPOLOGY_HOSTBRIDGE) }

func all(int, int) nvml.GpuP2PStatus { return nvml.P2P_STATUS_OK }

// TestLinks groups the GPUs of several kinds of machines.
func TestLinks(t *testing.T) {
	for name, test := range map[string]struct {
		nvlink   func(i, j int) nvml.GpuP2PStatus
		ancestor func(i, j int) nvml.GpuTopologyLevel
		want     string
	}{
		"nothing is known":           {nil, nil, ""},
		"switches of NVLink":         {all, tree, "01234567"},
		"two islands":                {nvlinks("01 02 03 12 13 23 45 46 47 56 57 67"), tree, "0123 4567"},
		"bridges":                    {nvlinks("04 15 26 37"), tree, "04 15 26 37"},
		"bridges of some":            {nvlinks("01 45"), tree, "01 45"},
		"a cube mesh":                {nvlinks("01 02 03 12 13 23 45 46 47 56 57 67 04 15 26 37"), tree, "0123 4567"},
		"only switches of PCIe":      {nil, tree, "01 23 45 67"},
		"only processors":            {nvlinks(""), processors, "0123 4567"},
		"one processor":              {nil, func(int, int) nvml.GpuTopologyLevel { return nvml.TOPOLOGY_HOSTBRIDGE }, "01234567"},
		"each of a processor":        {nil, func(int, int) nvml.GpuTopologyLevel { return nvml.TOPOLOGY_SYSTEM }, ""},
		"a level that is not known":  {nil, func(int, int) nvml.GpuTopologyLevel { return 60 }, ""},
		"a status that is not known": {func(int, int) nvml.GpuP2PStatus { return nvml.P2P_STATUS_UNKNOWN }, tree, "01 23 45 67"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, dgxh100.New())
			m.nvlink, m.ancestor = test.nvlink, test.ancestor
			l, err := open(m, devRoot(t))
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if got := groupsOf(m, scanned(t, l)); got != test.want {
					t.Errorf("%q, want %q", got, test.want)
				}
			}
			if want := 2 * 28; m.linkCalls != want {
				t.Errorf("%d calls for 28 pairs in two scans, want %d", m.linkCalls, want)
			}
		})
	}
}

// TestLinksOfALostGPU: the groups of a GPU that does not answer stay as they were, and so do those of the others.
func TestLinksOfALostGPU(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	m.set(func() { m.nvlink = nvlinks("01 23 45 67") })
	expect := func(when, want string) {
		t.Helper()
		if got := groupsOf(m, scanned(t, l)); got != want {
			t.Errorf("%s: %q, want %q", when, got, want)
		}
	}
	expect("at first", "01 23 45 67")
	m.set(func() { m.lost[m.ids()[2]] = true })
	expect("one is lost", "01 23 45 67")
	m.set(func() { m.gone[2] = true })
	expect("the driver does not list it", "01 23 45 67")
	m.set(func() { clear(m.lost); clear(m.gone); m.unknown[m.ids()[0]] = true })
	expect("another one does not answer", "01 23 45 67")
	m.set(func() { clear(m.unknown); m.links[m.ids()[6]] = 17; m.nvlink = nvlinks("01 23 45") })
	expect("a link went down", "01 23 45")
}

// TestLostFromTheBeginning: the links of a GPU that was missing at the start are read when it is there.
func TestLostFromTheBeginning(t *testing.T) {
	m := newMachine(t, dgxh100.New())
	m.nvlink = nvlinks("01 23 45 67")
	m.gone[0] = true
	l, err := open(m, devRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := groupsOf(m, scanned(t, l)); got != "23 45 67" {
		t.Errorf("without the first: %q", got)
	}
	m.set(func() { clear(m.gone) })
	if got := groupsOf(m, scanned(t, l)); !strings.Contains(got, "01") && !strings.Contains(got, "10") || len(strings.Fields(got)) != 4 {
		t.Errorf("with it: %q", got)
	}
}

// TestLinksOfParts: a GPU in parts has no links.
func TestLinksOfParts(t *testing.T) {
	m, l := openOn(t, dgxa100.New())
	m.set(func() { m.nvlink = nvlinks("01 23 45 67") })
	m.splitUp(m.Devices[0].(*server.Device))
	if got := groupsOf(m, scanned(t, l)); got != "23 45 67" {
		t.Error(got)
	}
}

// TestLinksAfterAnError: what the library could not answer is asked again, and a driver without the functions is not asked.
func TestLinksAfterAnError(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	m.set(func() { m.nvlink, m.ancestor, m.linkCode = nvlinks("01"), tree, nvml.ERROR_UNKNOWN })
	if got := groupsOf(m, scanned(t, l)); got != "" {
		t.Errorf("without an answer: %q", got)
	}
	m.set(func() { m.linkCode = nvml.SUCCESS })
	if got := groupsOf(m, scanned(t, l)); got != "01" {
		t.Errorf("with one: %q", got)
	}
	old := newMachine(t, dgxh100.New())
	old.symbols, old.nvlink = errors.New("undefined symbol"), all
	l, err := open(old, devRoot(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := groupsOf(old, scanned(t, l)); got != "" || old.linkCalls != 0 {
		t.Errorf("a driver that lacks the functions: %q, %d calls", got, old.linkCalls)
	}
}

// TestLinksThatHang: a call about links does not return. The GPUs are described all the same, the call is not repeated and the
// library is not begun again under it; when it returns, the groups are known.
func TestLinksThatHang(t *testing.T) {
	m, l := openOn(t, dgxh100.New())
	past := make(chan time.Time)
	close(past)
	l.late = func(index int, _ time.Time) (<-chan time.Time, func() bool) {
		if index < 0 {
			return past, func() bool { return false }
		}
		return nil, func() bool { return false }
	}
	hang, asked := make(chan struct{}), make(chan struct{}, 1)
	m.set(func() { m.nvlink, m.linkHang, m.linkAsked = nvlinks("01 23"), hang, asked })
	for i := range 3 {
		scan := scanned(t, l)
		if len(scan.GPUs) != 8 || scan.GPUs[7].Model == "" || scan.GPUs[7].Unanswered != "" || len(scan.Linked) != 0 {
			t.Fatalf("%+v", scan)
		}
		if i == 0 {
			<-asked // a scan does not wait until the call has begun
		}
	}
	begun := m.begun
	m.set(func() { m.gone[7] = true }) // for which the library would begin again
	scanned(t, l)
	if m.begun != begun {
		t.Error("the library was begun again while a call was under way")
	}
	m.set(func() {
		if clear(m.gone); m.linkCalls != 1 {
			t.Errorf("%d calls", m.linkCalls)
		}
		m.linkHang = nil
	})
	close(hang)
	l.late = late
	if got := groupsOf(m, scanned(t, l)); got != "01 23" {
		t.Errorf("after the call has returned: %q", got)
	}
}
