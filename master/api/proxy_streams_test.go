//go:build linux

package api

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/tunnel"
	v1 "github.com/detent-ml/detent/master/v1"
)

// dialWS opens a WebSocket.
func dialWS(t *testing.T, address string, header http.Header, jar http.CookieJar) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	d := websocket.Dialer{Jar: jar, HandshakeTimeout: 20 * time.Second, Subprotocols: header.Values("Sec-Websocket-Protocol")}
	header.Del("Sec-Websocket-Protocol")
	return d.DialContext(t.Context(), strings.Replace(address, "http://", "ws://", 1), header)
}

func echo(t *testing.T, ws *websocket.Conn, size int) {
	t.Helper()
	message := bytes.Repeat([]byte("x"), size)
	if err := ws.WriteMessage(websocket.BinaryMessage, message); err != nil {
		t.Fatal(err)
	}
	if kind, got, err := ws.ReadMessage(); err != nil || kind != websocket.BinaryMessage || !bytes.Equal(got, message) {
		t.Fatalf("%d bytes came back of %d: %v", len(got), size, err)
	}
}

func TestWebSockets(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b := v.browser("determined")
	b.goTo(v.url + "/proxy/" + p.id + "/").ok()
	path := "/proxy/" + p.id + "/api/kernels/x/channels?session_id=1"
	jarred := func(origin string) http.Header {
		return http.Header{"Origin": {origin}, "Sec-Websocket-Protocol": {"v1.kernel"}}
	}
	ws, resp, err := dialWS(t, v.tasks+path, jarred(v.tasks), b.jar)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if ws.Subprotocol() != "v1.kernel" || resp.Header.Get(v1.GatewayHeader) != "" {
		t.Errorf("%q %v", ws.Subprotocol(), resp.Header)
	}
	for _, size := range []int{1, 100_000, 3 << 20} {
		echo(t, ws, size)
	}
	if seen := p.lastSeen(); seen.RequestURI != path || seen.Header.Get("Cookie") != "" || seen.Header.Get("Origin") != v.tasks {
		t.Errorf("the program sees %s %v", seen.RequestURI, seen.Header)
	}
	for what, header := range map[string]http.Header{
		"another origin": jarred("http://evil.example"), "the API's origin": jarred(v.url), "no origin": {}, "null": jarred("null"),
	} {
		if ws, resp, err := dialWS(t, v.tasks+path, header, b.jar); err == nil || resp == nil || resp.StatusCode != 403 {
			t.Errorf("%s: %v %v %v", what, ws, resp, err)
		}
	}
	in, _, err := dialWS(t, v.url+path, http.Header{"Authorization": {v.user("determined").token}}, nil)
	if err != nil {
		t.Fatalf("in place: %v", err)
	}
	defer in.Close()
	echo(t, in, 200_000)
	if _, resp, err := dialWS(t, v.url+path, http.Header{"Origin": {v.url}, "Sec-Fetch-Site": {"same-origin"}}, b.jar); err == nil || resp.StatusCode != 403 {
		t.Errorf("a browser in place: %v", err)
	}
}

func TestAnEndedSessionEndsWhatIsOpen(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b, other := v.browser("determined"), v.browser("determined")
	at := "/proxy/" + p.id + "/"
	b.goTo(v.url + at).ok()
	other.goTo(v.url + at).ok()
	open := func(b *guest) *websocket.Conn {
		ws, _, err := dialWS(t, v.tasks+at, http.Header{"Origin": {v.tasks}}, b.jar)
		if err != nil {
			t.Fatal(err)
		}
		echo(t, ws, 10)
		return ws
	}
	mine, theirs := open(b), open(other)
	defer theirs.Close()
	b.ask("POST", v.url+"/api/v1/auth/logout", map[string]string{"Sec-Fetch-Site": "same-origin"}, "").ok()
	if _, _, err := mine.ReadMessage(); err == nil {
		t.Fatal("the WebSocket is still open")
	}
	if a := b.ask("GET", v.tasks+at, map[string]string{"Sec-Fetch-Site": "same-origin"}, ""); a.code != 401 {
		t.Errorf("after signing out: %d", a.code)
	}
	echo(t, theirs, 10)
	p.over()
	if _, _, err := theirs.ReadMessage(); err == nil {
		t.Fatal("the WebSocket is still open")
	}
	if a := other.goTo(v.tasks + at); a.code != 404 || !strings.Contains(string(a.body), "killed by its owner") {
		t.Errorf("after its end: %d %s", a.code, a.body)
	}
}

// TestADeactivatedUserIsOut: requests to tasks, their WebSockets and tunnels, with credentials or
// without, end with the account; an admin gets in still.
func TestADeactivatedUserIsOut(t *testing.T) {
	v := newProxyRig(t)
	book, shell := v.open("determined", "notebooks"), v.open("determined", "shells")
	b, token := v.browser("determined"), v.user("determined").token
	b.goTo(v.url + "/proxy/" + book.id + "/").ok()
	dial := func(address string, header http.Header, jar http.CookieJar) *websocket.Conn {
		t.Helper()
		ws, resp, err := dialWS(t, address, header, jar)
		if err != nil {
			t.Fatalf("%s: %v %v", address, resp, err)
		}
		t.Cleanup(func() { _ = ws.Close() })
		return ws
	}
	open := map[string]*websocket.Conn{
		"a WebSocket of the notebook":    dial(v.tasks+"/proxy/"+book.id+"/ws", http.Header{"Origin": {v.tasks}}, b.jar),
		"a WebSocket of a program":       dial(v.url+"/proxy/"+book.id+"/ws", http.Header{"Authorization": {token}}, nil),
		"a tunnel without credentials":   dial(v.url+"/proxy/"+shell.id+"/", http.Header{}, nil),
		"a tunnel of somebody signed in": dial(v.url+"/proxy/"+shell.id+"/", http.Header{"Authorization": {token}}, nil),
	}
	admins := dial(v.url+"/proxy/"+shell.id+"/", http.Header{"Authorization": {v.user("admin").token}}, nil)
	v.user("admin").patch("/api/v1/users/2", `{"active":false}`).ok()
	for what, ws := range open {
		if err := ws.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		_, _, err := ws.ReadMessage()
		if late := net.Error(nil); err == nil || errors.As(err, &late) && late.Timeout() {
			t.Errorf("%s is still open: %v", what, err)
		}
	}
	echo(t, admins, 10)
	if _, resp, err := dialWS(t, v.url+"/proxy/"+shell.id+"/", http.Header{}, nil); err == nil || resp.StatusCode != 403 {
		t.Errorf("a new tunnel without credentials: %v", err)
	}
	if a := b.goTo(v.tasks + "/proxy/" + book.id + "/"); a.code != 401 {
		t.Errorf("the notebook in the same browser: %d", a.code)
	}
}

func TestStreamsAndBodies(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "notebooks")
	b := v.browser("determined")
	b.goTo(v.url + "/proxy/" + p.id + "/").ok()
	token := v.user("determined").token
	for _, origin := range []string{v.tasks, v.url} {
		request := func(method, path string, body io.Reader) *http.Response {
			t.Helper()
			req, err := http.NewRequestWithContext(t.Context(), method, origin+"/proxy/"+p.id+"/"+path, body)
			if err != nil {
				t.Fatal(err)
			}
			c := b.c
			if origin == v.url {
				req.Header.Set("Authorization", token)
				c = &http.Client{Timeout: time.Minute}
			} else {
				req.Header.Set("Sec-Fetch-Site", "same-origin")
			}
			resp, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		// Events arrive as they are sent, although the answer never ends; and the program's request
		// is canceled when its reader disconnects.
		resp := request("GET", "drip", nil)
		lines := bufio.NewReader(resp.Body)
		for _, want := range []string{"data: 0\n", "\n", "data: 1\n"} {
			if line, err := lines.ReadString('\n'); line != want || err != nil {
				t.Fatalf("%s: %q %v, want %q", origin, line, err, want)
			}
		}
		resp.Body.Close()
		select {
		case <-p.gone:
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: the program's request was not canceled when its reader disconnected", origin)
		}
		// An answer that breaks off does so for the visitor too.
		resp = request("GET", "broken", nil)
		if n, err := io.Copy(io.Discard, resp.Body); err == nil {
			t.Errorf("%s: %d bytes of a broken answer, and no error", origin, n)
		}
		resp.Body.Close()
		// Large bodies both ways, with and without a length.
		resp = request("GET", "big", nil)
		if n, err := io.Copy(io.Discard, resp.Body); n != 3<<20 || err != nil {
			t.Errorf("%s: %d bytes, %v", origin, n, err)
		}
		resp.Body.Close()
		for _, body := range []io.Reader{bytes.NewReader(make([]byte, 5<<20)), io.LimitReader(zeros{}, 5<<20)} {
			resp = request("POST", "count", body)
			if text, err := io.ReadAll(resp.Body); string(text) != fmt.Sprint(5<<20, " <nil>") || err != nil {
				t.Errorf("%s: %s %v", origin, text, err)
			}
			resp.Body.Close()
		}
		resp = request("HEAD", "", nil)
		resp.Body.Close()
		if resp.StatusCode != 200 || resp.ContentLength <= 0 {
			t.Errorf("%s: HEAD: %d %d", origin, resp.StatusCode, resp.ContentLength)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// TestTunnelsToAShell opens them as ours and Determined's clients do: without
// credentials, because the key of the shell is its lock.
func TestTunnelsToAShell(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "shells")
	host := strings.TrimPrefix(v.url, "http://")
	raw, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", v.url+"/proxy/"+p.id+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {v1.GatewayTunnel}}
	conn, resp, err := tunnel.Dial(t.Context(), raw, req)
	if err != nil || conn == nil {
		t.Fatalf("%v %v", resp, err)
	}
	defer conn.Close()
	const size = 4 << 20
	go func() {
		_, _ = io.Copy(conn, io.LimitReader(zeros{}, size))
		_ = conn.(interface{ CloseWrite() error }).CloseWrite() // and still listens
	}()
	all, err := io.ReadAll(conn)
	if want := fmt.Sprintf("|%d", size); err != nil || len(all) != size+len(want) || string(all[size:]) != want {
		t.Fatalf("%d bytes came back, the last %q: %v", len(all), all[max(0, len(all)-20):], err)
	}

	ws, _, err := dialWS(t, v.url+"/proxy/"+p.id+"/", http.Header{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if err := ws.WriteMessage(websocket.BinaryMessage, []byte("SSH-2.0-test\r\n")); err != nil {
		t.Fatal(err)
	}
	if kind, got, err := ws.ReadMessage(); kind != websocket.BinaryMessage || string(got) != "SSH-2.0-test\r\n" || err != nil {
		t.Fatalf("%d %q %v", kind, got, err)
	}
	if _, resp, err := dialWS(t, v.url+"/proxy/"+p.id+"/", http.Header{"Origin": {"http://evil.example"}}, nil); err == nil || resp.StatusCode != 403 {
		t.Errorf("a page elsewhere: %v", err)
	}
	if status, body := speak(t, v.url, "GET /proxy/"+p.id+"/ HTTP/1.1", "Accept: text/html\r\nAuthorization: "+v.user("determined").token); status != 426 || !strings.Contains(body, "det shell open "+p.id) {
		t.Errorf("%d %s", status, body)
	}
	// A notebook is not opened so.
	n := v.open("determined", "notebooks")
	for _, protocol := range []string{v1.GatewayTunnel, "websocket"} {
		if status, body := speak(t, v.url, "GET /proxy/"+n.id+"/ HTTP/1.1", "Connection: Upgrade\r\nUpgrade: "+protocol); status != 401 {
			t.Errorf("%s to a notebook, without a session: %d %s", protocol, status, body)
		}
	}
	p.over()
	if _, _, err := ws.ReadMessage(); err == nil {
		t.Error("a tunnel outlives its task")
	}
}

// TestStrangersTunnels: clients without a token can open a few tunnels to a shell from one address, and
// do not use up the owner's tunnels.
func TestStrangersTunnels(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "shells")
	open := 0
	for ; open < 100; open++ {
		ws, resp, err := dialWS(t, v.url+"/proxy/"+p.id+"/", http.Header{}, nil)
		if err != nil {
			if resp == nil || resp.StatusCode != http.StatusTooManyRequests {
				t.Fatalf("tunnel %d: %v %v", open, resp, err)
			}
			break
		}
		defer ws.Close()
	}
	if open == 100 || open < 16 {
		t.Errorf("a stranger has %d tunnels", open)
	}
	ws, _, err := dialWS(t, v.url+"/proxy/"+p.id+"/", http.Header{"Authorization": {v.user("determined").token}}, nil)
	if err != nil {
		t.Fatalf("the owner beside strangers: %v", err)
	}
	defer ws.Close()
	echo(t, ws, 100)
}

// TestStrangersBeginSlowly: connections without a key, which end at once, do not reach the shell's
// SSH server as fast as somebody can open them.
func TestStrangersBeginSlowly(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "shells")
	began, begin := 0, time.Now()
	for range 200 {
		ws, _, err := dialWS(t, v.url+"/proxy/"+p.id+"/", http.Header{}, nil)
		if err == nil {
			began++
			_ = ws.Close()
		}
	}
	if most := 64 + 1 + int(time.Since(begin)/time.Second); began > most || began < 32 {
		t.Errorf("%d of 200 connections reached the shell within %s, expected at most %d", began, time.Since(begin), most)
	}
	ws, _, err := dialWS(t, v.url+"/proxy/"+p.id+"/", http.Header{"Authorization": {v.user("determined").token}}, nil)
	if err != nil {
		t.Fatalf("the owner beside strangers: %v", err)
	}
	defer ws.Close()
	echo(t, ws, 100)
}

// TestTunnelsThroughTLS: with a master that terminates TLS itself, each direction of a tunnel can end
// alone, too.
func TestTunnelsThroughTLS(t *testing.T) {
	v := newProxyRig(t)
	p := v.open("determined", "shells")
	known := httptest.NewTLSServer(nil)
	defer known.Close()
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = v.api.Router().Listen(tls.NewListener(plain, &tls.Config{Certificates: known.TLS.Certificates, NextProtos: []string{"http/1.1"}}))
	}()
	raw, err := tls.Dial("tcp", plain.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "GET", "https://"+plain.Addr().String()+"/proxy/"+p.id+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {v1.GatewayTunnel}}
	conn, resp, err := tunnel.Dial(t.Context(), raw, req)
	if err != nil || conn == nil {
		t.Fatalf("%v %v", resp, err)
	}
	defer conn.Close()
	go func() {
		_, _ = conn.Write(make([]byte, 300_000))
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	if all, err := io.ReadAll(conn); err != nil || len(all) != 300_000+len("|300000") {
		t.Fatalf("%d bytes, %v", len(all), err)
	}
	ws, _, err := (&websocket.Dialer{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}).DialContext(t.Context(), "wss://"+plain.Addr().String()+"/proxy/"+p.id+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	if err := ws.WriteMessage(websocket.BinaryMessage, make([]byte, 20_000)); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < 20_000; { // where a message ends means nothing
		_, part, err := ws.ReadMessage()
		if err != nil {
			t.Fatalf("after %d bytes: %v", n, err)
		}
		n += len(part)
	}
}
