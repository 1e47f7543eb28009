package searches

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
)

// verdictTimeout is how long a program waits for the decision whether it continues; the search
// processes every result within a second.
const verdictTimeout = 45 * time.Second

// searcherOperation returns the length to which to train, or that there is nothing to do now. A
// trial that has reached its length waits here for the decision.
func (d Deps) searcherOperation(ctx context.Context, c *rest.Call, r metrics.Trial, _ *v1.None) (*v1.SearcherOperationResponse, error) {
	id := r.ID
	wake, cancel := d.Bus.Subscribe(lifecycle.TopicState)
	defer cancel()
	var s experiments.TrialSearcher
	decided, err := rest.Await(ctx, wake, verdictTimeout, func(ctx context.Context) (bool, error) {
		var err error
		s, err = experiments.SearcherOf(ctx, d.DB, id)
		return s.Stopped || s.Held || s.Target == nil || s.Reached == nil || *s.Reached < *s.Target, err
	})
	if err != nil {
		return nil, err
	}
	if !decided {
		return nil, fault.New(fault.Unavailable, "the search has not decided yet whether trial %d continues; retry", id)
	}
	length := experiments.LengthOf(s)
	if length == 0 && !s.Stopped && !s.Held {
		return nil, fault.New(fault.Invalid,
			"the experiment of trial %d has no searcher.max_length, which harnesses before 0.38 need: set it, or use determined 0.38", id)
	}
	op := v1.ValidateAfterOperation{RequestID: s.TaskID, Length: length}
	done := s.Stopped || s.Held || s.Reached != nil && *s.Reached >= length
	return &v1.SearcherOperationResponse{Op: &v1.SearcherOperation{ValidateAfter: op}, Completed: done}, nil
}

// completedOperation reports that a trial has trained to a length. If the search decides what
// comes next, it is informed; a validation may have reported the metric already, which is then
// the same result twice.
func (d Deps) completedOperation(ctx context.Context, c *rest.Call, r metrics.Trial, req *v1.CompletedOperationRequest) (*v1.None, error) {
	id := r.ID
	s, err := experiments.SearcherOf(ctx, d.DB, id)
	if err != nil {
		return nil, err
	}
	length := experiments.LengthOf(s)
	if req.Op.Length != length && (s.Target == nil || req.Op.Length > length || req.Op.Length < 1) {
		return nil, fault.New(fault.Invalid, "op.length: trial %d must train to %d, not to %d", id, length, req.Op.Length)
	}
	var event *experiments.NewEvent
	if m := req.SearcherMetric; s.Target != nil {
		v := search.Validation{Metric: m, Length: req.Op.Length, Run: c.Who().RunID}
		if m != nil && (math.IsNaN(*m) || math.IsInf(*m, 0)) {
			v.Metric, v.Unfit = nil, "nan"
		}
		if m != nil { // otherwise the validation report contains it
			body, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			event = &experiments.NewEvent{ExperimentID: s.ExperimentID, Trial: s.Number, Kind: search.Validated, Body: body}
		}
	}
	return rest.Done[v1.None](experiments.CompleteLength(ctx, d.DB, id, req.Op.Length, event), func() { d.Bus.Publish(lifecycle.TopicEvents) })
}
