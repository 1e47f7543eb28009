package api

import (
	"runtime"
	"testing"

	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// TestTheDocumentsAreMadeOnce: anybody may ask for them, again and again.
func TestTheDocumentsAreMadeOnce(t *testing.T) {
	pgtest.Alone(t)
	r := newRig(t)
	for _, path := range []string{"/api/v1/openapi.json", "/docs/rest-api"} {
		r.anyone().get(path).ok()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range 20 {
			r.anyone().get(path).ok()
		}
		runtime.ReadMemStats(&after)
		if mb := (after.TotalAlloc - before.TotalAlloc) >> 20; mb > 60 { // the client's own copies
			t.Errorf("20 times %s allocate %d MB", path, mb)
		}
	}
}
