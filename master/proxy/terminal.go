package proxy

import (
	"context"
	"errors"
	"net"
	"net/http"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/terminal"
)

// A pageError is a page as an error.
type pageError struct{ page }

func (e pageError) Error() string { return e.Title + ": " + e.Text }

// Terminal opens a shell in a page of the master: the master itself logs in to the shell with its keys.
// The caller has checked where the request comes from. The terminal counts as a connection of the
// user's session, and ends with it.
func (p *Proxy) Terminal(w http.ResponseWriter, r *http.Request, v Caller, task string, k terminal.Keys, size terminal.Size) {
	t, ok := p.find(w, r, service{task: task})
	if !ok {
		return
	}
	who := t.access(v)
	if who.session == 0 {
		show(w, r, pageRefused(t.Task, v.Who))
		return
	}
	p.admitted(w, r, t, who, func(w http.ResponseWriter, r *http.Request, t taskService) {
		up := websocket.Upgrader{ReadBufferSize: 8 << 10, WriteBufferSize: 16 << 10, CheckOrigin: func(*http.Request) bool { return true }} // the caller has checked the origin
		ws, err := up.Upgrade(w, r, nil)
		if err != nil { // the upgrader has answered with the error
			return
		}
		terminal.Serve(r.Context(), ws, terminal.Options{Keys: k, Size: size, Explain: p.explain,
			Dial: func(ctx context.Context) (net.Conn, error) { return p.dialShell(r.WithContext(ctx), t) }})
	})
}

// dialShell connects to the SSH server of a shell.
func (p *Proxy) dialShell(r *http.Request, t taskService) (net.Conn, error) {
	if why, is := pageAbsent(t); is {
		return nil, pageError{why}
	}
	address, err := p.address(r.Context(), t.Task)
	var conn net.Conn
	if err == nil {
		conn, err = p.dialTask(r, t, address)
	}
	if err != nil && r.Context().Err() == nil {
		err = pageError{p.pageUnanswered(t, err)}
	}
	return conn, err
}

// explain says why a terminal has ended.
func (p *Proxy) explain(err error) (status int, message string) {
	if known, ok := errors.AsType[pageError](err); ok {
		return known.status, known.Title + "."
	}
	if errors.Is(err, context.Canceled) {
		err = errStopping
	}
	answer := pageOf(err)
	if answer.code == fault.Internal {
		p.log.Error("a terminal failed", "error", err)
	}
	return answer.status, answer.Text
}
