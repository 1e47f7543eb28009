package main

import (
	"io"
	"testing"

	"github.com/detent-ml/detent/master/server"
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

// TestVariablesOfAnImport: the variables that say who asks the old master are no keys of the configuration, so the command starts with them.
func TestVariablesOfAnImport(t *testing.T) {
	environ := []string{"DETENT_DATABASE=postgres://a/b"}
	who, err := asker(func(name string) string {
		environ = append(environ, name+"=x")
		return "x"
	}, "")
	if err != nil || who.Token != "x" || who.User != "x" || who.Password != "x" {
		t.Fatalf("%+v, %v", who, err)
	}
	if _, err := server.LoadConfig("", environ, nil); err != nil {
		t.Error(err)
	}
}
