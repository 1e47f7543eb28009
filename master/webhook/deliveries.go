package webhook

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/event"
)

const (
	shownDeliveries = 100 // of an answer, unless the caller wants another number
	maxDeliveries   = 1000
)

func (d Deps) deliveries(ctx context.Context, _ *rest.Call, w Webhook, req *v1.GetWebhookDeliveriesRequest) (*v1.GetWebhookDeliveriesResponse, error) {
	limit, before := shownDeliveries, optional.Value(req.Before)
	if req.Limit != nil {
		limit = *req.Limit
	}
	switch {
	case limit < 1 || limit > maxDeliveries:
		return nil, fault.New(fault.Invalid, "limit: expected 1 to %d, found %d", maxDeliveries, limit)
	case req.Before != nil && before < 1:
		return nil, fault.New(fault.Invalid, "before: expected the id of a delivery, found %d", before)
	}
	list, err := Deliveries(ctx, d.DB, w.ID, before, limit)
	return &v1.GetWebhookDeliveriesResponse{Deliveries: each.Of(list, wireDelivery)}, err
}

func wireDelivery(d Delivery) v1.WebhookDelivery {
	var of event.Event
	_ = json.Unmarshal(d.Event, &of) // else its type is not shown
	out := v1.WebhookDelivery{ID: d.ID, EventID: d.EventID, EventType: of.Type, Event: v1.Struct(d.Event), State: d.State, Tries: d.Tries,
		Status: optional.Value(d.Status), Error: d.Error, CreatedTime: d.CreatedAt, EndedTime: d.EndedAt}
	if d.EndedAt == nil {
		out.NextTime = &d.DueAt
	}
	return out
}

func (d Deps) redeliver(ctx context.Context, c *rest.Call, w Webhook, _ *v1.None) (*v1.RedeliverWebhookResponse, error) {
	id, err := strconv.ParseInt(c.Param("delivery"), 10, 64)
	if err != nil || id < 1 {
		return nil, fault.New(fault.Invalid, "%q is not the id of a delivery", fault.Clip(c.Param("delivery")))
	}
	again, err := Redeliver(ctx, d.DB, w.ID, id)
	if err != nil {
		return nil, err
	}
	d.Bus.Publish(Topic)
	return &v1.RedeliverWebhookResponse{ID: again}, nil
}
