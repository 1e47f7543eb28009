//go:build linux

package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	// handshakeWithin is the time limit for authentication.
	handshakeWithin = 30 * time.Second
	// maxConnections and maxChannels limit authenticated clients.
	maxConnections = 128
	maxChannels    = 256
	// endWithin is how long sessions have when the task ends.
	endWithin = 3 * time.Second
)

// A Server is an SSH server for one key.
type Server struct {
	config   *ssh.ServerConfig
	dir      string
	account  account
	log      io.Writer
	slots    chan struct{} // authenticated connections
	new      unauthenticated
	sessions sync.WaitGroup
	ctx      context.Context
	stop     context.CancelFunc
}

// New makes a server; log receives logins and logouts.
func New(c Config, log io.Writer) (*Server, error) {
	authorized, host, err := c.keys()
	if err != nil {
		return nil, err
	}
	s := &Server{dir: c.Dir, account: ownAccount(os.Environ()), log: log, slots: make(chan struct{}, maxConnections)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.config = &ssh.ServerConfig{
		MaxAuthTries: 6, ServerVersion: "SSH-2.0-Detent",
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if bytes.Equal(key.Marshal(), authorized.Marshal()) {
				return &ssh.Permissions{}, nil
			}
			return nil, errors.New("this is not the key of this shell")
		},
	}
	s.config.AddHostKey(host)
	return s, nil
}

// Main is `det-runner shell`: it serves until a signal ends it.
func Main(path string, out io.Writer, signals <-chan os.Signal) error {
	c, err := readConfig(path)
	if err != nil {
		return err
	}
	s, err := New(c, out)
	if err != nil {
		return err
	}
	if err := os.Remove(c.Socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(s.ctx, "unix", c.Socket)
	if err != nil {
		return fmt.Errorf("cannot listen on the shell's socket: %w", err)
	}
	if err := os.Chmod(c.Socket, 0o600); err != nil {
		return err
	}
	go func() {
		<-signals
		_ = ln.Close()
	}()
	// Scripts search logs for the beginning of this line, which is that of OpenSSH's server.
	fmt.Fprintf(out, "Server listening on %s; the working directory of its sessions is %s\n", c.Socket, c.Dir)
	s.Serve(ln)
	return nil
}

// Serve accepts connections until the listener closes, then ends all sessions.
func (s *Server) Serve(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			break
		}
		if err != nil { // for example, no free descriptors
			<-time.After(50 * time.Millisecond)
			continue
		}
		s.new.enter(conn)
		s.sessions.Go(func() { s.serve(conn) })
	}
	s.stop()
	ended := make(chan struct{})
	go func() { s.sessions.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(endWithin):
	}
}

// serve handles the SSH connection of one client.
func (s *Server) serve(raw net.Conn) {
	defer raw.Close()
	_ = raw.SetDeadline(time.Now().Add(handshakeWithin))
	conn, channels, requests, err := ssh.NewServerConn(raw, s.config)
	if wanted := s.new.leave(raw); err == nil && !wanted {
		_ = conn.Close()
		return
	}
	if err != nil { // for example, the readiness check
		if _, ok := errors.AsType[*ssh.ServerAuthError](err); ok {
			fmt.Fprintf(s.log, "rejected a connection without the shell's key\n")
		}
		return
	}
	defer conn.Close()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	default:
		fmt.Fprintf(s.log, "rejected a connection from %s: %d connections are open\n", conn.User(), maxConnections)
		return
	}
	_ = raw.SetDeadline(time.Time{})
	fmt.Fprintf(s.log, "%s has logged in\n", conn.User())
	defer fmt.Fprintf(s.log, "%s has logged out\n", conn.User())
	defer context.AfterFunc(s.ctx, func() { _ = conn.Close() })()
	back := newBackward(s, conn)
	defer back.end()
	go back.answer(requests)
	var open sync.WaitGroup
	slots := make(chan struct{}, maxChannels)
	for c := range channels {
		select {
		case slots <- struct{}{}:
			open.Go(func() {
				defer func() { <-slots }()
				s.channel(c, back)
			})
		default:
			_ = c.Reject(ssh.ResourceShortage, "too many channels are open")
		}
	}
	open.Wait()
}

func (s *Server) channel(c ssh.NewChannel, back *backward) {
	switch c.ChannelType() {
	case "session":
		channel, requests, err := c.Accept()
		if err == nil {
			newSession(s, channel, back).serve(requests)
		}
	case "direct-tcpip":
		s.forwardTCP(c)
	case "direct-streamlocal@openssh.com":
		s.forwardUnix(c)
	default:
		_ = c.Reject(ssh.UnknownChannelType, "this server supports only sessions and forwarded connections")
	}
}

// hangUp sends SIGHUP to a process group.
func hangUp(pid int) { _ = syscall.Kill(-pid, syscall.SIGHUP) }
