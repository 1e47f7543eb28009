// Package proc starts processes that outlive the program that started them, and ends them safely.
//
// The servers of a local cluster must go on when the command that started them returns, and a later
// command must be able to end exactly those. A pid alone cannot say which process is meant: pids are
// used again. An ID therefore carries the moment at which the process started as well, and every
// operation on it checks both. Nothing here ever looks a process up by its name.
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

// ErrGone is returned for a process that has ended, also when its pid now belongs to another one.
var ErrGone = errors.New("process is gone")

// pollEvery is how often a wait looks at a process that is not a child of ours. Such a process
// cannot be waited for, only looked at.
const pollEvery = 10 * time.Millisecond

const (
	readyPoll = 20 * time.Millisecond
	logLines  = 15 // of a server that does not start, in the error
)

// ID names one process for good: its pid, and a mark of when it started.
type ID struct {
	Pid   int    `json:"pid"`
	Start string `json:"start"`
}

// Of returns the ID of the process that has this pid now.
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

// Alive says whether the very process is still running. A zombie has ended.
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
		return fmt.Errorf("signal %v to process %d: %w", sig, id.Pid, err)
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
			return fmt.Errorf("waiting for process %d to end: %w", id.Pid, ctx.Err())
		case <-tick.C:
		}
	}
	return nil
}

// Stop asks the process to end with sig, kills it when it has not within the grace period, and
// returns when it is gone. A process that is gone already is a success.
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

// Kill ends the process with SIGKILL and returns when it is gone.
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

// Await returns when the process is ready. It is an error, with the end of the log, when the process
// has ended before, or is not ready within the time.
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
			return fmt.Errorf("it ended while starting%s", LogTail(log, logLines))
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it is not ready: %w%s", err, LogTail(log, logLines))
		case <-tick.C:
		}
	}
}

// Spec says what to start.
type Spec struct {
	Path string   // the binary
	Args []string // without the program's name
	Env  []string // the whole environment
	Dir  string   // working directory; it must be one that the process's user may enter
	Log  string   // file that standard output and error are appended to
	// User and Group, when not zero, are the ids that the process runs under. Only root can ask.
	User, Group uint32
}

// Process is a process just started. It ends by itself or by its ID, never with its starter.
type Process struct {
	ID     ID
	exited chan struct{}
	state  string
}

// Exited is closed when the process has ended while its starter still runs.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitState says how the process ended ("exit status 1"). Call it after Exited is closed.
func (p *Process) ExitState() string { return p.state }

// Start starts a process in a session of its own, so that neither the end of this program nor a
// Ctrl-C in its terminal reaches it.
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
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	p := &Process{exited: make(chan struct{})}
	// The mark is read before the reaper below may free the pid.
	p.ID, err = Of(cmd.Process.Pid)
	go func() {
		// A child that nobody waits for stays in the process table as a zombie.
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

// LogTail returns the last lines of a log for an error message, indented on lines of their own,
// or nothing where the log is empty.
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
