package api

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerExperimentCheckpoints() {
	handle(a, "GET", "/experiments/:id/checkpoints", both, "List the checkpoints of an experiment", a.experimentCheckpoints,
		query("states sortByAttr sortByMetric orderBy limit offset"))
	handle(a, "GET", "/trials/:id/checkpoints", both, "List the checkpoints of a trial", a.trialCheckpoints,
		query("states sortByAttr sortByMetric orderBy limit offset"))
}

// wireCheckpoint is a checkpoint with everything that clients look for in one
// that belongs to a trial. config is its experiment's, as it may be shown.
func wireCheckpoint(k store.Checkpoint, config v1.Struct) v1.Checkpoint {
	at := k.ReportedAt
	w := v1.Checkpoint{UUID: k.UUID, TaskID: k.TaskID, AllocationID: orZero(k.AllocationID), ReportTime: &at, Resources: k.Resources,
		Metadata: v1.Struct(k.Metadata), State: v1.CheckpointState("STATE_" + k.State), StorageID: k.StorageID}
	if k.TrialID == nil {
		return w
	}
	t := &w.Training
	t.TrialID, t.ExperimentID, t.ExperimentConfig, t.HParams, t.SearcherMetric = k.TrialID, k.ExperimentID, config, v1.Struct(k.HParams), k.SearcherMetric
	t.TrainingMetrics = &v1.Metrics{AvgMetrics: v1.Struct(k.Training)}
	t.ValidationMetrics = &v1.Metrics{AvgMetrics: v1.Struct(k.Validation)}
	return w
}

func (a *API) experimentCheckpoints(ctx context.Context, c *call, _ *none) (*v1.GetExperimentCheckpointsResponse, error) {
	e, err := a.experimentFor(ctx, c, auth.View)
	if err != nil {
		return nil, err
	}
	list, err := a.db.ExperimentCheckpoints(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	checkpoints, page, err := c.checkpointPage(e, list)
	return &v1.GetExperimentCheckpointsResponse{Checkpoints: checkpoints, Pagination: page}, err
}

func (a *API) trialCheckpoints(ctx context.Context, c *call, _ *none) (*v1.GetTrialCheckpointsResponse, error) {
	t, err := a.trialFor(ctx, c, auth.View)
	if err != nil {
		return nil, err
	}
	e, err := a.db.Experiment(ctx, t.ExperimentID)
	if err != nil {
		return nil, err
	}
	list, err := a.db.TrialCheckpoints(ctx, []int{t.ID})
	if err != nil {
		return nil, err
	}
	checkpoints, page, err := c.checkpointPage(e, list)
	return &v1.GetTrialCheckpointsResponse{Checkpoints: checkpoints, Pagination: page}, err
}

// checkpointPage filters, sorts and cuts the checkpoints of an experiment. There
// are as many as garbage collection keeps, so it is done here.
func (c *call) checkpointPage(e store.Experiment, list []store.Checkpoint) ([]v1.Checkpoint, v1.Pagination, error) {
	w, err := c.window()
	if err != nil {
		return nil, v1.Pagination{}, err
	}
	if states := c.list("states"); len(states) > 0 {
		list = slices.DeleteFunc(list, func(k store.Checkpoint) bool { return !slices.Contains(states, "STATE_"+k.State) })
	}
	if err := c.sortCheckpoints(e, list); err != nil {
		return nil, v1.Pagination{}, err
	}
	list, page, err := cut(list, w)
	if err != nil {
		return nil, page, err
	}
	config, _ := shownConfig(e, c.who)
	out := make([]v1.Checkpoint, len(list))
	for i, k := range list {
		out[i] = wireCheckpoint(k, config)
	}
	return out, page, nil
}

// sortCheckpoints sorts as the call asks. Checkpoints that lack the metric come
// last in either direction. The searcher's metric without a direction is sorted
// from the best on.
func (c *call) sortCheckpoints(e store.Experiment, list []store.Checkpoint) error {
	desc, err := c.descending()
	if err != nil {
		return err
	}
	attr, _ := c.query("sortByAttr")
	metric, _ := c.query("sortByMetric")
	var by func(x, y store.Checkpoint) int
	switch attr {
	case "", "SORT_BY_UNSPECIFIED", "SORT_BY_END_TIME":
		by = func(x, y store.Checkpoint) int { return x.ReportedAt.Compare(y.ReportedAt) }
	case "SORT_BY_UUID":
		by = func(x, y store.Checkpoint) int { return cmp.Compare(x.UUID, y.UUID) }
	case "SORT_BY_TRIAL_ID":
		by = func(x, y store.Checkpoint) int { return cmp.Compare(number0(x.TrialID), number0(y.TrialID)) }
	case "SORT_BY_BATCH_NUMBER":
		by = func(x, y store.Checkpoint) int { return cmp.Compare(x.Steps, y.Steps) }
	case "SORT_BY_STATE":
		by = func(x, y store.Checkpoint) int { return cmp.Compare(x.State, y.State) }
	case "SORT_BY_SEARCHER_METRIC":
		if order, _ := c.query("orderBy"); !strings.HasSuffix(order, "SC") {
			desc = !e.SmallerIsBetter
		}
		metric = text(e.Metric)
	default:
		return fault.New(fault.Invalid, "sortByAttr: %q is not known", clip(attr))
	}
	sign := 1
	if desc {
		sign = -1
	}
	if metric == "" {
		slices.SortStableFunc(list, func(x, y store.Checkpoint) int { return sign * by(x, y) })
		return nil
	}
	values := make(map[string]*float64, len(list))
	for _, k := range list {
		values[k.UUID] = metricOf(k.Validation, metric)
	}
	slices.SortStableFunc(list, func(x, y store.Checkpoint) int {
		a, b := values[x.UUID], values[y.UUID]
		switch {
		case a == nil && b == nil:
			return 0
		case a == nil:
			return 1
		case b == nil:
			return -1
		}
		return sign * cmp.Compare(*a, *b)
	})
	return nil
}

func number0(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// metricOf reads one metric; nil where it is none that can be compared.
func metricOf(metrics []byte, name string) *float64 {
	var m map[string]json.RawMessage
	var v float64
	if len(metrics) == 0 || json.Unmarshal(metrics, &m) != nil || m[name] == nil || json.Unmarshal(m[name], &v) != nil {
		return nil
	}
	return &v
}
