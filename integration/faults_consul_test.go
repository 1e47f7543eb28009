package integration

import (
	"strings"
	"testing"
)

// TestConsulIsAway: what runs goes on and is found where it was found last; what is
// new runs too where Nomad needs no token of Consul's for it, and else as soon as
// Consul is back.
func TestConsulIsAway(t *testing.T) {
	r := start(t)
	running := r.train(t, trainOptions{})
	out, err := r.det(t, "shell", "start", "-d", "--config", "resources.slots=0")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	shell := strings.TrimSpace(out)
	defer func() {
		if out, err := r.det(t, "shell", "kill", shell); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}()
	login := func(when string) {
		t.Helper()
		if out, err := r.det(t, "shell", "open", shell, "--", "echo inside"); err != nil || !strings.HasSuffix(out, "inside\n") {
			t.Errorf("a login to a shell, %s: %v\n%s", when, err, out)
		}
	}
	login("at first")

	r.kill9(t, "consul")
	t.Cleanup(func() { r.startPart(t, "consul") })
	login("while Consul is away")
	running.advance(t, 5)
	fresh := r.submitTraining(t, trainOptions{})
	if !guarded() {
		fresh.follow(t)
	}
	running.advance(t, 5)
	r.startPart(t, "consul")
	r.healthy(t)
	fresh.follow(t)
	login("with Consul back")
	for _, k := range []*training{running, fresh} {
		k.checkAlone(t)
		k.finish(t)
		k.checkWhole(t)
	}
}
