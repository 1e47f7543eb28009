//go:build linux

package attempt

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

const (
	// forever is the time limit of a call that only the end of the job ends.
	forever = 10 * 365 * 24 * time.Hour
	// claimPatience is how long one master may take to answer a claim.
	claimPatience = 30 * time.Second
	// unknownFor is how long the runner retries after answers that may be temporary: keys that
	// were just rotated, another server on the old port of a master.
	unknownFor   = 2 * time.Minute
	unknownPause = 2 * time.Second
	// minPoll is the minimum time between two long polls, in case a master answers at once.
	minPoll = 200 * time.Millisecond
	// claimRound and claimPause are the length of one round of tries, and of the pause to the
	// next.
	claimRound = time.Second
	claimPause = 500 * time.Millisecond
)

// claim claims the attempt until a master decides. The error is a *masters.Refusal if the
// master refuses. The fingerprint of the certificate is reported even if the gateway has no
// port: otherwise a master would trust any program that has that port.
func claim(ctx context.Context, p *NomadTask, list *masters.List, nonce, certificate string, journal *logs.Journal) (v1.ClaimResponse, error) {
	var out v1.ClaimResponse
	identity, err := p.identity()
	if err != nil {
		return out, err
	}
	began, told := time.Now(), time.Time{}
	for {
		err := list.Call(ctx, masters.Request{
			Method: v1.ClaimAllocation.Method,
			Path:   v1.ClaimAllocation.At(p.AllocationID),
			Message: v1.ClaimRequest{
				AllocationID: p.AllocationID, Rank: p.Rank, Identity: identity, Nonce: nonce,
				NodeID: p.NodeID, NodeName: p.NodeName, Address: p.Address, Ports: p.Ports, Certificate: certificate,
			},
		}, &out, masters.Policy{Replay: true, Hold: claimRound, Patience: claimPatience})
		if err == nil || ctx.Err() != nil {
			return out, err
		}
		var refusal *masters.Refusal
		isRefusal := errors.As(err, &refusal)
		if isRefusal && final(refusal) {
			return out, refusal
		}
		if isRefusal && refusal.Status < 500 && refusal.Status != http.StatusTooManyRequests && time.Since(began) > unknownFor {
			return out, refusal
		}
		if time.Since(told) > time.Minute {
			journal.Warnf("no master has accepted this attempt yet; still trying: %v", err)
			told = time.Now()
		}
		if err := sleep.For(ctx, claimPause); err != nil {
			return out, err
		}
	}
}

// final reports whether a refusal is final, so that asking again is useless.
func final(r *masters.Refusal) bool {
	switch r.Status {
	case http.StatusConflict:
		return true
	case http.StatusBadRequest, http.StatusForbidden, http.StatusNotFound, http.StatusGone:
		return r.Ours
	}
	return false
}
