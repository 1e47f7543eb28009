package servers

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

func TestReservations(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("DETENT_CACHE", cache)
	mine, yours := t.TempDir(), t.TempDir()
	for _, c := range []struct {
		what, folder string
		got          bool
	}{
		{"tasks 20000", mine, true}, {"tasks 20000", mine, true}, {"tasks 20000", yours, false}, {"tasks 21200", yours, true},
	} {
		if got := ReserveFor(c.what, c.folder); got != c.got {
			t.Errorf("%s for %s: %v", c.what, c.folder, got)
		}
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	if !ReserveFor("tasks 20000", yours) {
		t.Error("a reservation outlives its folder")
	}
	if !reserve("port 1", reservation{Until: time.Now().Add(-time.Second)}) || !reserve("port 1", reservation{Until: time.Now().Add(time.Hour)}) {
		t.Error("a port stays reserved beyond its time")
	}
	if reserve("port 1", reservation{Until: time.Now().Add(time.Hour)}) {
		t.Error("a reserved port is given away")
	}
	if err := os.WriteFile(filepath.Join(cache, "reservations.json"), []byte(`{"port`), 0o600); err != nil {
		t.Fatal(err)
	}
	if !reserve("port 1", reservation{Until: time.Now().Add(time.Hour)}) {
		t.Error("a damaged file keeps everything reserved")
	}
}

// TestFreePortsAreGivenOnce asks for many at the same time.
func TestFreePortsAreGivenOnce(t *testing.T) {
	t.Setenv("DETENT_CACHE", t.TempDir())
	const askers, each = 8, 25
	var mu sync.Mutex
	given := map[int]bool{}
	var wg sync.WaitGroup
	for range askers {
		wg.Go(func() {
			for range each {
				port, err := FreePort()
				mu.Lock()
				if err != nil || given[port] {
					t.Errorf("port %d: given before: %v, error %v", port, given[port], err)
				}
				given[port] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
