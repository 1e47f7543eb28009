package api

import (
	"context"
	"errors"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerLogRetention() {
	rest.ServeOn(a.router, v1.RetainExperimentLogs, a.onExperimentHead(), a.retainExperimentLogs)
	rest.ServeOn(a.router, v1.RetainManyLogs, a.onProjectOrAll(), a.retainManyLogs)
	rest.ServeOn(a.router, v1.RetainTrialLogs, a.onTrial(), a.retainTrialLogs)
	rest.ServeOn(a.router, v1.GetRemainingLogDays, a.onTrial(), a.remainingLogDays)
	rest.Serve(a.router, v1.CleanupLogs, a.cleanupLogs)
}

// cleanupTime is how long a request to delete logs works itself. The leader deletes the rest.
const cleanupTime = 20 * time.Second

func logDays(days *int) (int, error) {
	if days == nil {
		return 0, fault.New(fault.Invalid, "numDays: is missing; expected a number of days from %d (for ever) to %d", store.LogsForever, store.MaxLogDays)
	}
	if *days < store.LogsForever || *days > store.MaxLogDays {
		return 0, fault.New(fault.Invalid, "numDays: expected a number of days from %d (for ever) to %d, found %d", store.LogsForever, store.MaxLogDays, *days)
	}
	return *days, nil
}

func (a *API) retainExperimentLogs(ctx context.Context, _ *rest.Call, e store.ExperimentHead, req *v1.RetainLogsRequest) (*v1.Empty, error) {
	days, err := logDays(req.NumDays)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, a.db.SetLogRetention(ctx, []int{e.ID}, days)
}

func (a *API) retainTrialLogs(ctx context.Context, _ *rest.Call, t store.Trial, req *v1.RetainLogsRequest) (*v1.Empty, error) {
	days, err := logDays(req.NumDays)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, a.db.SetTrialLogRetention(ctx, t.ID, days)
}

func (a *API) retainManyLogs(ctx context.Context, c *rest.Call, p store.Project, req *v1.RetainManyLogsRequest) (*v1.BulkResponse, error) {
	days, err := logDays(req.NumDays)
	if err != nil {
		return nil, err
	}
	list, missing, err := a.chosen(ctx, c, c.Scope(), p.ID, &v1.BulkRequest{ExperimentIDs: req.ExperimentIDs, Filters: req.Filters, ProjectID: req.ProjectID})
	if err != nil {
		return nil, err
	}
	resp := &v1.BulkResponse{}
	var mine []int
	for _, e := range list {
		r := v1.BulkResult{ID: e.ID}
		if may := c.May(auth.Change, ofExperiment(e)); may != nil {
			r.Error = may.Error()
		} else {
			mine = append(mine, e.ID)
		}
		resp.Results = append(resp.Results, r)
	}
	for _, id := range missing {
		resp.Results = append(resp.Results, v1.BulkResult{ID: id, Error: store.NoExperiment(id).Error()})
	}
	return resp, a.db.SetLogRetention(ctx, mine, days)
}

func (a *API) remainingLogDays(ctx context.Context, _ *rest.Call, t store.Trial, _ *v1.None) (*v1.GetTrialRemainingLogRetentionDaysResponse, error) {
	of, err := a.db.TrialRetentions(ctx, a.cfg.LogDays, []int{t.ID})
	return &v1.GetTrialRemainingLogRetentionDaysResponse{RemainingDays: of[t.ID].Remaining}, err
}

// cleanupLogs deletes what is due, in short transactions. After cleanupTime it leaves the rest to
// the leader.
func (a *API) cleanupLogs(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.CleanupLogsResponse, error) {
	resp := &v1.CleanupLogsResponse{}
	ends := time.Now().Add(cleanupTime)
	for after := 0; ; {
		tasks, next, err := a.db.ExpiredLogs(ctx, a.cfg.LogDays, after)
		if err != nil {
			return nil, err
		}
		var rest []string
		for _, task := range tasks {
			n, done, err := a.expire(ctx, task, ends)
			if err != nil {
				return nil, err
			}
			if resp.RemovedCount += n; !done {
				rest = append(rest, task)
			}
		}
		if err := a.db.QueueExpiry(ctx, rest); err != nil {
			return nil, err
		}
		if after = next; next == 0 {
			return resp, nil
		}
	}
}

// expire deletes the lines of one task until a time.
func (a *API) expire(ctx context.Context, task string, ends time.Time) (lines int64, done bool, err error) {
	for !done && time.Now().Before(ends) {
		err = errors.Join(err, a.db.Tx(ctx, func(tx *store.DB) (err error) {
			var n int64
			n, done, err = tx.ExpireLogs(ctx, a.cfg.LogDays, task)
			lines += n
			return err
		}))
		if err != nil {
			return lines, false, err
		}
	}
	return lines, done, nil
}
