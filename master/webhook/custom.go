package webhook

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/event"
)

const (
	// A user may send maxCustomEvents at once, and then one each customEventEvery.
	maxCustomEvents  = 100
	customEventEvery = 100 * time.Millisecond
	maxSenders       = 20_000 // users whose events are counted
	maxEventTitle    = 500
	maxCustom        = 8 << 10 // bytes of the description of an event
)

// sendCustom sends the event of a program, or of a user who may change the experiment.
func (d Deps) sendCustom(ctx context.Context, c *rest.Call, req *v1.PostWebhookEventDataRequest) (*v1.Empty, error) {
	if err := d.MayReport(ctx, c, req.ExperimentID, req.TrialID); err != nil {
		return nil, err
	}
	in := req.Data
	if len(in.Title) > maxEventTitle || len(in.Description) > maxCustom {
		return nil, fault.New(fault.Invalid, "data: the title may have %d bytes and the description %d; found %d and %d", maxEventTitle, maxCustom, len(in.Title), len(in.Description))
	}
	if in.Level != "" && !slices.Contains(v1.LogLevels(), in.Level) {
		return nil, fault.New(fault.Invalid, "data.level: expected a level such as LOG_LEVEL_INFO, found %q", fault.Clip(string(in.Level)))
	}
	if !d.Custom.Take(c.Who().UserID, time.Now()) {
		return nil, fault.New(fault.TooMany, "a user may send %d events at once, and then %d in a second; try again later", maxCustomEvents, int(time.Second/customEventEvery))
	}
	custom := event.CustomData{Title: in.Title, Description: in.Description, Level: strings.TrimPrefix(string(cmp.Or(in.Level, v1.LogLevelInfo)), "LOG_LEVEL_")}
	n, err := FireCustom(ctx, d.DB, req.ExperimentID, req.TrialID, custom)
	if n > 0 {
		d.Bus.Publish(Topic)
	}
	return &v1.Empty{}, err
}
