package client

import (
	"context"

	v1 "github.com/detent-ml/detent/master/v1"
)

// Webhooks lists webhooks.
func (c *Client) Webhooks(ctx context.Context) ([]v1.Webhook, error) {
	out, err := get(ctx, c, v1.ListWebhooks, nil)
	if err != nil {
		return nil, err
	}
	return out.Webhooks, nil
}

// CreateWebhook creates a webhook.
func (c *Client) CreateWebhook(ctx context.Context, w v1.Webhook) (*v1.Webhook, error) {
	out, err := post(ctx, c, v1.CreateWebhook, w)
	if err != nil {
		return nil, err
	}
	return &out.Webhook, nil
}

// DeleteWebhook deletes a webhook.
func (c *Client) DeleteWebhook(ctx context.Context, id int) error {
	return act(ctx, c, v1.DeleteWebhook, id)
}

// TestWebhook sends a test event; an error says why its receiver did not accept the event.
func (c *Client) TestWebhook(ctx context.Context, id int) error {
	return act(ctx, c, v1.TestWebhook, id)
}

// WebhookDeliveries lists the newest deliveries of a webhook.
func (c *Client) WebhookDeliveries(ctx context.Context, id, limit int) ([]v1.WebhookDelivery, error) {
	out, err := get(ctx, c, v1.ListWebhookDeliveries, &v1.GetWebhookDeliveriesRequest{Limit: &limit}, id)
	if err != nil {
		return nil, err
	}
	return out.Deliveries, nil
}

// RedeliverWebhook sends an event once more; it returns the id of the new delivery.
func (c *Client) RedeliverWebhook(ctx context.Context, id int, delivery int64) (int64, error) {
	out, err := post(ctx, c, v1.RedeliverWebhook, v1.None{}, id, delivery)
	if err != nil {
		return 0, err
	}
	return out.ID, nil
}
