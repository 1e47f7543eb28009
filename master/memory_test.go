//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/schema"
	"github.com/detent-ml/detent/nomad/servers/pgtest"
)

// The test's program runs as the master if an environment variable is set.
func TestMain(m *testing.M) {
	if os.Getenv("TEST_AS_MASTER") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const (
	masterMemory = 256 << 20 // the least that a master's job reserves
	contextSize  = 94 << 20  // Determined's clients stop at 95 MiB
	contextsOnce = 10
)

// The master stays within the memory of its job while many contexts arrive at once on all routes.
func TestContextsDoNotFillTheMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it moves 900 MB")
	}
	m := startMaster(t)
	token := m.signIn(t)
	var wg sync.WaitGroup
	failed := make(chan error, contextsOnce)
	for i := range contextsOnce {
		wg.Go(func() { failed <- m.submit(token, i) })
	}
	wg.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			t.Error(err)
		}
	}
	peak := m.peak(t)
	t.Logf("the master's peak was %d MB", peak>>20)
	if peak > masterMemory*9/10 {
		t.Errorf("the master's peak was %d MB of its %d", peak>>20, masterMemory>>20)
	}
	// The stored code is returned complete, in both forms, also to many readers.
	for i := range 4 {
		wg.Go(func() {
			if err := m.checkCode(token, i == 0); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if peak := m.peak(t); peak > masterMemory*9/10 {
		t.Errorf("reading: the master's peak was %d MB of its %d", peak>>20, masterMemory>>20)
	}
}

// A runningMaster is a det-master in a process of its own.
type runningMaster struct {
	url  string
	pid  int
	stop func()
}

func startMaster(t *testing.T) *runningMaster {
	t.Helper()
	return startMasterOn(t, pgtest.New(t, schema.Hash(), schema.Migrate))
}

func startMasterOn(t *testing.T, database string) *runningMaster {
	t.Helper()
	dir := t.TempDir()
	runner := filepath.Join(dir, "det-runner")
	for _, path := range []string{runner, filepath.Join(dir, "det-remover")} {
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "serve", "--set", "listen="+addr, "--set", "nomad.address=http://127.0.0.1:1",
		"--set", "runner_path="+runner, "--set", "harness_path="+dir, "--set", "database="+database)
	cmd.Env = append(os.Environ(), "TEST_AS_MASTER=1", fmt.Sprintf("NOMAD_MEMORY_LIMIT=%d", masterMemory>>20))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	m := &runningMaster{url: "http://" + addr, pid: cmd.Process.Pid}
	limitMemory(t, m.pid)
	m.stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		err := cmd.Wait()
		if text, rerr := os.ReadFile(log.Name()); t.Failed() && rerr == nil {
			t.Logf("the master ended with %v; its log:\n%s", err, text[max(0, len(text)-4000):])
		}
	})
	t.Cleanup(m.stop)
	for until := time.Now().Add(2 * time.Minute); ; {
		if resp, err := http.Get(m.url + "/health"); err == nil {
			_ = resp.Body.Close()
			return m
		}
		if time.Now().After(until) {
			t.Fatal("the master does not start")
		}
		<-time.After(50 * time.Millisecond)
	}
}

// limitMemory puts a process into a control group with the job's limit, where this
// machine lets us: the kernel then does what it does to the job.
func limitMemory(t *testing.T, pid int) {
	t.Helper()
	for _, g := range [][2]string{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		group := filepath.Join(g[0], fmt.Sprintf("detent-memory-test-%d", pid))
		if err := os.Mkdir(group, 0o755); err != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) })
		if os.WriteFile(filepath.Join(group, g[1]), []byte(strconv.Itoa(masterMemory)), 0o644) == nil &&
			os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644) == nil {
			t.Logf("the master runs in %s", group)
			return
		}
	}
	t.Log("no control group can be made here; the peak of the process is measured")
}

// peak is the most memory that the master had at once.
func (m *runningMaster) peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kb << 10
		}
	}
	t.Fatal("the master's process is gone")
	return 0
}

func (m *runningMaster) signIn(t *testing.T) string {
	t.Helper()
	return m.signInAs(t, "determined")
}

func (m *runningMaster) signInAs(t *testing.T, username string) string {
	t.Helper()
	resp, err := http.Post(m.url+"/api/v1/auth/login", "application/json", strings.NewReader(`{"username":"`+username+`","password":""}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var got struct{ Token string }
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil || got.Token == "" {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
	return got.Token
}

// code returns different contents for each number, which compress well or not at all.
func code(i int) io.Reader {
	if i < 2 {
		return io.LimitReader(rand.NewChaCha8([32]byte{byte(i)}), contextSize)
	}
	return io.LimitReader(&repeated{line: fmt.Appendf(nil, "context %d, again and again\n", i)}, contextSize)
}

type repeated struct {
	line []byte
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = r.line[r.at]
		r.at = (r.at + 1) % len(r.line)
	}
	return len(p), nil
}

// submit sends a context as Determined's clients do: one message, files in base64.
func (m *runningMaster) submit(token string, i int) error {
	config, err := json.Marshal("name: n\nentrypoint: x\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\ncheckpoint_storage: {type: shared_fs, host_path: /tmp}\n")
	if err != nil {
		return err
	}
	path, before, after := "/api/v1/experiments", `{"config":`+string(config)+`,"modelDefinition":[{"path":"weights.bin","type":48,"mtime":"1","content":"`, `"}],"activate":false}`
	if i%2 == 1 {
		path, before, after = "/api/v1/commands", `{"config":{"entrypoint":["true"],"resources":{"slots":0}},"files":[{"path":"weights.bin","type":48,"content":"`, `"}]}`
	}
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriterSize(w, 64<<10)
		_, _ = out.WriteString(before)
		enc := base64.NewEncoder(base64.StdEncoding, out)
		_, err := io.Copy(enc, code(i))
		_ = enc.Close()
		_, _ = out.WriteString(after)
		if err == nil {
			err = out.Flush()
		}
		_ = w.CloseWithError(err)
	}()
	answer, err := m.call(token, "POST", path, r, int64(len(before)+base64.StdEncoding.EncodedLen(contextSize)+len(after)))
	if err != nil {
		return err
	}
	return answer.Close()
}

func (m *runningMaster) call(token, method, path string, body io.Reader, length int64) (io.ReadCloser, error) {
	req, err := http.NewRequest(method, m.url+path, body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = length
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return nil, fmt.Errorf("%s %s: %d %s %w", method, path, resp.StatusCode, text, err)
}

// checkCode reads the code of an experiment, and may look at what it is.
func (m *runningMaster) checkCode(token string, look bool) error {
	answer, err := m.call(token, "GET", "/api/v1/experiments/1/model_def", nil, 0)
	if err != nil {
		return err
	}
	defer answer.Close()
	if !look {
		_, err := io.Copy(io.Discard, answer)
		return err
	}
	if _, err := io.CopyN(io.Discard, answer, int64(len(`{"b64Tgz":"`))); err != nil {
		return err
	}
	zip, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, answer))
	if err != nil {
		return err
	}
	archive := tar.NewReader(zip)
	h, err := archive.Next()
	if err != nil || h.Size != contextSize {
		return fmt.Errorf("%+v %w", h, err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, archive); err != nil {
		return err
	}
	for i := range contextsOnce {
		want := sha256.New()
		_, _ = io.Copy(want, code(i)) // from memory
		if bytes.Equal(want.Sum(nil), sum.Sum(nil)) {
			return nil
		}
	}
	return errors.New("what came back is nothing that was sent")
}
