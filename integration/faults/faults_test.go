package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// randomMoments is the random source of a test. The test prints its seed, and DETENT_FAULT_SEED sets it.
func randomMoments(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("DETENT_FAULT_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("DETENT_FAULT_SEED: %v", err)
		}
	}
	t.Logf("DETENT_FAULT_SEED=%d repeats the random moments of this run", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestMasterIsKilledTenTimes: the master is killed at random moments of a training, also while it
// starts. Nomad restarts it, and the training loses nothing.
func TestMasterIsKilledTenTimes(t *testing.T) {
	r := rig.Start(t)
	random := randomMoments(t)
	k := r.Train(t, rig.TrainOptions{})
	var last proc.ID
	for kill := range 10 {
		k.Advance(t, random.IntN(12)) // steps continue without the master
		master := masterAfter(t, r, last)
		if random.IntN(3) > 0 {
			r.Healthy(t)
		}
		at := k.Steps(t)
		killed := r.Kill9(t, "master")
		last = master
		next := masterAfter(t, r, last)
		t.Logf("kill %d at step %d: process %d; process %d after %s", kill+1, at, master.Pid, next.Pid, time.Since(killed).Round(time.Millisecond))
		k.CheckAlone(t)
	}
	r.Healthy(t)
	k.Advance(t, 5)
	// Kill the master once more while the training ends, so that its last reports and its exit have to
	// wait.
	if err := k.AskToEnd(); err != nil {
		t.Fatal(err)
	}
	r.Kill9(t, "master")
	k.Finish(t)
	k.CheckWhole(t)
}

// masterAfter waits until the master is another process than before.
func masterAfter(t testing.TB, r *rig.Rig, before proc.ID) proc.ID {
	t.Helper()
	p := r.RunningPart(t, "master")
	var id proc.ID
	rig.Eventually(t, "another process of the master", func() (bool, error) {
		list, err := p.Processes(t.Context())
		if err != nil || len(list) != 1 || list[0] == before {
			return false, fmt.Errorf("processes %v: %w", list, err)
		}
		id = list[0]
		return true, nil
	})
	return id
}

// TestPartsAreKilledUnderATraining kills the servers that the master uses during a training.
func TestPartsAreKilledUnderATraining(t *testing.T) {
	r := rig.Start(t)
	random := randomMoments(t)
	k := r.Train(t, rig.TrainOptions{})
	for _, name := range []string{"postgres", "consul", "nomad", "client"} {
		t.Run(name, func(t *testing.T) {
			k.Advance(t, random.IntN(12))
			at := k.Steps(t)
			killed := r.Kill9(t, name)
			t.Cleanup(func() { r.StartPart(t, name) })
			k.Advance(t, 1+random.IntN(12)) // it continues while the part is away
			r.StartPart(t, name)
			r.Healthy(t)
			t.Logf("killed at step %d, healthy again after %s, at step %d", at, time.Since(killed).Round(time.Millisecond), k.Steps(t))
			k.CheckAlone(t)
		})
	}
	k.Advance(t, 5)
	k.Finish(t)
	k.CheckWhole(t)
}
