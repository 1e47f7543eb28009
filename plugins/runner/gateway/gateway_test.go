//go:build linux

package gateway

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

func TestWhenANotebookWasUsed(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	from, then := now.Add(-time.Hour), now.Add(-10*time.Minute)
	for _, c := range []struct {
		what      string
		by        v1.IdleBy
		kernels   []kernel
		terminals []terminal
		want      time.Time
	}{
		{"nothing is open", v1.IdleByKernelsOrTerminals, nil, nil, from},
		{"a kernel is open", v1.IdleByKernelsOrTerminals, []kernel{{State: "idle"}}, nil, now},
		{"a terminal is open", v1.IdleByKernelsOrTerminals, nil, []terminal{{}}, now},
		{"nobody is connected", v1.IdleByKernelConnections, []kernel{{State: "busy", Activity: then}}, nil, from},
		{"somebody is connected", v1.IdleByKernelConnections, []kernel{{}, {Connections: 1}}, nil, now},
		{"a kernel was active", v1.IdleByActivity, []kernel{{State: "idle", Connections: 2, Activity: then}}, nil, then},
		{"a kernel computes", v1.IdleByActivity, []kernel{{State: "busy", Activity: then}}, nil, now},
		{"a terminal was used", v1.IdleByActivity, nil, []terminal{{Activity: then}}, then},
		{"a clock that was set back", v1.IdleByActivity, []kernel{{Activity: now.Add(time.Hour)}}, nil, now},
		{"another word", "whatever", []kernel{{}}, nil, now},
	} {
		if got := jupyterUsed(c.by, c.kernels, c.terminals, from, now); !got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestUse(t *testing.T) {
	began := time.Now().Add(-time.Hour)
	u, now := newUse(began), time.Now()
	if !u.since(now).Equal(began) {
		t.Error("the time of the last use before any request is not the start")
	}
	end := u.begin()
	if !u.since(now).Equal(now) {
		t.Error("while somebody is here")
	}
	end()
	if got := u.since(time.Now()); got.Before(now) {
		t.Error("after they left")
	}
}

func TestSocketsInDeepFolders(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("a-long-name/", 12), "gate")
	for seen, path := range map[string]string{"/run/determined/gate": "/run/determined/gate/s", deep: ""} {
		s, err := MakeSocket(deep, seen)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Path) > maxSocketPath || path != "" && s.Path != path {
			t.Errorf("the program's path is %s", s.Path)
		}
		at := filepath.Dir(s.Path)
		if path != "" {
			at = deep
		}
		if info, err := os.Stat(at); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%v %v", info, err)
		}
		// The program, which sees the folder under a short name.
		ln, err := net.Listen("unix", "/proc/self/fd/"+strconv.Itoa(int(s.dir.Fd()))+"/s")
		if err != nil {
			t.Fatal(err)
		}
		conn, err := s.Dial(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", seen, err)
		}
		_ = conn.Close()
		_ = ln.Close()
		s.Close()
		if _, err := os.Stat(at); (err == nil) != (path != "") {
			t.Errorf("the socket %s after the close: %v", at, err)
		}
	}
	(*Socket)(nil).Close()
}

func TestAClosedGateway(t *testing.T) {
	certificate, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(t.Context(), "127.0.0.1:0", certificate)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	never := func(context.Context) (net.Conn, error) { return nil, errors.New("nobody listens") }
	ask := func(secret string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Address()+"/proxy/x/", nil)
		if err != nil {
			t.Fatal(err)
		}
		if secret != "-" {
			req.Header.Set(v1.GatewayHeader, secret)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode, resp.Header.Get(v1.GatewayHeader)
	}
	for what, open := range map[string]func(){
		"before it is opened":          func() {},
		"opened without a secret":      func() { s.Open(v1.Gateway{Kind: v1.GatewayOfHTTP, BasePath: "/proxy/x/"}, never, nil) },
		"opened for a task without it": func() { s.Open(v1.Gateway{Secret: "s", BasePath: "/proxy/x/"}, never, nil) },
	} {
		open()
		for _, secret := range []string{"", "-", "s"} {
			if status, mark := ask(secret); status != 403 || mark != "" {
				t.Errorf("%s, %q: %d %q", what, secret, status, mark)
			}
		}
	}
	s.Open(v1.Gateway{Kind: v1.GatewayOfHTTP, Secret: "s", BasePath: "/proxy/x/"}, never, nil)
	if status, mark := ask("s"); status != 503 || mark != v1.GatewayStarting {
		t.Errorf("a program that is not there: %d %q", status, mark)
	}
}
