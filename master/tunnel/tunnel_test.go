package tunnel

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestAsked(t *testing.T) {
	for _, c := range []struct {
		connection []string
		upgrade    string
		want       string
	}{
		{[]string{"Upgrade"}, "WebSocket", "websocket"}, {[]string{"keep-alive, upgrade"}, "x", "x"}, {[]string{"keep-alive", "Upgrade"}, "x", "x"},
		{[]string{"close"}, "x", ""}, {nil, "x", ""}, {[]string{"Upgrade"}, "", ""}, {[]string{"upgrades"}, "x", ""},
	} {
		if got := Asked(http.Header{"Connection": c.connection, "Upgrade": {c.upgrade}}); got != c.want {
			t.Errorf("%v %q: %q", c.connection, c.upgrade, got)
		}
	}
}

// ends are two connected TCP connections.
func ends(t *testing.T) (a, b net.Conn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if a, err = net.Dial("tcp", ln.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = ln.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close(); _ = b.Close() })
	for _, c := range []net.Conn{a, b} {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	}
	return a, b
}

func TestHalvesEndAlone(t *testing.T) {
	user, left := ends(t)
	right, task := ends(t)
	done := make(chan struct{})
	go func() { Join(left, right); close(done) }()
	if _, err := io.WriteString(user, "all I have to say"); err != nil {
		t.Fatal(err)
	}
	if err := user.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(task); string(got) != "all I have to say" || err != nil {
		t.Fatalf("%q %v", got, err)
	}
	if _, err := io.WriteString(task, "and I"); err != nil {
		t.Fatal(err)
	}
	_ = task.Close()
	if got, err := io.ReadAll(user); string(got) != "and I" || err != nil {
		t.Fatalf("%q %v", got, err)
	}
	<-done
}

func TestASideThatNeverEnds(t *testing.T) {
	user, left := ends(t)
	right, task := ends(t)
	done := make(chan struct{})
	go func() { join(left, right, 10*time.Millisecond, time.Hour); close(done) }()
	_ = user.Close()
	if _, err := io.ReadAll(task); err != nil {
		t.Fatal(err)
	}
	select { // the task neither speaks nor ends
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the tunnel stays open")
	}
}

// TestAServerThatHasEnded ends its client soon, however long that one keeps silent.
func TestAServerThatHasEnded(t *testing.T) {
	user, left := ends(t)
	right, task := ends(t)
	done := make(chan struct{})
	go func() { JoinServer(left, right, 10*time.Millisecond); close(done) }()
	_ = task.Close()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatal("the tunnel stays open")
	}
	if _, err := io.ReadAll(user); err != nil {
		t.Error(err)
	}
}

// TestBytesRightBehindTheHead: bytes in the same packet as the request, or as the answer, are not
// lost.
func TestBytesRightBehindTheHead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if Asked(r.Header) != "x" {
			http.Error(w, "not that", http.StatusTeapot)
			return
		}
		c, err := Accept(w, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"x"}})
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, "early;")
		_, _ = io.Copy(c, c)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nearly too"); err != nil {
		t.Fatal(err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	if got, err := io.ReadAll(conn); !strings.HasSuffix(string(got), "\r\n\r\nearly;early too") || err != nil {
		t.Fatalf("%q %v", got, err)
	}

	conn, err = net.Dial("tcp", strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"y"}}
	c, resp, err := Dial(t.Context(), conn, req)
	if err != nil || c != nil || resp.StatusCode != http.StatusTeapot {
		t.Fatalf("%v %v %v", c, resp, err)
	}
	if body, err := io.ReadAll(resp.Body); string(body) != "not that\n" || err != nil {
		t.Errorf("%q %v", body, err)
	}
	_ = resp.Body.Close()
}
