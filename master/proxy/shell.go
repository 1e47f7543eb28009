package proxy

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tunnel"
	"github.com/detent-ml/detent/master/v1"
)

const (
	webSocket = "websocket"
	// pingEvery is the interval of pings, which keep proxies and firewalls from closing an idle tunnel.
	pingEvery = 30 * time.Second
	// maxMessage bounds a WebSocket message of a tunnel.
	maxMessage = 1 << 20
)

// stream opens a tunnel of bytes: to a shell's SSH server for anybody, because only its key opens
// the shell, and to a port for those who may enter. If the caller has a session that may enter,
// the tunnel ends with the session. A tunnel that is open to everybody ends when the owner is
// deactivated.
func (p *Proxy) stream(w http.ResponseWriter, r *http.Request, t taskService, v Caller, asked string) {
	who := t.access(v)
	switch {
	case !t.bytes(asked) && t.offers == v1.GatewayOfSSH:
		show(w, r, pageShell(t.Task))
	case !t.bytes(asked):
		show(w, r, pageStream(t))
	case v.Cookie && t.offers != v1.GatewayOfSSH:
		show(w, r, pageBrowser(p.origins.Master+t.at.base()))
	case r.Method != http.MethodGet || r.ContentLength != 0:
		show(w, r, pageBadPath(errNoGet))
	case elsewhere(r):
		show(w, r, pageForeign())
	case who.session == 0 && t.OwnerGone:
		show(w, r, pageOwnerGone(t.Task))
	case absent(w, r, t):
	case who.session == 0 && t.offers == v1.GatewayOfSSH && !p.keys.Take(limitKey{task: t.ID, address: who.address}, time.Now()):
		p.fail(w, r, errTooFast)
	default:
		p.enter(w, r, t, v, p.bytes)
	}
}

var errNoGet = fault.New(fault.Invalid, "open a tunnel with GET, without a body")

// elsewhere reports whether a browser sent the request for a page of another origin.
func elsewhere(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || !strings.EqualFold(u.Host, r.Host)
}

// bytes joins the caller's tunnel with one to the task.
func (p *Proxy) bytes(w http.ResponseWriter, r *http.Request, t taskService) {
	address, err := p.address(r.Context(), t.Task)
	var task net.Conn
	if err == nil {
		task, err = p.dialTask(r, t, address)
	}
	if err != nil {
		p.unanswered(w, r, t, err)
		return
	}
	if tunnel.Asked(r.Header) == v1.GatewayTunnel {
		client, err := tunnel.Accept(w, http.Header{"Connection": {"Upgrade"}, "Upgrade": {v1.GatewayTunnel}})
		if err != nil {
			_ = task.Close()
			return
		}
		stop := context.AfterFunc(r.Context(), func() { _ = client.Close(); _ = task.Close() })
		defer stop()
		if t.offers == v1.GatewayOfSSH {
			tunnel.JoinServer(client, task, closeWithin) // after its end an SSH server reads nothing more
			return
		}
		tunnel.Join(client, task)
		return
	}
	up := websocket.Upgrader{ReadBufferSize: 32 << 10, WriteBufferSize: 32 << 10, CheckOrigin: func(*http.Request) bool { return true }} // stream has checked the origin
	ws, err := up.Upgrade(w, r, nil)
	if err != nil { // the upgrader has answered with the error
		_ = task.Close()
		return
	}
	messages(r.Context(), ws, task)
}

// dialTask opens a tunnel to the gateway of a task.
func (p *Proxy) dialTask(r *http.Request, t taskService, address string) (net.Conn, error) {
	to := target{task: t, address: address, inPlace: true}
	req := &http.Request{Method: http.MethodGet, Host: r.Host, Header: http.Header{},
		URL: &url.URL{Scheme: "http", Host: address, Path: t.at.base()}}
	p.dress(req.Header, r, to)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", v1.GatewayTunnel)
	conn, resp, err := p.ask(r.Context(), to, req)
	if err != nil {
		return nil, err
	}
	if err := p.admit(resp, to); err != nil {
		_ = resp.Body.Close()
		if conn != nil {
			_ = conn.Close()
		}
		return nil, err
	}
	if conn == nil {
		_ = resp.Body.Close()
		return nil, fault.New(fault.Unavailable, "the task's gateway rejected the tunnel: %s", resp.Status)
	}
	return conn, nil
}

// messages carries a tunnel over WebSocket. Messages contain bytes of the stream, and the ends of
// messages have no meaning. If one side ends, both end, because WebSocket cannot close one
// direction alone.
func messages(ctx context.Context, ws *websocket.Conn, task net.Conn) {
	end := func() { _ = ws.Close(); _ = task.Close() }
	defer end()
	defer context.AfterFunc(ctx, end)()
	ws.SetReadLimit(maxMessage)
	in := make(chan struct{})
	go func() {
		defer close(in)
		defer task.Close()
		for {
			_, message, err := ws.NextReader()
			if err != nil {
				return
			}
			if _, err := io.Copy(task, message); err != nil {
				return
			}
		}
	}()
	quiet := make(chan struct{})
	go func() {
		tick := time.NewTicker(pingEvery)
		defer tick.Stop()
		for {
			select {
			case <-quiet:
				return
			case <-tick.C:
				_ = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(dialWithin)) // the reader detects a broken connection
			}
		}
	}()
	buf := make([]byte, 32<<10)
	for {
		n, err := task.Read(buf)
		if n > 0 && ws.WriteMessage(websocket.BinaryMessage, buf[:n]) != nil {
			break
		}
		if err != nil {
			_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(dialWithin))
			break
		}
	}
	close(quiet)
	// Wait until the caller has answered the close: if a connection is closed with unread bytes, the
	// last message can be lost.
	last := time.AfterFunc(closeWithin, end)
	defer last.Stop()
	<-in
}
