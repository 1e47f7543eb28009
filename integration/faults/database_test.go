package faults

import (
	"os"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// outage is how long a part is unavailable; with DETENT_LONG_OUTAGE as long as the documentation
// promises.
func outage(short, promised time.Duration) time.Duration {
	if os.Getenv("DETENT_LONG_OUTAGE") != "" {
		return promised
	}
	return short
}

// lastFor waits for the length of an outage, and fails the test if the training ends meanwhile.
func lastFor(t testing.TB, k *rig.Training, began time.Time, outage time.Duration) {
	t.Helper()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for time.Since(began) < outage {
		select {
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-tick.C:
		}
		if ends := k.Lines(t, "ends"); len(ends) > 0 {
			t.Fatalf("the training ended %s into the outage", time.Since(began))
		}
	}
}

// TestDatabaseIsAwayUnderTheUnmodifiedHarness: Determined's own package, from
// PyPI, repeats a request for about 20 seconds and then fails the training. The
// runner holds its requests, so it never learns that there was an outage.
//
// The outage is twice as long as that package repeats requests; with DETENT_LONG_OUTAGE=1 it is the
// two minutes of the documentation. Calls that need an answer, such as a checkpoint's report, wait
// until the end of the outage; other calls continue.
func TestDatabaseIsAwayUnderTheUnmodifiedHarness(t *testing.T) {
	outage := outage(40*time.Second, 2*time.Minute)
	r := rig.Start(t)
	python, err := pyenv.Named(t.Context(), "compat", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	k := r.Train(t, rig.TrainOptions{Python: python, Pause: 0.2})
	k.Advance(t, rig.CheckpointEvery)
	before := k.Steps(t)
	began := r.Kill9(t, "postgres")
	t.Cleanup(func() { r.StartPart(t, "postgres") })
	lastFor(t, k, began, outage)
	during := k.Steps(t)
	r.StartPart(t, "postgres")
	t.Logf("away for %s: step %d before, %d at its end", time.Since(began).Round(time.Millisecond), before, during)
	k.CheckAlone(t)
	k.Advance(t, 2*rig.CheckpointEvery)
	r.Healthy(t)
	k.Finish(t)
	k.CheckWhole(t)
}
