package metrics_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/rest/resttest"
	"github.com/detent-ml/detent/master/schema/rowtest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A rig serves the room alone. A token is the name of a user without roles, or names the trial of an attempt.
type rig struct {
	*world
	*resttest.Site
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{world: newWorld(t)}
	r.Site = resttest.Serve(t, r.who, func(router *rest.Router) { metrics.Routes(router, r.deps()) })
	return r
}

// deps reads the rows of other rooms as api does.
func (r *rig) deps() metrics.Deps {
	trial := func(ctx context.Context, id int) (metrics.Trial, error) {
		t, err := experiments.GetTrial(ctx, r.DB, id)
		return metrics.Trial{ID: t.ID, Task: t.TaskID, Ended: t.EndedAt != nil, Is: auth.Object{Kind: v1.KindTrial, OwnerID: t.OwnerID, WorkspaceID: t.WorkspaceID, TrialID: t.ID}}, err
	}
	return metrics.Deps{DB: r.DB, Log: slog.New(slog.DiscardHandler), Writer: r.writer(), Trial: trial,
		Experiment: func(ctx context.Context, id int) (metrics.Experiment, error) {
			e, err := experiments.GetHead(ctx, r.DB, id)
			return metrics.Experiment{ID: e.ID, Is: auth.Object{Kind: v1.KindExperiment, OwnerID: e.OwnerID, WorkspaceID: e.WorkspaceID}}, err
		},
		Reporting: rest.On("id", trial, func(t metrics.Trial) auth.Object { return t.Is }),
		Trials: func(_ context.Context, _ *rest.Call, ids []int) ([]v1.Trial, error) {
			return make([]v1.Trial, len(ids)), nil
		},
		HParams: func(ctx context.Context, trials []int) (map[int][]byte, error) {
			list, err := experiments.TrialsByID(ctx, r.DB, trials)
			of := map[int][]byte{}
			for _, t := range list {
				of[t.ID] = t.HParams
			}
			return of, err
		},
		Searches: func(ctx context.Context, ids []int) ([]metrics.Search, error) {
			return experiments.SearchesOf(ctx, r.DB, ids)
		},
		SearcherMetric: func(ctx context.Context, trial int) (string, error) {
			return experiments.SearcherMetric(ctx, r.DB, trial)
		},
		Accept:  func(context.Context, *rest.Call, metrics.Trial, int) error { return nil },
		Warn:    func(context.Context, *rest.Call, string) error { return nil },
		Streams: rest.NewPlaces("streams", 16, 16),
		InTurn:  func(_ context.Context, _ string, fn func() error) error { return fn() }}
}

func (r *rig) who(ctx context.Context, token rest.Credential) (auth.Who, error) {
	var trial int
	if n, _ := fmt.Sscanf(token.Token, "attempt-of-%d", &trial); n == 1 {
		return auth.Who{UserID: r.Int(`SELECT id FROM users WHERE username = 'determined'`), Username: "determined", AllocationID: "an attempt", TrialID: trial, RunID: 1}, nil
	}
	return resttest.ByName(r.DB)(ctx, token)
}

// An attempt of a trial reports.
type attempt struct {
	r          *rig
	exp, trial int
	resttest.Client
}

func (r *rig) running() *attempt {
	r.World.T.Helper()
	a := &attempt{r: r, exp: r.Experiment(rowtest.LossSearcher)}
	a.trial = r.Trial(a.exp, 0, 1)
	a.Client = r.With(fmt.Sprintf("attempt-of-%d", a.trial))
	return a
}

func (a *attempt) path(rest string) string { return fmt.Sprintf("/api/v1/trials/%d%s", a.trial, rest) }

// reports stores a report of an attempt's trial; without steps, at a time.
func (a *attempt) reports(group string, steps any, metrics string) {
	a.T.Helper()
	where := fmt.Sprintf(`"stepsCompleted":%v`, steps)
	if at, ok := steps.(string); ok {
		where = fmt.Sprintf(`"reportTime":%q`, at)
	}
	a.Post(a.path("/metrics"), fmt.Sprintf(`{"group":%q,"metrics":{"trialId":%d,"trialRunId":1,%s,"metrics":{"avgMetrics":%s}}}`, group, a.trial, where, metrics)).OK()
}

// over ends an experiment with all its trials.
func (r *rig) over(experiment int) {
	r.World.T.Helper()
	r.Exec(`UPDATE trials SET state = 'COMPLETED', ended_at = now() WHERE experiment_id = $1`, experiment)
	r.Exec(`UPDATE experiments SET state = 'COMPLETED', ended_at = now() WHERE id = $1`, experiment)
}

// waitFor polls until something is so.
func waitFor(t testing.TB, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		if is() {
			return
		}
		<-time.After(5 * time.Millisecond)
	}
	t.Fatal("the condition was not true within a minute")
}
