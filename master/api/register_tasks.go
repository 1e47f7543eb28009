package api

import (
	"context"
	"errors"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/memory"
	"github.com/detent-ml/detent/master/store"
)

// taskIO is what the routes of tasks work with: writers that share their commits,
// and the feeds of those who watch curves grow and states move.
type taskIO struct {
	metrics *store.MetricWriter
	feed    *store.MetricFeed
	states  *store.StateFeed
	logs    *store.LogStore

	origins  *memory.Memory[memberKey, store.LogOrigin]
	policies *memory.Memory[string, *logPolicies] // by attempt

	firstReports firstReports
}

// knownMembers bounds what is remembered of where lines come from.
const knownMembers = 20_000

type memberKey struct {
	allocation string
	rank       int
}

func newTaskIO(ctx context.Context, db *store.DB, bus *store.Bus) *taskIO {
	return &taskIO{metrics: store.NewMetricWriter(db, bus), feed: store.NewMetricFeed(ctx, db, bus), states: store.NewStateFeed(ctx, db, bus), logs: store.NewLogStore(db, bus),
		origins: memory.New[memberKey, store.LogOrigin](0, knownMembers), policies: memory.New[string, *logPolicies](0, knownPolicies)}
}

// Wait returns when nothing that a task reported is still being written. Call it
// after the server has shut down.
func (a *API) Wait() {
	<-a.openAnswers.done
	a.taskIO.metrics.Wait()
	a.taskIO.logs.Wait()
	a.taskIO.feed.Wait()
	a.taskIO.states.Wait()
}

// registerTaskRoutes lists what is called from inside tasks: by the runner, the harness,
// and users' programs by way of the harness.
func (a *API) registerTaskRoutes() {
	a.taskIO = newTaskIO(a.stopping, a.db, a.bus)
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
	a.registerContext()
}

// await calls look at once and after each wake-up, until it is satisfied or the
// time is over; satisfied says which.
func await(ctx context.Context, wake <-chan struct{}, timeout time.Duration, check func(ctx context.Context) (bool, error)) (satisfied bool, err error) {
	t := time.NewTimer(timeout)
	defer t.Stop()
	for {
		ok, err := check(ctx)
		if ok || err != nil {
			return ok, err
		}
		select {
		case <-wake:
		case <-t.C:
			return false, nil
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return false, fault.New(fault.Unavailable, "the master is stopping; try again")
			}
			return false, nil
		}
	}
}
