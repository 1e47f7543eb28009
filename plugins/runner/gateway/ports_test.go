//go:build linux

package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// helper makes this binary a program of a task that listens at an address.
const helper = "DETENT_TEST_LISTEN"

func TestMain(m *testing.M) {
	if address := os.Getenv(helper); address != "" {
		listen(address)
		return
	}
	os.Exit(m.Run())
}

// listen accepts connections until its standard input ends.
func listen(address string) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ln.Addr().(*net.TCPAddr).Port)
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(conn, "the task's")
			_ = conn.Close()
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// program starts a program below a shell, as tasks' programs are, and returns its port.
func program(t *testing.T, address string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `"$0"; :`, os.Args[0])
	cmd.Env = append(os.Environ(), helper+"="+address)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Skipf("this machine cannot listen on %s: %s", address, line)
	}
	return port
}

func TestOwnPorts(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"} {
		t.Run(address, func(t *testing.T) {
			port := program(t, address)
			o := NewOwnPorts()
			for range 2 { // the second time from memory
				conn, err := o.Dial(t.Context(), port)
				if err != nil {
					t.Fatal(err)
				}
				if said, err := io.ReadAll(conn); string(said) != "the task's" {
					t.Errorf("%q %v", said, err)
				}
				_ = conn.Close()
			}
		})
	}
}

// TestPortsOfOthers: this process acts as the runner, and its own listeners as those of programs outside of
// the task.
func TestPortsOfOthers(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	came := make(chan struct{}, 1)
	go func() {
		if conn, err := ln.Accept(); err == nil {
			came <- struct{}{}
			_ = conn.Close()
		}
	}()
	port := ln.Addr().(*net.TCPAddr).Port
	if conn, err := NewOwnPorts().Dial(t.Context(), port); err == nil || !strings.Contains(err.Error(), "not part of this task") {
		t.Errorf("%v %v", conn, err)
	}
	select {
	case <-came:
		t.Error("the gateway connected to another task's port")
	default:
	}
	if conn, err := DialLoopback(t.Context(), port); err != nil { // in a network of its own
		t.Error(err)
	} else {
		_ = conn.Close()
	}
	free := 1
	if _, err := NewOwnPorts().Dial(t.Context(), free); err == nil || !strings.Contains(err.Error(), "nothing listens") {
		t.Errorf("%v", err)
	}
}
