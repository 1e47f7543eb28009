package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/nomad/local"
)

// TestUpChecksTheConfiguration: what is wrong with the lines of the file is said before anything starts, with the user's own path; what
// concerns no line, because the master's job adds it, is not an error yet.
func TestUpChecksTheConfiguration(t *testing.T) {
	dir := t.TempDir()
	file, program := filepath.Join(dir, "master.yaml"), filepath.Join(dir, "det-master")
	for says, want := range map[string]string{
		"":                                    "",
		file + ":2:1: foo: no such key":       "the master's configuration is not right:\n  " + file + ":2:1: foo: no such key",
		"public_url: expected an address":     "",
		"/elsewhere.yaml:1:1: a: no such key": "",
	} {
		text := "#!/bin/sh\n[ \"$1 $2 $3\" = \"check-config --config " + file + "\" ] || exit 0\n"
		if says != "" {
			text += "echo 'det-master: the configuration has a problem:' >&2\necho '  " + says + "' >&2\nexit 1\n"
		}
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
		got := ""
		if err := checkConfig(t.Context(), program, file); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", says, got, want)
		}
	}
}

// TestPortOfTheMaster: what is no port is not taken for one in use.
func TestPortOfTheMaster(t *testing.T) {
	for _, port := range []int{-1, 65536, 99999} {
		_, err := upOptions{agents: 1, masterPort: port}.options(t.Context())
		var usage *exit.UsageError
		if !errors.As(err, &usage) || !strings.Contains(usage.Message, "--master-port must be from 1 to 65535") {
			t.Errorf("%d: %v", port, err)
		}
	}
}

// TestHintsNameTheCluster: a command that det suggests is about the same cluster.
func TestHintsNameTheCluster(t *testing.T) {
	state := t.TempDir()
	t.Setenv("DETENT_STATE", state)
	usual, err := local.DefaultStateDir("b")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, dir, want string }{
		{local.DefaultName, "", "cluster-up`"}, {"b", "", "cluster-up --cluster-name b`"}, {"b", usual, "cluster-up --cluster-name b`"},
		{"b", filepath.Join(state, "x"), "cluster-up --cluster-name b --state-dir " + filepath.Join(state, "x") + "`"},
	} {
		if _, err := (&where{name: c.name, dir: c.dir}).load(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
