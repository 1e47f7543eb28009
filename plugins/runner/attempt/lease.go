//go:build linux

package attempt

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

// When Nomad loses a node, the next attempt begins after the time after which the node's Nomad client has ended the task
// (stop_after). A client that is dead ends nothing, so the runner does: when neither the client nor a master answers, it ends
// the program before that time. A runner that is stopped itself cannot, so it holds a lease at the sandbox: if it does not renew
// the lease, the sandbox kills the program.
//
// All times are parts of stop_after, and are measured with a clock that stands still while the machine is suspended: then the
// program does not run either. A client that never answered, as one whose socket is not in this task, proves nothing.

// A lease is how long a program may run after its runner was last heard, or has last heard others.
type lease struct{ part time.Duration } // a twelfth of stop_after

func newLease(stopAfter time.Duration) lease { return lease{stopAfter / 12} }

func (l lease) look() time.Duration    { return l.part / 2 }  // between two looks
func (l lease) gone() time.Duration    { return l.part }      // the client is away that has not answered for so long
func (l lease) alone() time.Duration   { return 8 * l.part }  // the runner ends the program if also no master has answered for so long
func (l lease) renewed() time.Duration { return 10 * l.part } // the sandbox kills the program after so long without renewal, and
func (l lease) last() time.Duration    { return 2 * l.part }  // after so long when the runner has begun to end it

// contact is who was heard when. A zero client has never answered.
type contact struct{ client, master time.Time }

// away reports whether the client is away, so that a master's silence counts.
func (l lease) away(c contact, now time.Time) bool {
	return !c.client.IsZero() && now.Sub(c.client) >= l.gone()
}

// over reports whether another attempt may soon begin elsewhere.
func (l lease) over(c contact, now time.Time) bool {
	return l.away(c, now) && now.Sub(c.master) >= l.alone()
}

// keepLease renews the sandbox's lease until the result is called, or ends the program.
func (r *run) keepLease(box *sandbox.Box) (end func()) {
	l := newLease(time.Duration(r.spec.StopAfterSecs * float64(time.Second)))
	if l.part <= 0 { // a master of an earlier version
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	box.Lease(l.renewed(), l.part)
	done := make(chan struct{})
	go func() {
		defer close(done)
		began := time.Now()
		for range sleep.Every(ctx, l.look()) {
			c := r.heard(began)
			if l.away(c, time.Now()) {
				r.masters.Probe(ctx, l.look())
				c = r.heard(began)
			}
			if l.over(c, time.Now()) && ctx.Err() == nil {
				r.abandoned.Store(true)
				box.Lease(l.last(), l.part)
				r.stop.order(fmt.Sprintf("neither Nomad's client on this node nor a master has answered for %s, so another attempt may begin elsewhere", l.alone().Round(time.Second)))
				return
			}
			box.Lease(l.renewed(), l.part)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (r *run) heard(began time.Time) contact {
	c := contact{client: r.client.heard(), master: r.masters.Heard()}
	if c.master.Before(began) {
		c.master = began
	}
	return c
}

// supervise runs a program. If the sandbox had to kill it, because this process stood still, the attempt must end.
func (r *run) supervise(box *sandbox.Box, c sandbox.Command) (exit sandbox.Exit, killed bool, err error) {
	exit, killed, err = r.stop.run(box, c, r.grace(), r.journal)
	if exit.Abandoned && !r.stop.asked() {
		r.abandoned.Store(true)
		r.stop.order("the runner of this task stood still for so long that another attempt may have begun elsewhere")
	}
	return exit, killed, err
}

// blameNode marks the end of a trial's program as the node's fault if it ended because nobody heard of it. A command that ran is not run again.
func (r *run) blameNode(end *ended) {
	if !r.abandoned.Load() || end.Code == 0 || end.Unfit || end.Preempted != "" || r.spec.TaskType != trialTask {
		return
	}
	if end.Unfit = true; end.Reason == "" {
		end.Reason = "stopped: " + r.stop.reason()
	}
}

const (
	// nomadSocket is the socket of Nomad's whole API that Nomad puts into each task's secrets folder.
	nomadSocket = "api.sock"
	// socketLook is the time between two looks for a new socket.
	socketLook = time.Second
	// clientWait is how long Nomad's client may take to answer.
	clientWait = 2 * time.Second
	// clientEvery is the time between two questions.
	clientEvery = 5 * time.Second
)

// A nomadClient knows whether the Nomad client of this node answers. It asks without a token, over a connection that it made before
// the runner removed the socket; any answer proves that the client lives.
type nomadClient struct {
	http  *http.Client
	first atomic.Pointer[net.Conn] // made before the first question
	last  atomic.Pointer[time.Time]
}

func newNomadClient(ctx context.Context, path string) *nomadClient {
	n := &nomadClient{}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		if c := n.first.Swap(nil); c != nil {
			return *c, nil
		}
		var d net.Dialer
		return d.DialContext(ctx, "unix", path)
	}
	if c, err := dial(ctx, "", ""); err == nil {
		n.first.Store(&c)
	}
	n.http = &http.Client{Timeout: clientWait, Transport: &http.Transport{DialContext: dial, MaxConnsPerHost: 1}}
	return n
}

// heard is when the client has answered last.
func (n *nomadClient) heard() time.Time {
	if at := n.last.Load(); at != nil {
		return *at
	}
	return time.Time{}
}

// ask asks the client once. Without a connection it needs the socket.
func (n *nomadClient) ask(ctx context.Context) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://nomad/v1/status/leader", nil)
	if err != nil {
		return
	}
	resp, err := n.http.Do(req)
	if err != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
	n.last.Store(new(time.Now()))
}

// watchNomad removes Nomad's socket before anything of the user starts, and keeps a connection to the client that has made it.
// When the client starts anew, it makes another socket, so the runner looks until ctx ends. A program that needs Nomad's API has
// no identity for it; the socket would only give an attacker somewhere to try.
func (r *run) watchNomad(ctx context.Context) {
	path := filepath.Join(r.p.SecretsDir, nomadSocket)
	r.client = newNomadClient(ctx, path)
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		r.journal.Warnf("the socket of Nomad's API cannot be removed from the task's secrets, so programs see it: %v", err)
	}
	every := clientEvery
	if l := newLease(time.Duration(r.spec.StopAfterSecs * float64(time.Second))); l.part > 0 {
		every = min(every, l.look())
	}
	go func() {
		defer r.client.http.CloseIdleConnections()
		r.client.ask(ctx)
		asks, looks := time.NewTicker(every), time.NewTicker(socketLook)
		defer asks.Stop()
		defer looks.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-asks.C:
				if !r.client.heard().IsZero() {
					r.client.ask(ctx)
				}
			case <-looks.C:
				if _, err := os.Lstat(path); err == nil {
					r.client.ask(ctx)
					_ = os.Remove(path)
				}
			}
		}
	}()
}
