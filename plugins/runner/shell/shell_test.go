//go:build linux

package shell

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/detent-ml/detent/plugins/runner/shell/shelltest"
)

// logIn starts a server and logs in to it.
func logIn(t *testing.T) (*ssh.Client, string) {
	t.Helper()
	_, dir, enter := serveShell(t)
	c, err := enter()
	if err != nil {
		t.Fatal(err)
	}
	return c, dir
}

// serveShell starts a server, and returns what logs in to it with its key.
func serveShell(t *testing.T) (address, dir string, enter func() (*ssh.Client, error)) {
	t.Helper()
	private, public := shelltest.KeyPair(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir) // shells read no files of the account of the tests
	t.Setenv("HISTFILE", os.DevNull)
	s, err := New(Config{AuthorizedKey: public, Dir: dir}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { s.Serve(ln); close(done) }()
	t.Cleanup(func() { _ = ln.Close(); <-done })
	signer, err := ssh.ParsePrivateKey([]byte(private))
	if err != nil {
		t.Fatal(err)
	}
	return ln.Addr().String(), dir, func() (*ssh.Client, error) {
		c, err := ssh.Dial("tcp", ln.Addr().String(), &ssh.ClientConfig{User: "anybody", Auth: []ssh.AuthMethod{ssh.PublicKeys(signer)},
			HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: 20 * time.Second})
		if err == nil {
			t.Cleanup(func() { _ = c.Close() })
		}
		return c, err
	}
}

// TestUnauthenticatedConnectionsKeepNobodyOut: any number of silent connections without the key
// neither keeps users with the key from connecting nor ends their connections.
func TestUnauthenticatedConnectionsKeepNobodyOut(t *testing.T) {
	address, _, enter := serveShell(t)
	first, err := enter()
	if err != nil {
		t.Fatal(err)
	}
	var strangers []net.Conn
	for range maxConnections + maxUnauthenticated {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := io.ReadFull(c, make([]byte, len("SSH-2.0-Detent"))); err != nil { // it is being served
			t.Fatal(err)
		}
		strangers = append(strangers, c)
	}
	second, err := enter()
	if err != nil {
		t.Fatalf("whoever has the key is kept out by %d strangers: %v", len(strangers), err)
	}
	for i, c := range []*ssh.Client{first, second} {
		if out, err := open(t, c).Output("echo here"); err != nil || string(out) != "here\n" {
			t.Errorf("login %d: %q, %v", i, out, err)
		}
	}
	_ = strangers[0].SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, strangers[0]); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error("the first stranger's connection is still open")
	}
}

func open(t *testing.T, c *ssh.Client) *ssh.Session {
	t.Helper()
	s, err := c.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// until reads lines until one contains one of these texts, and returns that text.
func until(t *testing.T, r *bufio.Reader, texts ...string) string {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		for _, text := range texts {
			if strings.Contains(line, text) {
				return text
			}
		}
		if err != nil {
			t.Fatalf("%q did not come: %v", texts, err)
		}
	}
}

func TestATerminalFollowsItsWindow(t *testing.T) {
	c, dir := logIn(t)
	s := open(t, c)
	if err := s.RequestPty("xterm-256color", 40, 132, ssh.TerminalModes{}); err != nil {
		t.Fatal(err)
	}
	in, err := s.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(`stty size; echo "$TERM"; pwd; trap 'stty size' WINCH; echo waiting; while read line; do echo "got $line"; done`); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, want := range []string{"40 132", "xterm-256color", dir, "waiting"} {
		until(t, lines, want)
	}
	if err := s.WindowChange(50, 200); err != nil {
		t.Fatal(err)
	}
	// Shells run a trap when read returns, and a line may overtake the window.
	for tries := 0; ; tries++ {
		if _, err := fmt.Fprint(in, "something\n"); err != nil {
			t.Fatal(err)
		}
		if until(t, lines, "50 200", "got something") == "50 200" {
			break
		}
		if tries == 10_000 {
			t.Fatal("the program gets no signal when its window changes")
		}
	}
	if _, err := in.Write([]byte{4}); err != nil { // end of input, as typed
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the session's end: %v", err)
	}
}

func TestSignalsReachTheProgram(t *testing.T) {
	c, _ := logIn(t)
	for name, want := range map[ssh.Signal]string{ssh.SIGTERM: "TERM", ssh.SIGKILL: "KILL"} {
		s := open(t, c)
		out, err := s.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Start("echo ready; exec sleep 1000"); err != nil {
			t.Fatal(err)
		}
		until(t, bufio.NewReader(out), "ready")
		if err := s.Signal(name); err != nil {
			t.Fatal(err)
		}
		var exit *ssh.ExitError
		if err := s.Wait(); !errors.As(err, &exit) || exit.Signal() != want {
			t.Errorf("%s: %v", name, exit)
		}
	}
}

// TestWhoLeavesTakesTheProgramAlong closes the connection while a program runs.
func TestWhoLeavesTakesTheProgramAlong(t *testing.T) {
	c, dir := logIn(t)
	s := open(t, c)
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start("trap 'echo hung up > left; exit' HUP; echo ready; while :; do sleep 0.02; done"); err != nil {
		t.Fatal(err)
	}
	until(t, bufio.NewReader(out), "ready")
	_ = c.Close()
	for deadline := time.Now().Add(20 * time.Second); ; {
		if text, err := os.ReadFile(filepath.Join(dir, "left")); err == nil && string(text) == "hung up\n" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the program got no signal")
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestConnectionsFromTheTasksSide(t *testing.T) {
	c, dir := logIn(t)
	for network, address := range map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(dir, "s")} {
		ln, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer ln.Close()
		go func() {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			all, _ := io.ReadAll(conn)
			fmt.Fprintf(conn, "%d", len(all))
		}()
		conn, err := c.Dial(network, ln.Addr().String())
		if err != nil {
			t.Fatalf("%s: %v", network, err)
		}
		if _, err := conn.Write(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
		if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(conn); string(got) != "100000" || err != nil {
			t.Errorf("%s: %q %v", network, got, err)
		}
	}
	if _, err := c.Dial("unix", filepath.Join(dir, "none")); err == nil {
		t.Error("a socket that is not there was reached")
	}
	if ok, _, err := c.SendRequest("keepalive@openssh.com", true, nil); !ok || err != nil {
		t.Errorf("keepalive: %v %v", ok, err)
	}
}

// TestConnectionsToTheClientsSide: ssh -R. A program of the task reaches what the client offers, at a port
// of loopback that ends when the client cancels it or leaves.
func TestConnectionsToTheClientsSide(t *testing.T) {
	c, _ := logIn(t)
	ln, err := c.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		all, _ := io.ReadAll(conn)
		fmt.Fprintf(conn, "%d", len(all))
	}()
	conn, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(make([]byte, 100_000)); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "100000" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if _, err := c.Listen("tcp", "127.0.0.1:"+port); err == nil {
		t.Error("two listeners have one port")
	}
	if err := ln.Close(); err != nil {
		t.Error(err)
	}
	again, err := c.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatalf("a canceled port is not free: %v", err)
	}
	t.Cleanup(func() { _ = again.Close() })
	_ = c.Close()
	for deadline := time.Now().Add(20 * time.Second); ; {
		conn, err := net.Dial("tcp", "127.0.0.1:"+port)
		if err != nil {
			return
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the port outlives its client")
		}
		<-time.After(10 * time.Millisecond)
	}
}

// TestAgentOfTheClient: ssh -A. Programs find the client's agent, at a socket for their account only.
func TestAgentOfTheClient(t *testing.T) {
	c, _ := logIn(t)
	asked := c.HandleChannelOpen("auth-agent@openssh.com")
	go func() {
		for n := range asked {
			channel, requests, err := n.Accept()
			if err != nil {
				return
			}
			go ssh.DiscardRequests(requests)
			all, _ := io.ReadAll(channel)
			fmt.Fprintf(channel, "signed %s", all)
			_ = channel.Close()
		}
	}()
	s := open(t, c)
	if ok, err := s.SendRequest("auth-agent-req@openssh.com", true, nil); !ok || err != nil {
		t.Fatalf("%v %v", ok, err)
	}
	out, err := s.Output("printenv SSH_AUTH_SOCK; stat -c %a $(dirname $SSH_AUTH_SOCK)")
	if err != nil {
		t.Fatal(err)
	}
	socket, mode, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if mode != "700" {
		t.Errorf("the socket's folder has the mode %s", mode)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("this")); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); string(got) != "signed this" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	_ = c.Close()
	for deadline := time.Now().Add(20 * time.Second); ; {
		if _, err := os.Stat(filepath.Dir(socket)); os.IsNotExist(err) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the socket outlives its client")
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestKeysThatCannotBeRead(t *testing.T) {
	for _, c := range []Config{{}, {AuthorizedKey: "ssh-ed25519 nonsense"}, {AuthorizedKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGk", HostKey: "x"}} {
		if _, err := New(c, io.Discard); err == nil || !strings.Contains(err.Error(), "cannot parse") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	path := filepath.Join(t.TempDir(), "c")
	if err := (Config{Socket: "/s", HostKey: "secret"}).Write(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	if c, err := readConfig(path); err != nil || c.HostKey != "secret" {
		t.Errorf("%+v %v", c, err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the keys stay: %v", err)
	}
}
