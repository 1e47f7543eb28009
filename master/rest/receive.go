package rest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// How bodies are received.
//
// Bodies up to v1.SmallBody are read into memory. Larger ones are written to disk while they
// arrive, and read into memory when they are complete and a memory budget has space. So a slow
// or stopped client uses only its own connection and its own share of the disk. When a body is
// decoded, its share of the total budget is released; its user's share is released with the
// response, which limits what one user has in handlers.
const (
	BodyMemory        = 64 << 20        // for decoding bodies, in total
	BodyMemoryPerUser = BodyMemory / 4  // the part of one user; a single larger body is allowed alone
	BodyWeight        = 4               // bytes of memory for each byte of a body while it is decoded
	maxSpool          = 8 << 30         // bytes on disk of all incomplete bodies
	reserveWait       = 5 * time.Minute // for disk space; meanwhile the client waits, and nothing is read
	// A client that sends nothing for stallTimeout is disconnected, and after a minute one with
	// an average below minBodyRate.
	stallTimeout  = 30 * time.Second
	minBodyRate   = 32 << 10 // bytes a second
	bodyRateAfter = time.Minute
)

// Hold waits for memory to decode n bytes.
func (c *Call) Hold(n int64) (*Share, error) {
	ctx, cancel := context.WithTimeout(c.router.stopping, AnswerTimeout)
	defer cancel()
	held, err := c.router.Limits.Memory.Take(ctx, c.Owner(), n*BodyWeight)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the master has no memory for this request now; try again")
	}
	return held, nil
}

// Within returns a context for the work of a request whose handler reads its own body: its time begins now, and its calls to the database
// count as the caller's.
func (c *Call) Within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.work(c.router.stopping), AnswerTimeout)
}

// A Received body is complete: in memory or on disk.
type Received struct {
	small []byte
	room  *spool.Reservation
	file  *spool.File
}

func (b *Received) size() int64 {
	if b.file != nil {
		return b.file.Size()
	}
	return int64(len(b.small))
}

// Open reads the body from its beginning.
func (b *Received) Open() io.Reader {
	if b.file != nil {
		return b.file.Section(0, b.file.Size())
	}
	return bytes.NewReader(b.small)
}

// Content is the body, and its size.
func (b *Received) Content() (io.ReaderAt, int64) {
	if b.file != nil {
		return b.file.Section(0, b.file.Size()), b.file.Size()
	}
	return bytes.NewReader(b.small), int64(len(b.small))
}

// Close removes the body.
func (b *Received) Close() {
	if b.file != nil {
		_ = b.file.Close() // errors are ignored: the file is unlinked
	}
	if b.room != nil {
		b.room.Close()
	}
}

// Receive receives a body of at most limit bytes. It checks the declared length first, so that
// a body that is too large is rejected without reading it.
func (c *Call) Receive(limit int) (*Received, error) {
	declared := c.ctx.Request().Header.ContentLength()
	if declared > limit {
		c.discard(maxDiscard)
		return nil, TooLarge(declared, limit)
	}
	from := c.arriving()
	if from == nil {
		return &Received{small: c.ctx.Body()}, nil
	}
	b := &Received{}
	var err error
	b.small, err = io.ReadAll(io.LimitReader(from, min(int64(limit), v1.SmallBody)+1))
	if err == nil && len(b.small) > v1.SmallBody && limit > v1.SmallBody {
		err = c.toDisk(b, from, declared, limit)
	}
	if err == nil && b.size() > int64(limit) {
		c.discard(maxDiscard)
		err = TooLarge(int(b.size()), limit)
	}
	if err == nil {
		err = from.finish(c)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// toDisk writes the received part of a body to disk, and receives the rest there.
func (c *Call) toDisk(b *Received, from *arrival, declared, limit int) error {
	most := int64(limit) + 1
	if declared > 0 {
		most = int64(declared)
	}
	var err error
	if b.room, err = c.reserve(most); err != nil {
		c.discard(maxDiscard)
		return err
	}
	if b.file, err = b.room.Create(); err != nil {
		return err
	}
	if _, err := b.file.Write(b.small); err != nil {
		return err
	}
	b.small = nil
	_, err = io.Copy(b.file, io.LimitReader(from, most-b.file.Size()))
	return err
}

// reserve waits for the caller's share of the disk. Meanwhile the unread part of the body stays
// with the client.
func (c *Call) reserve(n int64) (*spool.Reservation, error) {
	ctx, cancel := context.WithTimeout(c.router.stopping, reserveWait)
	defer cancel()
	return c.router.Limits.Spool.Reserve(ctx, c.Owner(), n)
}

// ReadBody reads a body into memory, which belongs to the request until Decoded or the
// response.
func (c *Call) ReadBody(limit int) ([]byte, error) {
	b, err := c.Receive(limit)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return c.intoMemory(b)
}

// intoMemory reads a received body when there is memory. Decoded and guard release the memory.
func (c *Call) intoMemory(b *Received) ([]byte, error) {
	if b.file == nil {
		return b.small, c.holdAnonymous(len(b.small))
	}
	if err := c.HoldFor(b.size()); err != nil {
		return nil, err
	}
	buf := make([]byte, b.size())
	_, err := io.ReadFull(b.Open(), buf)
	return buf, err
}

// HoldFor reserves memory for n bytes until the response. A request may do this once: holding
// memory while waiting for more could wait for ever.
func (c *Call) HoldFor(n int64) error {
	if c.held != nil {
		return errors.New("a request asked for memory twice")
	}
	held, err := c.Hold(n)
	if err == nil {
		c.held = held
	}
	return err
}

// holdAnonymous counts the small body of a caller who is not signed in. The body is complete,
// so a slow client does not block others.
func (c *Call) holdAnonymous(n int) error {
	if n == 0 || c.who.Username != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.router.stopping, AnswerTimeout)
	defer cancel()
	held, err := c.router.Limits.Anonymous.Take(ctx, c.Owner(), 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "too many requests of callers who are not signed in; try again")
	}
	c.held = held
	return nil
}

// Decoded releases the memory of a body that is no longer used: the part of the total budget,
// and for callers who are not signed in all of it.
func (c *Call) Decoded() {
	switch {
	case c.held == nil:
	case c.who.Username == "":
		c.held.Release()
	default:
		c.held.Free()
	}
}

func (c *Call) releaseHeld() {
	if c.held != nil {
		c.held.Release()
		c.held = nil
	}
}

// An arrival is a body that is being received.
type arrival struct {
	from  io.Reader
	conn  net.Conn
	stall time.Duration
	begun time.Time
	got   int64
	ended bool  // the whole body was read
	err   error // why reading failed
	// anyRate: the average rate has no minimum.
	anyRate bool
}

// arriving is the body of a request; nil for none.
func (c *Call) arriving() *arrival {
	if c.arrival != nil {
		return c.arrival
	}
	stream := c.ctx.Context().RequestBodyStream()
	if stream == nil {
		return nil
	}
	c.arrival = &arrival{from: stream, conn: c.Conn(), stall: c.router.Limits.Stall}
	return c.arrival
}

// Read waits for the client, within the limits.
func (b *arrival) Read(p []byte) (int, error) {
	if b.ended {
		return 0, io.EOF
	}
	if b.err != nil {
		return 0, b.err
	}
	now := time.Now()
	if b.begun.IsZero() {
		b.begun = now
	}
	due := b.begun.Add(bodyRateAfter + time.Duration(b.got)*time.Second/minBodyRate)
	if stalled := now.Add(b.stall); b.anyRate || stalled.Before(due) {
		due = stalled
	}
	err := b.conn.SetReadDeadline(due)
	n := 0
	if err == nil {
		n, err = b.from.Read(p)
	}
	b.got += int64(n)
	switch {
	case errors.Is(err, io.EOF):
		b.ended = true
	case errors.Is(err, os.ErrDeadlineExceeded):
		b.err = fault.New(fault.Invalid, "the client stopped sending the body after %d bytes", b.got)
	case err != nil:
		b.err = fault.Wrap(fault.Invalid, err, "the body was cut off after %d bytes", b.got)
	}
	if b.err != nil {
		return n, b.err
	}
	return n, err
}

// finish ends a body that was read to its end: reading it again would fail.
func (b *arrival) finish(c *Call) error {
	if !b.ended {
		if _, err := io.CopyN(io.Discard, b, 1); !errors.Is(err, io.EOF) {
			return fault.New(fault.Invalid, "the body is longer than its Content-Length")
		}
	}
	return c.ctx.Request().CloseBodyStream()
}

// maxDiscard is how much of a rejected body is read nevertheless. A client that still sends
// when the connection closes would see a connection error instead of the reason.
const maxDiscard = 512 << 20

// discard discards the rest of a body, at most most bytes. If more remains, the connection
// closes, because the rest would be treated as the next request.
func (c *Call) discard(most int64) {
	if c.ctx.Context().RequestBodyStream() == nil {
		return
	}
	b := c.arriving()
	if _, err := io.CopyN(io.Discard, b, most+1); !errors.Is(err, io.EOF) {
		b.err = errors.Join(b.err, errBodyUnread)
		c.ctx.Context().SetConnectionClose()
		return
	}
	if c.ctx.Request().CloseBodyStream() != nil { // the body was read to its end
		c.ctx.Context().SetConnectionClose()
	}
}

var errBodyUnread = errors.New("the rest of the body is not read")

// TooLarge is the error for a body of n bytes that is over a limit.
func TooLarge(n, limit int) error {
	return fault.New(fault.TooLarge, "the request has %s; the limit here is %s", SizeText(n), SizeText(limit))
}

// SizeText is a number of bytes in words.
func SizeText(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
