package server

import (
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
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
		m := &master{nomad: nomad}
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

	// A Nomad that answers later: a listener that refuses connections until it forwards them.
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	later, err := guard(ctx, "http://"+address, ":8080", false)
	if err != nil {
		t.Fatalf("a Nomad that does not answer ends the start: %v", err)
	}
	if ln, err = new(net.ListenConfig).Listen(ctx, "tcp", address); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse(agent.Address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: httputil.NewSingleHostReverseProxy(target), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()
	select {
	case err := <-later:
		if err == nil || !strings.Contains(err.Error(), "its access control is off") {
			t.Errorf("later: %v", err)
		}
	case <-ctx.Done():
		t.Error("the master does not notice that the Nomad that answers now has no access control")
	}
}
