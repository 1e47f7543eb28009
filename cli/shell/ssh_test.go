package shell

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/term"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
)

func TestKeysOfSomebodyElse(t *testing.T) {
	dir := t.TempDir()
	_, err := writeKeys(dir, v1.Shell{ID: "s", Username: "eve"})
	if !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "eve") {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v files are left: %v", len(left), err)
	}
}

// TestAnswersOfAHostileMaster: no answer of a master names files or options on the user's machine.
func TestAnswersOfAHostileMaster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	for what, s := range map[string]v1.Shell{
		"a path":             {ID: "../../x"},
		"an option":          {ID: "-oProxyCommand=x"},
		"a command":          {ID: "a;id"},
		"no id":              {},
		"an account":         {ID: "s", AgentUserGroup: v1.Struct(`{"user":"-oProxyCommand=touch x"}`)},
		"another host's key": {ID: "s", HostKey: "ssh-ed25519 A\nexample.com ssh-ed25519 B"},
	} {
		s.PrivateKey = "secret"
		if k, err := writeKeys(dir, s); err == nil || !strings.Contains(err.Error(), "the master's answer") {
			t.Errorf("%s: %v, %v", what, k, err)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

func TestKeysAreForTheirUserAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	k, err := writeKeys(dir, v1.Shell{ID: "s", PrivateKey: "secret", HostKey: "ssh-ed25519 A"})
	if err != nil {
		t.Fatal(err)
	}
	for path, mode := range map[string]os.FileMode{dir: 0o700, k.identity: 0o600, k.known: 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// Arguments with special characters reach ssh, and the shell behind ssh, unchanged.
func TestCommandLine(t *testing.T) {
	io, _, _ := term.Buffers("")
	a := &app.App{IO: io, Lookup: func(string) (string, bool) { return "", false }, Master: "http://master:1/at%20home"}
	s := v1.Shell{ID: "id", AgentUserGroup: v1.Struct(`{"user":null}`)}
	argv, err := command(a, "/it's 100%/det", s, keys{identity: "/k", known: "/a b/%/known"}, []string{"-v"})
	if err != nil {
		t.Fatal(err)
	}
	line := words(argv)
	for _, part := range []string{`ProxyCommand='/it'\''s 100%%/det' -m 'http://master:1/at%%20home' shell tunnel %h`, `UserKnownHostsFile="/a b/%%/known"`, "root@id", "-v"} {
		found := false
		for _, w := range argv {
			found = found || w == part
		}
		if !found {
			t.Errorf("%q is not in %q", part, argv)
		}
	}
	if !strings.Contains(line, `'UserKnownHostsFile="/a b/%%/known"'`) {
		t.Errorf("the line is %s", line)
	}
	argv, err = command(a, "/det", v1.Shell{ID: "id", AgentUserGroup: v1.Struct(`{"user":"ada"}`)}, keys{identity: "/k"}, nil)
	if err != nil || !strings.Contains(words(argv), " ada@id") {
		t.Errorf("with an account: %q, %v", argv, err)
	}
	argv, err = command(a, "/det", s, keys{identity: "/k"}, nil)
	if err != nil || strings.Contains(words(argv), "known_hosts") || !strings.Contains(words(argv), "StrictHostKeyChecking=no") {
		t.Errorf("without a host key: %q, %v", argv, err)
	}
}

// The end of the input is forwarded, and output after it still arrives.
func TestCarry(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	served := make(chan error, 1)
	go func() {
		conn, err := lis.Accept()
		if err == nil {
			var all []byte
			if all, err = io.ReadAll(conn); err == nil {
				_, err = conn.Write(append([]byte("heard "), all...))
			}
			conn.Close()
		}
		served <- err
	}()
	conn, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := carry(t.Context(), conn, strings.NewReader("hello"), &out); err != nil || out.String() != "heard hello" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// An interrupt ends the tunnel although the other side sends nothing.
func TestCarryIsInterrupted(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	ctx, cancel := context.WithCancel(t.Context())
	block, feed := io.Pipe()
	defer feed.Close()
	done := make(chan error, 1)
	go func() { done <- carry(ctx, ours, block, io.Discard) }()
	cancel()
	if err := <-done; err == nil {
		t.Error("carry ended without an error")
	}
}
