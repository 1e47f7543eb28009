package checkpoints

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/trial"
	v1 "github.com/detent-ml/detent/master/v1"
)

// wire is a trial's checkpoint with all fields that clients read. config is its
// experiment's configuration, as the caller may see it.
func wire(k Checkpoint, config v1.Struct) v1.Checkpoint {
	at := k.ReportedAt
	w := v1.Checkpoint{UUID: k.UUID, TaskID: trial.PartID(k.TaskID, k.Part), AllocationID: optional.Value(k.AllocationID), ReportTime: &at, Resources: k.Resources,
		Metadata: v1.Struct(k.Metadata), State: v1.CheckpointState("STATE_" + k.State), StorageID: k.StorageID, Kept: k.Kept, Logged: k.Logged}
	if k.TrialID == nil {
		return w
	}
	t := &w.Training
	t.TrialID, t.ExperimentID, t.ExperimentConfig, t.HParams, t.SearcherMetric = k.TrialID, k.ExperimentID, config, v1.Struct(k.HParams), k.SearcherMetric
	t.TrainingMetrics = &v1.Metrics{AvgMetrics: v1.Struct(k.Training)}
	t.ValidationMetrics = &v1.Metrics{AvgMetrics: v1.Struct(k.Validation)}
	return w
}

func (d Deps) ofExperiment(ctx context.Context, c *rest.Call, e Experiment, req *v1.GetCheckpointsRequest) (*v1.GetExperimentCheckpointsResponse, error) {
	checkpoints, page, err := d.page(ctx, c, req, e, 0)
	return &v1.GetExperimentCheckpointsResponse{Checkpoints: checkpoints, Pagination: page}, err
}

func (d Deps) ofTrial(ctx context.Context, c *rest.Call, t Trial, req *v1.GetCheckpointsRequest) (*v1.GetTrialCheckpointsResponse, error) {
	e, err := d.Experiment(ctx, t.ExperimentID)
	if err != nil {
		return nil, err
	}
	checkpoints, page, err := d.page(ctx, c, req, e, t.ID)
	return &v1.GetTrialCheckpointsResponse{Checkpoints: checkpoints, Pagination: page}, err
}

// page lists checkpoints of an experiment, or of one of its trials. Each contains the
// experiment's configuration, as clients expect; a page that would be too large ends early, and
// its pagination says where.
func (d Deps) page(ctx context.Context, c *rest.Call, req *v1.GetCheckpointsRequest, e Experiment, trial int) ([]v1.Checkpoint, v1.Pagination, error) {
	f, err := filter(req, e)
	if err != nil {
		return nil, v1.Pagination{}, err
	}
	f.TrialID = trial
	total, err := CountListed(ctx, d.DB, c.Scope(), f)
	if total > maxByFront {
		f.Objectives = nil
	}
	config := d.config(e.Config, c.Who(), e.Is.OwnerID)
	list, page, err := rest.Paged(req.Window, total, err, func(from, n int) ([]Checkpoint, error) {
		return List(ctx, d.DB, c.Scope(), f, from, n, len(config))
	})
	if err != nil {
		return nil, page, err
	}
	out := each.Of(list, func(k Checkpoint) v1.Checkpoint { return wire(k, config) })
	return out, page, nil
}

var orders = map[string]string{"": "", "SORT_BY_UNSPECIFIED": "", "SORT_BY_END_TIME": "", "SORT_BY_SEARCHER_METRIC": "",
	"SORT_BY_UUID": "uuid", "SORT_BY_TRIAL_ID": "trial", "SORT_BY_BATCH_NUMBER": "steps", "SORT_BY_STATE": "state"}

// filter translates the filter and the sort order. Without a direction, the searcher's
// metric is sorted from the best.
func filter(req *v1.GetCheckpointsRequest, e Experiment) (Filter, error) {
	f := Filter{ExperimentID: e.ID, Metric: req.SortByMetric}
	for _, s := range req.States {
		f.States = append(f.States, strings.TrimPrefix(s, "STATE_"))
	}
	var err error
	if f.Desc, err = rest.Descending(req.OrderBy); err != nil {
		return f, err
	}
	by, known := orders[req.SortByAttr]
	if !known {
		return f, fault.New(fault.Invalid, "sortByAttr: %q is not one of %s", fault.Clip(req.SortByAttr), strings.Join(slices.Sorted(maps.Keys(orders))[1:], ", "))
	}
	f.Sort = by
	if req.SortByAttr == "SORT_BY_SEARCHER_METRIC" {
		if !strings.HasSuffix(req.OrderBy, "SC") {
			f.Desc = !e.SmallerIsBetter
		}
		f.Metric = e.Metric
		f.Repeated = f.Desc != e.SmallerIsBetter && repeats(e.Config) // the best first
		if len(e.Objectives) > 0 {
			if err := json.Unmarshal(e.Objectives, &f.Objectives); err != nil {
				return f, fmt.Errorf("searcher.metrics of experiment %d: %w", e.ID, err)
			}
			f.WorstFirst = f.Desc == e.SmallerIsBetter
		}
	}
	return f, nil
}
