package main

import (
	"io"
	"testing"
)

// TestExitStatus: a wrong command line exits with 2, as in det and det-runner; a command that
// fails exits with 1.
func TestExitStatus(t *testing.T) {
	for want, lines := range map[int][][]string{
		2: {{"nonsense"}, {"serve", "--nonsense"}, {"check-config", "x", "y"}, {"check-config", "--config", "x", "y"}},
		1: {{"check-config", "--config", "/nowhere.yaml"}, {"check-config", "/nowhere.yaml"}, {"serve", "--set", "nonsense=1"}},
	} {
		for _, args := range lines {
			c := command()
			c.SetArgs(args)
			c.SetOut(io.Discard)
			if err := c.Execute(); err == nil || status(err) != want {
				t.Errorf("%v ends with %d (%v), want %d", args, status(err), err, want)
			}
		}
	}
}
