//go:build linux

package gateway

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// openGateway starts a gateway whose program repeats what it reads.
func openGateway(t *testing.T) *Server {
	t.Helper()
	certificate, err := NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(t.Context(), "127.0.0.1:0", certificate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	s.Open(v1.Gateway{Kind: v1.GatewayOfTCP, Secret: "s", BasePath: "/proxy/x/"}, func(context.Context) (net.Conn, error) {
		program, ours := net.Pipe()
		go func() { _, _ = io.Copy(program, program) }()
		return ours, nil
	}, nil)
	return s
}

// send opens a connection and sends a header.
func send(t *testing.T, s *Server, header string) (net.Conn, *bufio.Reader) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() { _, _ = io.WriteString(conn, header) }() // the gateway may refuse the rest
	return conn, bufio.NewReader(conn)
}

// TestCallersWithoutTheSecretHoldLittle: a caller who never shows the secret gets one short request, many of them keep out
// nobody who shows it, and whoever has shown it may stay.
func TestCallersWithoutTheSecretHoldLittle(t *testing.T) {
	s := openGateway(t)
	_, in := send(t, s, "GET /health HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 100_000)+"\r\n\r\n")
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of 100 KB is answered %v %v", resp, err)
	}
	_, in = send(t, s, "GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusOK || !resp.Close {
		t.Errorf("the health check is answered %v %v", resp, err)
	}
	var tunnels []func()
	open := func() {
		conn, in := send(t, s, "GET /proxy/x/ HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "+v1.GatewayTunnel+"\r\n"+v1.GatewayHeader+": s\r\n\r\n")
		if resp, err := http.ReadResponse(in, nil); err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("a tunnel is answered %v %v", resp, err)
		}
		tunnels = append(tunnels, func() {
			fmt.Fprintln(conn, "word")
			if got, err := in.ReadString('\n'); got != "word\n" {
				t.Fatalf("the tunnel returns %q %v", got, err)
			}
		})
	}
	for range 100 {
		open()
	}
	var idle []net.Conn
	for range 700 { // more than the slots and the line have
		conn, _ := send(t, s, "GET /health HTTP/1.1\r\nX: ")
		idle = append(idle, conn)
	}
	if _, err := idle[0].Read(make([]byte, 1)); err == nil { // waits for its end
		t.Error("an idle connection is answered")
	}
	open()
	for _, works := range tunnels {
		works()
	}
}
