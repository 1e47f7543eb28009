package logs

import (
	"context"
	"errors"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// cleanupTime is how long a request to delete logs works itself. The leader deletes the rest.
const cleanupTime = 20 * time.Second

func daysOf(days *int) (int, error) {
	if days == nil {
		return 0, fault.New(fault.Invalid, "numDays: is missing; expected a number of days from %d (for ever) to %d", Forever, MaxDays)
	}
	if *days < Forever || *days > MaxDays {
		return 0, fault.New(fault.Invalid, "numDays: expected a number of days from %d (for ever) to %d, found %d", Forever, MaxDays, *days)
	}
	return *days, nil
}

func (d Deps) retainExperiment(ctx context.Context, _ *rest.Call, e Group, req *v1.RetainLogsRequest) (*v1.Empty, error) {
	days, err := daysOf(req.NumDays)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, SetRetention(ctx, d.DB, []int{e.ID}, days)
}

func (d Deps) retainTrial(ctx context.Context, _ *rest.Call, l Log, req *v1.RetainLogsRequest) (*v1.Empty, error) {
	days, err := daysOf(req.NumDays)
	if err != nil {
		return nil, err
	}
	return &v1.Empty{}, SetTrialRetention(ctx, d.DB, l.Trial, days)
}

func (d Deps) retainMany(ctx context.Context, c *rest.Call, p Group, req *v1.RetainManyLogsRequest) (*v1.BulkResponse, error) {
	days, err := daysOf(req.NumDays)
	if err != nil {
		return nil, err
	}
	list, missing, err := d.Experiments(ctx, c, p.ID, &v1.BulkRequest{ExperimentIDs: req.ExperimentIDs, Filters: req.Filters, ProjectID: req.ProjectID})
	if err != nil {
		return nil, err
	}
	resp := &v1.BulkResponse{}
	var mine []int
	for _, e := range list {
		r := v1.BulkResult{ID: e.ID}
		if may := c.May(auth.Change, e.Is); may != nil {
			r.Error = may.Error()
		} else {
			mine = append(mine, e.ID)
		}
		resp.Results = append(resp.Results, r)
	}
	for _, id := range missing {
		resp.Results = append(resp.Results, v1.BulkResult{ID: id, Error: d.NoExperiment(id).Error()})
	}
	return resp, SetRetention(ctx, d.DB, mine, days)
}

func (d Deps) remainingDays(ctx context.Context, _ *rest.Call, l Log, _ *v1.None) (*v1.GetTrialRemainingLogRetentionDaysResponse, error) {
	of, err := TrialRetentions(ctx, d.DB, d.Store.set.Days, []int{l.Trial})
	return &v1.GetTrialRemainingLogRetentionDaysResponse{RemainingDays: of[l.Trial].Remaining}, err
}

// cleanUp deletes what is due, in short transactions. After cleanupTime it leaves the rest to
// the leader.
func (d Deps) cleanUp(ctx context.Context, _ *rest.Call, _ *v1.None) (*v1.CleanupLogsResponse, error) {
	resp := &v1.CleanupLogsResponse{}
	ends := time.Now().Add(cleanupTime)
	for after := 0; ; {
		tasks, next, err := Expired(ctx, d.DB, d.Store.set.Days, after)
		if err != nil {
			return nil, err
		}
		var rest []string
		for _, task := range tasks {
			n, done, err := d.expire(ctx, task, ends)
			if err != nil {
				return nil, err
			}
			if resp.RemovedCount += n; !done {
				rest = append(rest, task)
			}
		}
		if err := QueueExpiry(ctx, d.DB, rest); err != nil {
			return nil, err
		}
		if after = next; next == 0 {
			return resp, nil
		}
	}
}

// expire deletes the lines of one task until a time.
func (d Deps) expire(ctx context.Context, task string, ends time.Time) (lines int64, done bool, err error) {
	for !done && time.Now().Before(ends) {
		err = errors.Join(err, d.DB.Tx(ctx, func(tx *database.DB) (err error) {
			var n int64
			n, done, err = Expire(ctx, tx, d.Store.set.Days, task)
			lines += n
			return err
		}))
		if err != nil {
			return lines, false, err
		}
	}
	return lines, done, nil
}
