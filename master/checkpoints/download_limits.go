package checkpoints

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
	MaxDownloadsPerUser = 16
	maxWaitingDownloads = 16 // of one user, beyond those that run
	downloadsWait       = 10 * time.Second
)

// Downloads limit the checkpoints that are read at the same time.
type Downloads struct {
	shares *rest.Shares
	packs  *rest.Shares // turns at compression
	Wait   time.Duration
}

// NewDownloads returns the limits of a master.
func NewDownloads() *Downloads {
	return &Downloads{shares: rest.NewShares(maxDownloads, MaxDownloadsPerUser), packs: newCompressing(), Wait: downloadsWait}
}

// A download is a download in progress.
type download struct {
	ctx    context.Context // ends with the server, with the caller's permission, and when the client disconnects
	cancel context.CancelFunc
	end    func() // frees the turn

	compressTurn compressTurn
}

// beginDownload waits for the caller's turn.
func (d Deps) beginDownload(c *rest.Call) (*download, error) {
	// Not the request's own context, which ends when the handler returns.
	following, followed := c.Follow()
	ctx, cancel := context.WithCancel(following)
	c.CancelOnDisconnect(ctx, cancel)
	waiting, stop := context.WithTimeout(ctx, d.Downloads.Wait)
	defer stop()
	owner := c.Owner()
	c.EndReading()
	var turn *rest.Share
	var err error
	if d.Downloads.shares.Full(owner, maxWaitingDownloads) { // each has loaded its checkpoint
		err = context.DeadlineExceeded
	} else {
		turn, err = d.Downloads.shares.Take(waiting, owner, 1)
	}
	if err != nil {
		why := rest.Refused(ctx)
		cancel()
		followed()
		if why != nil {
			return nil, why
		}
		return nil, fault.Wrap(fault.TooMany, err, "the master sends at most %d checkpoints at the same time to one user, and %d in total; try again when a download has ended", MaxDownloadsPerUser, maxDownloads)
	}
	return &download{ctx: ctx, cancel: cancel, end: func() {
		cancel()
		followed()
		turn.Release()
	}, compressTurn: func(ctx context.Context) (func(), error) {
		part, err := d.Downloads.packs.Take(ctx, owner, 1)
		if err != nil {
			return nil, err
		}
		return part.Release, nil
	}}, nil
}
