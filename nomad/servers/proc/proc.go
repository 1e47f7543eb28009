// Package proc starts processes that continue to run after the program that started them, and stops
// them safely.
//
// The servers of a local cluster must continue to run when the command that started them returns, and a
// later command must stop exactly these. A pid is not enough, because pids are reused. Therefore an ID
// also contains the start time of the process, and every operation checks both. Processes are never
// looked up by name.
package proc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// ErrGone is returned for a process that has ended, even if its pid now belongs to another process.
var ErrGone = errors.New("process is gone")

// pollEvery is the time between two checks of a process that is not a child of this one, which cannot
// be waited for.
const pollEvery = 10 * time.Millisecond

const (
	readyPoll = 20 * time.Millisecond
	logLines  = 15 // lines of a server's log in an error
)

// ID identifies one process: its pid, and a mark of its start time.
type ID struct {
	Pid   int    `json:"pid"`
	Start string `json:"start"`
}

// Of returns the ID of the process that now has this pid.
func Of(pid int) (ID, error) {
	if pid <= 0 {
		return ID{}, ErrGone
	}
	start, zombie, err := startMark(pid)
	if err != nil {
		return ID{}, err
	}
	if zombie {
		return ID{}, ErrGone
	}
	return ID{Pid: pid, Start: start}, nil
}

// Alive reports whether this process still runs. A zombie has ended.
func (id ID) Alive() bool {
	now, err := Of(id.Pid)
	return err == nil && now == id
}

// Signal sends a signal to the process, or returns ErrGone.
func (id ID) Signal(sig syscall.Signal) error {
	if !id.Alive() {
		return ErrGone
	}
	err := syscall.Kill(id.Pid, sig)
	if errors.Is(err, syscall.ESRCH) {
		return ErrGone
	}
	if err != nil {
		return fmt.Errorf("cannot send signal %v to process %d: %w", sig, id.Pid, err)
	}
	return nil
}

// Wait returns when the process has ended, or with the context's error.
func (id ID) Wait(ctx context.Context) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for id.Alive() {
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot wait for the end of process %d: %w", id.Pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// Stop sends sig to the process, kills it if it does not end within the grace period, and returns when
// it has ended. A process that has already ended is no error.
func (id ID) Stop(ctx context.Context, sig syscall.Signal, grace time.Duration) error {
	err := id.Signal(sig)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	graceful, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	if id.Wait(graceful) == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return id.Kill(ctx)
}

// Kill kills the process with SIGKILL and returns when it has ended.
func (id ID) Kill(ctx context.Context) error {
	err := id.Signal(syscall.SIGKILL)
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	return id.Wait(ctx)
}

// Await returns when the process is ready. It returns an error with the end of the log if the process
// ends before, or is not ready in time.
func (id ID) Await(ctx context.Context, within time.Duration, log string, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		if !id.Alive() {
			return fmt.Errorf("the process ended while it was starting%s", LogTail(log, logLines))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the process is not ready: %w%s", err, LogTail(log, logLines))
		case <-tick.C:
		}
	}
}

// Spec describes a process to start.
type Spec struct {
	Path string   // the binary
	Args []string // without the program's name
	Env  []string // the whole environment
	Dir  string   // working directory; the process's user must be able to enter it
	Log  string   // file that standard output and error are appended to
	// User and Group, if not zero, are the ids of the process. Only root can set them.
	User, Group uint32
}

// Process is a process that was just started. It does not end with its starter.
type Process struct {
	ID     ID
	exited chan struct{}
	state  string
}

// Exited is closed if the process ends while its starter still runs.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitState is how the process ended ("exit status 1"). Call it after Exited is closed.
func (p *Process) ExitState() string { return p.state }

// Start starts a process in its own session, so that neither the end of this program nor Ctrl-C in its
// terminal stops it.
func Start(spec Spec) (*Process, error) {
	if err := os.MkdirAll(filepath.Dir(spec.Log), 0o755); err != nil {
		return nil, err
	}
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	//nolint:noctx // it is to outlive every context of its starter
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = spec.Env, spec.Dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if spec.User != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: spec.User, Gid: spec.Group}
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start %s: %w", spec.Path, err)
	}
	p := &Process{exited: make(chan struct{})}
	// The mark is read before the goroutine below may free the pid.
	p.ID, err = Of(cmd.Process.Pid)
	go func() {
		// A child stays in the process table as a zombie until it is waited for.
		_ = cmd.Wait()
		p.state = cmd.ProcessState.String()
		close(p.exited)
	}()
	if errors.Is(err, ErrGone) {
		<-p.exited
		return nil, fmt.Errorf("%s ended at once: %s%s", filepath.Base(spec.Path), p.state, LogTail(spec.Log, 20))
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// LogTail returns the last lines of a log for an error message, indented on separate lines, or "" if
// the log is empty.
func LogTail(path string, lines int) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 64 << 10
	if info, err := f.Stat(); err == nil && info.Size() > most {
		_, _ = f.Seek(-most, io.SeekEnd)
	}
	data, _ := io.ReadAll(f)
	text := strings.TrimRight(string(data), "\n")
	if text == "" {
		return ""
	}
	all := strings.Split(text, "\n")
	if len(all) > lines {
		all = all[len(all)-lines:]
	}
	return "\nthe end of " + path + ":\n  " + strings.Join(all, "\n  ")
}
