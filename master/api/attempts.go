package api

import (
	"context"
	"log/slog"

	"github.com/detent-ml/detent/master/artifacts"
	"github.com/detent-ml/detent/master/attempts"
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
	return &taskIO{metrics: newMetricWriter(db, bus, cfg.Stored.Metrics), feed: metrics.NewFeed(ctx, db, bus), states: live.NewStateFeed(ctx, db, bus), logs: lines,
		policies: logs.NewPolicies(lines, log, func() { bus.Publish(lifecycle.TopicEvents, lifecycle.TopicState) }), streams: logs.NewLimits()}
}

// attemptDeps gives the room of attempts what it uses of checkpoints and the loop.
func (a *API) attemptDeps(id attempts.Identity, disc attempts.Discovery) attempts.Deps {
	return attempts.Deps{Gate: attempts.Gate{DB: a.db}, Bus: a.bus, Log: a.log, Identity: id, Discovery: disc, Nodes: a.nodes, Policies: a.taskIO.policies,
		Files: &artifacts.Files{RunnerDir: a.cfg.RunnerDir, DetPath: a.cfg.DetPath, HarnessDir: a.cfg.HarnessDir},
		Site:  a.cfg.Site, Proxy: a.cfg.Proxy, Namespaces: a.cfg.Namespaces, NomadUI: a.cfg.NomadUI, RegionUIs: a.cfg.RegionUIs,
		Reported: func() { a.bus.Publish(lifecycle.TopicEvents) }}
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
