package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/spool"
)

// How bodies are received.
//
// Up to smallBody a body is read into memory. A larger one goes to disk as it
// arrives, and is read into memory when it is whole, as room in a budget of memory
// allows. So what a client that is slow, or has stopped, holds is its own
// connection and its own share of the disk, and nothing that others wait for. When a
// body is decoded, its room in the budget is others'; its user's own share stays taken
// until the answer, so that what one user has in handlers is bounded too.
const (
	bodyMemory        = 64 << 20        // for decoding bodies, all together
	bodyMemoryPerUser = bodyMemory / 4  // of that, of one user; a single body that needs more has it alone
	bodyWeight        = 4               // bytes of memory for a byte of a body while it is decoded
	maxSpool          = 8 << 30         // bytes on disk of all bodies that arrive
	reserveWait       = 5 * time.Minute // for room on the disk, which others give back; the client waits meanwhile, unread
	// A client that sends nothing for stallTimeout is let go, and one that has
	// sent less than minBodyRate in the mean after a minute.
	stallTimeout  = 30 * time.Second
	minBodyRate   = 32 << 10 // bytes a second
	bodyRateAfter = time.Minute
)

// Receiving says how bodies are received; its zero value is what a master does.
type Receiving struct {
	Spool *spool.Folder // where larger bodies lie while they arrive; the system's temporary folder when nil
	Stall time.Duration // instead of stallTimeout
}

// receiver receives bodies.
type receiver struct {
	spool     *spool.Folder
	stall     time.Duration
	memory    *shares       // for decoding bodies, in bytes
	anonymous *shares       // bodies of callers who are not signed in, while they are decoded
	packs     *shares       // code that is packed
	lists     *shares       // code that is listed
	reads     *shares       // code that is sent
	packed    *spool.Folder // where code is packed
}

func newReceiver(cfg Receiving) *receiver {
	r := &receiver{spool: cfg.Spool, stall: cfg.Stall, memory: newShares(bodyMemory, bodyMemoryPerUser), anonymous: newShares(maxAnonymous, maxAnonymousPerAddress),
		packs: newShares(maxPacks, 1), lists: newShares(maxLists, 1), reads: newShares(maxReads, maxReadsPerUser)}
	if r.spool == nil {
		r.spool = spool.New(os.TempDir(), maxSpool)
	}
	r.packed = spool.New(r.spool.Path(), maxPacks*launch.MaxPacked*spool.OwnerShare)
	if r.stall == 0 {
		r.stall = stallTimeout
	}
	return r
}

// hold waits for room to decode n bytes.
func (a *API) hold(c *fiber.Ctx, n int64) (*share, error) {
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	held, err := a.receiver.memory.take(ctx, a.ownerOf(c), n*bodyWeight)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the master has no memory for this request at the moment; try again")
	}
	return held, nil
}

// ownerOf names whose share of what is bounded a request takes: a user's, with what
// the user's tasks send, or that of an address.
func (a *API) ownerOf(c *fiber.Ctx) string {
	if who := whoOf(c); who.Username != "" {
		return "user " + who.Username
	}
	return "address " + a.addressOf(c)
}

// A received body is whole: in memory or on disk.
type received struct {
	small []byte
	room  *spool.Reservation
	file  *spool.File
}

func (b *received) size() int64 {
	if b.file != nil {
		return b.file.Size()
	}
	return int64(len(b.small))
}

// open reads it from its beginning.
func (b *received) open() io.Reader {
	if b.file != nil {
		return b.file.Section(0, b.file.Size())
	}
	return bytes.NewReader(b.small)
}

func (b *received) Close() {
	if b.file != nil {
		_ = b.file.Close() // it has no name; there is nothing to lose
	}
	if b.room != nil {
		b.room.Close()
	}
}

// receive takes a body of at most limit bytes. It asks the declared length first,
// so that what is too large is refused unread.
func (a *API) receive(c *fiber.Ctx, limit int) (*received, error) {
	declared := c.Request().Header.ContentLength()
	if declared > limit {
		a.discard(c, maxDiscard)
		return nil, tooLarge(declared, limit)
	}
	from := a.arrivalOf(c)
	if from == nil {
		return &received{small: c.Body()}, nil
	}
	b := &received{}
	var err error
	b.small, err = io.ReadAll(io.LimitReader(from, min(int64(limit), smallBody)+1))
	if err == nil && len(b.small) > smallBody && limit > smallBody {
		err = a.toDisk(c, b, from, declared, limit)
	}
	if err == nil && b.size() > int64(limit) {
		a.discard(c, maxDiscard)
		err = tooLarge(int(b.size()), limit)
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

// toDisk moves what arrived of a body to disk, and receives the rest there.
func (a *API) toDisk(c *fiber.Ctx, b *received, from *arrival, declared, limit int) error {
	most := int64(limit) + 1
	if declared > 0 {
		most = int64(declared)
	}
	var err error
	if b.room, err = a.reserve(c, most); err != nil {
		a.discard(c, maxDiscard)
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

// reserve waits for the caller's share of the disk. What it has not read of a body
// meanwhile waits with the client.
func (a *API) reserve(c *fiber.Ctx, n int64) (*spool.Reservation, error) {
	ctx, cancel := context.WithTimeout(a.stopping, reserveWait)
	defer cancel()
	return a.receiver.spool.Reserve(ctx, a.ownerOf(c), n)
}

// readBody reads a body into memory, which is the request's until decoded or its answer.
func (a *API) readBody(c *fiber.Ctx, limit int) ([]byte, error) {
	b, err := a.receive(c, limit)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return a.intoMemory(c, b)
}

// intoMemory reads a received body when there is memory for it. decoded and guard give
// the memory back.
func (a *API) intoMemory(c *fiber.Ctx, b *received) ([]byte, error) {
	if b.file == nil {
		return b.small, a.holdAnonymous(c, len(b.small))
	}
	if err := a.holdFor(c, b.size()); err != nil {
		return nil, err
	}
	buf := make([]byte, b.size())
	_, err := io.ReadFull(b.open(), buf)
	return buf, err
}

type heldKey struct{}

// holdFor keeps room for n bytes until the request is answered. A request holds
// once: one that held and waited could wait for ever.
func (a *API) holdFor(c *fiber.Ctx, n int64) error {
	if _, twice := c.Locals(heldKey{}).(*share); twice {
		return errors.New("a request asked for memory twice")
	}
	held, err := a.hold(c, n)
	if err == nil {
		c.Locals(heldKey{}, held)
	}
	return err
}

// holdAnonymous counts the small body of a caller who is not signed in. It has arrived:
// no client that is slow keeps others waiting.
func (a *API) holdAnonymous(c *fiber.Ctx, n int) error {
	if n == 0 || whoOf(c).Username != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	held, err := a.receiver.anonymous.take(ctx, a.ownerOf(c), 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "too many requests of callers who are not signed in at the moment; try again")
	}
	c.Locals(heldKey{}, held)
	return nil
}

// decoded gives the memory of a body back that is no longer used: to the others, and
// where nobody is signed in to all.
func decoded(c *fiber.Ctx) {
	held, ok := c.Locals(heldKey{}).(*share)
	switch {
	case !ok:
	case whoOf(c).Username == "":
		held.release()
	default:
		held.free()
	}
}

func releaseHeld(c *fiber.Ctx) {
	if held, ok := c.Locals(heldKey{}).(*share); ok {
		held.release()
		c.Locals(heldKey{}, nil)
	}
}

// An arrival is a body on its way.
type arrival struct {
	from  io.Reader
	conn  net.Conn
	stall time.Duration
	begun time.Time
	got   int64
	ended bool  // all of it was read
	err   error // why no more will come
	// anyRate: however slow it is in the mean, if only something comes.
	anyRate bool
}

type arrivalKey struct{}

// arrivalOf is the body of a request; nil for none.
func (a *API) arrivalOf(c *fiber.Ctx) *arrival {
	if b, ok := c.Locals(arrivalKey{}).(*arrival); ok {
		return b
	}
	stream := c.Context().RequestBodyStream()
	if stream == nil {
		return nil
	}
	b := &arrival{from: stream, conn: c.Context().Conn(), stall: a.receiver.stall}
	c.Locals(arrivalKey{}, b)
	return b
}

// Read waits for no client longer than it may take.
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
		b.err = fault.Wrap(fault.Invalid, err, "the body broke off after %d bytes", b.got)
	}
	if b.err != nil {
		return n, b.err
	}
	return n, err
}

// finish ends a body that was read to its end: it must not be read again.
func (b *arrival) finish(c *fiber.Ctx) error {
	if !b.ended {
		if _, err := io.CopyN(io.Discard, b, 1); !errors.Is(err, io.EOF) {
			return fault.New(fault.Invalid, "the body is longer than it says")
		}
	}
	if err := c.Request().CloseBodyStream(); err != nil {
		return err
	}
	return nil
}

// maxDiscard is how much of a refused body is read all the same. A client that
// is still sending when the connection closes sees a broken connection and not
// why.
const maxDiscard = 512 << 20

// discard throws away what is left of a body, most bytes of it at most. What is
// left then would be taken for the next request, so the connection closes.
func (a *API) discard(c *fiber.Ctx, most int64) {
	if c.Context().RequestBodyStream() == nil {
		return
	}
	b := a.arrivalOf(c)
	if _, err := io.CopyN(io.Discard, b, most+1); !errors.Is(err, io.EOF) {
		b.err = errors.Join(b.err, errBodyUnread)
		c.Context().SetConnectionClose()
		return
	}
	if c.Request().CloseBodyStream() != nil { // read to its end: it must not be read again
		c.Context().SetConnectionClose()
	}
}

var errBodyUnread = errors.New("the rest of the body is not read")

func tooLarge(n, limit int) error {
	return fault.New(fault.TooLarge, "the request has %s; the limit here is %s", sizeText(n), sizeText(limit))
}

func sizeText(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}
