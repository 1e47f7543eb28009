//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/detent-ml/detent/master/sleep"
	"golang.org/x/sys/unix"
)

// A death is a process that was reaped.
type death struct {
	pid    int
	group  int // its process group; 0: unknown
	status syscall.WaitStatus
}

// A reaper waits for every child of this process: those that it started, and orphans, which
// become its children when their parents die.
type reaper struct {
	deaths chan death
	wake   chan struct{}
	empty  chan struct{} // receives while there is no child
}

func newReaper() *reaper {
	r := &reaper{deaths: make(chan death), wake: make(chan struct{}, 1), empty: make(chan struct{})}
	go r.loop()
	return r
}

// started tells the reaper that there is a child to wait for.
func (r *reaper) started() {
	sleep.Wake(r.wake)
}

// alone returns a channel that receives while there is no child.
func (r *reaper) alone() <-chan struct{} { return r.empty }

func (r *reaper) loop() {
	for {
		next, err := await()
		switch {
		case err == nil:
			r.deaths <- next
		case errors.Is(err, syscall.EINTR):
		default: // no child: wait until there is one
			select {
			case <-r.wake:
			case r.empty <- struct{}{}:
			}
		}
	}
}

// await reaps the next child. Only before that its process group is known.
func await() (d death, err error) {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOWAIT, nil); err != nil {
		return d, err
	}
	d.pid = int((*[5]int32)(unsafe.Pointer(&info))[4]) // si_pid, for which unix.Siginfo has no name
	d.group, _ = unix.Getpgid(d.pid)
	_, err = syscall.Wait4(d.pid, &d.status, 0, nil)
	return d, err
}

// killAll sends a signal to all processes in the sandbox except its first.
func (in *inner) killAll(sig syscall.Signal) {
	if in.mode.PID {
		_ = unix.Kill(-1, sig)
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, sig)
	}
}

// descendants lists the processes below a process. A process that is orphaned meanwhile
// becomes a child of the sandbox's first process, so that the next call finds it.
func descendants(of int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]int{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	list := append([]int(nil), children[of]...)
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list
}

// parentOf returns the parent of a process, the fourth field of its stat file. The second
// field is the name in parentheses, which may contain spaces and parentheses.
func parentOf(pid int) (int, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	i := bytes.LastIndexByte(stat, ')')
	if i < 0 {
		return 0, false
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}
