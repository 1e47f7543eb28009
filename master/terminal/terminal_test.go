//go:build linux

package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/detent-ml/detent/master/fault"
	runner "github.com/detent-ml/detent/plugins/runner/shell"
	"github.com/detent-ml/detent/plugins/runner/shell/shelltest"
)

const patience = 30 * time.Second

// A world is a shell's real server, and a master that opens terminals in it.
type world struct {
	t      *testing.T
	keys   Keys
	server string // address of the SSH server
	url    string
	stop   context.CancelCauseFunc
	ended  chan struct{} // told when Serve has returned
}

func newWorld(t *testing.T) *world {
	t.Helper()
	private, public := shelltest.KeyPair(t)
	hostPrivate, host := shelltest.KeyPair(t)
	t.Setenv("HOME", t.TempDir()) // shells read no files of the account of the tests
	t.Setenv("HISTFILE", os.DevNull)
	s, err := runner.New(runner.Config{AuthorizedKey: public, HostKey: hostPrivate, Dir: t.TempDir()}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() { s.Serve(ln); close(served) }()
	t.Cleanup(func() { _ = ln.Close(); <-served })
	w := &world{t: t, keys: Keys{Private: private, Host: host}, server: ln.Addr().String(), ended: make(chan struct{}, 16)}
	ctx, stop := context.WithCancelCause(context.Background())
	w.stop = stop
	master := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		size, err := ParseSize(r.URL.Query().Get("columns"), r.URL.Query().Get("rows"))
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		ws, err := (&websocket.Upgrader{}).Upgrade(rw, r, nil)
		if err != nil {
			return
		}
		Serve(ctx, ws, Options{Keys: w.keys, Size: size, Dial: w.dial, Explain: func(err error) (int, string) {
			if fault.Is(err, fault.TooLarge) {
				return 413, err.Error()
			}
			return 500, err.Error()
		}})
		w.ended <- struct{}{}
	}))
	t.Cleanup(func() { stop(nil); master.Close() })
	w.url = strings.Replace(master.URL, "http", "ws", 1)
	return w
}

func (w *world) dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", w.server)
}

// A browser is one end of a terminal. It acknowledges what it shows, unless it is frozen.
type browser struct {
	t      *testing.T
	ws     *websocket.Conn
	text   bytes.Buffer
	shown  int64
	frozen bool
	mu     sync.Mutex // held by the one writer
}

func (w *world) open(query string) *browser {
	w.t.Helper()
	ws, _, err := websocket.DefaultDialer.DialContext(w.t.Context(), w.url+"/?"+query, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = ws.Close() })
	_ = ws.SetReadDeadline(time.Now().Add(patience))
	return &browser{t: w.t, ws: ws}
}

func (b *browser) types(text string) {
	b.t.Helper()
	if err := b.write(websocket.BinaryMessage, text); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) says(json string) {
	b.t.Helper()
	if err := b.write(websocket.TextMessage, json); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) write(kind int, text string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ws.WriteMessage(kind, []byte(text))
}

// read reads one message.
func (b *browser) read() error {
	kind, message, err := b.ws.ReadMessage()
	if err != nil {
		return err
	}
	if kind != websocket.BinaryMessage {
		b.t.Fatalf("a message of another kind: %s", message)
	}
	b.text.Write(message)
	b.shown += int64(len(message))
	if !b.frozen {
		b.says(fmt.Sprintf(`{"shown":%d}`, b.shown))
	}
	return nil
}

// sees reads until the output contains a text, and removes the output up to it.
func (b *browser) sees(text string) {
	b.t.Helper()
	for {
		if at := bytes.Index(b.text.Bytes(), []byte(text)); at >= 0 {
			b.text.Next(at + len(text))
			return
		}
		if err := b.read(); err != nil {
			b.t.Fatalf("%q did not come, but %q: %v", text, b.text.Bytes()[max(0, b.text.Len()-500):], err)
		}
	}
}

// end reads until the connection ends.
func (b *browser) end() (code int, reason string) {
	b.t.Helper()
	for {
		if err := b.read(); err != nil {
			var closed *websocket.CloseError
			if !errors.As(err, &closed) {
				b.t.Fatalf("the connection ended without a reason: %v", err)
			}
			return closed.Code, closed.Text
		}
	}
}

func TestATerminal(t *testing.T) {
	w := newWorld(t)
	b := w.open("columns=101&rows=31")
	b.types("stty size; echo $TERM-$COLORTERM; tty >/dev/null && echo on-a-$((1+0))-terminal\n")
	b.sees("31 101")
	b.sees("xterm-256color-truecolor")
	b.sees("on-a-1-terminal")
	b.says(`{"columns":77,"rows":20}`)
	b.types("until stty size | grep -q '^20 77$'; do sleep 0.05; done; echo re$((0))sized\n")
	b.sees("re0sized")
	b.says(`{"columns":100000,"rows":0}`) // no size: nothing happens
	b.types("stty size\n")
	b.sees("20 77")
	b.types("exit 7\n")
	if code, reason := b.end(); code != websocket.CloseNormalClosure || reason != "The shell has ended with exit status 7." {
		t.Errorf("%d %q", code, reason)
	}
	b = w.open("")
	b.types("stty size\n")
	b.sees("24 80")
	b.types("kill -KILL $$\n")
	if code, reason := b.end(); code != websocket.CloseNormalClosure || reason != "The shell was ended by signal KILL." {
		t.Errorf("%d %q", code, reason)
	}
	for _, query := range []string{"columns=0", "columns=1001", "rows=-1", "rows=x"} {
		if _, resp, err := websocket.DefaultDialer.DialContext(t.Context(), w.url+"/?"+query, nil); err == nil || resp.StatusCode != 400 {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestABrowserThatShowsNothing: a program that prints without an end stops until the browser has shown
// what was sent, and a browser that claims to have shown more than it was sent gets no more for it.
func TestABrowserThatShowsNothing(t *testing.T) {
	w := newWorld(t)
	b := w.open("")
	b.types("PS1=; stty -echo\n")
	b.types("echo be''gins; yes 0123456789012345678901234567890123456789 | head -c 3000000; echo the''end\n")
	b.sees("begins")
	b.frozen = true
	b.says(`{"shown":999999999}`)
	from := b.shown
	for b.shown-from < maxAhead-maxOutput {
		if err := b.read(); err != nil {
			t.Fatalf("after %d bytes: %v", b.shown, err)
		}
	}
	_ = b.ws.SetReadDeadline(time.Now().Add(time.Second))
	for {
		if err := b.read(); err != nil { // the deadline: nothing more comes
			break
		}
	}
	if ahead := b.shown - from; ahead > maxAhead+2*maxOutput {
		t.Errorf("the master is %d bytes ahead of the browser; want at most %d", ahead, maxAhead)
	}
}

// TestAllOutputComes: with a browser that shows what it gets, millions of bytes come whole.
func TestAllOutputComes(t *testing.T) {
	w := newWorld(t)
	b := w.open("")
	b.types("PS1=; stty -echo -onlcr\n")
	b.types("echo be''gins; yes 0123456789012345678901234567890123456789 | head -c 3000000; echo the''end\n")
	b.sees("begins\n")
	for !bytes.Contains(b.text.Bytes(), []byte("theend")) {
		if err := b.read(); err != nil {
			t.Fatalf("after %d bytes: %v", b.shown, err)
		}
	}
	if n := bytes.Index(b.text.Bytes(), []byte("theend")); n != 3_000_000 {
		t.Errorf("%d bytes came of 3,000,000", n)
	}
}

// TestAPasteIntoAProgramThatPrintsIt: the master reads on while input waits; otherwise it would not learn
// that the browser has shown the output that the input has caused.
func TestAPasteIntoAProgramThatPrintsIt(t *testing.T) {
	w := newWorld(t)
	b := w.open("")
	b.types("PS1=; stty raw -echo; echo re''ady; head -c 800000; stty sane; echo do''ne\n")
	b.sees("ready")
	from := b.shown
	go func() {
		for range 50 {
			_ = b.write(websocket.BinaryMessage, strings.Repeat("x", 16_000))
		}
	}()
	b.sees("done")
	if n := b.shown - from; n < 800_000 {
		t.Errorf("%d bytes came back of 800,000", n)
	}
}

func TestInputThatNobodyReads(t *testing.T) {
	w := newWorld(t)
	b := w.open("")
	b.types("stty raw -echo; echo re''ady; sleep 600\n")
	b.sees("ready")
	b.frozen = true
	go func() {
		for range 200 {
			if b.write(websocket.BinaryMessage, strings.Repeat("x", 60_000)) != nil {
				return
			}
		}
	}()
	select {
	case <-w.ended:
	case <-time.After(patience):
		t.Fatal("the terminal takes any amount of input")
	}
}

// TestTheEndsOfATerminal: its shell ends with the browser and with the session.
func TestTheEndsOfATerminal(t *testing.T) {
	w := newWorld(t)
	alive := w.open("")
	gone := w.open("")
	gone.types("trap 'touch ended; exit' HUP; touch began; while :; do sleep 0.05; done\n")
	alive.types("until [ -f began ]; do sleep 0.05; done; echo it''runs\n")
	alive.sees("itruns")
	_ = gone.ws.Close()
	select {
	case <-w.ended:
	case <-time.After(patience):
		t.Fatal("the terminal goes on without its browser")
	}
	alive.types("until [ -f ended ]; do sleep 0.05; done; echo it''ended\n")
	alive.sees("itended")
	w.stop(fault.New(fault.Unauthenticated, "the session has ended"))
	if code, reason := alive.end(); code != errorCode+500 || reason != "the session has ended" {
		t.Errorf("%d %q", code, reason)
	}
}

func TestAnotherServerGetsNoLogin(t *testing.T) {
	w := newWorld(t)
	_, w.keys.Host = shelltest.KeyPair(t)
	if code, reason := w.open("").end(); code != errorCode+500 || !strings.Contains(reason, "another key") {
		t.Errorf("%d %q", code, reason)
	}
	w = newWorld(t)
	w.keys.Private, _ = shelltest.KeyPair(t)
	if code, reason := w.open("").end(); code != errorCode+500 || !strings.Contains(reason, "cannot log in") {
		t.Errorf("%d %q", code, reason)
	}
}

func TestReasonsAreShort(t *testing.T) {
	w := newWorld(t)
	b := w.open("")
	b.types("echo re''ady\n")
	b.sees("ready")
	w.stop(errors.New(strings.Repeat("é", 200)))
	if _, reason := b.end(); len(reason) > 123 || !strings.HasSuffix(reason, "…") {
		t.Errorf("%q", reason)
	}
}
