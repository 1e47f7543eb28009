package rest

import (
	"encoding/base64"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
)

// A PacedReader is an answer that is being sent. It holds a share of a limited resource, so the
// connection of a client that stops reading is closed.
type PacedReader struct {
	io.Reader
	conn  net.Conn
	stall time.Duration // how long the client may stop reading
	end   func()        // releases the share; nil: released elsewhere
}

// Paced returns a reader whose Close calls end, if it is not nil.
func (c *Call) Paced(end func(), from io.Reader) *PacedReader {
	return &PacedReader{Reader: from, conn: c.Conn(), stall: c.router.Limits.Stall, end: end}
}

// Read reads a part, and gives the client time to read it.
func (s *PacedReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if late := s.conn.SetWriteDeadline(time.Now().Add(s.stall)); late != nil {
		return n, late
	}
	return n, err
}

// Close ends the answer.
func (s *PacedReader) Close() error {
	if s.end != nil {
		s.end()
	}
	return s.conn.SetWriteDeadline(time.Time{}) // the next response on this connection has its own deadline
}

// closing reads from one reader and closes another.
type closing struct {
	io.Reader
	io.Closer
}

// SendBase64 sends a message with one field, without buffering its content: the content is read
// while it is sent.
func (c *Call) SendBase64(field string, from io.ReadCloser, size int64) {
	head, tail := `{"`+field+`":"`, `"}`
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	length := len(head) + base64.StdEncoding.EncodedLen(int(size)) + len(tail)
	body := io.MultiReader(strings.NewReader(head), &base64Reader{from: from}, strings.NewReader(tail))
	c.SendFrom(closing{body, from}, length)
}

// base64Reader encodes a reader's content as base64.
type base64Reader struct {
	from  io.Reader
	plain [12 << 10]byte
	text  [16 << 10]byte
	rest  []byte
	err   error
}

func (b *base64Reader) Read(p []byte) (int, error) {
	if len(b.rest) == 0 && b.err == nil {
		n, err := io.ReadFull(b.from, b.plain[:])
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = io.EOF
		}
		b.err = err
		b.rest = base64.StdEncoding.AppendEncode(b.text[:0], b.plain[:n])
	}
	if len(b.rest) == 0 {
		return 0, b.err
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}
