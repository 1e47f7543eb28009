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

// Asked is the protocol that a request asks to change to, in lower case; "" for
// one that does not.
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

// Accept takes the client's connection over and writes the head of the answer, a
// 101 with these fields.
func Accept(w http.ResponseWriter, header http.Header) (net.Conn, error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, fmt.Errorf("this connection cannot be taken over: %w", err)
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

// Buffered is a connection whose first bytes have been read already.
func Buffered(c net.Conn, r *bufio.Reader) net.Conn {
	if r == nil || r.Buffered() == 0 {
		return c
	}
	first, _ := r.Peek(r.Buffered()) // they are there
	return Prefixed(c, append([]byte(nil), first...))
}

// Prefixed is a connection of which these bytes have been read already.
func Prefixed(c net.Conn, first []byte) net.Conn { return &prefixed{Conn: c, first: first} }

// A prefixed connection gives out what was read of it before.
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

// CloseWrite closes the sending half.
func (p *prefixed) CloseWrite() error { return closeWrite(p.Conn) }
