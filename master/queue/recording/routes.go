package recording

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Bounds of a page.
const (
	pageFrames = 4_000
	pageBytes  = 4 << 20
	pageLook   = 20_000 // frames at which a page looks for those that it lists
)

// Routes adds the endpoint that lists frames. Each caller reads one page after the other, and pages take turns.
func Routes(r *rest.Router, db *database.DB) {
	turns := make(chan struct{}, 2)
	rest.Serve(r, v1.GetQueueRecording, func(ctx context.Context, _ *rest.Call, req *v1.GetQueueRecordingRequest) (*v1.QueueRecordingResponse, error) {
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			return nil, fault.New(fault.Unavailable, "others are reading the recording of the queue; try again")
		}
		return list(ctx, db, req)
	})
}

func list(ctx context.Context, db *database.DB, req *v1.GetQueueRecordingRequest) (*v1.QueueRecordingResponse, error) {
	from, until := time.Unix(0, 0), time.Now().Add(time.Hour)
	if req.Since != nil {
		from = *req.Since
	}
	if req.Until != nil {
		until = *req.Until
	}
	if !from.Before(until) {
		return nil, fault.New(fault.Invalid, "since: expected a time before until")
	}
	if req.After < 0 {
		return nil, fault.New(fault.Invalid, "after: expected the value of next of the page before, found %d", req.After)
	}
	rows, next, err := page(ctx, db, from, until, int64(req.After), pageFrames, pageBytes, pageLook)
	if err != nil {
		return nil, err
	}
	out := &v1.QueueRecordingResponse{Frames: make([]v1.Struct, len(rows))}
	for i, x := range rows {
		out.Frames[i] = x.Frame
	}
	if next != 0 {
		out.Next = new(int(next))
	}
	return out, nil
}
