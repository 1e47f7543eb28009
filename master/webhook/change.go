package webhook

import (
	"context"
	"strconv"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// maxTests is how many test events are sent at once.
const maxTests = 16

func (d Deps) change(ctx context.Context, _ *rest.Call, w Webhook, req *v1.PatchWebhook) (*v1.Empty, error) {
	if err := d.Sender.Check(req.URL); err != nil {
		return nil, fault.New(fault.Invalid, "url: %w", err)
	}
	return &v1.Empty{}, setURL(ctx, d.DB, w.ID, req.URL)
}

func (d Deps) remove(ctx context.Context, _ *rest.Call, w Webhook, _ *v1.None) (*v1.Empty, error) {
	return &v1.Empty{}, Delete(ctx, d.DB, w.ID)
}

func (d Deps) test(ctx context.Context, c *rest.Call, w Webhook, _ *v1.None) (*v1.TestWebhookResponse, error) {
	leave, err := d.tests.Join(strconv.Itoa(c.Who().UserID))
	if err != nil {
		return nil, fault.New(fault.TooMany, "another test of yours is still running; try again in a moment")
	}
	defer leave()
	if _, err := d.Sender.Test(ctx, w); err != nil {
		return nil, fault.New(fault.Invalid, "the test of webhook %d failed: %w", w.ID, err)
	}
	return &v1.TestWebhookResponse{Completed: true}, turnOn(ctx, d.DB, w.ID)
}
