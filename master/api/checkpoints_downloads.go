package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
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
	shares *rest.Shares
	packs  *rest.Shares // turns at compression
	wait   time.Duration
}

func newDownloads() *downloads {
	return &downloads{shares: rest.NewShares(maxDownloads, maxDownloadsPerUser), packs: newCompressing(), wait: downloadsWait}
}

// A download is a download in progress.
type download struct {
	ctx    context.Context // ends with the server, with the caller's permission, and when the client disconnects
	cancel context.CancelFunc
	end    func() // frees the turn

	compressTurn compressTurn
}

// beginDownload waits for the caller's turn.
func (a *API) beginDownload(c *rest.Call) (*download, error) {
	// Not the request's own context, which ends when the handler returns.
	following, followed := c.Follow()
	ctx, cancel := context.WithCancel(following)
	c.CancelOnDisconnect(ctx, cancel)
	waiting, stop := context.WithTimeout(ctx, a.downloads.wait)
	defer stop()
	owner := c.Owner()
	c.EndReading()
	var turn *rest.Share
	var err error
	if a.downloads.shares.Full(owner, maxWaitingDownloads) { // each has loaded its checkpoint
		err = context.DeadlineExceeded
	} else {
		turn, err = a.downloads.shares.Take(waiting, owner, 1)
	}
	if err != nil {
		why := rest.Refused(ctx)
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
		turn.Release()
	}, compressTurn: func(ctx context.Context) (func(), error) {
		part, err := a.downloads.packs.Take(ctx, owner, 1)
		if err != nil {
			return nil, err
		}
		return part.Release, nil
	}}, nil
}
