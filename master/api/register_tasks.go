package api

import (
	"context"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/logpolicy"
	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/store"
)

// taskIO is shared by the routes of tasks: writers that share commits, and the feeds of clients
// that watch curves and states.
type taskIO struct {
	metrics *metrics.Writer
	feed    *metrics.Feed
	states  *store.StateFeed
	logs    *store.LogStore

	origins  *memory.Memory[memberKey, store.LogOrigin]
	policies *memory.Memory[string, *logPolicies]       // by attempt
	matchers *memory.Memory[string, *logpolicy.Matcher] // by their patterns
}

// knownMembers is the maximum number of members whose origin is cached.
const knownMembers = 20_000

type memberKey struct {
	allocation string
	rank       int
}

func newTaskIO(ctx context.Context, db *store.DB, bus *database.Bus, days int) *taskIO {
	return &taskIO{metrics: newMetricWriter(db, bus), feed: metrics.NewFeed(ctx, db.DB, bus), states: store.NewStateFeed(ctx, db, bus), logs: store.NewLogStore(db, bus, days),
		origins: memory.New[memberKey, store.LogOrigin](0, knownMembers), policies: memory.New[string, *logPolicies](0, knownPolicies),
		matchers: memory.New[string, *logpolicy.Matcher](0, knownMatchers)}
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

// registerTaskRoutes registers the routes that are called from inside of tasks: by the runner,
// the harness, and users' programs through the harness.
func (a *API) registerTaskRoutes() {
	a.taskIO = newTaskIO(a.stopping, a.db, a.bus, a.cfg.LogDays)
	a.registerClaim()
	a.registerRendezvous()
	a.registerSignals()
	a.registerWatch()
	a.registerRuns()
	a.registerProgress()
	a.registerMetrics()
	a.registerCheckpoints()
	a.registerGC()
	a.registerLogs()
	a.registerLogRetention()
	a.registerContext()
}
