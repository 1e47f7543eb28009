package rest

import (
	"context"
	"errors"
	"io"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of the answers of this master. A page of a list has megabytes if users write long texts, and clients may
// read it slowly.
const (
	maxReading        = 12        // answers whose rows are read and encoded at once
	MaxReadingPerUser = 3         // of those, for one user and the user's tasks
	maxReadingMore    = 4         // of those, for all users together beyond one for each, so that few users leave turns to others
	MaxInMemory       = 256 << 10 // bytes of an answer; a larger one is on disk until its client has read it
	maxUnread         = 1 << 30   // bytes of answers on disk; spool limits the part of each user
	MinRows           = 16 << 20  // bytes of the rows that may be read for one answer: a part of the master's memory, from MinRows
	maxRead           = 64 << 20  // to maxRead
	readPart          = 8
	maxAnswer         = 64 << 20 // bytes of an answer
)

// reading waits for the turn in which the master loads the object of a call, and reads and encodes the answer.
// Requests that change something have no turn, except for their searches (InTurn). Answers that wait for events have
// none either, nor answers to callers who are not signed in, which are small.
func (c *Call) reading() error {
	r := c.route
	get := r.Method == fiber.MethodGet || r.Method == fiber.MethodHead
	// A GET reads, whatever right it needs: also what is the caller's own, which needs none.
	reads := get || r.Verb == auth.View && r.List
	if c.turn != nil || !reads || r.Waits || r.Access == v1.Public {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.router.stopping, AnswerTimeout)
	defer cancel()
	turn, err := c.takeTurn(ctx)
	c.turn = turn
	return err
}

func (c *Call) takeTurn(ctx context.Context) (*Share, error) {
	turn, err := c.router.Limits.Answers.Take(ctx, c.Owner(), 1)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "this master reads as many answers as it can at once; try again")
	}
	return turn, nil
}

// InTurn runs the search of a request that then changes the objects that it found. The search costs as much as an
// answer, so it needs a turn, too. The change runs without a turn, because it may wait for rows that other requests
// change.
func InTurn[T any](ctx context.Context, c *Call, search func(ctx context.Context) (T, error)) (T, error) {
	if c.turn != nil {
		return search(ctx)
	}
	turn, err := c.takeTurn(ctx)
	if err != nil {
		var none T
		return none, err
	}
	defer turn.Release()
	return search(c.router.LimitReads(ctx))
}

// LimitReads returns a context in which the rows of one answer are read: it limits their bytes.
func (r *Router) LimitReads(ctx context.Context) context.Context {
	return r.cfg.LimitReads(ctx, r.Limits.Rows)
}

// EndReading ends the call's turn, if it has one. A handler calls it before it waits for another limit, because the
// calls that hold that limit may be waiting for a turn.
func (c *Call) EndReading() {
	if c.turn != nil {
		c.turn.Release()
		c.turn = nil
	}
}

// Answer sends a message. It stores a large one on disk, so that clients that read slowly do
// not fill the memory.
func (c *Call) Answer(message any) error {
	b, err := c.Encode(message)
	if err != nil {
		return err
	}
	return c.SendBytes(b)
}

// SendBytes is Answer for what is encoded already.
func (c *Call) SendBytes(b []byte) error {
	switch {
	case len(b) <= MaxInMemory:
		return c.ctx.Send(b)
	case len(b) > maxAnswer:
		return fault.New(fault.TooLarge, "the answer has %s, and the limit is %s; ask for fewer at once (limit)", SizeText(len(b)), SizeText(maxAnswer))
	}
	body, err := c.router.onDisk(c.Owner(), b)
	if err != nil {
		return err
	}
	c.SendFrom(c.Paced(func() { _ = body.Close() }, body), len(b)) // Close only fails to remove a file
	return nil
}

// onDisk stores an answer. It does not wait for space, because the answer is in memory meanwhile.
func (r *Router) onDisk(owner string, b []byte) (io.ReadCloser, error) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	room, err := r.Limits.Unread.Reserve(now, owner, int64(len(b)))
	if err != nil {
		return nil, fault.Wrap(fault.TooMany, err, "you have large answers of this master that your programs do not read; read or close them, and try again")
	}
	file, err := room.Create()
	if err != nil {
		room.Close()
		return nil, err
	}
	if _, err := file.Write(b); err != nil {
		room.Close()
		return nil, errors.Join(err, file.Close())
	}
	return &unreadAnswer{Reader: file.Section(0, file.Size()), file: file, room: room}, nil
}

// An unreadAnswer is an answer on disk.
type unreadAnswer struct {
	io.Reader
	file *spool.File
	room *spool.Reservation
}

// Close removes the answer.
func (u *unreadAnswer) Close() error {
	err := u.file.Close()
	u.room.Close()
	return err
}
