//go:build linux

package shell

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/detent-ml/detent/master/each"
	"golang.org/x/crypto/ssh"
)

const (
	// lastOutput is how long a session waits for output after its program has ended, counted
	// from the last output: a background process may keep the pipe open without writing.
	lastOutput = time.Second
	maxEnv     = 256
)

// A session is one program of a client: a shell, a command, or sftp.
type session struct {
	server  *Server
	back    *backward
	channel ssh.Channel
	env     []string
	term    string
	columns uint32
	rows    uint32
	tty     bool
	begun   bool
	ended   chan struct{} // closed when the program has ended, if one was started

	mu       sync.Mutex
	terminal *terminal
	pid      int // of the program while it runs
}

func newSession(s *Server, c ssh.Channel, back *backward) *session {
	return &session{server: s, back: back, channel: c, ended: make(chan struct{})}
}

// The payloads of requests.
type (
	ptyRequest struct {
		Term          string
		Columns, Rows uint32
		Width, Height uint32
		Modes         string
	}
	windowChange struct{ Columns, Rows, Width, Height uint32 }
	envRequest   struct{ Name, Value string }
	oneString    struct{ Value string }
	exitStatus   struct{ Status uint32 }
	exitSignal   struct {
		Signal string
		Core   bool
		Error  string
		Lang   string
	}
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// serve answers requests until the client closes the channel or the program ends.
func (x *session) serve(requests <-chan *ssh.Request) {
	for r := range requests {
		ok := x.request(r)
		if r.WantReply {
			_ = r.Reply(ok, nil)
		}
	}
	// The client has closed the channel, or the program has ended.
	x.mu.Lock()
	if x.pid != 0 {
		hangUp(x.pid)
	}
	x.mu.Unlock()
	if x.begun {
		<-x.ended
	}
	_ = x.channel.Close()
}

func (x *session) request(r *ssh.Request) bool {
	switch r.Type {
	case "pty-req":
		var p ptyRequest
		if ssh.Unmarshal(r.Payload, &p) != nil || x.begun {
			return false
		}
		x.tty, x.term, x.columns, x.rows = true, p.Term, p.Columns, p.Rows
		return true
	case "env":
		var e envRequest
		if ssh.Unmarshal(r.Payload, &e) != nil || x.begun || len(x.env) >= maxEnv || !envName.MatchString(e.Name) {
			return false
		}
		x.env = append(x.env, e.Name+"="+e.Value)
		return true
	case "auth-agent-req@openssh.com":
		if x.begun {
			return false
		}
		socket := x.back.agentSocket()
		if socket == "" {
			return false
		}
		x.env = append(x.env, "SSH_AUTH_SOCK="+socket)
		return true
	case "window-change":
		var w windowChange
		return ssh.Unmarshal(r.Payload, &w) == nil && x.resize(w.Columns, w.Rows)
	case "signal":
		var s oneString
		return ssh.Unmarshal(r.Payload, &s) == nil && x.signal(s.Value)
	case "shell":
		return x.begin(nil)
	case "exec":
		var c oneString
		return ssh.Unmarshal(r.Payload, &c) == nil && x.begin([]string{"-c", c.Value})
	case "subsystem":
		var s oneString
		return ssh.Unmarshal(r.Payload, &s) == nil && s.Value == "sftp" && x.files()
	}
	return false
}

func (x *session) resize(columns, rows uint32) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.columns, x.rows = columns, rows
	return x.terminal == nil || x.terminal.resize(columns, rows) == nil
}

var signals = map[string]syscall.Signal{
	"ABRT": syscall.SIGABRT, "ALRM": syscall.SIGALRM, "FPE": syscall.SIGFPE, "HUP": syscall.SIGHUP, "ILL": syscall.SIGILL,
	"INT": syscall.SIGINT, "KILL": syscall.SIGKILL, "PIPE": syscall.SIGPIPE, "QUIT": syscall.SIGQUIT, "SEGV": syscall.SIGSEGV,
	"TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1, "USR2": syscall.SIGUSR2,
}

func (x *session) signal(name string) bool {
	sig, ok := signals[name]
	x.mu.Lock()
	defer x.mu.Unlock()
	return ok && x.pid != 0 && syscall.Kill(-x.pid, sig) == nil
}

// files serves sftp as the session's program.
func (x *session) files() bool {
	if x.begun {
		return false
	}
	x.begun = true
	go func() {
		defer close(x.ended)
		err := serveFiles(x.channel, x.server.dir)
		x.exit(exitOf(err))
	}()
	return true
}

// begin starts the account's shell, or a command line in it.
func (x *session) begin(args []string) bool {
	if x.begun {
		return false
	}
	x.begun = true
	a := x.server.account
	cmd := exec.Command(a.shell, args...) //nolint:noctx // killed with its session, as a group
	cmd.Args[0] = filepath.Base(a.shell)
	cmd.Dir, cmd.Env = x.server.dir, x.environ()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	start := x.startPlain
	if x.tty {
		start = x.startTerminal
	}
	wait, err := start(cmd)
	if err != nil {
		fmt.Fprintf(x.channel.Stderr(), "det: cannot start the shell %s: %v\n", a.shell, err)
		go func() {
			defer close(x.ended)
			x.exit(exitStatus{127})
		}()
		return true
	}
	x.mu.Lock()
	x.pid = cmd.Process.Pid
	x.mu.Unlock()
	go func() {
		defer close(x.ended)
		err := cmd.Wait()
		x.mu.Lock()
		x.pid = 0
		x.mu.Unlock()
		wait()
		x.exit(exitOf(err))
	}()
	return true
}

// environ is the task's environment, with the variables of a session.
func (x *session) environ() []string {
	a := x.server.account
	env := append(os.Environ(), "HOME="+a.home, "USER="+a.name, "LOGNAME="+a.name, "SHELL="+a.shell)
	if x.tty {
		env = append(env, "TERM="+x.term)
	}
	return append(env, x.env...)
}

// startPlain runs a program on pipes.
func (x *session) startPlain(cmd *exec.Cmd) (wait func(), err error) {
	in, toIn, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	cmd.Stdin = in
	var drains []func()
	var ours []io.Closer
	for _, stream := range []struct {
		to  io.Writer
		end *io.Writer
	}{{x.channel, &cmd.Stdout}, {x.channel.Stderr(), &cmd.Stderr}} {
		from, out, err := os.Pipe()
		if err != nil {
			_ = toIn.Close()
			return nil, errors.Join(err, closeAll(ours))
		}
		defer out.Close()
		*stream.end = out
		ours = append(ours, from)
		drains = append(drains, drain(stream.to, from))
	}
	if err := cmd.Start(); err != nil {
		_ = toIn.Close()
		return nil, errors.Join(err, closeAll(ours))
	}
	go func() {
		_, _ = io.Copy(toIn, x.channel) // the program may have closed its input
		_ = toIn.Close()
	}()
	return func() { runAll(drains) }, nil
}

// startTerminal runs a program on a terminal.
func (x *session) startTerminal(cmd *exec.Cmd) (wait func(), err error) {
	t, theirs, err := openTerminal(x.columns, x.rows)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.Env = append(cmd.Env, "SSH_TTY="+t.name)
	cmd.SysProcAttr.Setctty = true // descriptor 0
	if err := cmd.Start(); err != nil {
		_ = t.ours.Close()
		return nil, err
	}
	x.mu.Lock()
	x.terminal = t
	x.mu.Unlock()
	last := drain(x.channel, t.ours)
	go func() {
		_, _ = io.Copy(t.ours, x.channel) // ends with the terminal or the client
	}()
	return func() {
		last()
		x.mu.Lock()
		defer x.mu.Unlock()
		x.terminal = nil
	}, nil
}

// drain copies a program's output. The returned function waits for the rest of it after the
// program has ended.
func drain(to io.Writer, from *os.File) (wait func()) {
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer from.Close()
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			if n > 0 {
				if _, werr := to.Write(buf[:n]); werr != nil {
					return
				}
			}
			if err != nil {
				return
			}
			if over.Load() {
				_ = from.SetReadDeadline(time.Now().Add(lastOutput))
			}
		}
	}()
	return func() {
		over.Store(true)
		_ = from.SetReadDeadline(time.Now().Add(lastOutput))
		<-done
	}
}

func runAll(list []func()) {
	var all sync.WaitGroup
	for _, f := range list {
		all.Go(f)
	}
	all.Wait()
}

func closeAll(list []io.Closer) error {
	return errors.Join(each.Of(list, io.Closer.Close)...)
}

// exitOf is how a program ended, in the form of SSH.
func exitOf(err error) any {
	var e *exec.ExitError
	if !errors.As(err, &e) {
		if err != nil {
			return exitStatus{1}
		}
		return exitStatus{0}
	}
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		for name, sig := range signals {
			if sig == w.Signal() {
				return exitSignal{Signal: name, Core: w.CoreDump()}
			}
		}
		return exitStatus{uint32(128 + int(w.Signal()))}
	}
	return exitStatus{uint32(e.ExitCode())}
}

// exit sends the exit status to the client, and closes the channel.
func (x *session) exit(how any) {
	name := "exit-status"
	if _, signalled := how.(exitSignal); signalled {
		name = "exit-signal"
	}
	_ = x.channel.CloseWrite()
	_, _ = x.channel.SendRequest(name, false, ssh.Marshal(how)) // the client may have disconnected
	_ = x.channel.Close()
}
