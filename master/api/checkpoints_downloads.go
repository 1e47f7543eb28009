package api

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"github.com/detent-ml/detent/master/fault"
)

// How many checkpoints are read at once, for everybody together and for one user, and
// how long more of them wait for their turn. A download may be large or its storage
// slow, so it has no time limit of its own, and lasts as long as somebody takes it.
const (
	maxDownloads        = 128
	maxDownloadsPerUser = 16
	downloadsWait       = 10 * time.Second
)

// downloads bounds the checkpoints that are read at once.
type downloads struct {
	shares *shares
	wait   time.Duration
}

func newDownloads() *downloads {
	return &downloads{shares: newShares(maxDownloads, maxDownloadsPerUser), wait: downloadsWait}
}

// A download is one that is under way.
type download struct {
	ctx    context.Context // ends with the server, when the caller may not have it any more, and when the client has gone
	cancel context.CancelFunc
	end    func() // passes the turn on
}

// beginDownload waits for the caller's turn.
func (a *API) beginDownload(c *call) (*download, error) {
	// Longer than the request's own context: that ends when the handler has returned.
	following, followed := a.openAnswers.follow(a.stopping, c)
	ctx, cancel := context.WithCancel(following)
	go cancelOnDisconnect(ctx, c.Context().Conn(), cancel)
	waiting, stop := context.WithTimeout(ctx, a.downloads.wait)
	defer stop()
	turn, err := a.downloads.shares.take(waiting, a.ownerOf(c.Ctx), 1)
	if err != nil {
		why := refused(ctx)
		cancel()
		followed()
		if why != nil {
			return nil, why
		}
		return nil, fault.Wrap(fault.TooMany, err, "the master reads %d checkpoints at once for one user, and %d in all; try again when a download has ended", maxDownloadsPerUser, maxDownloads)
	}
	return &download{ctx: ctx, cancel: cancel, end: func() {
		cancel()
		followed()
		turn.release()
	}}, nil
}

// archive is a download on its way to a client. A client that takes none of it is let go.
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

// Close ends the reading of the storage. The turn passes on when that has returned.
func (s *archive) Close() error {
	err := s.PipeReader.Close()
	s.download.cancel()
	return errors.Join(err, s.conn.SetWriteDeadline(time.Time{})) // the connection's next answer has its own time
}
