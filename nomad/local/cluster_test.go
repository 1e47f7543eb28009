package local

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"
	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/leftover"
)

// testReport shows what a slow test is doing in its log.
func testReport(t *testing.T) *servers.Reporter { return servers.NewReporter(testWriter{t}) }

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// testOptions are options of a small cluster that shares nothing with other tests and with users'
// clusters.
func testOptions(t *testing.T) Options {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts Nomad, Consul and PostgreSQL")
	}
	base, err := servers.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	// Not t.TempDir: as root PostgreSQL runs under another account, which may not pass through it.
	if err := os.MkdirAll(base, 0o755); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(base, "test-")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c, err := Load(dir)
		if errors.Is(err, ErrNoCluster) {
			os.RemoveAll(dir)
			return
		}
		if err != nil {
			t.Error(err)
			return
		}
		if err := c.Reset(context.Background(), testReport(t)); err != nil {
			t.Errorf("reset: %v", err)
		}
		if left, err := leftover.Tasks(dir); err != nil || len(left) > 0 {
			t.Errorf("tasks run on after the reset: %v %v", left, err)
		}
		if left, err := leftover.Helpers(dir); err != nil || len(left) > 0 {
			t.Errorf("Nomad's helpers run on after the reset: %v %v", left, err)
		}
	})
	return Options{Name: "test", StateDir: dir, FreePorts: true, Ephemeral: true}
}

// fakeMaster builds a program that answers as a master does, with what the job gave it.
func fakeMaster(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src := filepath.Join(dir, "main.go")
	if err := os.WriteFile(src, []byte(`package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
)

func main() {
	config, err := os.ReadFile(os.Args[3])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if strings.Contains(string(config), "broken") {
		fmt.Fprintln(os.Stderr, "this configuration is broken")
		os.Exit(1)
	}
	http.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/config", func(w http.ResponseWriter, _ *http.Request) { w.Write(config) })
	http.HandleFunc("/env", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Join(os.Environ(), "\n")) })
	fmt.Fprintln(os.Stderr, "the fake master listens")
	err = http.ListenAndServe(os.Getenv("NOMAD_ADDR_http"), nil)
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "det-master")
	cmd := exec.Command("go", "build", "-o", binary, src)
	cmd.Env = append(os.Environ(), "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build a fake master: %v\n%s", err, out)
	}
	return binary
}

func within(t *testing.T, limit time.Duration, what string, try func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := try()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s: %v", what, limit, err)
		}
		<-time.After(50 * time.Millisecond)
	}
}

func TestClusterKeepsItsDataAndPorts(t *testing.T) {
	ctx, opts := t.Context(), testOptions(t)
	c, err := Up(ctx, opts, testReport(t))
	if err != nil {
		t.Fatal(err)
	}
	before := c.Describe(ctx)
	if !before.Up() {
		t.Fatalf("after Up: %+v", before.Parts)
	}

	again, err := Up(ctx, opts, testReport(t))
	if err != nil {
		t.Fatalf("Up of a cluster that is up: %v", err)
	}
	if got, want := fmt.Sprint(again.Describe(ctx)), fmt.Sprint(before); got != want {
		t.Errorf("a second Up changed the cluster:\n got %s\nwant %s", got, want)
	}

	putData(t, c)
	if err := c.Down(ctx, testReport(t)); err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Describe(ctx).Parts {
		if p.Pid != 0 || p.Healthy {
			t.Errorf("after Down: %+v", p)
		}
	}
	if err := c.Down(ctx, testReport(t)); err != nil {
		t.Errorf("Down of a cluster that is down: %v", err)
	}

	c, err = Up(ctx, Options{Name: "test", StateDir: opts.StateDir}, testReport(t))
	if err != nil {
		t.Fatalf("Up after Down: %v", err)
	}
	after := c.Describe(ctx)
	if after.DSN != before.DSN || after.NomadURL != before.NomadURL || after.ConsulURL != before.ConsulURL {
		t.Errorf("the addresses changed:\n before %+v\n after %+v", before, after)
	}
	checkData(t, c)
}

// putData leaves something in each of the three servers.
func putData(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, c.Describe(ctx).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	if _, err := conn.Exec(ctx, `CREATE TABLE kept (v text); INSERT INTO kept VALUES ('in PostgreSQL')`); err != nil {
		t.Fatal(err)
	}
	nomad, err := c.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := nomad.Variables().Create(&api.Variable{Path: "kept", Items: api.VariableItems{"v": "in Nomad"}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := put(ctx, c.Describe(ctx).ConsulURL+"/v1/kv/kept", "in Consul"); err != nil {
		t.Fatal(err)
	}
}

func checkData(t *testing.T, c *Cluster) {
	t.Helper()
	ctx := t.Context()
	conn, err := pgx.Connect(ctx, c.Describe(ctx).DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(ctx)
	var v string
	if err := conn.QueryRow(ctx, `SELECT v FROM kept`).Scan(&v); err != nil || v != "in PostgreSQL" {
		t.Errorf("PostgreSQL has %q, %v", v, err)
	}
	nomad, err := c.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	if kept, _, err := nomad.Variables().Read("kept", nil); err != nil || kept.Items["v"] != "in Nomad" {
		t.Errorf("Nomad has %v, %v", kept, err)
	}
	if v, err := c.get(ctx, c.Describe(ctx).ConsulURL+"/v1/kv/kept?raw"); err != nil || v != "in Consul" {
		t.Errorf("Consul has %q, %v", v, err)
	}
}

func TestTakenPortIsNamed(t *testing.T) {
	ctx, opts := t.Context(), testOptions(t)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	opts.Ports.Consul = l.Addr().(*net.TCPAddr).Port
	_, err = Up(ctx, opts, testReport(t))
	for _, want := range []string{"consul", strconv.Itoa(opts.Ports.Consul), "is in use by", strconv.Itoa(os.Getpid()), "another port"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, expected %q in it", err, want)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	for want, opts := range map[string]Options{
		"lower-case letters":  {Name: "No Good"},
		"cannot share a port": {Ports: Ports{Master: 8080}, Master: Master{Count: 2}},
		"CPU slots":           {Slots: -1},
	} {
		opts.StateDir = t.TempDir()
		if _, err := Up(t.Context(), opts, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, expected %q", opts, err, want)
		}
	}
}

func TestLoadOfNoCluster(t *testing.T) {
	if _, err := Load(t.TempDir()); !errors.Is(err, ErrNoCluster) {
		t.Errorf("error %v, expected %v", err, ErrNoCluster)
	}
}
