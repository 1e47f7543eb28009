package live

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Deps is what the endpoints use of others.
type Deps struct {
	DB      *database.DB
	Bus     *database.Bus
	Reports *metrics.Feed
	States  *StateFeed
	// InTurn calls fn with a share of those for streams of metrics.
	InTurn    func(ctx context.Context, owner string, fn func() error) error
	Streams   *rest.Places // of pages
	Followers *rest.Places // streams of projects, models and versions
}

// Routes adds the endpoints of streams.
func Routes(r *rest.Router, d Deps) {
	rest.RawQuery(r, v1.FollowLive, d.live)
	rest.Raw(r, v1.FollowUpdates, d.follow)
}
