package faults

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// TestConsulIsAway: while Consul is unavailable, running trainings continue and remain reachable. New
// ones start at once if Nomad needs no Consul token for them, otherwise when Consul is available
// again.
func TestConsulIsAway(t *testing.T) {
	r := rig.Start(t)
	running := r.Train(t, rig.TrainOptions{})
	out, err := r.Det(t, "shell", "start", "-d", "--config", "resources.slots=0")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shell := strings.TrimSpace(out)
	defer func() {
		if out, err := r.Det(t, "shell", "kill", shell); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	login := func(when string) {
		t.Helper()
		if out, err := r.Det(t, "shell", "open", shell, "--", "echo inside"); err != nil || !strings.HasSuffix(out, "inside\n") {
			t.Errorf("a login to a shell, %s: %v\n%s", when, err, out)
		}
	}
	login("at first")

	r.Kill9(t, "consul")
	t.Cleanup(func() { r.StartPart(t, "consul") })
	login("while Consul is away")
	running.Advance(t, 5)
	fresh := r.SubmitTraining(t, rig.TrainOptions{})
	if !rig.Guarded() {
		fresh.Follow(t)
	}
	running.Advance(t, 5)
	r.StartPart(t, "consul")
	r.Healthy(t)
	fresh.Follow(t)
	login("with Consul back")
	for _, k := range []*rig.Training{running, fresh} {
		k.CheckAlone(t)
		k.Finish(t)
		k.CheckWhole(t)
	}
}
