package rig

import (
	"bufio"
	"context"
	_ "embed" // det_server.py
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

//go:embed det_server.py
var detServerProgram string

// A detServer runs commands of Determined's client, with its own Python and against one master, without the time of its imports.
type detServer struct {
	socket string
	input  *os.File // its end, with that of this process, ends the server
	err    error
}

var detServers struct {
	sync.Mutex
	of map[[2]string]*detServer
}

// detServerOf starts the server of a Python and a master, once.
func detServerOf(python, master string) (*detServer, error) {
	detServers.Lock()
	defer detServers.Unlock()
	key := [2]string{python, master}
	s := detServers.of[key]
	if s == nil {
		s = &detServer{}
		s.err = s.start(python, master)
		if detServers.of == nil {
			detServers.of = map[[2]string]*detServer{}
		}
		detServers.of[key] = s
	}
	return s, s.err
}

func (s *detServer) start(python, master string) error {
	dir, err := os.MkdirTemp("", "detent-det-")
	if err != nil {
		return err
	}
	s.socket = filepath.Join(dir, "socket")
	cmd := exec.CommandContext(context.Background(), python, "-c", detServerProgram, s.socket)
	cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "DET_MASTER=" + master}
	cmd.Stderr = os.Stderr
	reader, input, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd.Stdin, s.input = reader, input
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	_ = reader.Close()
	go func() { _ = cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("the server of Determined's client did not start: %w", err)
	}
	return nil
}

// run runs a command. Its output is in files of a folder.
func (s *detServer) run(ctx context.Context, dir string, env, args []string, stdin string) (stdout, stderr string, code int, err error) {
	files, err := os.MkdirTemp("", "detent-det-")
	if err != nil {
		return "", "", 0, err
	}
	defer os.RemoveAll(files)
	path := func(name string) string { return filepath.Join(files, name) }
	for name, content := range map[string]string{"in": stdin, "out": "", "err": ""} {
		if err := os.WriteFile(path(name), []byte(content), 0o600); err != nil {
			return "", "", 0, err
		}
	}
	variables := map[string]string{}
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}
	code, err = s.ask(ctx, map[string]any{"dir": dir, "env": variables, "args": args, "in": path("in"), "out": path("out"), "err": path("err")})
	out, outErr := os.ReadFile(path("out"))
	errs, errsErr := os.ReadFile(path("err"))
	return string(out), string(errs), code, errors.Join(err, outErr, errsErr)
}

// ask sends the request and waits for the exit code. When the context ends, the process is killed.
func (s *detServer) ask(ctx context.Context, request map[string]any) (code int, err error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	if err := json.NewEncoder(connection).Encode(request); err != nil {
		return 0, err
	}
	answers := json.NewDecoder(connection)
	var pid int
	if err := answers.Decode(&pid); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- answers.Decode(&code) }()
	select {
	case err := <-ended:
		return code, err
	case <-ctx.Done():
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		return 0, errors.Join(ctx.Err(), <-ended)
	}
}
