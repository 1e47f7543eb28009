//go:build linux

package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/detent-ml/detent/master/each"
)

// dialPortWithin is how long a port on loopback may take to accept a connection.
const dialPortWithin = 5 * time.Second

// loopbacks are the addresses at which programs are tried.
var loopbacks = []string{"127.0.0.1", "::1"}

// DialLoopback connects to a port on the loopback interface, by IPv4 or else by IPv6.
func DialLoopback(ctx context.Context, port int) (net.Conn, error) {
	return onLoopback(func(host string) (net.Conn, error) { return dialHost(ctx, host, port) })
}

func onLoopback(dial func(host string) (net.Conn, error)) (net.Conn, error) {
	var failed []error
	for _, host := range loopbacks {
		conn, err := dial(host)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func dialHost(ctx context.Context, host string, port int) (net.Conn, error) {
	d := net.Dialer{Timeout: dialPortWithin}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
}

// OwnPorts connects to ports on which a process of this task listens. Tasks that share the
// network of their node share its ports: a request must not reach the program of another task
// that has taken the port first, nor a server of the node.
//
// A process belongs to the task if it is a descendant of this one: the first process of the
// sandbox adopts orphans.
type OwnPorts struct {
	proc string
	as   func(func() error) error // nil: as this process

	mu    sync.Mutex
	known map[uint64]bool // inodes of listening sockets that belong to the task
}

// NewOwnPorts returns the ports of this process's descendants.
func NewOwnPorts() *OwnPorts { return &OwnPorts{proc: "/proc", known: map[uint64]bool{}} }

// LookAs sets how the files of the task's processes are read: as their account.
func (o *OwnPorts) LookAs(do func(func() error) error) { o.as = do }

// maxKnown is the number of listening sockets that are remembered.
const maxKnown = 1000

// Dial connects to a port of the task.
func (o *OwnPorts) Dial(ctx context.Context, port int) (net.Conn, error) {
	return onLoopback(func(host string) (net.Conn, error) { return o.dial(ctx, host, port) })
}

// dial compares the listener before and after it connects, so that no other program can take the
// port between the check and the connection.
func (o *OwnPorts) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	before, err := o.listeners(host, port)
	if err != nil {
		return nil, err
	}
	if len(before) == 0 {
		return nil, fmt.Errorf("nothing listens on %s", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	if !o.owned(before) {
		return nil, fmt.Errorf("a process that is not part of this task listens on %s", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	conn, err := dialHost(ctx, host, port)
	if err != nil {
		return nil, err
	}
	after, err := o.listeners(host, port)
	if err == nil && !o.owned(after) {
		err = fmt.Errorf("another process has begun to listen on %s", net.JoinHostPort(host, strconv.Itoa(port)))
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// loopbackOf are the local addresses at which a listener accepts connections to a host, as /proc
// spells them on machines with this byte order and the other.
var loopbackOf = map[string]map[string][]string{
	"127.0.0.1": {
		"tcp":  {"0100007F", "7F000001", "00000000"},
		"tcp6": {"00000000000000000000000000000000", "0000000000000000FFFF00000100007F", "00000000000000000000FFFF7F000001"},
	},
	"::1": {
		"tcp6": {"00000000000000000000000000000000", "00000000000000000000000001000000", "00000000000000000000000000000001"},
	},
}

// stateListen is the state of a listening socket in /proc/net/tcp.
const stateListen = "0A"

// listeners are the inodes of the sockets that accept connections to a host and port.
func (o *OwnPorts) listeners(host string, port int) ([]uint64, error) {
	var inodes []uint64
	for table, addresses := range loopbackOf[host] {
		f, err := os.Open(filepath.Join(o.proc, "self/net", table))
		if errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("cannot see which process listens on port %d: %w", port, err)
		}
		found, err := listening(f, addresses, port)
		_ = f.Close()
		if err != nil {
			return nil, fmt.Errorf("cannot see which process listens on port %d: %w", port, err)
		}
		inodes = append(inodes, found...)
	}
	return inodes, nil
}

// listening reads a table of sockets.
func listening(table io.Reader, addresses []string, port int) ([]uint64, error) {
	want := each.Set(addresses, func(a string) string { return fmt.Sprintf("%s:%04X", a, port) })
	var inodes []uint64
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 10 || fields[3] != stateListen || !want[fields[1]] {
			continue
		}
		inode, err := strconv.ParseUint(fields[9], 10, 64)
		if err != nil {
			return nil, err
		}
		inodes = append(inodes, inode)
	}
	return inodes, lines.Err()
}

// owned reports whether all these sockets belong to processes of the task.
func (o *OwnPorts) owned(inodes []uint64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	missing := map[string]uint64{}
	for _, inode := range inodes {
		if !o.known[inode] { // the kernel does not use an inode again while its socket exists
			missing["socket:["+strconv.FormatUint(inode, 10)+"]"] = inode
		}
	}
	if len(missing) == 0 {
		return len(inodes) > 0
	}
	if len(o.known) >= maxKnown {
		clear(o.known)
	}
	search := func() error { o.search(os.Getpid(), missing); return nil }
	if o.as == nil {
		_ = search()
	} else if o.as(search) != nil {
		return false
	}
	return len(missing) == 0 && len(inodes) > 0
}

// search looks for sockets in the descendants of a process, and removes those that it finds.
func (o *OwnPorts) search(pid int, missing map[string]uint64) {
	for _, child := range o.children(pid) {
		if len(missing) == 0 {
			return
		}
		fds := filepath.Join(o.proc, strconv.Itoa(child), "fd")
		entries, err := os.ReadDir(fds)
		if err != nil {
			entries = nil // it has ended, or it has another user's rights: then its sockets do not count
		}
		for _, e := range entries {
			link, err := os.Readlink(filepath.Join(fds, e.Name()))
			if inode, ok := missing[link]; err == nil && ok {
				delete(missing, link)
				o.known[inode] = true
			}
		}
		o.search(child, missing)
	}
}

// children are the processes that the threads of a process have started or adopted.
func (o *OwnPorts) children(pid int) []int {
	tasks := filepath.Join(o.proc, strconv.Itoa(pid), "task")
	threads, err := os.ReadDir(tasks)
	if err != nil {
		return nil
	}
	var list []int
	for _, t := range threads {
		text, err := os.ReadFile(filepath.Join(tasks, t.Name(), "children"))
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
	}
	return list
}
