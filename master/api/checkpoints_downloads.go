package api

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// The maximum number of checkpoints that are read at the same time, in total and for one user,
// and how long further downloads wait. A download may be large or its storage slow, so it has
// no time limit, and continues while the client reads.
const (
	maxDownloads        = 128
	maxDownloadsPerUser = 16
	maxWaitingDownloads = 16 // of one user, beyond those that run
	downloadsWait       = 10 * time.Second
)

// downloads limits the checkpoints that are read at the same time.
type downloads struct {
	shares *shares
	packs  *shares // turns at compression
	wait   time.Duration
}

func newDownloads() *downloads {
	return &downloads{shares: newShares(maxDownloads, maxDownloadsPerUser), packs: newCompressing(), wait: downloadsWait}
}

// A download is a download in progress.
type download struct {
	ctx    context.Context // ends with the server, with the caller's permission, and when the client disconnects
	cancel context.CancelFunc
	end    func() // frees the turn

	compressTurn compressTurn
}

// beginDownload waits for the caller's turn.
func (a *API) beginDownload(c *call) (*download, error) {
	// Not the request's own context, which ends when the handler returns.
	following, followed := a.follow(c)
	ctx, cancel := context.WithCancel(following)
	go cancelOnDisconnect(ctx, c.Context().Conn(), cancel)
	waiting, stop := context.WithTimeout(ctx, a.downloads.wait)
	defer stop()
	owner := a.ownerOf(c.Ctx)
	c.endReading()
	var turn *share
	var err error
	if a.downloads.shares.full(owner, maxWaitingDownloads) { // each has loaded its checkpoint
		err = context.DeadlineExceeded
	} else {
		turn, err = a.downloads.shares.take(waiting, owner, 1)
	}
	if err != nil {
		why := refused(ctx)
		cancel()
		followed()
		if why != nil {
			return nil, why
		}
		return nil, fault.Wrap(fault.TooMany, err, "the master sends at most %d checkpoints at the same time to one user, and %d in total; try again when a download has ended", maxDownloadsPerUser, maxDownloads)
	}
	return &download{ctx: ctx, cancel: cancel, end: func() {
		cancel()
		followed()
		turn.release()
	}, compressTurn: func(ctx context.Context) (func(), error) {
		part, err := a.downloads.packs.take(ctx, owner, 1)
		if err != nil {
			return nil, err
		}
		return part.release, nil
	}}, nil
}

// archive is a download that is being sent. The connection of a client that stops reading is
// closed.
type archive struct {
	*io.PipeReader
	conn     net.Conn
	stall    time.Duration
	download *download
}

func (a *API) archiveTo(c *call, from *io.PipeReader, d *download) *archive {
	return &archive{PipeReader: from, conn: c.Context().Conn(), stall: a.receiver.stall, download: d}
}

func (s *archive) Read(p []byte) (int, error) {
	n, err := s.PipeReader.Read(p)
	if late := s.conn.SetWriteDeadline(time.Now().Add(s.stall)); late != nil {
		return n, late
	}
	return n, err
}

// Close stops reading the storage. The turn is freed when that has returned.
func (s *archive) Close() error {
	err := s.PipeReader.Close()
	s.download.cancel()
	return errors.Join(err, s.conn.SetWriteDeadline(time.Time{})) // the next response on this connection has its own deadline
}
