//go:build linux

package shell

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// maxBackward is the maximum number of listeners of a client.
const maxBackward = 32

// backward is what a client has its task's side listen on: ports of loopback (ssh -R), and the socket
// of its SSH agent (ssh -A). Debuggers of editors and git use these. Each connection becomes a channel to
// the client. All end with the client's connection.
type backward struct {
	server *Server
	conn   ssh.Conn
	ctx    context.Context // ends with the client
	stop   context.CancelFunc

	mu        sync.Mutex
	listeners map[string]net.Listener // by the address that the client named
	ended     bool
	agent     string // the socket of the client's agent
}

func newBackward(s *Server, conn ssh.Conn) *backward {
	b := &backward{server: s, conn: conn, listeners: map[string]net.Listener{}}
	b.ctx, b.stop = context.WithCancel(s.ctx)
	return b
}

// tcpForward is the payload of the requests that begin and end forwarding of a port.
type tcpForward struct {
	Host string
	Port uint32
}

func (f tcpForward) key() string { return net.JoinHostPort(f.Host, strconv.Itoa(int(f.Port))) }

// answer answers requests about the connection: keep-alives, and ports to forward.
func (b *backward) answer(requests <-chan *ssh.Request) {
	for r := range requests {
		ok, reply := r.Type == "keepalive@openssh.com", []byte(nil)
		switch r.Type {
		case "tcpip-forward":
			ok, reply = b.listen(r.Payload)
		case "cancel-tcpip-forward":
			var f tcpForward
			ok = ssh.Unmarshal(r.Payload, &f) == nil && b.close(f.key())
		}
		if r.WantReply {
			_ = r.Reply(ok, reply)
		}
	}
}

// listen forwards a port of loopback, whatever address the client names: others on the task's network
// must not reach the client's machine. Port 0 is any free one, which the reply names.
func (b *backward) listen(payload []byte) (ok bool, reply []byte) {
	var f tcpForward
	if ssh.Unmarshal(payload, &f) != nil || f.Port > 1<<16-1 {
		return false, nil
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(b.ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(f.Port))))
	if err != nil {
		return false, nil
	}
	asked := f.Port
	if tcp, is := ln.Addr().(*net.TCPAddr); is {
		f.Port = uint32(tcp.Port) //nolint:gosec // a port
	}
	if !b.keep(f.key(), ln) {
		return false, nil
	}
	go b.accept(ln, func(from net.Conn) (string, []byte) {
		at := struct {
			Host       string
			Port       uint32
			OriginHost string
			OriginPort uint32
		}{Host: f.Host, Port: f.Port, OriginHost: "127.0.0.1"}
		if tcp, is := from.RemoteAddr().(*net.TCPAddr); is {
			at.OriginPort = uint32(tcp.Port) //nolint:gosec // a port
		}
		return "forwarded-tcpip", ssh.Marshal(at)
	})
	if asked == 0 {
		reply = ssh.Marshal(struct{ Port uint32 }{f.Port})
	}
	return true, reply
}

// agentSocket is the socket of the client's agent, which the first request makes. Only the task's account
// can open it. It is empty if it cannot be made.
func (b *backward) agentSocket() string {
	b.mu.Lock()
	made := b.agent
	b.mu.Unlock()
	if made != "" {
		return made
	}
	dir, err := os.MkdirTemp("", "det-agent-")
	if err != nil {
		return ""
	}
	path := filepath.Join(dir, "socket")
	var lc net.ListenConfig
	ln, err := lc.Listen(b.ctx, "unix", path)
	if err != nil || !b.keep(path, &inFolder{ln, dir}) {
		_ = os.RemoveAll(dir)
		return ""
	}
	b.mu.Lock()
	b.agent = path
	b.mu.Unlock()
	go b.accept(ln, func(net.Conn) (string, []byte) { return "auth-agent@openssh.com", nil })
	return path
}

// inFolder is a listener with a folder of its own, which it removes.
type inFolder struct {
	net.Listener
	dir string
}

func (l *inFolder) Close() error { return errors.Join(l.Listener.Close(), os.RemoveAll(l.dir)) }

// keep remembers a listener, and closes it if the client has ended or has too many.
func (b *backward) keep(key string, ln net.Listener) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended || len(b.listeners) >= maxBackward || b.listeners[key] != nil {
		_ = ln.Close()
		return false
	}
	b.listeners[key] = ln
	return true
}

func (b *backward) close(key string) bool {
	b.mu.Lock()
	ln := b.listeners[key]
	delete(b.listeners, key)
	b.mu.Unlock()
	return ln != nil && ln.Close() == nil
}

// end closes all listeners.
func (b *backward) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.stop()
	for key, ln := range b.listeners {
		_ = ln.Close()
		delete(b.listeners, key)
	}
}

// accept opens a channel to the client for each connection.
func (b *backward) accept(ln net.Listener, describe func(net.Conn) (kind string, data []byte)) {
	slots := make(chan struct{}, maxChannels)
	for {
		conn, err := ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // for example, no free descriptors
			<-time.After(50 * time.Millisecond)
			continue
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				defer conn.Close()
				kind, data := describe(conn)
				channel, requests, err := b.conn.OpenChannel(kind, data)
				if err != nil {
					return
				}
				join(b.ctx, conn, channel, requests)
			}()
		default:
			_ = conn.Close()
		}
	}
}
