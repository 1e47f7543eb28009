// Package publish makes ports of tasks reachable on this machine: it listens on loopback, and
// copies the bytes of each connection through a tunnel of the master.
package publish

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
)

// A Port is a port of a task, and the port of this machine at which it is reached.
type Port struct{ Local, Task int }

// maxConnections is the maximum number of connections to all ports together.
const maxConnections = 256

// Parse reads ports of the form PORT or LOCAL:PORT. The local port 0 selects any free port.
func Parse(words []string) ([]Port, error) {
	var ports []Port
	local := map[int]bool{}
	for _, word := range words {
		here, there, both := strings.Cut(word, ":")
		if !both {
			there = here
		}
		p, err := parse(here, there)
		if err != nil || p.Task == 0 {
			return nil, &exit.UsageError{Message: fmt.Sprintf("%q is not a port: expected PORT or LOCAL_PORT:PORT, with numbers from 1 to 65535", word)}
		}
		if p.Local != 0 && local[p.Local] {
			return nil, &exit.UsageError{Message: fmt.Sprintf("the local port %d is given twice", p.Local)}
		}
		local[p.Local] = true
		ports = append(ports, p)
	}
	return ports, nil
}

func parse(here, there string) (Port, error) {
	local, err := strconv.ParseUint(here, 10, 16)
	task, err2 := strconv.ParseUint(there, 10, 16)
	return Port{Local: int(local), Task: int(task)}, errors.Join(err, err2)
}

// Open listens on the local ports and prints their addresses. task waits until the id of the task
// is known. The returned function closes everything and waits until all goroutines have ended.
func Open(ctx context.Context, a *app.App, c *client.Client, task func(context.Context) (string, error), ports []Port) (end func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &publisher{a: a, c: c, task: task, free: make(chan struct{}, maxConnections)}
	var listeners []net.Listener
	end = func() {
		cancel()
		for _, ln := range listeners {
			_ = ln.Close()
		}
		p.all.Wait()
	}
	for _, port := range ports {
		var lc net.ListenConfig
		ln, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port.Local)))
		if err != nil {
			end()
			return nil, fault.New(fault.Invalid, "cannot listen on the local port %d: %w; choose another one with LOCAL_PORT:%d", port.Local, err, port.Task)
		}
		listeners = append(listeners, ln)
		a.Printf("Port %d of the task is at %s\n", port.Task, ln.Addr())
		p.all.Go(func() { p.serve(ctx, ln, port.Task) })
	}
	return end, nil
}

// Task is the task with a known id, for Open.
func Task(id string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return id, nil }
}

type publisher struct {
	a    *app.App
	c    *client.Client
	task func(context.Context) (string, error)
	free chan struct{}
	all  sync.WaitGroup

	mu   sync.Mutex
	said string // the last failure that was printed
}

func (p *publisher) serve(ctx context.Context, ln net.Listener, port int) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		select {
		case p.free <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close()
			return
		}
		p.all.Go(func() {
			defer func() { <-p.free }()
			p.carry(ctx, conn, port)
		})
	}
}

// carry copies a connection's bytes. A failure closes the connection and is printed, but not
// repeatedly: programs try again while a task starts.
func (p *publisher) carry(ctx context.Context, here net.Conn, port int) {
	id, err := p.task(ctx)
	var there net.Conn
	if err == nil {
		there, err = p.c.DialPort(ctx, id, port)
	}
	if err != nil {
		_ = here.Close()
		p.say(ctx, fmt.Sprintf("port %d: %v", port, err))
		return
	}
	p.say(ctx, "")
	tunnel.JoinUntil(ctx, here, there)
}

func (p *publisher) say(ctx context.Context, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text != "" && text != p.said && ctx.Err() == nil {
		p.a.IO.Warn("%s", text)
	}
	p.said = text
}
