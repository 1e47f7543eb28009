package searches

import (
	"cmp"
	"context"
	"encoding/json"
	"math"

	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/search"
	v1 "github.com/detent-ml/detent/master/v1"
)

// searcherEvents waits until there are events to answer.
func (d Deps) searcherEvents(ctx context.Context, c *rest.Call, e experiments.Head, _ *v1.None) (*v1.GetSearcherEventsResponse, error) {
	if err := elsewhere(e.Unmanaged, e.ID); err != nil {
		return nil, err
	}
	events, cancelEvents := d.Bus.Subscribe(lifecycle.TopicEvents)
	defer cancelEvents()
	states, cancelStates := d.Bus.Subscribe(lifecycle.TopicState)
	defer cancelStates()
	ctx, done := context.WithCancel(ctx)
	defer done()
	resp := &v1.GetSearcherEventsResponse{SearcherEvents: []v1.SearcherEvent{}}
	_, err := rest.Await(ctx, either(ctx, events, states), rest.MaxPoll, func(ctx context.Context) (bool, error) {
		err := d.Driven.with(ctx, e.ID, func(s *search.Search, state string) error {
			if s.ByProgram() {
				return notCustom(e.ID)
			}
			resp.SearcherEvents = wireSearcherEvents(resp.SearcherEvents[:0], s, state)
			return nil
		})
		return len(resp.SearcherEvents) > 0, err
	})
	return resp, err
}

func notCustom(experiment int) error {
	return fault.New(fault.Invalid, "a program proposes the trials of experiment %d, and its searcher decides about them: use search-news and search-proposals", experiment)
}

// either wakes for one of two reasons.
func either(ctx context.Context, x, y <-chan struct{}) <-chan struct{} {
	wake := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case <-x:
			case <-y:
			case <-ctx.Done():
				return
			}
			select {
			case wake <- struct{}{}:
			default:
			}
		}
	}()
	return wake
}

// wireSearcherEvents appends the events that the program must answer, and at the end that the
// experiment has ended.
func wireSearcherEvents(list []v1.SearcherEvent, s *search.Search, state string) []v1.SearcherEvent {
	queue, _ := s.Outside()
	last := 0
	for _, q := range queue {
		list = append(list, wireSearcherEvent(q))
		last = q.ID
	}
	if lifecycle.State(state).Terminal() {
		list = append(list, v1.SearcherEvent{ID: last + 1, ExperimentInactive: &v1.SearcherExperimentInactive{ExperimentState: v1.ExperimentState("STATE_" + state)}})
	}
	return list
}

func wireSearcherEvent(e search.OutsideEvent) v1.SearcherEvent {
	w := v1.SearcherEvent{ID: e.ID}
	switch {
	case e.Created != nil:
		w.TrialCreated = &v1.SearcherEventTrial{RequestID: e.Created.Name}
	case e.Validated != nil:
		w.ValidationCompleted = &v1.SearcherEventValidation{RequestID: e.Validated.Name, Metric: e.Validated.Metric, ValidateAfterLength: e.Validated.Length}
	case e.Closed != nil:
		w.TrialClosed = &v1.SearcherEventTrial{RequestID: e.Closed.Name}
	case e.Exited != nil:
		reason := map[string]string{"errored": "ERRORED", "canceled": "USER_CANCELED", "invalid_hp": "INVALID_HP"}[e.Exited.Reason]
		w.TrialExitedEarly = &v1.SearcherEventExit{RequestID: e.Exited.Name, ExitedReason: "EXITED_REASON_" + cmp.Or(reason, "UNSPECIFIED")}
	case e.Progress != nil:
		w.TrialProgress = &v1.SearcherEventProgress{RequestID: e.Progress.Name, PartialUnits: e.Progress.Units}
	default:
		w.InitialOperations = &v1.InitialOperations{}
	}
	return w
}

// maxOperations is the maximum number of operations in one call.
const maxOperations = 10_000

// searcherOperations validates the operations of a program and appends them to the search's
// events.
func (d Deps) searcherOperations(ctx context.Context, c *rest.Call, e experiments.Experiment, req *v1.PostSearcherOperationsRequest) (*v1.None, error) {
	if err := elsewhere(e.Unmanaged, e.ID); err != nil {
		return nil, err
	}
	if len(req.SearcherOperations) > maxOperations {
		return nil, fault.New(fault.TooLarge, "searcherOperations: %d are over the limit of %d", len(req.SearcherOperations), maxOperations)
	}
	ops := search.Operations{}
	if req.TriggeredByEvent != nil {
		ops.Event = req.TriggeredByEvent.ID
	}
	for i, op := range req.SearcherOperations {
		o, err := operationOf(op)
		if err != nil {
			return nil, fault.New(fault.Invalid, "searcherOperations[%d]: %w", i, err)
		}
		ops.List = append(ops.List, o)
	}
	body, err := json.Marshal(ops)
	if err != nil {
		return nil, err
	}
	for { // until no other event is stored between the check and the write
		var seq int64
		err := d.Driven.with(ctx, e.ID, func(s *search.Search, state string) error {
			if lifecycle.State(state).Terminal() {
				return fault.New(fault.Conflict, "experiment %d has ended", e.ID)
			}
			if why := s.CheckOutside(ops); why != "" {
				return fault.New(fault.Invalid, "searcherOperations: %s", why)
			}
			seq = s.Seq()
			return nil
		})
		if err != nil {
			return nil, err
		}
		told, err := AppendOperations(ctx, d.DB, d.Memory, e.ID, seq, search.Told, body, ops.Memory())
		if err != nil {
			return nil, err
		}
		if told {
			d.Bus.Publish(lifecycle.TopicEvents)
			return &v1.None{}, nil
		}
	}
}

func operationOf(op v1.DriverOperation) (search.Operation, error) {
	var o search.Operation
	switch {
	case op.TrialOperation != nil:
		v := op.TrialOperation.ValidateAfter
		o.Train = &search.Train{Name: v.RequestID, Length: v.Length}
	case op.CreateTrial != nil:
		var hparams map[string]any
		if err := json.Unmarshal([]byte(op.CreateTrial.Hyperparams), &hparams); err != nil {
			return o, fault.New(fault.Invalid, "createTrial.hyperparams: not a JSON object: %v", err)
		}
		o.Create = &search.Create{Name: op.CreateTrial.RequestID, HParams: json.RawMessage(op.CreateTrial.Hyperparams)}
	case op.CloseTrial != nil:
		o.Close = op.CloseTrial.RequestID
	case op.ShutDown != nil:
		o.Shutdown = &search.Shutdown{Cancel: op.ShutDown.Cancel, Failure: op.ShutDown.Failure}
	case op.SetSearcherProgress != nil:
		p := op.SetSearcherProgress.Progress
		if math.IsNaN(p) || math.IsInf(p, 0) {
			return o, fault.New(fault.Invalid, "setSearcherProgress.progress: %v is not a number from 0 to 1", p)
		}
		o.Progress = &p
	default:
		return o, fault.New(fault.Invalid, "expected one of createTrial, trialOperation, closeTrial, shutDown and setSearcherProgress")
	}
	return o, nil
}
