package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/root"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/server/servertest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// heard is the output of a command that runs.
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

// listened is a det for a master, and what it has printed so far.
func listened(t *testing.T, m *servertest.Master) (a *app.App, out, errs *heard) {
	t.Helper()
	streams, _, _ := term.Buffers("")
	out, errs = &heard{}, &heard{}
	streams.Out, streams.Err = out, errs
	env := map[string]string{"DET_MASTER": m.URL, "HOME": t.TempDir(), "DET_PASS": ""}
	return &app.App{IO: streams, Now: time.Now, Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}, out, errs
}

// TestTheMastersLogIsFollowed: master logs prints what there is and ends; with --follow it goes on with what comes.
func TestTheMastersLogIsFollowed(t *testing.T) {
	t.Parallel()
	m := servertest.Start(t, nil)
	first, printed, _ := listened(t, m)
	m.Until("the first line is stored", func() bool {
		return root.Run(t.Context(), first, []string{"-u", "admin", "master", "logs"}) == exit.OK && strings.Contains(printed.String(), "this master leads")
	})
	a, out, errs := listened(t, m)
	ctx, interrupt := context.WithCancel(t.Context())
	status := make(chan int, 1)
	go func() { status <- root.Run(ctx, a, []string{"-u", "admin", "master", "logs", "--follow"}) }()
	m.Until("what there is is printed", func() bool { return strings.Contains(out.String(), "this master leads") })
	change := v1.PatchMasterConfigRequest{}
	change.Config.Log.Level, change.FieldMask.Paths = "LOG_LEVEL_DEBUG", []string{"log.level"}
	if _, err := client.Send(t.Context(), m.Client("admin"), v1.PatchMasterConfig, change); err != nil {
		t.Fatal(err)
	}
	m.Until("what comes is printed", func() bool {
		return strings.Contains(out.String(), "an administrator changed the masters' configuration")
	})
	interrupt()
	if got := <-status; got != exit.Interrupted {
		t.Errorf("status %d: %s", got, errs)
	}
}

// TestPortsOfACommand: --publish makes a port of a command reachable here until the command ends.
func TestPortsOfACommand(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	m := servertest.Start(t, func(ctx context.Context, _ *servertest.Attempt) int {
		select {
		case <-release:
			return 0
		case <-ctx.Done(): // the test has failed
			return 1
		}
	})
	m.Front.Answer(func(w http.ResponseWriter, r *http.Request) bool { // the program's side: it says which port it is, and repeats what it reads
		if r.Header.Get("Upgrade") != v1.GatewayTunnel {
			return false
		}
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return true
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\n\r\n%s says ", v1.GatewayTunnel, r.URL.Path[len("/proxy/"):])
		_, _ = io.Copy(conn, both)
		return true
	})
	a, out, errs := listened(t, m)
	status := make(chan int, 1)
	go func() {
		status <- root.Run(t.Context(), a, []string{"command", "run", "--publish", "0:8080", "--config", "resources.slots=0", "serve"})
	}()
	said := regexp.MustCompile(`(?s)id: ([0-9a-f-]+),.*Port 8080 of the task is at (127\.0\.0\.1:\d+)`)
	m.Until("the address of the port", func() bool { return said.MatchString(out.String()) })
	found := said.FindStringSubmatch(out.String())
	conn, err := net.DialTimeout("tcp", found[2], time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "hello"); err != nil {
		t.Fatal(err)
	}
	want := found[1] + ":8080/ says hello"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
		t.Errorf("the port answers %q, %v; want %q", got, err, want)
	}
	close(release)
	if got := <-status; got != exit.OK {
		t.Errorf("status %d: %s", got, errs)
	}
	if late, err := net.DialTimeout("tcp", found[2], time.Minute); err == nil {
		late.Close()
		t.Error("the port is open after the end of the command")
	}
}
