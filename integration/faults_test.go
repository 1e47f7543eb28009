package integration

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// chance is the source of a test's random moments. Its seed is printed, and
// DETENT_FAULT_SEED repeats one.
func chance(t testing.TB) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if s := os.Getenv("DETENT_FAULT_SEED"); s != "" {
		var err error
		if seed, err = strconv.ParseUint(s, 10, 64); err != nil {
			t.Fatalf("DETENT_FAULT_SEED: %v", err)
		}
	}
	t.Logf("the moments are those of DETENT_FAULT_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// TestMasterIsKilledTenTimes: a master may be killed at any moment of a training,
// also while it is starting. Nomad starts it again, and nobody notices.
func TestMasterIsKilledTenTimes(t *testing.T) {
	r := start(t)
	random := chance(t)
	k := r.train(t, trainOptions{})
	var last proc.ID
	for kill := range 10 {
		k.advance(t, random.IntN(12)) // steps go on without the master
		master := r.master(t, last)
		if random.IntN(3) > 0 {
			r.healthy(t)
		}
		at := k.steps(t)
		killed := r.kill9(t, "master")
		last = master
		next := r.master(t, last)
		t.Logf("kill %d at step %d: process %d; process %d after %s", kill+1, at, master.Pid, next.Pid, time.Since(killed).Round(time.Millisecond))
		k.checkAlone(t)
	}
	r.healthy(t)
	k.advance(t, 5)
	// And once more while it ends: its last reports and its exit find no master.
	if err := k.askToEnd(); err != nil {
		t.Fatal(err)
	}
	r.kill9(t, "master")
	k.finish(t)
	k.checkWhole(t)
}

// master waits for the process of a master that is another one than before.
func (r *rig) master(t testing.TB, before proc.ID) proc.ID {
	t.Helper()
	p := r.part(t, "master")
	var id proc.ID
	eventually(t, "another process of the master", func() (bool, error) {
		list, err := p.Processes(t.Context())
		if err != nil || len(list) != 1 || list[0] == before {
			return false, fmt.Errorf("processes %v: %w", list, err)
		}
		id = list[0]
		return true, nil
	})
	return id
}

// TestPartsAreKilledUnderATraining: so may everything that the master leans on.
func TestPartsAreKilledUnderATraining(t *testing.T) {
	r := start(t)
	random := chance(t)
	k := r.train(t, trainOptions{})
	for _, name := range []string{"postgres", "consul", "nomad", "client"} {
		t.Run(name, func(t *testing.T) {
			k.advance(t, random.IntN(12))
			at := k.steps(t)
			killed := r.kill9(t, name)
			t.Cleanup(func() { r.startPart(t, name) })
			k.advance(t, 1+random.IntN(12)) // it goes on while the part is away
			r.startPart(t, name)
			r.healthy(t)
			t.Logf("killed at step %d, well again after %s, at step %d", at, time.Since(killed).Round(time.Millisecond), k.steps(t))
			k.checkAlone(t)
		})
	}
	k.advance(t, 5)
	k.finish(t)
	k.checkWhole(t)
}
