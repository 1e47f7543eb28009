package simulated

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/plugins/gpu/gpus"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAlike(t *testing.T) {
	a, err := Fixed(Of(4, "", 0), "one").Scan()
	if err != nil || len(a.GPUs) != 4 || a.Driver == "" || a.CUDA == "" {
		t.Fatalf("%+v, %v", a, err)
	}
	ids := map[string]bool{}
	for _, seed := range []string{"one", "one", "two"} {
		scan, _ := Fixed(Of(4, "", 0), seed).Scan()
		for _, g := range scan.GPUs {
			ids[g.ID] = true
			if len(g.ID) != len("GPU-")+36 || g.Model != Model || g.MemoryMiB != MemoryMiB || g.Instance != -1 {
				t.Errorf("%+v", g)
			}
		}
	}
	if len(ids) != 8 {
		t.Errorf("two seeds make %d ids of four GPUs each, one of them twice", len(ids))
	}
}

// TestInGroups: groups change neither the number nor the ids of GPUs.
func TestInGroups(t *testing.T) {
	for _, test := range []struct {
		state State
		n     int
		want  string
	}{
		{Of(4, "", 0), 2, "[0 1] [2 3]"},
		{Of(5, "", 0), 2, "[0 1] [2 3] [4]"},
		{State{GPUs: []GPU{{Count: 3}, {ID: "GPU-1"}, {Count: 2}}}, 4, "[0 1 2 3] [4 5]"},
		{Of(3, "", 0), 4, "[0 1 2]"},
	} {
		plain, err := Fixed(test.state, "one").Scan()
		if err != nil || len(plain.Linked) != 0 {
			t.Fatalf("%v, %v", plain.Linked, err)
		}
		path := filepath.Join(t.TempDir(), "gpus.yaml")
		if err := Write(path, test.state.InGroups(test.n)); err != nil {
			t.Fatal(err)
		}
		state, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		scan, err := Fixed(state, "one").Scan()
		if err != nil || len(scan.GPUs) != len(plain.GPUs) {
			t.Fatalf("%d GPUs, %v", len(scan.GPUs), err)
		}
		var groups []string
		for _, ids := range scan.Linked {
			var places []int
			for _, id := range ids {
				places = append(places, slices.IndexFunc(plain.GPUs, func(g gpus.GPU) bool { return g.ID == id }))
			}
			groups = append(groups, fmt.Sprint(places))
		}
		if got := strings.Join(groups, " "); got != test.want {
			t.Errorf("groups of %d: %s, want %s", test.n, got, test.want)
		}
	}
}

func TestFileIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.yaml")
	s := Open(path)
	if _, err := s.Scan(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("without a file: %v", err)
	}
	if err := Write(path, Of(2, "A100", 40960)); err != nil {
		t.Fatal(err)
	}
	scan, err := s.Scan()
	if err != nil || len(scan.GPUs) != 2 || scan.GPUs[1].Model != "A100" || scan.GPUs[0].ID == scan.GPUs[1].ID {
		t.Fatalf("%+v, %v", scan, err)
	}
	first := scan.GPUs[0].ID
	write(t, path, "gpus:\n- {model: A100, sick: it smells, uncorrected: 3, lost: true, remap_failed: true}\n- {model: A100, sample: {utilization: 70, memory_used_mib: 5, power_w: 120, temperature_c: 60}}\n")
	if scan, err = s.Scan(); err != nil {
		t.Fatal(err)
	}
	if g := scan.GPUs[0]; g.ID != first || g.Unhealthy != "it smells" || g.Uncorrected != 3 || !g.Lost || !g.RemapFailed {
		t.Errorf("%+v", g)
	}
	if _, err := s.Measure(first); err == nil {
		t.Error("a lost GPU is measured")
	}
	m, err := s.Measure(scan.GPUs[1].ID)
	if err != nil || *m.Utilization != 70 || *m.MemoryUsedMiB != 5 || *m.PowerW != 120 || *m.TemperatureC != 60 || *m.MemoryTotalMiB != MemoryMiB {
		t.Errorf("%+v, %v", m, err)
	}
	write(t, path, "error: Driver/library version mismatch\ngpus: []\n")
	if _, err = s.Scan(); err == nil || !strings.Contains(err.Error(), "mismatch") {
		t.Errorf("a driver that does not answer: %v", err)
	}
}

func TestParts(t *testing.T) {
	state := State{GPUs: []GPU{{Model: "H100", MemoryMiB: 81920, Parts: []Part{{Profile: "1g.10gb", MemoryMiB: 9856}, {Profile: "2g.20gb", ID: "MIG-mine"}}}}}
	s := Fixed(state, "x")
	scan, err := s.Scan()
	if err != nil {
		t.Fatal(err)
	}
	parts := scan.GPUs[0].Devices()
	if len(parts) != 2 || parts[0].Model != "H100 MIG 1g.10gb" || parts[0].MemoryMiB != 9856 || !strings.HasPrefix(parts[0].ID, "MIG-") ||
		parts[1].ID != "MIG-mine" || parts[1].Instance != 2 {
		t.Errorf("%+v", parts)
	}
	if m, err := s.Measure("MIG-mine"); err != nil || m.Utilization != nil || m.MemoryTotalMiB == nil {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := s.Measure("GPU-none"); err == nil {
		t.Error("a device that there is not is measured")
	}
}

func TestBadFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.yaml")
	for text, words := range map[string]string{
		"gpus: [{modell: x}]":             "modell",
		"gpus: [{count: -1}]":             "must be 0 or more",
		"gpus: [{count: 2, id: GPU-1}]":   "for a count of 1",
		"gpus: [{count: 2000}]":           "at most",
		"gpus: 7":                         "gpus",
		"gpus: [{count: 1}, {count: 9999": path,
	} {
		write(t, path, text)
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), words) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := Open(path).Scan(); err == nil {
			t.Errorf("%s: no error from a source", text)
		}
	}
	write(t, path, `{"gpus": [{"count": 3, "model": "JSON"}]}`)
	if s, err := Read(path); err != nil || s.GPUs[0].Count != 3 {
		t.Errorf("JSON: %+v, %v", s, err)
	}
}

// TestEvents: each error that is added is reported once, a list that starts again
// from its beginning.
func TestEvents(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gpus.yaml")
	write(t, path, "gpus: [{id: GPU-1}]")
	var mu sync.Mutex
	var codes []uint64
	wakes := 0
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Open(path).Watch(ctx, func(e gpus.Event) {
			mu.Lock()
			defer mu.Unlock()
			if e.Xid == 0 {
				wakes++
			} else if e.ID == "GPU-1" {
				codes = append(codes, e.Xid)
			}
		})
	}()
	await := func(what string, cond func() bool) {
		t.Helper()
		deadline := time.Now().Add(30 * time.Second)
		for {
			mu.Lock()
			ok := cond()
			mu.Unlock()
			if ok {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v, %d wakes", what, codes, wakes)
			}
			<-time.After(10 * time.Millisecond)
		}
	}
	await("the first look", func() bool { return wakes == 1 })
	write(t, path, "gpus: [{id: GPU-1, xids: [79]}]")
	await("an error", func() bool { return len(codes) == 1 && wakes >= 2 })
	write(t, path, "gpus: [{id: GPU-1, xids: [79, 48, 48]}]")
	await("two more", func() bool { return len(codes) == 3 })
	write(t, path, "gpus: [{id: GPU-1, xids: [62]}]")
	await("a new list", func() bool { return len(codes) == 4 && codes[3] == 62 })
	cancel()
	<-done
	Fixed(State{}, "").Watch(ctx, func(gpus.Event) { t.Error("GPUs that do not change report something") })
}
