package api

import (
	"context"
	"log/slog"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/live"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
)

// taskIO is shared by the routes of tasks: writers that share commits, and the feeds of clients
// that watch curves and states.
type taskIO struct {
	metrics *metrics.Writer
	feed    *metrics.Feed
	states  *live.StateFeed

	logs     *logs.Store
	policies *logs.Policies
	streams  *logs.Limits // of logs
}

func newTaskIO(ctx context.Context, db *database.DB, bus *database.Bus, cfg *Config, log *slog.Logger) *taskIO {
	lines := logs.NewStore(db, bus, cfg.Logs)
	return &taskIO{metrics: newMetricWriter(db, bus, cfg.Stored.Metrics), feed: metrics.NewFeed(ctx, db, bus), states: live.NewStateFeed(ctx, db, bus, log), logs: lines,
		policies: logs.NewPolicies(lines, log, func() { bus.Publish(lifecycle.TopicEvents, lifecycle.TopicState) }), streams: logs.NewLimits()}
}

// Wait returns when all reports of tasks are stored. Call it after the server has shut down.
func (a *API) Wait() {
	a.router.Wait()
	a.rechecks.Wait()
	a.taskIO.metrics.Wait()
	a.taskIO.logs.Wait()
	a.taskIO.feed.Wait()
	a.taskIO.states.Wait()
}
