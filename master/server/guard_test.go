package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/discovery/consultest"
)

// TestAMasterForOthersNeedsAccessControl: a master that others reach does not start with a Nomad without access control, also if that Nomad
// answers only later. A setting overrides the check.
func TestAMasterForOthersNeedsAccessControl(t *testing.T) {
	agent := nomadtest.Start(t, nomadtest.Options{})
	guard := func(ctx context.Context, address, listen string, without bool) (later <-chan error, err error) {
		t.Helper()
		nomad, err := cluster.New(cluster.Config{Address: address, ClusterID: "c"})
		if err != nil {
			t.Fatal(err)
		}
		m := &master{nomad: nomad, log: slog.New(slog.DiscardHandler)}
		m.cfg.Listen, m.cfg.Nomad.WithoutACL = listen, without
		return m.guard(ctx)
	}
	for _, listen := range []string{":8080", "0.0.0.0:8080", "10.1.2.3:8080", "[::]:8080", "master.example:8080"} {
		if _, err := guard(t.Context(), agent.Address, listen, false); err == nil || !strings.Contains(err.Error(), "nomad.without_acl") || !strings.Contains(err.Error(), "docs/operate/acl.md") {
			t.Errorf("listening on %s: %v", listen, err)
		}
	}
	for _, listen := range []string{"127.0.0.1:8080", "[::1]:8080", "localhost:8080"} {
		if _, err := guard(t.Context(), agent.Address, listen, false); err != nil {
			t.Errorf("listening on %s: %v", listen, err)
		}
	}
	if _, err := guard(t.Context(), agent.Address, ":8080", true); err != nil {
		t.Errorf("with the setting: %v", err)
	}

	later, answer := laterServer(t, agent.Address)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	refused, err := guard(ctx, "http://"+later, ":8080", false)
	if err != nil {
		t.Fatalf("a Nomad that does not answer ends the start: %v", err)
	}
	answer()
	select {
	case err := <-refused:
		if err == nil || !strings.Contains(err.Error(), "its access control is off") {
			t.Errorf("later: %v", err)
		}
	case <-ctx.Done():
		t.Error("the master does not notice that the Nomad that answers now has no access control")
	}
}

// laterServer is an address that refuses connections until answer is called; then it forwards them to a server.
func laterServer(t *testing.T, server string) (address string, answer func()) {
	t.Helper()
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address = ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return address, func() {
		ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: httputil.NewSingleHostReverseProxy(target), ReadHeaderTimeout: time.Minute}
		go func() { _ = server.Serve(ln) }()
		t.Cleanup(func() { _ = server.Close() })
	}
}

// TestAMasterForOthersNeedsAccessControlInConsul: the same for Consul, and for the datacenters of further regions. A master without
// Consul asks none.
func TestAMasterForOthersNeedsAccessControlInConsul(t *testing.T) {
	open, closed := consultest.Start(t), consultest.Start(t, consultest.WithACL("deny"))
	guard := func(change func(*master)) error {
		t.Helper()
		m := &master{log: slog.New(slog.DiscardHandler)}
		m.cfg.Listen, m.cfg.Nomad.WithoutACL, m.cfg.Consul.Address = ":8080", true, open.Address
		change(m)
		_, err := m.guard(t.Context())
		return err
	}
	for _, listen := range []string{":8080", "10.1.2.3:8080"} {
		err := guard(func(m *master) { m.cfg.Listen = listen })
		if err == nil || !strings.Contains(err.Error(), "consul.without_acl") || !strings.Contains(err.Error(), "docs/operate/acl.md") || !strings.Contains(err.Error(), open.Address) {
			t.Errorf("listening on %s: %v", listen, err)
		}
	}
	for name, change := range map[string]func(*master){
		"on loopback":      func(m *master) { m.cfg.Listen = "127.0.0.1:8080" },
		"with the setting": func(m *master) { m.cfg.Consul.WithoutACL = true },
		"without Consul":   func(m *master) { m.cfg.Consul.Address = "" },
		"with ACLs":        func(m *master) { m.cfg.Consul.Address = closed.Address },
	} {
		if err := guard(change); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	asked := 0
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("dc") == "north" { // as Consul answers for a datacenter whose servers have no ACLs
			asked++
			http.Error(w, "ACL support disabled", http.StatusUnauthorized)
			return
		}
		target := &url.URL{Scheme: "http", Host: closed.Address}
		httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
	}))
	defer proxy.Close()
	err := guard(func(m *master) {
		m.cfg.Consul.Address = proxy.URL
		m.regions = []region{{RegionConfig: RegionConfig{ConsulDatacenter: "north"}}, {RegionConfig: RegionConfig{ConsulDatacenter: "north"}}, {}}
	})
	if err == nil || !strings.Contains(err.Error(), "consul (datacenter north)") || asked != 1 {
		t.Errorf("a datacenter without access control, asked %d times: %v", asked, err)
	}
}

// TestAMasterThatWaitsForAnAnswerSaysSo: the log has a line when a server does not answer, and one when it has answered, whatever the
// number of questions.
func TestAMasterThatWaitsForAnAnswerSaysSo(t *testing.T) {
	log := &bytes.Buffer{}
	m := &master{log: slog.New(slog.NewTextHandler(log, nil))}
	answers := errors.New("no such host")
	all := []*guarded{{name: "nomad", address: "http://nomad.example", unguarded: func(context.Context) (string, error) { return "", answers }},
		{name: "consul", address: "http://consul.example", unguarded: func(context.Context) (string, error) { return "", nil }}}
	waiting := all
	var err error
	for range 3 {
		if waiting, err = m.askGuards(t.Context(), waiting); err != nil || len(waiting) != 1 {
			t.Fatalf("waiting for %d servers: %v", len(waiting), err)
		}
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "address=http://nomad.example") || !strings.Contains(log.String(), "no such host") {
		t.Errorf("the log of three failed questions:\n%s", log)
	}
	log.Reset()
	answers = nil
	if waiting, err = m.askGuards(t.Context(), waiting); err != nil || len(waiting) != 0 {
		t.Fatalf("waiting for %d servers: %v", len(waiting), err)
	}
	if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), "nomad has access control") {
		t.Errorf("the log of the answer:\n%s", log)
	}
	log.Reset()
	if _, err = m.askGuards(t.Context(), []*guarded{all[1]}); err != nil || log.Len() != 0 {
		t.Errorf("a server that answers at once: %v\n%s", err, log)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	answers = context.Canceled
	if _, err = m.askGuards(ctx, []*guarded{{unguarded: all[0].unguarded}}); err != nil || log.Len() != 0 {
		t.Errorf("a master that stops: %v\n%s", err, log)
	}
}
