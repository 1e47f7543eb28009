package rest

import (
	"net"
	"testing"
	"time"
)

func TestGone(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close()
	client, err := net.Dial("tcp", lis.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := lis.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if disconnected(server) {
		t.Error("a quiet client counts as gone")
	}
	if err := server.SetReadDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if disconnected(server) {
		t.Error("a client counts as gone once the deadline for its request has passed")
	}
	if err := server.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Write([]byte("GET")); err != nil {
		t.Fatal(err)
	}
	if disconnected(server) {
		t.Error("a client that speaks counts as gone")
	}
	var b [3]byte
	if _, err := server.Read(b[:]); err != nil || string(b[:]) != "GET" {
		t.Errorf("bytes that the client sent are lost: %q %v", b, err)
	}
	if err := client.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() bool { return disconnected(server) })
}
