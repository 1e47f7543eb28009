//go:build linux

package shell

import (
	"context"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"
)

// dialWithin is the time limit for making a forwarded connection.
const dialWithin = 15 * time.Second

// forwardTCP connects to an address, as seen from the task.
func (s *Server) forwardTCP(c ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(c.ExtraData(), &to); err != nil || to.Port > 1<<16-1 {
		_ = c.Reject(ssh.ConnectionFailed, "cannot parse the address")
		return
	}
	s.forward(c, "tcp", net.JoinHostPort(to.Host, strconv.Itoa(int(to.Port))))
}

// forwardUnix connects to a socket in the task's file system.
func (s *Server) forwardUnix(c ssh.NewChannel) {
	var to struct {
		Path      string
		Reserved0 string
		Reserved1 uint32
	}
	if err := ssh.Unmarshal(c.ExtraData(), &to); err != nil {
		_ = c.Reject(ssh.ConnectionFailed, "cannot parse the path")
		return
	}
	s.forward(c, "unix", to.Path)
}

func (s *Server) forward(c ssh.NewChannel, network, address string) {
	ctx, cancel := context.WithTimeout(s.ctx, dialWithin)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer conn.Close()
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	join(s.ctx, conn, channel, requests)
}

// join copies both ways. The end of one side ends that direction, and the end of ctx both.
func join(ctx context.Context, conn net.Conn, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	go ssh.DiscardRequests(requests)
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(conn, channel) // the end of either side ends both
		if h, ok := conn.(interface{ CloseWrite() error }); ok {
			_ = h.CloseWrite()
		}
	}()
	_, err := io.Copy(channel, conn)
	_ = channel.CloseWrite()
	if err != nil {
		_ = channel.Close()
	}
	<-sent
}
