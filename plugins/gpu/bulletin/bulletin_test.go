package bulletin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/plugins/drivers/proto"
	"google.golang.org/grpc"
)

func TestNotice(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "notices")
	path, err := placeIn(dir, 42)
	if err != nil || path != filepath.Join(dir, "42.json") {
		t.Fatalf("%s, %v", path, err)
	}
	if n, err := Read(path); err != nil || len(n.GPUs) != 0 || n.Words() != "det-gpu has found no GPUs" {
		t.Errorf("before anything was said: %+v, %v", n, err)
	}
	for words, n := range map[string]Notice{
		"the GPU is fit for work":                              {GPUs: []GPU{{ID: "A", Model: "H200"}}},
		"all 2 GPUs are fit for work":                          {GPUs: []GPU{{ID: "A", Model: "H200"}, {ID: "B", Model: "H200"}}},
		"1 of 2 GPUs is out of use: B (H200): it smells":       {GPUs: []GPU{{ID: "A", Model: "H200"}, {ID: "B", Model: "H200", Why: "it smells"}}},
		"2 of 2 GPUs are out of use: A (T4): hot; B (T4): wet": {GPUs: []GPU{{ID: "A", Model: "T4", Why: "hot"}, {ID: "B", Model: "T4", Why: "wet"}}},
	} {
		if err := n.Write(path); err != nil {
			t.Fatal(err)
		}
		got, err := Read(path)
		if err != nil || got.Words() != words || got.Fit() == strings.Contains(words, "out of use") {
			t.Errorf("%q, %v, want %q", got.Words(), err, words)
		}
	}
	// Process 1 is there; nobody has the largest number.
	gone, there := filepath.Join(dir, "2147483647.json"), filepath.Join(dir, "1.json")
	if err := errors.Join(Notice{}.Write(gone), Notice{}.Write(there)); err != nil {
		t.Fatal(err)
	}
	Sweep(path)
	for file, want := range map[string]bool{path: false, gone: false, there: true} {
		if _, err := os.Stat(file); (err == nil) != want {
			t.Errorf("%s after the sweep: %v", file, err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := placeIn(dir, 42); err == nil || !strings.Contains(err.Error(), "alone") {
		t.Errorf("a folder that others may read: %v", err)
	}
}

// stream takes what the driver tells Nomad.
type stream struct {
	grpc.ServerStream
	ctx  context.Context
	said chan *proto.FingerprintResponse
}

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Send(r *proto.FingerprintResponse) error {
	s.said <- r
	return nil
}

func TestDriver(t *testing.T) {
	path, err := placeIn(filepath.Join(t.TempDir(), "notices"), 42)
	if err != nil {
		t.Fatal(err)
	}
	c := &calls{driver: &Driver{Version: "1.2.3", Path: path}}
	ctx, stop := context.WithCancel(t.Context())
	to := &stream{ctx: ctx, said: make(chan *proto.FingerprintResponse)}
	ended := make(chan error, 1)
	go func() { ended <- c.Fingerprint(nil, to) }()
	says := func(health proto.FingerprintResponse_HealthState, words string) {
		t.Helper()
		select {
		case r := <-to.said:
			if r.Health != health || !strings.Contains(r.HealthDescription, words) {
				t.Errorf("it says %s %q, want %s %q", r.Health, r.HealthDescription, health, words)
			}
		case <-time.After(time.Minute):
			t.Fatalf("nothing was said of %q", words)
		}
	}
	says(proto.FingerprintResponse_UNDETECTED, "no GPUs")
	if err := (Notice{GPUs: []GPU{{ID: "A", Why: "wet"}}}).Write(path); err != nil {
		t.Fatal(err)
	}
	says(proto.FingerprintResponse_UNHEALTHY, "wet")
	if err := (Notice{GPUs: []GPU{{ID: "A"}}}).Write(path); err != nil {
		t.Fatal(err)
	}
	says(proto.FingerprintResponse_HEALTHY, "fit for work")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	says(proto.FingerprintResponse_UNHEALTHY, "cannot be read")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := c.StartTask(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "runs no tasks") {
		t.Errorf("a task: %v", err)
	}
	if i, err := c.driver.PluginInfo(); err != nil || i.Name != Name || i.Type != "driver" || i.PluginVersion != "1.2.3" {
		t.Errorf("%+v, %v", i, err)
	}
}
