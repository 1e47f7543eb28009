package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/plugins/notice/cloud/cloudtest"
)

// here lets a test try again at once, and keeps the account of its process.
func here() host {
	return host{pauses{detect: 10 * time.Millisecond, nomad: 10 * time.Millisecond, look: 10 * time.Millisecond}, func() error { return nil }}
}

// TestArguments: what cannot be meant is rejected before anything is asked.
func TestArguments(t *testing.T) {
	for _, c := range []struct {
		args string
		env  map[string]string
		code int
		says string
	}{
		{"-help", nil, 0, "-rebalance"},
		{"-version", nil, 0, "det-notice "},
		{"-cloud=alibaba", nil, 2, `-cloud: expected auto, aws, google or azure, found "alibaba"`},
		{"-metadata=127.0.0.1:1338", nil, 2, `-metadata: expected an address such as http://169.254.169.254, found "127.0.0.1:1338"`},
		{"-clouds=aws", nil, 2, "flag provided but not defined: -clouds"},
		{"aws", nil, 2, `expected only flags, found "aws"`},
		{"-cloud=aws", map[string]string{"NOMAD_SECRETS_DIR": "/secrets"}, 1, "identity { env = true }"},
		{"-cloud=aws", map[string]string{"NOMAD_ADDR": "nomad:4646"}, 1, `expected an address such as http://127.0.0.1:4646, found "nomad:4646"`},
	} {
		var out bytes.Buffer
		code := run(t.Context(), strings.Fields(c.args), func(name string) string { return c.env[name] }, &out, &out, here())
		if code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: %d, %s", c.args, code, out.String())
		}
	}
}

// said collects what the program says, and tells when a text was said.
type said struct {
	text bytes.Buffer
	wait string
	done func()
}

func (s *said) Write(p []byte) (int, error) {
	s.text.Write(p)
	if s.wait != "" && strings.Contains(s.text.String(), s.wait) {
		s.wait = ""
		s.done()
	}
	return len(p), nil
}

// TestOutsideOfAnyCloud: it says once that nothing answers, and goes on, because the service of a machine may be up later.
func TestOutsideOfAnyCloud(t *testing.T) {
	m := cloudtest.New("aws", "vm-7")
	m.Set(cloudtest.Fate{Down: true})
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 30 {
			m.Set(cloudtest.Fate{})
		}
		m.ServeHTTP(w, r)
	}))
	defer server.Close()
	nomad := httptest.NewServer(http.NotFoundHandler()) // no Nomad of this version
	defer nomad.Close()
	ctx, cancel := context.WithCancel(t.Context())
	out := &said{wait: "status 404 of Nomad", done: cancel}
	env := map[string]string{"NOMAD_ADDR": nomad.URL}
	if code := run(ctx, []string{"-metadata", server.URL}, func(name string) string { return env[name] }, out, out, here()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	for text, want := range map[string]int{"this machine gets no notices": 1, "watching for notices": 1, "Nomad does not take the notice": 1} {
		if n := strings.Count(out.text.String(), text); n != want {
			t.Errorf("it says %d times that %s:\n%s", n, text, out.text.String())
		}
	}
}
