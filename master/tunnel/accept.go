package tunnel

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// Asked is the protocol to which a request asks to upgrade, in lower case; "" for none.
func Asked(h http.Header) string {
	for _, line := range h.Values("Connection") {
		for word := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(word), "upgrade") {
				return strings.ToLower(strings.TrimSpace(h.Get("Upgrade")))
			}
		}
	}
	return ""
}

// Accept hijacks the client's connection and writes the header of the response, a 101 with
// these fields.
func Accept(w http.ResponseWriter, header http.Header) (net.Conn, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("cannot hijack this connection: %w", err)
	}
	c := Buffered(conn, buffered.Reader)
	_ = conn.SetDeadline(time.Time{})
	var head strings.Builder
	head.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	if err = header.Write(&head); err == nil {
		head.WriteString("\r\n")
		_, err = io.WriteString(conn, head.String())
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

// Buffered returns a connection whose first bytes have already been read into r.
func Buffered(c net.Conn, r *bufio.Reader) net.Conn {
	if r == nil || r.Buffered() == 0 {
		return c
	}
	first, _ := r.Peek(r.Buffered()) // the bytes are buffered
	return Prefixed(c, append([]byte(nil), first...))
}

// Prefixed returns a connection whose first bytes have already been read.
func Prefixed(c net.Conn, first []byte) net.Conn { return &prefixed{Conn: c, first: first} }

// A prefixed connection first returns the bytes that were read before.
type prefixed struct {
	net.Conn
	first []byte
}

func (p *prefixed) Read(b []byte) (int, error) {
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	return p.Conn.Read(b)
}

// CloseWrite closes the sending direction.
func (p *prefixed) CloseWrite() error { return closeWrite(p.Conn) }
