package api

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerContext() {
	rawOn(a, v1.GetTaskContext, a.onTask(), a.contextDirectory)
	rawOn(a, v1.DownloadTaskContext, a.onTask(), a.contextFile)
}

// taskContext is the code of a task; a task can read only its own.
func (a *API) taskContext(ctx context.Context, c *call, k store.Task) (*store.Context, error) {
	if c.who.IsTask() && c.who.TaskID != k.ID {
		return nil, fault.New(fault.Forbidden, "task %s may not read the code of task %s", c.who.TaskID, k.ID)
	}
	return a.db.TaskContext(ctx, k.ID)
}

func (a *API) contextDirectory(ctx context.Context, c *call, k store.Task) error {
	code, err := a.taskContext(ctx, c, k)
	if err != nil {
		return err
	}
	if code == nil {
		return c.send(&v1.GetTaskContextDirectoryResponse{})
	}
	return a.sendCode(c, "b64Tgz", code)
}

func (a *API) contextFile(ctx context.Context, c *call, k store.Task) error {
	code, err := a.taskContext(ctx, c, k)
	if err != nil {
		return err
	}
	c.Set("Content-Type", "application/gzip")
	if code == nil {
		return c.Send(nil)
	}
	reading, err := a.startReading(c)
	if err != nil {
		return err
	}
	a.sendFrom(c.Ctx, a.newSharedReader(c, reading.end, a.db.ReadContext(reading.ctx, code)), int(code.Size))
	return nil
}

// sendCode sends code in a field of a message.
func (a *API) sendCode(c *call, field string, code *store.Context) error {
	reading, err := a.startReading(c)
	if err != nil {
		return err
	}
	return a.sendBase64(c, field, a.newSharedReader(c, reading.end, a.db.ReadContext(reading.ctx, code)), code.Size)
}

// A codeReading is code that is being sent to a client.
type codeReading struct {
	ctx context.Context // ends with the server, and with the caller's permission
	end func()
}

// maxWaitingReads is how many requests of one owner may wait for code.
const maxWaitingReads = 64

// startReading waits until code may be sent to the caller. If many tasks start at the same
// time, some must wait: runners retry.
func (a *API) startReading(c *call) (*codeReading, error) {
	// Not the request's own context, which ends when the handler returns.
	ctx, followed := a.follow(c)
	waiting, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c.endReading()
	owner := a.ownerOf(c.Ctx)
	if a.receiver.reads.full(owner, maxWaitingReads) { // each has loaded what its path names
		followed()
		return nil, fault.New(fault.Unavailable, "too many requests of yours wait for code; try again")
	}
	turn, err := a.receiver.reads.take(waiting, owner, 1)
	if err != nil {
		followed()
		return nil, fault.Wrap(fault.Unavailable, err, "the master sends code to too many clients now; try again")
	}
	conn := c.Context().Conn()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now()) }) // ends a write to a client that does not read
	return &codeReading{ctx: ctx, end: func() {
		stop()
		followed()
		turn.release()
	}}, nil
}

// sharedReader is a response that is being sent. It holds a share of a limited resource, so the
// connection of a client that stops reading is closed.
type sharedReader struct {
	io.Reader
	conn  net.Conn
	stall time.Duration // how long the client may stop reading
	end   func()        // releases the share; nil: released elsewhere
}

func (a *API) newSharedReader(c *call, end func(), from io.Reader) *sharedReader {
	return &sharedReader{Reader: from, conn: c.Context().Conn(), stall: a.receiver.stall, end: end}
}

func (s *sharedReader) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if late := s.conn.SetWriteDeadline(time.Now().Add(s.stall)); late != nil {
		return n, late
	}
	return n, err
}

func (s *sharedReader) Close() error {
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

// sendBase64 sends a message with one field, without buffering its content: the content is read
// while it is sent.
func (a *API) sendBase64(c *call, field string, from io.ReadCloser, size int64) error {
	head, tail := `{"`+field+`":"`, `"}`
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	length := len(head) + base64.StdEncoding.EncodedLen(int(size)) + len(tail)
	body := io.MultiReader(strings.NewReader(head), &base64Reader{from: from}, strings.NewReader(tail))
	a.sendFrom(c.Ctx, closing{body, from}, length)
	return nil
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
