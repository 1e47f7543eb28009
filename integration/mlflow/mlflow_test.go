// Package mlflow tests MLflow's interface of the master with MLflow's own client, beside MLflow's own server on the same PostgreSQL.
package mlflow

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/mlflow"
	"github.com/detent-ml/detent/master/server/servertest"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// python is the Python with MLflow.
func python(t *testing.T) string {
	t.Helper()
	path, err := pyenv.Named(t.Context(), "mlflow", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// script runs a program of testdata, and returns what it prints.
func script(t *testing.T, env []string, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), args...)
	cmd.Dir = "testdata"
	cmd.Env = append(os.Environ(), append(env, "MLFLOW_HTTP_REQUEST_MAX_RETRIES=2", "MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true", "GIT_PYTHON_REFRESH=quiet")...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", strings.Join(args, " "), err, tail(out.String()), tail(errs.String()))
	}
	var lines []string
	for s := bufio.NewScanner(&out); s.Scan(); {
		if strings.HasPrefix(s.Text(), "[") { // the client prints links, too
			lines = append(lines, s.Text())
		}
	}
	return lines
}

func tail(text string) string { return text[max(0, len(text)-4000):] }

// theirs starts MLflow's server on a database of its own, and returns its address.
func theirs(t *testing.T) string {
	t.Helper()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dsn := strings.Replace(pgtest.Empty(t), "postgres://", "postgresql+psycopg2://", 1)
	address, log := fmt.Sprintf("http://127.0.0.1:%d", port), filepath.Join(t.TempDir(), "log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = out.Close() }()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), python(t), "-m", "mlflow", "server", "--backend-store-uri", dsn, "--host", "127.0.0.1", "--port", fmt.Sprint(port),
		"--workers", "1", "--artifacts-destination", t.TempDir())
	cmd.Dir, cmd.Stdout, cmd.Stderr = t.TempDir(), out, out
	// The server's own jobs would be eight more processes, each of which imports MLflow; no call of these tests is one of them.
	cmd.Env = append(os.Environ(), "MLFLOW_DISABLE_TELEMETRY=true", "DO_NOT_TRACK=true", "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // with its workers
		<-ended
	})
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/health", nil)
		if err == nil {
			var answer *http.Response
			if answer, err = http.DefaultClient.Do(req); err == nil {
				_ = answer.Body.Close()
			}
		}
		cancel()
		if err == nil {
			return address
		}
		if time.Since(began) > 3*time.Minute {
			text, _ := os.ReadFile(log)
			t.Fatalf("MLflow's server does not answer: %v\n%s", err, tail(string(text)))
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log)
			t.Fatalf("MLflow's server ended\n%s", tail(string(text)))
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// differences are what our answers to the calls of calls.py may have other than those of MLflow's server, with the reason.
var differences = map[string]string{
	"an infinite value": "MLflow's server stores the largest number in its place",
}

// TestBesideTheirServer makes the same calls to both servers, and compares what the client understands.
func TestBesideTheirServer(t *testing.T) {
	m := servertest.Start(t, nil)
	address := theirs(t)
	want := script(t, nil, "calls.py", address, "one")
	got := script(t, []string{"MLFLOW_TRACKING_TOKEN=" + m.Client("determined").Token()}, "calls.py", m.Address()+mlflow.Prefix, "one")
	if len(got) != len(want) {
		t.Errorf("%d answers, MLflow's server gives %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		what, _, _ := strings.Cut(strings.TrimPrefix(want[i], `["`), `",`)
		if reason, differs := differences[what]; (got[i] != want[i]) != differs {
			t.Errorf("%s\n    ours:   %s\n    theirs: %s\n    %s", what, got[i], want[i], reason)
		}
	}
	t.Logf("%d answers compared", len(want))
}
