//go:build linux

package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/proxy/headers"
	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/gateway"
)

// oneTask is a directory with one notebook and one shell, which a cookie opens.
type oneTask struct{ tasks map[string]Task }

const benchCookie = "let me in"

func (d oneTask) Task(_ context.Context, id, _ string) (Task, error) {
	if t, ok := d.tasks[id]; ok {
		return t, nil
	}
	return Task{}, fault.New(fault.NotFound, "no such task")
}
func (d oneTask) Tasks(context.Context, []string) (map[string]Task, error) {
	return nil, errors.ErrUnsupported
}
func (d oneTask) Sessions(context.Context, []int64) (map[int64]auth.Who, error) {
	return nil, errors.ErrUnsupported
}
func (oneTask) IssueTicket(context.Context, []byte, string, int64, time.Duration) error { return nil }
func (oneTask) RedeemTicket(context.Context, []byte, string, []byte) error {
	return fault.New(fault.NotFound, "no such ticket")
}
func (oneTask) CookieWho(_ context.Context, hash []byte, _, _ string) (auth.Who, error) {
	if string(hash) == string(auth.HashToken(benchCookie)) {
		return auth.Who{UserID: 1, Username: "ada", SessionID: 1}, nil
	}
	return auth.Who{}, fault.New(fault.NotFound, "no such cookie")
}

// behind starts a task's program and its gateway, and a proxy before them.
func behind(b testing.TB, kind string, program func(net.Listener)) (tasks, direct, socket string) {
	b.Helper()
	spec := v1.Gateway{Kind: Task{Type: kind}.kind(), Secret: "s", BasePath: "/proxy/t/"}
	dir := filepath.Join(b.TempDir(), "g")
	sock, err := gateway.MakeSocket(dir, dir)
	if err != nil {
		b.Fatal(err)
	}
	listen := func(network, address string) net.Listener {
		ln, err := net.Listen(network, address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = ln.Close() })
		return ln
	}
	go program(listen("unix", sock.Path))
	certificate, err := gateway.NewCertificate()
	if err != nil {
		b.Fatal(err)
	}
	gate, err := gateway.Listen(b.Context(), "127.0.0.1:0", certificate)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { gate.Close(); sock.Close() })
	gate.Open(spec, sock.Dial, nil)
	at, err := net.ResolveTCPAddr("tcp", gate.Address())
	if err != nil {
		b.Fatal(err)
	}
	one := oneTask{map[string]Task{"t": {ID: "t", Type: kind, OwnerID: 1, State: "RUNNING", AllocationID: "t.1", Ready: true, Secret: "s", Certificate: certificate.Fingerprint}}}
	p, err := New(Origins{Master: "http://127.0.0.1:1", URL: "http://127.0.0.1:2"}, Rules{}, one,
		func(context.Context, string) (string, int, error) { return "127.0.0.1", at.Port, nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	serve := func(h http.Handler) string {
		ln := listen("tcp", "127.0.0.1:0")
		server := &http.Server{Handler: h}
		b.Cleanup(func() { _ = server.Close() })
		go func() { _ = server.Serve(ln) }()
		return "http://" + ln.Addr().String()
	}
	caller := Caller{Err: fault.New(fault.Unauthenticated, "nobody")}
	return serve(p.Tasks()), serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.Direct(w, r, caller) })), sock.Path
}

func notebook(ln net.Listener) {
	big := make([]byte, 64<<20)
	_ = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/proxy/t/big" {
			w.Header().Set("Content-Length", fmt.Sprint(len(big)))
			_, _ = w.Write(big)
			return
		}
		fmt.Fprint(w, "hello")
	}))
}

// BenchmarkHTTP compares a task behind proxy and gateway with its program dialled
// directly: small answers, one after the other, and large ones.
func BenchmarkHTTP(b *testing.B) {
	tasks, _, socket := behind(b, "NOTEBOOK", notebook)
	bare := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	for _, c := range []struct {
		name, base string
		client     *http.Client
	}{{"direct", "http://task", bare}, {"proxied", tasks, &http.Client{}}} {
		for _, path := range []string{"small", "big"} {
			b.Run(c.name+"/"+path, func(b *testing.B) {
				req, err := http.NewRequest(http.MethodGet, c.base+"/proxy/t/"+path, nil)
				if err != nil {
					b.Fatal(err)
				}
				req.AddCookie(&http.Cookie{Name: headers.TaskCookie("t"), Value: benchCookie})
				req.Header.Set("Sec-Fetch-Site", "same-origin")
				for b.Loop() {
					resp, err := c.client.Do(req)
					if err != nil {
						b.Fatal(err)
					}
					n, err := io.Copy(io.Discard, resp.Body)
					if err != nil || resp.StatusCode != 200 {
						b.Fatal(resp.Status, err)
					}
					resp.Body.Close()
					b.SetBytes(n)
				}
			})
		}
	}
}

// BenchmarkTunnel sends bytes to a shell and back.
func BenchmarkTunnel(b *testing.B) {
	_, direct, socket := behind(b, "SHELL", func(ln net.Listener) {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { defer conn.Close(); _, _ = io.Copy(conn, conn) }()
		}
	})
	proxied := func() (net.Conn, error) {
		raw, err := net.Dial("tcp", direct[len("http://"):])
		if err != nil {
			return nil, err
		}
		req, err := http.NewRequest(http.MethodGet, direct+"/proxy/t/", nil)
		if err != nil {
			return nil, err
		}
		req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {v1.GatewayTunnel}}
		conn, resp, err := tunnel.Dial(b.Context(), raw, req)
		if err == nil && conn == nil {
			err = fmt.Errorf("%s", resp.Status)
		}
		return conn, err
	}
	for name, dial := range map[string]func() (net.Conn, error){
		"direct":  func() (net.Conn, error) { return net.Dial("unix", socket) },
		"proxied": proxied,
	} {
		b.Run(name+"/echo", func(b *testing.B) { echoes(b, dial, 1, 1) })
		b.Run(name+"/bulk", func(b *testing.B) { echoes(b, dial, 32<<10, 64) })
	}
}

// echoes sends messages, most of them at once under way, and reads them back.
func echoes(b *testing.B, dial func() (net.Conn, error), size, most int) {
	conn, err := dial()
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	b.SetBytes(int64(size))
	under := make(chan struct{}, most)
	done := make(chan error, most)
	n := 0
	go func() {
		buf := make([]byte, size)
		for range under {
			if _, err := io.ReadFull(conn, buf); err != nil {
				done <- err
				return
			}
			done <- nil
		}
	}()
	message := make([]byte, size)
	for b.Loop() {
		if n == most {
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			n--
		}
		under <- struct{}{}
		n++
		if _, err := conn.Write(message); err != nil {
			b.Fatal(err)
		}
	}
	for ; n > 0; n-- {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	close(under)
}
