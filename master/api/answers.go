package api

import (
	"context"
	"errors"
	"io"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/spool"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Limits of the answers of this master. A page of a list has megabytes if users write long texts, and its
// client may read it as slowly as it likes.
const (
	maxReading        = 12        // answers whose rows are read and encoded at once
	maxReadingPerUser = 3         // of those, for one user and the user's tasks
	maxInMemory       = 256 << 10 // bytes of an answer; a larger one is on disk until its client has read it
	maxUnread         = 1 << 30   // bytes of answers on disk; spool limits the part of each user
)

// reading waits until an answer may be read and encoded. Answers that wait for events, and those
// of callers who are not signed in, do not wait: they are small.
func (a *API) reading(ctx context.Context, c *call, r *route) (release func(), err error) {
	if r.Verb != auth.View || r.Waits || r.Access == v1.Public {
		return func() {}, nil
	}
	turn, err := a.receiver.answers.take(ctx, a.ownerOf(c.Ctx), 1)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "this master reads as many answers as it can at once; try again")
	}
	return turn.release, nil
}

// answer sends a message. It stores a large one on disk, so that clients that read slowly do
// not fill the memory.
func (a *API) answer(c *call, message any) error {
	b, err := c.encode(message)
	if err != nil {
		return err
	}
	if len(b) <= maxInMemory {
		return c.Send(b)
	}
	body, err := a.onDisk(a.ownerOf(c.Ctx), b)
	if err != nil {
		return err
	}
	a.sendFrom(c.Ctx, body, len(b))
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
