//go:build linux

package api

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A network is the connection between a master and a task's gateway, and records every byte.
type network struct {
	mu   sync.Mutex
	seen bytes.Buffer
}

func (n *network) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.seen.Write(b)
}

// holds returns which of the words were sent over the network.
func (n *network) holds(words ...string) (found []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range words {
		if bytes.Contains(n.seen.Bytes(), []byte(w)) {
			found = append(found, w)
		}
	}
	return found
}

// overheard puts a network before a task's gateway.
func overheard(t *testing.T, p *proxiedTask) *network {
	t.Helper()
	n := &network{}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			master, err := ln.Accept()
			if err != nil {
				return
			}
			gate, err := net.Dial("tcp", p.gate.Address())
			if err != nil {
				_ = master.Close()
				continue
			}
			half := func(to, from net.Conn) {
				_, _ = io.Copy(io.MultiWriter(n, to), from)
				_ = to.(*net.TCPConn).CloseWrite()
			}
			go half(gate, master)
			go half(master, gate)
		}
	}()
	p.v.where.Store(p.id+".1", ln.Addr())
	return n
}

// openAll opens a notebook by HTTP and by WebSocket, and a shell through a tunnel.
// It gives the status of each.
func openAll(t *testing.T, v *proxyRig, notebook, shell *proxiedTask) (statuses [3]int) {
	t.Helper()
	a := v.user("determined").get("/proxy/" + notebook.id + "/lab?said-by-HTTP")
	statuses[0] = a.code
	ws, resp, err := dialWS(t, v.url+"/proxy/"+notebook.id+"/ws", http.Header{"Authorization": {v.user("determined").token}}, nil)
	if resp != nil {
		statuses[1] = resp.StatusCode
	}
	if err == nil {
		defer ws.Close()
		if err := ws.WriteMessage(websocket.TextMessage, []byte("said by WebSocket")); err != nil {
			t.Fatal(err)
		}
		if _, got, err := ws.ReadMessage(); err != nil || string(got) != "said by WebSocket" {
			t.Fatalf("%q %v", got, err)
		}
	}
	raw, err := net.Dial("tcp", strings.TrimPrefix(v.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	req, err := http.NewRequestWithContext(t.Context(), "GET", v.url+"/proxy/"+shell.id+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {v1.GatewayTunnel}}
	conn, resp, err := tunnel.Dial(t.Context(), raw, req)
	if err != nil {
		t.Fatal(err)
	}
	statuses[2] = resp.StatusCode
	if conn == nil {
		return statuses
	}
	defer conn.Close()
	const said = "said through a tunnel"
	if _, err := io.WriteString(conn, said); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if all, err := io.ReadAll(conn); err != nil || string(all) != fmt.Sprintf("%s|%d", said, len(said)) {
		t.Fatalf("%q %v", all, err)
	}
	return statuses
}

// TestProxiedTrafficIsNotOverheard: the network traffic between a master and its nodes contains neither
// the secret of a gateway nor the data of users and programs in clear text, by default. Users can
// still open a task whose runner is of the previous release.
func TestProxiedTrafficIsNotOverheard(t *testing.T) {
	for _, old := range []bool{false, true} {
		v := newProxyRig(t)
		places := []*proxiedTask{v.make("determined", "notebooks"), v.make("determined", "shells")}
		var networks []*network
		for _, p := range places {
			p.old = old
			p.start()
			p.serve()
			networks = append(networks, overheard(t, p))
		}
		if got := openAll(t, v, places[0], places[1]); got != [3]int{200, 101, 101} {
			t.Fatalf("an old runner: %t: the requests gave %v", old, got)
		}
		for i, words := range [][]string{{places[0].spec.Secret, "said-by-HTTP", "said by WebSocket", places[0].id}, {places[1].spec.Secret, "said through a tunnel", places[1].id}} {
			want := 0
			if old {
				want = len(words)
			}
			if heard := networks[i].holds(words...); len(heard) != want {
				t.Errorf("an old runner: %t: on the network are %q", old, heard)
			}
		}
	}
}

// An impostor listens on the port of a task's gateway, and records what it receives.
type impostor struct {
	told network
	wait sync.WaitGroup
}

// impersonate listens on the port of a task whose runner has died.
func impersonate(t *testing.T, p *proxiedTask, conf *tls.Config) *impostor {
	t.Helper()
	p.gate.Close()
	ln, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", p.port))
	if err != nil {
		t.Fatal(err)
	}
	i := &impostor{}
	t.Cleanup(func() { _ = ln.Close(); i.wait.Wait() })
	i.wait.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			i.wait.Go(func() {
				defer conn.Close()
				if conf != nil {
					conn = tls.Server(conn, conf)
				}
				for buf := make([]byte, 4<<10); ; {
					n, err := conn.Read(buf)
					_, _ = i.told.Write(buf[:n])
					if err != nil {
						return
					}
					if bytes.Contains(buf[:n], []byte("\r\n\r\n")) {
						_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%s: %s\r\nContent-Length: 8\r\n\r\nimpostor", v1.GatewayHeader, v1.GatewayOpen)
					} else if conf == nil { // as a server of HTTP does that is spoken to by TLS
						return
					}
				}
			})
		}
	})
	return i
}

// TestWhoTakesATasksPortGetsNothing: a program that listens on a task's port receives neither the
// secret nor a request, with plain HTTP, with a certificate of its own, or with the gateway's
// certificate without its key.
func TestWhoTakesATasksPortGetsNothing(t *testing.T) {
	strange, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for what, configOf := range map[string]func(t *testing.T, p *proxiedTask) *tls.Config{
		"plain HTTP":              func(*testing.T, *proxiedTask) *tls.Config { return nil },
		"another certificate":     func(t *testing.T, _ *proxiedTask) *tls.Config { return strangeConfig(t) },
		"the certificate, no key": func(t *testing.T, p *proxiedTask) *tls.Config { return stolenConfig(t, p, strange) },
		"TLS as it was before 2018": func(t *testing.T, _ *proxiedTask) *tls.Config {
			c := strangeConfig(t)
			c.MaxVersion = tls.VersionTLS12
			return c
		},
	} {
		t.Run(what, func(t *testing.T) {
			v := newProxyRig(t)
			places := []*proxiedTask{v.open("determined", "notebooks"), v.open("determined", "shells")}
			if got := openAll(t, v, places[0], places[1]); got != [3]int{200, 101, 101} {
				t.Fatalf("before: the requests gave %v", got)
			}
			var impostors []*impostor
			for _, p := range places {
				impostors = append(impostors, impersonate(t, p, configOf(t, p)))
			}
			if got := openAll(t, v, places[0], places[1]); got != [3]int{502, 502, 502} {
				t.Errorf("the requests gave %v", got)
			}
			for i, p := range places {
				if heard := impostors[i].told.holds(p.spec.Secret, p.id, "said", "HTTP/1.1"); len(heard) > 0 {
					t.Errorf("the impostor received %q", heard)
				}
			}
		})
	}
}

func strangeConfig(t *testing.T) *tls.Config {
	t.Helper()
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	return &tls.Config{Certificates: server.TLS.Certificates}
}

// stolenConfig presents the gateway's certificate, which every client can read, with another key.
func stolenConfig(t *testing.T, p *proxiedTask, key *ecdsa.PrivateKey) *tls.Config {
	t.Helper()
	conn, err := tls.Dial("tcp", p.gate.Address(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	der := conn.ConnectionState().PeerCertificates[0].Raw
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}
