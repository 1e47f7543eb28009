package integration

import (
	"os"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// outage is how long a part is away: as long as is promised, when that is asked for.
func outage(short, promised time.Duration) time.Duration {
	if os.Getenv("DETENT_LONG_OUTAGE") != "" {
		return promised
	}
	return short
}

// lastFor lets an outage last, and wants the training not to end in it.
func (k *training) lastFor(t testing.TB, began time.Time, outage time.Duration) {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for time.Since(began) < outage {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-tick.C:
		}
		if ends := k.lines(t, "ends"); len(ends) > 0 {
			t.Fatalf("the training ended %s into the outage", time.Since(began))
		}
	}
}

// TestDatabaseIsAwayUnderTheUnmodifiedHarness: Determined's own package, from
// PyPI, repeats a request for about 20 seconds and then fails the training. The
// runner holds its requests, so it never learns that there was an outage.
//
// The outage is twice as long as that package's patience; the two minutes that are
// promised it lasts with DETENT_LONG_OUTAGE=1. What waits for the master's word, as
// a checkpoint does, waits that long; what does not goes on.
func TestDatabaseIsAwayUnderTheUnmodifiedHarness(t *testing.T) {
	outage := outage(40*time.Second, 2*time.Minute)
	r := start(t)
	python, err := pyenv.Named(t.Context(), "compat", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	k := r.train(t, trainOptions{python: python, pause: 0.2})
	k.advance(t, checkpointEvery)
	before := k.steps(t)
	began := r.kill9(t, "postgres")
	t.Cleanup(func() { r.startPart(t, "postgres") })
	k.lastFor(t, began, outage)
	during := k.steps(t)
	r.startPart(t, "postgres")
	t.Logf("away for %s: step %d before, %d at its end", time.Since(began).Round(time.Millisecond), before, during)
	k.checkAlone(t)
	k.advance(t, 2*checkpointEvery)
	r.healthy(t)
	k.finish(t)
	k.checkWhole(t)
}
