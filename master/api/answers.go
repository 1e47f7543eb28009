package api

import (
	"context"
	"errors"
	"io"
	"runtime/debug"

	"github.com/gofiber/fiber/v2"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of the answers of this master. A page of a list has megabytes if users write long texts, and its
// client may read it as slowly as it likes.
const (
	maxReading        = 12        // answers whose rows are read and encoded at once
	maxReadingPerUser = 3         // of those, for one user and the user's tasks
	maxReadingMore    = 4         // of those, for all users together beyond one for each, so that few users leave turns to others
	maxInMemory       = 256 << 10 // bytes of an answer; a larger one is on disk until its client has read it
	maxUnread         = 1 << 30   // bytes of answers on disk; spool limits the part of each user
	minRead           = 16 << 20  // bytes of the rows that may be read for one answer: a part of the master's memory, from minRead
	maxRead           = 64 << 20  // to maxRead
	readPart          = 8
	maxAnswer         = 64 << 20 // bytes of an answer
	maxStreams        = 64       // streams of metrics at once
	maxStreamsPerUser = 16       // of those, for one user and the user's tasks
)

// reading waits until an answer may be read and encoded, until which its object is not loaded
// either. Requests that change something do not wait, except for their searches (inTurn), and neither do
// answers that wait for events, and those of callers who are not signed in: they are small.
func (a *API) reading(c *call, r *route) error {
	get := r.Method == fiber.MethodGet || r.Method == fiber.MethodHead
	// A GET reads, whatever right it needs: also what is the caller's own, which needs none.
	reads := get || r.Verb == auth.View && r.List
	if c.turn != nil || !reads || r.Waits || r.Access == v1.Public {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.stopping, answerTimeout)
	defer cancel()
	turn, err := a.turnOf(ctx, c)
	c.turn = turn
	return err
}

func (a *API) turnOf(ctx context.Context, c *call) (*share, error) {
	turn, err := a.receiver.answers.take(ctx, a.ownerOf(c.Ctx), 1)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "this master reads as many answers as it can at once; try again")
	}
	return turn, nil
}

// inTurn runs the search of a request that then changes what it found. The search costs as much as one for an
// answer, so it has a turn, too; the change has none, because it may wait for rows that others change.
func inTurn[T any](ctx context.Context, a *API, c *call, search func(ctx context.Context) (T, error)) (T, error) {
	if c.turn != nil {
		return search(ctx)
	}
	turn, err := a.turnOf(ctx, c)
	if err != nil {
		var none T
		return none, err
	}
	defer turn.release()
	return search(database.LimitReads(ctx, a.receiver.readLimit))
}

// readLimit is how many bytes of rows may be read for one answer.
func readLimit() int64 {
	return min(max(debug.SetMemoryLimit(-1)/readPart, minRead), maxRead) // -1 changes nothing
}

// endReading ends the call's turn, if it has one. A handler that waits for another limit calls it
// first, because those who hold what it waits for may wait for a turn.
func (c *call) endReading() {
	if c.turn != nil {
		c.turn.release()
		c.turn = nil
	}
}

// answer sends a message. It stores a large one on disk, so that clients that read slowly do
// not fill the memory.
func (a *API) answer(c *call, message any) error {
	b, err := c.encode(message)
	if err != nil {
		return err
	}
	return a.sendBytes(c, b)
}

// sendBytes is answer for what is encoded already.
func (a *API) sendBytes(c *call, b []byte) error {
	switch {
	case len(b) <= maxInMemory:
		return c.Send(b)
	case len(b) > maxAnswer:
		return fault.New(fault.TooLarge, "the answer has %s, and the limit is %s; ask for fewer at once (limit)", sizeText(len(b)), sizeText(maxAnswer))
	}
	body, err := a.onDisk(a.ownerOf(c.Ctx), b)
	if err != nil {
		return err
	}
	a.sendFrom(c.Ctx, a.newSharedReader(c, func() { _ = body.Close() }, body), len(b)) // Close only fails to remove a file
	return nil
}

// onDisk stores an answer. It does not wait for space, because the answer is in memory meanwhile.
func (a *API) onDisk(owner string, b []byte) (io.ReadCloser, error) {
	now, cancel := context.WithCancel(context.Background())
	cancel()
	room, err := a.receiver.unread.Reserve(now, owner, int64(len(b)))
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
