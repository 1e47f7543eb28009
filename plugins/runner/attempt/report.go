//go:build linux

package attempt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/detent-ml/detent/master/sleep"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/logs"
	"github.com/detent-ml/detent/plugins/runner/masters"
)

const (
	// overAfter is how long a master must report that it does not know this attempt before the
	// runner believes it: the master's database may be out of date for a moment.
	overAfter = 10 * time.Minute
	// overAfterEnd is the same for an attempt whose program has ended.
	overAfterEnd = time.Minute
	// defects is the number of answers with status 500 after which a batch of lines is dropped.
	defects = 20
	// worthZipping is the minimum size of a batch that is compressed.
	worthZipping = 1 << 10
	// logPatience is how long one master may take to answer a batch.
	logPatience = time.Minute
)

// reportExit reports to the master how the attempt ended. A refusal ends the reporting, because the
// master already knows the end; errors of a master and answers of others do not at once.
func reportExit(ctx context.Context, list *masters.List, s *state, within time.Duration) error {
	began := time.Now()
	for tries := 1; ; tries++ {
		err := list.Call(ctx, masters.Request{
			Method:  v1.ReportMemberExit.Method,
			Path:    v1.ReportMemberExit.At(s.AllocationID, s.Rank),
			Token:   s.Token,
			Message: s.exit(),
		}, nil, masters.Policy{Replay: true, Hold: within, Patience: 10 * time.Second})
		var refusal *masters.Refusal
		if !errors.As(err, &refusal) || !passing(refusal, tries, time.Since(began) > overAfterEnd) {
			return err
		}
		if sleep.For(ctx, unknownPause) != nil {
			return err
		}
	}
}

// passing reports whether an exit report that was refused so often may be accepted later. over means
// that whoever answers has had long enough to become a master.
func passing(r *masters.Refusal, tries int, over bool) bool {
	switch {
	case r.Status == http.StatusTooManyRequests || r.Status == http.StatusRequestTimeout:
		return true
	case r.Status >= 500:
		return tries < defects
	}
	return !r.Ours && !over // a stranger on the master's old port, or a proxy
}

// logSender sends batches of lines to a master. ended says that the program has ended.
func logSender(list *masters.List, token string, ended *atomic.Bool) logs.Sender {
	return func(ctx context.Context, batch v1.LogBatch) (int64, error) {
		body, err := v1.Marshal(batch)
		if err != nil {
			return 0, fmt.Errorf("%w: encoding: %w", logs.ErrRefused, err)
		}
		request := masters.Request{Method: v1.ShipLogs.Method, Path: v1.ShipLogs.At(), Token: token, Body: body}
		if len(body) >= worthZipping {
			request.Body, request.Encoding = zip(body), "gzip"
		}
		var out v1.LogBatchResponse
		began := time.Now()
		for tries := 1; ; tries++ {
			err := list.Call(ctx, request, &out, masters.Policy{Replay: true, Hold: forever, Patience: logPatience})
			if err == nil {
				return out.Next, nil
			}
			var refusal *masters.Refusal
			if !errors.As(err, &refusal) || ctx.Err() != nil {
				return 0, err
			}
			over := overAfter
			if ended.Load() {
				over = overAfterEnd
			}
			switch verdict := judge(refusal, tries, time.Since(began) > over); {
			case verdict != nil:
				return 0, fmt.Errorf("%w: %w", verdict, refusal)
			case refusal.Status == http.StatusUnsupportedMediaType && request.Encoding != "":
				request.Body, request.Encoding = body, ""
			default:
				if err := sleep.For(ctx, unknownPause); err != nil {
					return 0, err
				}
			}
		}
	}
}

// judge decides about a refused batch; nil: try again. over means that the master has not known
// this attempt for long enough.
func judge(r *masters.Refusal, tries int, over bool) error {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusGone:
		if over {
			return logs.ErrOver
		}
		return nil
	case http.StatusTooManyRequests, http.StatusRequestTimeout:
		return nil
	case http.StatusUnsupportedMediaType:
		if tries == 1 {
			return nil
		}
	}
	if r.Status >= 500 && tries < defects {
		return nil
	}
	return logs.ErrRefused
}

func zip(body []byte) []byte {
	var out bytes.Buffer
	w, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // no error: the level is valid
	_, _ = w.Write(body)                              // writes to memory return no errors
	_ = w.Close()
	return out.Bytes()
}
