//go:build linux

package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/plugins/runner/account"
)

// InsideVerb is the argument with which this executable runs as the sandbox's first process.
const InsideVerb = "inside"

// endTime is how long a sandbox may take to kill its remaining processes.
const endTime = 15 * time.Second

// A Box is a running sandbox.
type Box struct {
	Mode    Mode
	Skipped []string // targets of binds that existed already
	Tried   []string // why modes with more namespaces were not possible

	cmd     *exec.Cmd
	mu      sync.Mutex // one request at a time
	control *os.File
	events  chan event
	dead    chan struct{}
	waitErr error
}

// Open builds a sandbox whose programs write to stdout and stderr.
func Open(ctx context.Context, setup Setup, stdout, stderr *os.File) (*Box, error) {
	var tried []string
	for list := modes(setup); ; list = list[1:] {
		b, err := open(ctx, setup, list[0], stdout, stderr)
		if err == nil {
			b.Tried = tried
			return b, nil
		}
		var failure *SetupError
		if !errors.As(err, &failure) || !failure.Refused || len(list) == 1 {
			if len(tried) > 0 {
				err = fmt.Errorf("%w\ntried before: %s", err, strings.Join(tried, "; "))
			}
			return nil, err
		}
		tried = append(tried, fmt.Sprintf("%s: %s", list[0], failure.Message))
	}
}

// modes lists the modes to try, the one with the most isolation first. A sandbox without
// mounts, under a driver that isolates tasks itself, needs no namespace.
func modes(setup Setup) []Mode {
	if setup.Plain || (setup.PrivateRoot && setup.ShmBytes == 0 && len(setup.Binds) == 0) {
		return []Mode{{}}
	}
	list := []Mode{{Mount: true, User: true, PID: true}, {Mount: true, User: true}}
	if account.Has(unix.CAP_SYS_ADMIN) {
		list = append([]Mode{{Mount: true, PID: true}, {Mount: true}}, list...)
	}
	if setup.Hide == "" {
		list = append(list, Mode{})
	}
	return list
}

func open(ctx context.Context, setup Setup, mode Mode, stdout, stderr *os.File) (*Box, error) {
	toBox, control, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromBox, eventsOut, err := os.Pipe()
	if err != nil {
		_, _ = control.Close(), toBox.Close()
		return nil, err
	}
	b := &Box{Mode: mode, control: control, events: make(chan event), dead: make(chan struct{})}
	// ctx limits the opening only: a sandbox that is open must end by Close.
	b.cmd = exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe", InsideVerb)
	b.cmd.Env = []string{}
	b.cmd.Stdout, b.cmd.Stderr = stdout, stderr
	b.cmd.ExtraFiles = []*os.File{toBox, eventsOut}
	b.cmd.SysProcAttr = attributes(mode, setup.Account != nil)
	err = b.start()
	// Close the sandbox's ends of the pipes: otherwise this process would not notice its end.
	_, _ = toBox.Close(), eventsOut.Close()
	if err != nil {
		_ = control.Close()
		_ = fromBox.Close()
		return nil, &SetupError{Message: "the system does not allow a process with " + mode.String() + ": " + err.Error(), Refused: mode.Mount}
	}
	go b.listen(fromBox)
	b.request(request{Setup: &setup, Mode: mode})
	e, err := b.next(ctx)
	if err == nil && e.Failed != nil {
		err = e.Failed
	}
	if err != nil {
		b.Kill()
		return nil, err
	}
	b.Skipped = e.Skipped
	return b, nil
}

// attributes returns the process attributes of a mode: its namespaces, and that the kernel
// kills the sandbox when its parent dies. The sandbox has its own process group, so signals
// to the parent's group do not reach it. other means that its programs run as another account.
func attributes(mode Mode, other bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if mode.Mount {
		a.Cloneflags |= unix.CLONE_NEWNS
	}
	if mode.PID {
		a.Cloneflags |= unix.CLONE_NEWPID
	}
	if !mode.User {
		return a
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	uid, gid := os.Geteuid(), os.Getegid()
	if account.Has(unix.CAP_SETUID) && account.Has(unix.CAP_SETGID) {
		// All accounts keep their ids.
		const everybody = 1<<32 - 2
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: everybody}}
		a.GidMappings = a.UidMappings
		a.GidMappingsEnableSetgroups = true
	} else {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	if uid != 0 {
		// A process that is not root keeps capabilities in the new namespace at exec only if
		// they are ambient. The sandbox drops them before it starts the program.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE}
		if other {
			a.AmbientCaps = append(a.AmbientCaps, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_KILL)
		}
	}
	return a
}

// start starts the process from a thread that lives as long as the process: Pdeathsig sends
// the signal when the thread that forked ends.
func (b *Box) start() error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := b.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		b.waitErr = b.cmd.Wait()
		close(b.dead)
	}()
	return <-started
}

func (b *Box) listen(from *os.File) {
	defer close(b.events)
	defer from.Close()
	for d := json.NewDecoder(from); ; {
		var e event
		if d.Decode(&e) != nil {
			return
		}
		b.events <- e
	}
}

// request sends one request. If the sandbox has ended, next returns the error.
func (b *Box) request(r request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = json.NewEncoder(b.control).Encode(r)
}

// next waits for the next event of the sandbox.
func (b *Box) next(ctx context.Context) (event, error) {
	select {
	case e, ok := <-b.events:
		if ok {
			return e, nil
		}
		<-b.dead
		if b.waitErr != nil {
			return event{}, fmt.Errorf("the process that starts the program ended unexpectedly: %w", b.waitErr)
		}
		return event{}, errors.New("the process that starts the program ended unexpectedly")
	case <-ctx.Done():
		return event{}, context.Cause(ctx)
	}
}

// Start starts a program. Signals that are sent after Start reach the program.
func (b *Box) Start(c Command) { b.request(request{Run: &c}) }

// Wait waits until the program that was started last ends or fails to start. The processes
// that it started may still run.
func (b *Box) Wait() (Exit, error) {
	e, err := b.next(context.Background())
	if err != nil {
		return Exit{}, err
	}
	if e.Exited == nil {
		return Exit{}, errors.New("the process that starts the program sent an unexpected message")
	}
	return *e.Exited, nil
}

// Alone reports whether no process is left in the sandbox except its first. It is not to be called while a program runs.
func (b *Box) Alone() (bool, error) {
	b.request(request{Alone: true})
	e, err := b.next(context.Background())
	if err == nil && e.Alone == nil {
		err = errors.New("the process that starts the program sent an unexpected message")
	}
	return err == nil && *e.Alone, err
}

// Signal sends a signal to the process group of the program, or to all processes in the
// sandbox.
func (b *Box) Signal(sig syscall.Signal, all bool) { b.request(request{Signal: int(sig), All: all}) }

// Lease makes the sandbox kill all its processes, except its first, if this is not called again in time: neither within the first
// duration, nor then within the second, which lets a runner go on that was stopped together with its sandbox.
func (b *Box) Lease(within, then time.Duration) { b.request(request{Lease: &Lease{within, then}}) }

// Close kills the remaining processes in the sandbox, ends it, and returns their number.
func (b *Box) Close() (left int) {
	b.request(request{Close: true})
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	for {
		e, err := b.next(ctx)
		if err != nil {
			break
		}
		if e.Closed {
			left = e.Left
			break
		}
	}
	b.Kill()
	return left
}

// Kill ends the sandbox at once; with a process namespace, that ends everything in it.
func (b *Box) Kill() {
	_ = b.cmd.Process.Kill()
	_ = b.control.Close()
	go func() {
		for range b.events { // lets listen end
		}
	}()
	<-b.dead
}
