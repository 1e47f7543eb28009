package local

import (
	"strings"
	"testing"
)

// TestRootOfAContainer: root that may not mount is told so before anything starts; others need no such right.
func TestRootOfAContainer(t *testing.T) {
	const whole, docker = "Name:\tdet\nCapPrm:\t0000000000000000\nCapEff:\t000001ffffffffff\n", "CapEff:\t00000000a80425fb\n"
	for _, c := range []struct {
		uid    int
		status string
		fails  bool
	}{{0, whole, false}, {0, docker, true}, {1000, docker, false}, {1000, "CapEff:\t0000000000000000\n", false}, {0, "", false}} {
		err := mayMount(c.uid, c.status)
		if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "run the command as another user") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
