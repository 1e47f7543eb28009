package api

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

// newMetricWriter gives the writer of reports what it uses of searches, which are here.
func newMetricWriter(db *store.DB, bus *database.Bus) *metrics.Writer {
	return metrics.NewWriter(db.DB, bus, db.Limits().Metrics, metrics.Searches{Add: store.AppendValidations, Topic: store.TopicEvents})
}

// registerMetrics gives the room of metrics what it uses of experiments, trials and logs, which are here.
func (a *API) registerMetrics() {
	metrics.Routes(a.router, metrics.Deps{DB: a.db.DB, Log: a.log, Writer: a.taskIO.metrics, Reporting: a.onReportingTrial(),
		Trial: func(ctx context.Context, id int) (metrics.Trial, error) {
			t, err := a.db.Trial(ctx, id)
			return metrics.Trial{ID: t.ID, Task: t.TaskID, Ended: t.EndedAt != nil, Is: ofTrial(t)}, err
		},
		Experiment: func(ctx context.Context, id int) (metrics.Experiment, error) {
			e, err := a.db.ExperimentHead(ctx, id)
			return metrics.Experiment{ID: e.ID, Is: ofExperiment(e)}, err
		},
		Trials: a.visibleTrials, HParams: a.hparamsOf, Searches: a.db.SearchesOf, SearcherMetric: a.db.SearcherMetric,
		Accept: func(ctx context.Context, c *rest.Call, of metrics.Trial, bytes int) error {
			if err := a.admitOutside(ctx, c, of.Is.OwnerID, bytes); err != nil {
				return err
			}
			return a.heard(ctx, c, of.Task)
		},
		Warn: a.warnTask, Streams: a.webSockets.metrics, InTurn: a.inSeries})
}

// visibleTrials are trials that a query names and the caller may look at.
func (a *API) visibleTrials(ctx context.Context, c *rest.Call, ids []int) ([]v1.Trial, error) {
	list := make([]store.Trial, len(ids))
	for i, id := range ids {
		var err error
		if list[i], err = a.visibleTrial(ctx, c, id); err != nil {
			return nil, err
		}
	}
	return a.wireTrials(ctx, list)
}

func (a *API) hparamsOf(ctx context.Context, trials []int) (map[int][]byte, error) {
	list, err := a.db.TrialsByID(ctx, trials)
	of := make(map[int][]byte, len(list))
	for _, t := range list {
		of[t.ID] = t.HParams
	}
	return of, err
}

// warnTask writes a warning to the log of the task that calls.
func (a *API) warnTask(ctx context.Context, c *rest.Call, text string) error {
	_, err := a.taskIO.logs.Append(ctx, logs.Batch{TaskID: c.Who().TaskID, Origin: logs.Origin{AllocationID: c.Who().AllocationID},
		Lines: []logs.Line{{At: time.Now(), Level: v1.LogLevelWarning.Number(), Stdtype: "stderr", Source: "master", Rank: -1, Text: text}}})
	return err
}

// inSeries calls fn with a share of those for streams of metrics.
func (a *API) inSeries(ctx context.Context, owner string, fn func() error) error {
	turn, err := a.limits.series.Take(ctx, owner, 1)
	if err != nil {
		return fault.Wrap(fault.Unavailable, err, "this master sends as many streams of metrics as it can at once; try again")
	}
	defer turn.Release()
	return fn()
}
