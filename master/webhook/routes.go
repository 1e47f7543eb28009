package webhook

import (
	"cmp"
	"context"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Sender is package sender, which imports this one.
type Sender interface {
	// Check fails if the master sends nothing to an address.
	Check(address string) error
	// Test sends a test event at once.
	Test(ctx context.Context, w Webhook) (status int, err error)
}

// Deps is what the endpoints use of others.
type Deps struct {
	DB  *database.DB
	Bus *database.Bus
	// OwnerOf returns the owner of a workspace.
	OwnerOf func(ctx context.Context, workspace int) (owner int, err error)
	// MayReport fails if a caller may not send events for an experiment, or for one of its trials.
	MayReport func(ctx context.Context, c *rest.Call, experiment int, trial *int) error
	// TriggersChanged makes this master read the triggers for lines again before it searches the next lines.
	TriggersChanged func()
	Sender          Sender
	// Custom limits the events that users send; nil: as many as users may send.
	Custom *cache.Rates[int]

	tests *rest.Places // of users who send test events; Routes makes them
}

// Routes adds the endpoints of webhooks.
func Routes(r *rest.Router, d Deps) {
	d.tests = rest.NewPlaces("tests", maxTests, 1)
	d.Custom = cmp.Or(d.Custom, cache.NewRates[int](maxCustomEvents, customEventEvery, maxSenders))
	one, log := d.on(refusedWith), d.on(forbidden)
	rest.Serve(r, v1.ListWebhooks, d.list)
	rest.Serve(r, v1.CreateWebhook, d.create)
	rest.Serve(r, v1.SendCustomEvent, d.sendCustom)
	rest.ServeOn(r, v1.ChangeWebhook, one, d.change)
	rest.ServeOn(r, v1.DeleteWebhook, one, d.remove)
	rest.ServeOn(r, v1.TestWebhook, one, d.test)
	rest.ServeOn(r, v1.ListWebhookDeliveries, log, d.deliveries)
	rest.ServeOn(r, v1.RedeliverWebhook, log, d.redeliver)
}
