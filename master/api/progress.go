package api

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
)

func (a *API) registerProgress() {
	rawOn(a, v1.ReportProgress, a.onReportingTrial(), a.progress)
	serveOn(a, v1.ReportEarlyExit, a.onReportingTrial(), a.earlyExit)
	serveOn(a, v1.ReportRunnerState, a.onReportingTrial(), a.runnerState)
	a.registerSearcher()
}

// progress accepts a fraction (is_raw), units of the searcher's length from older harnesses,
// and a plain number from the oldest.
func (a *API) progress(ctx context.Context, c *call, r reporter) error {
	id := r.trial
	body, err := a.readBody(c.Ctx, smallBody)
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
		if fraction, err = a.fractionOf(ctx, id, req.Progress); err != nil {
			return err
		}
	}
	if math.IsNaN(fraction) || math.IsInf(fraction, 0) {
		return fault.New(fault.Invalid, "progress: %v is not a number from 0 to 1", fraction)
	}
	if err := a.db.SetTrialProgress(ctx, id, min(max(fraction, 0), 1)); err != nil {
		return err
	}
	return c.send(&v1.None{})
}

// fractionOf converts units to a fraction of the searcher's length. Without a length the number
// is already a fraction.
func (a *API) fractionOf(ctx context.Context, trial int, units float64) (float64, error) {
	s, err := a.db.TrialSearcher(ctx, trial)
	if err != nil {
		return 0, err
	}
	length, err := lengthOf(s)
	if err != nil || length == 0 {
		return units, err
	}
	return units / float64(length), nil
}

func (a *API) earlyExit(ctx context.Context, c *call, r reporter, req *v1.EarlyExitRequest) (*v1.None, error) {
	id := r.trial
	reason := strings.TrimPrefix(req.Reason, "EXITED_REASON_")
	switch reason {
	case "INVALID_HP", "INIT_INVALID_HP", "USER_REQUESTED_STOP":
	default:
		return nil, fault.New(fault.Invalid,
			"reason: %q is not one of EXITED_REASON_INVALID_HP, EXITED_REASON_INIT_INVALID_HP, EXITED_REASON_USER_REQUESTED_STOP", req.Reason)
	}
	if err := a.db.ReportEarlyExit(ctx, id, reason); err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicEvents)
	return &v1.None{}, nil
}

func (a *API) runnerState(ctx context.Context, c *call, r reporter, req *v1.RunnerMetadataRequest) (*v1.None, error) {
	id := r.trial
	if len(req.State) > 1000 {
		return nil, fault.New(fault.Invalid, "state: %d bytes; 1000 are allowed", len(req.State))
	}
	return &v1.None{}, a.db.SetRunnerState(ctx, id, req.State)
}
