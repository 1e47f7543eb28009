package deploy

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/term"
)

// stopped makes the folder of a cluster of which nothing runs, with a file in its log folder.
func stopped(t *testing.T) (dir, log string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "lab")
	log = filepath.Join(dir, "log", "nomad.log")
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{filepath.Join(dir, "state.json"): "{}", log: "one\ntwo\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, log
}

// det runs det deploy local with the words of a line.
func det(ctx context.Context, out io.Writer, line string) error {
	streams, _, _ := term.Buffers("")
	if out != nil {
		streams.Out = out
	}
	cmd := New(&app.App{IO: streams, Now: time.Now, Lookup: os.LookupEnv})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append([]string{"local"}, strings.Fields(line)...))
	return cmd.ExecuteContext(ctx)
}

// TestDataIsRemovedOnRequest: cluster-up and cluster-down remove a cluster's data with --delete-db, and keep it without.
func TestDataIsRemovedOnRequest(t *testing.T) {
	programs := install(t, "det-master", "det-runner", "det-remover", "python3", "determined")
	t.Setenv("PATH", programs)
	none := filepath.Join(programs, "python3") // a file: nothing can be cached there
	t.Setenv("XDG_CACHE_HOME", none)
	t.Setenv("HOME", none)
	for _, name := range []string{"nomad", "consul"} { // programs that print a version and run nothing, so no cluster starts
		script(t, filepath.Join(programs, name), "echo 'Server v1.30.0'")
	}
	up := "cluster-up --gpus 0 --python python3 --db postgres://d --harness " + programs
	for _, c := range []struct {
		line    string
		removed bool
		problem string
	}{
		{"cluster-down", false, ""},
		{"cluster-down --delete-db", true, ""},
		{up, false, "Consul"},
		{up + " --delete-db", true, "Consul"},
	} {
		dir, log := stopped(t)
		err := det(t.Context(), nil, c.line+" --state-dir "+dir)
		if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v, want %q", c.line, err, c.problem)
		}
		if _, err := os.Stat(log); os.IsNotExist(err) != c.removed {
			t.Errorf("%s: %v, want removed: %t", c.line, err, c.removed)
		}
	}
}

// heard is what a command has printed so far.
type heard struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.Write(p)
}

func (h *heard) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.text.String()
}

// TestLogsAreFollowed: logs continues with --follow, and ends without it or with --no-follow.
func TestLogsAreFollowed(t *testing.T) {
	dir, log := stopped(t)
	for _, line := range []string{"logs nomad", "logs nomad --no-follow"} {
		out := &heard{}
		if err := det(t.Context(), out, line+" --state-dir "+dir); err != nil || out.String() != "one\ntwo\n" {
			t.Errorf("%s: %v, %q", line, err, out)
		}
	}
	if err := det(t.Context(), nil, "logs nomad --follow --no-follow --state-dir "+dir); err == nil || !strings.Contains(err.Error(), "follow no-follow") {
		t.Errorf("both flags: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, ended := &heard{}, make(chan error, 1)
	go func() { ended <- det(ctx, out, "logs nomad --follow --state-dir "+dir) }()
	says := func(want string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); out.String() != want; <-time.After(5 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("the log is %q, want %q", out, want)
			}
		}
	}
	says("one\ntwo\n")
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = io.WriteString(f, "three\n")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	says("one\ntwo\nthree\n")
	stop()
	if err := <-ended; err != nil {
		t.Errorf("the end of the command: %v", err)
	}
}
