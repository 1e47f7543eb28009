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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// InsideVerb is the argument that makes this executable a sandbox.
const InsideVerb = "inside"

// endTime is how long a sandbox may take to end what is left in it.
const endTime = 15 * time.Second

// A Box is a running sandbox.
type Box struct {
	Mode    Mode
	Skipped []string // targets of binds that were there already
	Tried   []string // why better modes were not possible

	cmd     *exec.Cmd
	mu      sync.Mutex // of requests
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

// modes lists what to try, best first. A sandbox that mounts nothing, under a driver
// that isolates tasks itself, needs no namespace.
func modes(setup Setup) []Mode {
	if setup.Plain || (setup.PrivateRoot && setup.ShmBytes == 0 && len(setup.Binds) == 0) {
		return []Mode{{}}
	}
	list := []Mode{{Mount: true, User: true, PID: true}, {Mount: true, User: true}, {}}
	if hasCapability(unix.CAP_SYS_ADMIN) {
		list = append([]Mode{{Mount: true, PID: true}, {Mount: true}}, list...)
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
	// ctx bounds the opening only: the end of a sandbox that is open has to be in order.
	b.cmd = exec.CommandContext(context.WithoutCancel(ctx), "/proc/self/exe", InsideVerb)
	b.cmd.Env = []string{}
	b.cmd.Stdout, b.cmd.Stderr = stdout, stderr
	b.cmd.ExtraFiles = []*os.File{toBox, eventsOut}
	b.cmd.SysProcAttr = attributes(mode)
	err = b.start()
	// While this process has the sandbox's ends too, it does not see that the sandbox is gone.
	_, _ = toBox.Close(), eventsOut.Close()
	if err != nil {
		_ = control.Close()
		_ = fromBox.Close()
		return nil, &SetupError{Message: "the system refuses to start a process with " + mode.String() + ": " + err.Error(), Refused: mode.Mount}
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

// attributes makes the namespaces of a mode. The sandbox dies with its parent, and
// signals for the parent's group do not reach it.
func attributes(mode Mode) *syscall.SysProcAttr {
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
	if hasCapability(unix.CAP_SETUID) && hasCapability(unix.CAP_SETGID) {
		// Everybody stays who they are.
		const everybody = 1<<32 - 2
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: everybody}}
		a.GidMappings = a.UidMappings
		a.GidMappingsEnableSetgroups = true
	} else {
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
	}
	if uid != 0 {
		// Rights within the new namespace do not survive the exec of somebody who is
		// not root, unless they are ambient. The sandbox gives them up before it starts
		// the program.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_DAC_OVERRIDE}
	}
	return a
}

// start starts the process from a thread that stays: the kernel's "kill it when
// the parent dies" means the thread that forked.
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

// request sends one request. A sandbox that is gone says so through its events.
func (b *Box) request(r request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = json.NewEncoder(b.control).Encode(r)
}

// next waits for what the sandbox says.
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

// Start starts a program. Signals that are sent from here on reach it.
func (b *Box) Start(c Command) { b.request(request{Run: &c}) }

// Wait waits for the end of the program that was started last, or for why it
// could not start. Processes that it leaves go on.
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

// Signal signals the process group of the program that runs, or everything in
// the sandbox.
func (b *Box) Signal(sig syscall.Signal, all bool) { b.request(request{Signal: int(sig), All: all}) }

// Close ends what is still in the sandbox and says how many processes that were.
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

// hasCapability tells whether this process has a capability.
func hasCapability(n int) bool {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(status)) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
			return err == nil && set&(1<<n) != 0
		}
	}
	return false
}
