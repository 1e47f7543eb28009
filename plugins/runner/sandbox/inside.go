//go:build linux

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/detent-ml/detent/plugins/runner/account"
)

// An inner is the state of the sandbox's first process.
type inner struct {
	mode    Mode
	account *account.Account // of the programs; nil: that of this process
	events  *json.Encoder
	reaper  *reaper
	null    int   // descriptor of /dev/null
	program int   // process id of the running program; 0: none
	asked   []int // signals that the program got
	exit    *Exit // how the program ended, until that is told
	killed  bool  // all processes got a signal, which is SIGKILL
	group   int   // of the program, if its other processes are waited for; 0: they are not

	lease     Lease
	expiry    *time.Timer // of the lease; nil: there is none
	overdue   bool        // the lease has ended, and the runner has a little time left
	abandoned bool        // the lease was not renewed
}

// Inside is the main function of the sandbox's first process: it reads requests from the
// pipe at descriptor 3, writes events to the pipe at descriptor 4, and returns the exit
// status of the process.
func Inside() int {
	// One thread must start all processes: Pdeathsig and the capabilities to drop belong to
	// a thread.
	runtime.LockOSThread()
	closeAllOnExec()
	control, out := os.NewFile(3, "control"), os.NewFile(4, "events")
	ignoreSignals()
	requests := make(chan request)
	go func() {
		defer close(requests)
		for d := json.NewDecoder(control); ; {
			var r request
			if d.Decode(&r) != nil {
				return
			}
			requests <- r
		}
	}()
	in := &inner{events: json.NewEncoder(out), reaper: newReaper()}
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		in.tell(event{Failed: &SetupError{Message: "cannot open /dev/null: " + err.Error()}})
		return 1
	}
	in.null = null
	for {
		select {
		case r, ok := <-requests:
			if !ok || r.Close {
				in.tell(event{Closed: true, Left: in.end()})
				return 0
			}
			in.serve(r)
		case d := <-in.reaper.deaths:
			in.died(d)
		case <-in.expired():
			in.expire()
		}
	}
}

// died reports how the program ended. After a signal to the process group, the shell of an entrypoint dies at once,
// while the training that it started still stores a checkpoint. Then the program counts as ended when no process of
// the group is left, and has failed if one of them has.
func (in *inner) died(d death) {
	exit := exitOf(d.status)
	switch {
	case d.pid == in.program && d.pid != 0:
		in.program, in.exit, in.group = 0, exit, 0
		if slices.Contains(in.asked, exit.Signal) {
			in.group = d.pid
		}
	case in.group != 0 && d.group == in.group && in.failed(exit) && !in.failed(in.exit):
		in.exit = exit // it stored nothing, and the shell cannot say so any more
	}
	if in.exit == nil || in.group != 0 && lives(in.group) {
		return
	}
	in.exit.Abandoned = in.abandoned
	in.tell(event{Exited: in.exit})
	in.exit, in.group = nil, 0
}

// failed reports whether a process of the group ended neither with exit code 0 nor because of a signal, nor without those that read its output. A shell whose child
// ended by a signal exits with 128 and its number.
func (in *inner) failed(exit *Exit) bool {
	return exit.Code != 0 && !in.killed && exit.Signal != int(syscall.SIGPIPE) && !slices.Contains(in.asked, exit.Code-128)
}

// lives reports whether a process group has processes.
func lives(group int) bool { return !errors.Is(unix.Kill(-group, 0), unix.ESRCH) }

func (in *inner) expired() <-chan time.Time {
	if in.expiry == nil {
		return nil
	}
	return in.expiry.C
}

// expire is the end of the lease, and then of the time after it.
func (in *inner) expire() {
	if !in.overdue {
		in.overdue = true
		in.expiry.Reset(in.lease.Then)
		return
	}
	in.abandoned, in.killed = true, true
	in.killAll(syscall.SIGKILL)
	in.expiry.Reset(time.Second) // for processes that were forked meanwhile
}

// closeAllOnExec keeps programs from inheriting descriptors: those of this process, and any
// that it inherited itself.
func closeAllOnExec() {
	if unix.CloseRange(3, 1<<31-1, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return
	}
	entries, err := os.ReadDir("/proc/self/fd") // before Linux 5.11
	if err != nil {
		entries = nil
	}
	unix.CloseOnExec(3)
	unix.CloseOnExec(4)
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
}

// ignoreSignals keeps signals to the whole task from ending this process: the runner decides
// when the sandbox ends.
func ignoreSignals() {
	dropped := make(chan os.Signal, 1)
	signal.Notify(dropped, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGUSR2)
}

// tell sends an event. It ignores errors: if the parent has died, the kernel kills this process.
func (in *inner) tell(e event) { _ = in.events.Encode(e) }

func (in *inner) serve(r request) {
	switch {
	case r.Setup != nil:
		in.mode = r.Mode
		skipped, err := in.setUp(*r.Setup)
		if err != nil {
			in.tell(event{Failed: err})
			return
		}
		in.tell(event{Ready: true, Skipped: skipped})
	case r.Run != nil:
		if exit := in.run(*r.Run); exit != nil {
			in.tell(event{Exited: exit})
		}
	case r.Alone:
		alone := false
		select {
		case <-in.reaper.alone():
			alone = true
		case <-time.After(20 * time.Millisecond): // there are processes, or their deaths have not been read
		}
		in.tell(event{Alone: &alone})
	case r.Lease != nil:
		in.lease, in.overdue = *r.Lease, false
		if in.expiry == nil {
			in.expiry = time.NewTimer(r.Lease.For)
		}
		in.expiry.Reset(r.Lease.For)
	case r.Signal != 0 && r.All:
		in.killed = true
		in.killAll(syscall.Signal(r.Signal))
	case r.Signal != 0 && in.program+in.group != 0: // at most one of both is set
		in.asked = append(in.asked, r.Signal)
		_ = unix.Kill(-(in.program + in.group), syscall.Signal(r.Signal))
	}
}

func (in *inner) setUp(s Setup) ([]string, *SetupError) {
	if !in.mode.PID {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return nil, &SetupError{Message: "cannot become the parent of orphaned processes (PR_SET_CHILD_SUBREAPER): " + err.Error()}
		}
	}
	skipped, err := mountAll(s, in.mode)
	if err != nil {
		return nil, err
	}
	if in.mode.User && os.Geteuid() != 0 {
		// Drop the capabilities: outside of the namespace, the program's user has none.
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return nil, &SetupError{Message: "cannot drop the privileges that mounting needed: " + err.Error(), Refused: true}
		}
	}
	if s.NoNewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return nil, &SetupError{Message: "cannot keep programs from gaining rights (PR_SET_NO_NEW_PRIVS): " + err.Error()}
		}
	}
	if in.account = s.Account; in.account != nil {
		if err := in.account.Forgo(); err != nil {
			return nil, &SetupError{Message: "cannot run programs as " + in.account.String() + " without other rights: " + err.Error()}
		}
	}
	return skipped, nil
}

// run starts a program. It returns nil, or an Exit if the program could not be started.
func (in *inner) run(c Command) *Exit {
	var path string
	var exit *Exit
	if err := in.account.Do(func() error { path, exit = find(c); return nil }); err != nil {
		return &Exit{Code: 126, Failed: err.Error()}
	}
	if exit != nil {
		return exit
	}
	sys := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if a := in.account; a != nil {
		sys.Credential = &syscall.Credential{Uid: uint32(a.UID), Gid: uint32(a.GID), Groups: []uint32{}}
	}
	pid, err := syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
		Dir: c.Dir, Env: c.Env, Files: []uintptr{uintptr(in.null), 1, 2}, Sys: sys,
	})
	if err != nil {
		if in.account.Do(func() error { return executable(c.Dir) }) != nil && errors.Is(err, fs.ErrPermission) {
			return &Exit{Code: 126, Failed: fmt.Sprintf("the account of the program may not enter the working directory %s", c.Dir)}
		}
		return notStarted(path, c, err)
	}
	in.program, in.group, in.asked, in.killed = pid, 0, nil, false
	in.reaper.started()
	return nil
}

// find searches a program as a shell does, in the PATH of the program's environment.
func find(c Command) (string, *Exit) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", &Exit{Code: 127, Failed: "there is no program to run: the entrypoint is empty"}
	}
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	var search string
	for _, kv := range c.Env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = v
		}
	}
	for _, dir := range filepath.SplitList(search) {
		if dir == "" {
			dir = "."
		}
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		if info, err := os.Stat(path); err == nil && !info.IsDir() && executable(path) == nil {
			return path, nil
		}
	}
	return "", &Exit{Code: 127, Failed: fmt.Sprintf("%s was not found on PATH (%s)", name, search)}
}

// executable returns an error if the calling thread may not execute a file or enter a folder.
func executable(path string) error {
	return unix.Faccessat(unix.AT_FDCWD, path, unix.X_OK, unix.AT_EACCESS)
}

func notStarted(path string, c Command, err error) *Exit {
	if info, statErr := os.Stat(c.Dir); statErr != nil || !info.IsDir() {
		return &Exit{Code: 127, Failed: fmt.Sprintf("the working directory %s does not exist", c.Dir)}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, statErr := os.Stat(path)
		if statErr == nil {
			return &Exit{Code: 127, Failed: fmt.Sprintf("%s names an interpreter that does not exist in the task's file system", path)}
		}
		return &Exit{Code: 127, Failed: fmt.Sprintf("%s does not exist", path)}
	case errors.Is(err, fs.ErrPermission):
		return &Exit{Code: 126, Failed: fmt.Sprintf("%s is not executable", path)}
	case errors.Is(err, syscall.ENOEXEC):
		return &Exit{Code: 126, Failed: fmt.Sprintf("%s is not a program for this machine, or a script without #!", path)}
	}
	return &Exit{Code: 126, Failed: fmt.Sprintf("%s could not be started: %v", path, err)}
}

func exitOf(w syscall.WaitStatus) *Exit {
	if w.Signaled() {
		return &Exit{Code: 128 + int(w.Signal()), Signal: int(w.Signal())}
	}
	return &Exit{Code: w.ExitStatus()}
}

// end kills all remaining processes, and returns their number. It waits a limited time only,
// because a process that is blocked in the kernel cannot be killed.
func (in *inner) end() (left int) {
	deadline := time.After(endTime - 5*time.Second)
	for {
		in.killAll(syscall.SIGKILL)
		select {
		case d := <-in.reaper.deaths:
			if d.pid != 0 {
				left++
			}
		case <-in.reaper.alone():
			return left
		case <-time.After(100 * time.Millisecond): // processes may have forked meanwhile
		case <-deadline:
			return left
		}
	}
}
