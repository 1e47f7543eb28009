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

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/spool"
	"github.com/detent-ml/detent/master/store"
)

// How bodies are received.
//
// Bodies up to smallBody are read into memory. Larger ones are written to disk while they
// arrive, and read into memory when they are complete and a memory budget has space. So a slow
// or stopped client uses only its own connection and its own share of the disk. When a body is
// decoded, its share of the total budget is released; its user's share is released with the
// response, which limits what one user has in handlers.
const (
	bodyMemory        = 64 << 20        // for decoding bodies, in total
	bodyMemoryPerUser = bodyMemory / 4  // the part of one user; a single larger body is allowed alone
	bodyWeight        = 4               // bytes of memory for each byte of a body while it is decoded
	maxSpool          = 8 << 30         // bytes on disk of all incomplete bodies
	reserveWait       = 5 * time.Minute // for disk space; meanwhile the client waits, and nothing is read
	// A client that sends nothing for stallTimeout is disconnected, and after a minute one with
	// an average below minBodyRate.
	stallTimeout  = 30 * time.Second
	minBodyRate   = 32 << 10 // bytes a second
	bodyRateAfter = time.Minute
)

// Receiving configures the reception of bodies; the zero value is the default.
type Receiving struct {
	Spool *spool.Folder // folder of larger bodies while they arrive; nil: the system's temporary folder
	Stall time.Duration // instead of stallTimeout
}

// receiver receives bodies.
type receiver struct {
	spool     *spool.Folder
	stall     time.Duration
	memory    *shares       // for decoding bodies, in bytes
	anonymous *shares       // bodies of callers who are not signed in, while they are decoded
	packs     *shares       // code that is being packed
	places    *shares       // jobs that are being placed in the queue
	matching  *shares       // lines that are compared with log policies
	changes   *shares       // requests of users that change something
	answers   *shares       // answers that are being read and encoded
	series    *shares       // metrics that are being streamed
	logs      *shares       // logs whose lines are being unpacked and sent
	longLines *shares       // long lines that are being sent
	logTurn   time.Duration // logTurn, but for tests
	readLimit int64         // bytes of rows for one answer
	unread    *spool.Folder // answers that clients have not read yet
	lists     *shares       // code that is being listed
	reads     *shares       // code that is being sent
	packed    *spool.Folder // folder for packing code
}

func newReceiver(cfg Receiving) *receiver {
	r := &receiver{spool: cfg.Spool, stall: cfg.Stall, memory: newShares(bodyMemory, bodyMemoryPerUser), anonymous: newShares(maxAnonymous, maxAnonymousPerAddress),
		packs: newShares(maxPacks, 1), places: newShares(1, 1), matching: newShares(maxMatches, 1), lists: newShares(maxLists, 1), reads: newShares(maxReads, maxReadsPerUser), answers: newFairShares(maxReading, maxReadingPerUser, maxReadingMore), series: newShares(maxStreams, maxStreamsPerUser),
		changes: newFairShares(maxChanging, maxChangingPerUser, maxChangingMore), logs: newFairShares(maxLogTurns, maxLogTurnsPerUser, maxLogTurnsMore), longLines: newShares(maxLongLines, 1), logTurn: logTurn, readLimit: readLimit()}
	if r.spool == nil {
		r.spool = spool.New(os.TempDir(), maxSpool)
	}
	r.packed = spool.New(r.spool.Path(), maxPacks*launch.MaxPacked*spool.OwnerShare)
	r.unread = spool.New(r.spool.Path(), maxUnread)
	if r.stall == 0 {
		r.stall = stallTimeout
	}
	return r
}

// hold waits for memory to decode n bytes.
func (a *API) hold(c *fiber.Ctx, n int64) (*share, error) {
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	held, err := a.receiver.memory.take(ctx, a.ownerOf(c), n*bodyWeight)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "the master has no memory for this request now; try again")
	}
	return held, nil
}

// ownerOf names the owner of a request's share: a user, including the user's tasks, or an
// address.
func (a *API) ownerOf(c *fiber.Ctx) string {
	if who := whoOf(c); who.Username != "" {
		return "user " + who.Username
	}
	return database.StrangerAt(a.addressOf(c))
}

// storeOwner names the owner of a request's part of the connections to the database. A user's tasks have a part beside
// the user's own, so that neither waits for the other.
func (a *API) storeOwner(c *fiber.Ctx) string {
	if who := whoOf(c); who.IsTask() {
		return store.TasksOf(who.Username)
	}
	return a.ownerOf(c)
}

// within returns a context for the work of a request whose handler reads its own body: its time begins now, and its calls to the database
// count as the caller's.
func (a *API) within(c *fiber.Ctx) (context.Context, context.CancelFunc) {
	return context.WithTimeout(database.ForOwner(a.stopping, a.storeOwner(c)), answerTimeout)
}

// A received body is complete: in memory or on disk.
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

// open reads the body from its beginning.
func (b *received) open() io.Reader {
	if b.file != nil {
		return b.file.Section(0, b.file.Size())
	}
	return bytes.NewReader(b.small)
}

func (b *received) Close() {
	if b.file != nil {
		_ = b.file.Close() // errors are ignored: the file is unlinked
	}
	if b.room != nil {
		b.room.Close()
	}
}

// receive receives a body of at most limit bytes. It checks the declared length first, so that
// a body that is too large is rejected without reading it.
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

// toDisk writes the received part of a body to disk, and receives the rest there.
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

// reserve waits for the caller's share of the disk. Meanwhile the unread part of the body stays
// with the client.
func (a *API) reserve(c *fiber.Ctx, n int64) (*spool.Reservation, error) {
	ctx, cancel := context.WithTimeout(a.stopping, reserveWait)
	defer cancel()
	return a.receiver.spool.Reserve(ctx, a.ownerOf(c), n)
}

// readBody reads a body into memory, which belongs to the request until decoded or the
// response.
func (a *API) readBody(c *fiber.Ctx, limit int) ([]byte, error) {
	b, err := a.receive(c, limit)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	return a.intoMemory(c, b)
}

// intoMemory reads a received body when there is memory. decoded and guard release the memory.
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

// holdFor reserves memory for n bytes until the response. A request may do this once: holding
// memory while waiting for more could wait for ever.
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

// holdAnonymous counts the small body of a caller who is not signed in. The body is complete,
// so a slow client does not block others.
func (a *API) holdAnonymous(c *fiber.Ctx, n int) error {
	if n == 0 || whoOf(c).Username != "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	held, err := a.receiver.anonymous.take(ctx, a.ownerOf(c), 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "too many requests of callers who are not signed in; try again")
	}
	c.Locals(heldKey{}, held)
	return nil
}

// decoded releases the memory of a body that is no longer used: the part of the total budget,
// and for callers who are not signed in all of it.
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
func (b *arrival) finish(c *fiber.Ctx) error {
	if !b.ended {
		if _, err := io.CopyN(io.Discard, b, 1); !errors.Is(err, io.EOF) {
			return fault.New(fault.Invalid, "the body is longer than its Content-Length")
		}
	}
	if err := c.Request().CloseBodyStream(); err != nil {
		return err
	}
	return nil
}

// maxDiscard is how much of a rejected body is read nevertheless. A client that still sends
// when the connection closes would see a connection error instead of the reason.
const maxDiscard = 512 << 20

// discard discards the rest of a body, at most most bytes. If more remains, the connection
// closes, because the rest would be treated as the next request.
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
	if c.Request().CloseBodyStream() != nil { // the body was read to its end
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
