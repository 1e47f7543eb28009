//go:build linux

package main

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
)

// A fakeClient is the socket of a Nomad client, which answers everybody without a token alike.
type fakeClient struct {
	*http.Server
	asked atomic.Int64
}

func (r *rig) nomad() *fakeClient {
	r.t.Helper()
	l, err := new(net.ListenConfig).Listen(r.t.Context(), "unix", r.path("main/secrets/api.sock"))
	if err != nil {
		r.t.Fatal(err)
	}
	c := &fakeClient{}
	c.Server = &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c.asked.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	})}
	go func() { _ = c.Serve(l) }()
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// onALease is a task whose node is lost after few seconds: a look is at an eighth of a second, and 16 of them are the silence that ends it.
func onALease(t *testing.T, script string) (*rig, *fakeClient, *proc) {
	t.Helper()
	spec := sh(script)
	spec.StopAfterSecs = 3
	r := newRig(t, spec)
	c := r.nomad()
	p := r.start("run")
	eventually(t, "the program is ready", func() bool { return len(r.printed()) == 1 })
	eventually(t, "the client was asked", func() bool { return c.asked.Load() > 0 })
	return r, c, p
}

const patient = `trap 'echo told; exit 0' TERM; echo ready; while :; do sleep 0.02; done`

// TestNobodyAnswers: a program ends when neither Nomad's client nor a master answers, because another attempt may begin, and this is no failure of it.
func TestNobodyAnswers(t *testing.T) {
	r, c, p := onALease(t, patient)
	r.master.Stop()
	asked := c.asked.Load()
	eventually(t, "the client answers for long while no master does", func() bool { return c.asked.Load() > asked+30 })
	if len(p.stdout.String()) != len("ready\n") {
		t.Fatalf("the client ends programs, and the runner has ended this one: %s", p.stdout)
	}
	_ = c.Close()
	eventually(t, "the program was told to end", func() bool { return strings.Contains(p.stdout.String(), "told") })
	r.master.Listen(t)
	p.expect(0)
	if !r.said("neither Nomad's client on this node nor a master has answered for 2s") {
		t.Errorf("the log says %q", r.state.Lines(shipper, "runner"))
	}
}

// TestAMasterAnswers: without Nomad's client, a master that answers decides about the attempt.
func TestAMasterAnswers(t *testing.T) {
	var probes atomic.Int64
	r, c, p := onALease(t, patient)
	r.state.Handle(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path != "/health" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		probes.Add(1)
	}))
	asked := c.asked.Load()
	eventually(t, "the client answers for long while nobody asks the master", func() bool { return c.asked.Load() > asked+20 })
	_ = c.Close()
	eventually(t, "the master answers for long while the client does not", func() bool { return probes.Load() > 30 })
	if len(p.stdout.String()) != len("ready\n") {
		t.Fatalf("the runner has ended the program: %s", p.stdout)
	}
	c = r.nomad()
	eventually(t, "the runner finds the new client", func() bool { return c.asked.Load() > 1 })
	r.state.End("it is enough")
	p.expect(0)
}

// TestAStoppedRunner: a runner that stands still cannot hear that its attempt is over, so its sandbox kills the program.
func TestAStoppedRunner(t *testing.T) {
	r, _, p := onALease(t, `echo ready; (setsid sleep 64.5 &); exec sleep 64.5`)
	_ = p.cmd.Process.Signal(syscall.SIGSTOP)
	eventually(t, "all processes have ended", func() bool { return !running("sleep\x0064.5") })
	_ = p.cmd.Process.Signal(syscall.SIGCONT)
	p.expect(137)
	if e := r.exit(); !e.Unfit || !strings.Contains(e.Reason, "stood still") {
		t.Fatalf("report %+v", e)
	}
}
