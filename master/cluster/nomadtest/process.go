package nomadtest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// Process is a Nomad agent. A test can kill it, and start it again with the same state.
type Process struct {
	binary, config, log string
	id                  proc.ID
}

func (p *Process) configure(config any) error {
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(p.config, text, 0o600)
}

// Run starts the process, also after Kill.
func (p *Process) Run(t testing.TB) {
	t.Helper()
	process, err := proc.Start(proc.Spec{Path: p.binary, Args: []string{"agent", "-config", p.config}, Dir: filepath.Dir(p.config), Log: p.log,
		Env: append(os.Environ(), "AWS_CA_BUNDLE=")}) // Nomad's AWS client fails on it
	if err != nil {
		t.Fatal(err)
	}
	p.id = process.ID
}

// Kill ends the process without warning.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), stopWithin)
	defer cancel()
	if err := p.id.Kill(ctx); err != nil {
		t.Fatal(err)
	}
}

func (p *Process) end(t testing.TB) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*stopWithin) // a cleanup's context has ended
	defer cancel()
	if err := p.id.Stop(ctx, syscall.SIGTERM, stopWithin); err != nil {
		t.Log(err)
	}
}

// logTail returns the last lines of the log that are not routine.
func (p *Process) logTail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return ": " + err.Error()
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, "[INFO]") && !strings.Contains(line, "[DEBUG]") {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	const most = 20
	return "\n  " + strings.Join(lines[max(0, len(lines)-most):], "\n  ")
}

// Signal sends a signal to the process: SIGSTOP lets it hang until SIGCONT.
func (p *Process) Signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := p.id.Signal(signal); err != nil {
		t.Fatal(err)
	}
}
