package client_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

// echoes is a master with one task, which echoes its input and sends the number of bytes at the end.
func echoes(t *testing.T) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/proxy/a-shell/" || r.Header.Get("Upgrade") != "detent-tcp" || r.ProtoMajor != 1 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			io.WriteString(w, `{"message":"There is no task"}`)
			return
		}
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: detent-tcp\r\n\r\n")
		n, _ := io.Copy(conn, buffered)
		io.WriteString(conn, "|"+strings.Repeat("x", int(n)%7))
	}
}

func TestDialTask(t *testing.T) {
	plain := httptest.NewServer(echoes(t))
	defer plain.Close()
	secure := httptest.NewUnstartedServer(echoes(t))
	secure.EnableHTTP2 = true // which a client prefers, and which has no upgrades
	secure.StartTLS()
	defer secure.Close()
	for _, o := range []client.Options{
		{Master: plain.URL},
		{Master: secure.URL, TLS: &tls.Config{InsecureSkipVerify: true}},
	} {
		c := newClient(t, o)
		conn, err := c.DialTask(t.Context(), "a-shell")
		if err != nil {
			t.Fatalf("%s: %v", o.Master, err)
		}
		go func() {
			_, _ = conn.Write(make([]byte, 1<<20))
			_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		}()
		got, err := io.ReadAll(conn)
		if want := 1<<20 + 1 + (1<<20)%7; len(got) != want || err != nil && o.TLS == nil {
			t.Errorf("%s: %d bytes, want %d: %v", o.Master, len(got), want, err)
		}
		if conn.RemoteAddr().String() != o.Master || !errors.Is(conn.SetDeadline(time.Now()), conn.SetReadDeadline(time.Now())) {
			t.Errorf("%s", conn.RemoteAddr())
		}
		_ = conn.Close()
		if _, err := c.DialTask(t.Context(), "nothing"); !fault.Is(err, fault.NotFound) || !strings.Contains(err.Error(), "There is no task") {
			t.Errorf("%s: %v", o.Master, err)
		}
	}
	c := serve(t, client.Options{}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html>") })
	if _, err := c.DialTask(t.Context(), "a-shell"); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "does not support tunnels") {
		t.Errorf("something between: %v", err)
	}
}
