package experiments

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// progress accepts a fraction (is_raw), units of the searcher's length, which older harnesses
// report, and a body that is a number alone, which the oldest harnesses send.
func (d Deps) progress(ctx context.Context, c *rest.Call, r metrics.Trial) error {
	body, err := c.ReadBody(v1.SmallBody)
	if err != nil {
		return err
	}
	var req v1.ProgressRequest
	body = bytes.TrimSpace(body)
	if f, ferr := strconv.ParseFloat(string(body), 64); ferr == nil {
		req.Progress = f
	} else if err := v1.Unmarshal(body, &req); err != nil {
		return fault.New(fault.Invalid, "%w", err)
	}
	fraction := req.Progress
	if !req.IsRaw {
		if fraction, err = d.fractionOf(ctx, r.ID, req.Progress); err != nil {
			return err
		}
	}
	if math.IsNaN(fraction) || math.IsInf(fraction, 0) {
		return fault.New(fault.Invalid, "progress: expected a finite number, found %v", fraction)
	}
	if err := d.Heard.From(ctx, c, r.Task); err != nil {
		return err
	}
	if err := SetTrialProgress(ctx, d.DB, r.ID, min(max(fraction, 0), 1)); err != nil {
		return err
	}
	return c.Send(&v1.None{})
}

// fractionOf converts units to a fraction of the searcher's length. Without a length the number
// is already a fraction.
func (d Deps) fractionOf(ctx context.Context, trial int, units float64) (float64, error) {
	s, err := SearcherOf(ctx, d.DB, trial)
	if err != nil {
		return 0, err
	}
	length := LengthOf(s)
	if length == 0 {
		return units, nil
	}
	return units / float64(length), nil
}

func (d Deps) earlyExit(ctx context.Context, c *rest.Call, r metrics.Trial, req *v1.EarlyExitRequest) (*v1.None, error) {
	reason := strings.TrimPrefix(req.Reason, "EXITED_REASON_")
	switch reason {
	case "INVALID_HP", "INIT_INVALID_HP", "USER_REQUESTED_STOP":
	default:
		return nil, fault.New(fault.Invalid,
			"reason: %q is not one of EXITED_REASON_INVALID_HP, EXITED_REASON_INIT_INVALID_HP, EXITED_REASON_USER_REQUESTED_STOP", req.Reason)
	}
	return rest.Done[v1.None](ReportEarlyExit(ctx, d.DB, r.ID, reason), func() { d.Bus.Publish(lifecycle.TopicEvents) })
}

// maxRunnerState is the maximum length of a trial's status, in bytes.
const maxRunnerState = 1000

func (d Deps) runnerState(ctx context.Context, c *rest.Call, r metrics.Trial, req *v1.RunnerMetadataRequest) (*v1.None, error) {
	if len(req.State) > maxRunnerState {
		return nil, fault.New(fault.Invalid, "state: %d bytes are over the limit of %d", len(req.State), maxRunnerState)
	}
	return &v1.None{}, SetRunnerState(ctx, d.DB, r.ID, req.State)
}

// LengthOf is the current length of training of a trial: that of its search, or else the whole
// length in the configuration; 0 if its program decides.
func LengthOf(s TrialSearcher) int64 {
	if s.Target != nil {
		return *s.Target
	}
	return optional.Value(s.MaxLength)
}
