package nomadtest

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is one of Nomad's agents. It can be killed and started again with the
// state that it left.
type Process struct {
	binary, config, log string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

func (p *Process) configure(config any) error {
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(p.config, text, 0o600)
}

// Run starts the process, at first or after Kill.
func (p *Process) Run(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	// The test's context ends before its cleanups, which end the process in order.
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), p.binary, "agent", "-config", p.config)
	cmd.Env = append(os.Environ(), "AWS_CA_BUNDLE=") // Nomad's AWS client fails on it
	cmd.Stdout, cmd.Stderr = log, log
	// Ctrl-C in a terminal is for the test, which then ends the process in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		log.Close()
		close(exited)
	}()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cmd, p.exited = cmd, exited
}

// Kill ends the process without warning.
func (p *Process) Kill(t testing.TB) {
	t.Helper()
	if !p.stop(syscall.SIGKILL) {
		t.Fatal("a Nomad agent outlives SIGKILL")
	}
}

func (p *Process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// stop sends a signal, and says whether the process has ended in time.
func (p *Process) stop(sig syscall.Signal) bool {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd == nil {
		return true
	}
	_ = cmd.Process.Signal(sig)
	select {
	case <-exited:
		return true
	case <-time.After(stopWithin):
		return false
	}
}

func (p *Process) end() {
	if !p.stop(syscall.SIGTERM) {
		p.stop(syscall.SIGKILL)
	}
}

// logTail is the last of what the log says that is not routine.
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
