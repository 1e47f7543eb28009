package api

import (
	"os"

	"github.com/detent-ml/detent/master/launch"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/spool"
)

const (
	maxPacks          = 2  // contexts that are packed at once; one of each user
	maxLists          = 2  // contexts whose files are listed at once; one of each user
	maxStreams        = 64 // streams of metrics at once
	maxStreamsPerUser = 16 // of those, for one user and the user's tasks
)

// limits are what the calls of all callers share, beside the limits of rest.
type limits struct {
	packs  *rest.Shares  // code that is being packed
	places *rest.Shares  // jobs that are being placed in the queue
	series *rest.Shares  // metrics that are being streamed
	lists  *rest.Shares  // code that is being listed
	packed *spool.Folder // folder for packing code

	streams   *rest.Places // streams of changes
	followers *rest.Places // streams of projects, models and versions
	charts    *rest.Places // streams of metrics
}

func newLimits(cfg rest.Receiving) *limits {
	folder := os.TempDir()
	if cfg.Spool != nil {
		folder = cfg.Spool.Path()
	}
	return &limits{packs: rest.NewShares(maxPacks, 1), places: rest.NewShares(1, 1), lists: rest.NewShares(maxLists, 1),
		series:  rest.NewShares(maxStreams, maxStreamsPerUser),
		packed:  spool.New(folder, maxPacks*launch.MaxPacked*spool.OwnerShare),
		streams: rest.NewPlaces("streams of changes (/detent/live)", 1024, 64), followers: rest.NewPlaces("streams", 128, 8),
		charts: rest.NewPlaces("streams of metrics for charts", 256, 32)}
}
