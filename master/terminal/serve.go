package terminal

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/fault"
)

const (
	// maxMessage is the maximum size of a message of the browser.
	maxMessage = 64 << 10
	// pingEvery is the interval of pings, which keep proxies from closing an idle connection.
	pingEvery = 30 * time.Second
	// silentFor is how long a browser may send nothing, not even answers to pings.
	silentFor = 3 * pingEvery
	// endWithin is how long a browser has to answer the end of the connection.
	endWithin = 3 * time.Second
)

// A said is a text message of the browser.
type said struct {
	Columns uint32 `json:"columns"`
	Rows    uint32 `json:"rows"`
	Shown   int64  `json:"shown"` // bytes of output in all
}

// Options are what a terminal is made of.
type Options struct {
	// Dial connects to the shell's SSH server.
	Dial func(context.Context) (net.Conn, error)
	Keys Keys
	Size Size // of the terminal at first
	// Explain returns the HTTP status and the message for an error.
	Explain func(error) (status int, message string)
}

// Serve runs a shell for a browser, until the shell ends, the browser leaves, or ctx ends. It tells the
// browser how the shell has ended, or why the terminal has, and closes the connection.
func Serve(ctx context.Context, ws *websocket.Conn, o Options) {
	defer ws.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, out := newTyped(), newScreen(ws)
	sizes, heard := make(chan Size, 1), make(chan struct{})
	go func() {
		defer close(heard)
		cancel(listen(ws, in, out, sizes))
	}()
	defer context.AfterFunc(ctx, func() { in.end(); out.close() })()
	status := 0
	message, err := o.run(ctx, ws, in, out, sizes)
	switch {
	case errors.Is(err, errLeft):
		return
	case err != nil:
		status, message = o.Explain(err)
	}
	end(ws, status, message)
	// The browser answers the end. A connection that is closed with unread bytes may lose it.
	late := time.AfterFunc(endWithin, func() { _ = ws.Close() })
	defer late.Stop()
	<-heard
}

// run returns how the shell has ended, or why the terminal has.
func (o Options) run(ctx context.Context, ws *websocket.Conn, in *typed, out *screen, sizes <-chan Size) (string, error) {
	conn, err := o.Dial(ctx)
	if err != nil {
		return "", causeOr(ctx, err)
	}
	s, err := login(ctx, conn, o.Keys, o.Size, in, out)
	if err != nil {
		return "", causeOr(ctx, err)
	}
	defer s.close()
	defer context.AfterFunc(ctx, s.close)()
	running, over := context.WithCancel(ctx)
	defer over()
	go accompany(running, ws, s, sizes)
	how, err := s.wait()
	if err != nil {
		return "", causeOr(ctx, err)
	}
	return how, nil
}

// causeOr returns why ctx has ended; if it has not, the error.
func causeOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// errLeft is the end of a browser that has closed the terminal.
var errLeft = errors.New("the browser has closed the terminal")

// listen reads the browser's messages until it leaves.
func listen(ws *websocket.Conn, in *typed, out *screen, sizes chan Size) error {
	ws.SetReadLimit(maxMessage)
	heard := func(string) error { return ws.SetReadDeadline(time.Now().Add(silentFor)) }
	ws.SetPongHandler(heard)
	for {
		if err := heard(""); err != nil {
			return errLeft
		}
		kind, message, err := ws.ReadMessage()
		switch {
		case errors.Is(err, websocket.ErrReadLimit):
			return fault.New(fault.TooLarge, "a message of the browser is larger than %d KiB", maxMessage>>10)
		case err != nil:
			return errLeft
		case kind == websocket.BinaryMessage:
			if err := in.add(message); err != nil {
				return err
			}
		default:
			var m said
			if err := json.Unmarshal(message, &m); err != nil {
				return fault.New(fault.Invalid, "a message of the browser is not JSON")
			}
			out.show(m.Shown)
			if size := (Size{m.Columns, m.Rows}); size.valid() {
				select { // the newest size only
				case <-sizes:
				default:
				}
				sizes <- size // only this goroutine sends, so there is room
			}
		}
	}
}

// accompany sends sizes to the shell, and pings to the browser, until ctx ends.
func accompany(ctx context.Context, ws *websocket.Conn, s *shell, sizes <-chan Size) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case size := <-sizes:
			err = s.resize(size)
		case <-tick.C:
			err = ws.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWithin))
		}
		if err != nil { // the connection has ended: the reader of either side notices
			return
		}
	}
}

// errorCode is added to the HTTP status of an error: the code with which the connection ends.
const errorCode = 4000

// end sends the end of the connection: how the shell has ended (status 0), or the HTTP status of an
// error and its message.
func end(ws *websocket.Conn, status int, message string) {
	code := websocket.CloseNormalClosure
	if status != 0 {
		code = errorCode + status
	}
	const most = 123 - len("…") // bytes of a reason; RFC 6455
	_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, fault.ClipTo(message, most)), time.Now().Add(endWithin))
}
