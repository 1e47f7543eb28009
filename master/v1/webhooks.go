package v1

import "time"

// The endpoints of webhooks.
var (
	ListWebhooks = Endpoint[None, GetWebhooksResponse]{Method: "GET", Path: "/webhooks", Access: ByUsers, Object: KindWebhook, Verb: View, List: true,
		Summary: "List webhooks"}
	CreateWebhook = Endpoint[Webhook, PostWebhookResponse]{Method: "POST", Path: "/webhooks", Access: ByUsers, Object: KindWebhook, Verb: Create, NamedIn: Body,
		Summary: "Create a webhook"}
	SendCustomEvent = Endpoint[PostWebhookEventDataRequest, Empty]{Method: "POST", Path: "/webhooks/custom", Access: ByBoth, Object: KindExperiment, Verb: Report, NamedIn: Body,
		Summary: "Send an event to the webhooks that an experiment names"}
	ChangeWebhook = Endpoint[PatchWebhook, Empty]{Method: "PATCH", Path: "/webhooks/:id", Access: ByUsers, Object: KindWebhook, Verb: Change, Again: true,
		Summary: "Change the address of a webhook"}
	DeleteWebhook = Endpoint[None, Empty]{Method: "DELETE", Path: "/webhooks/:id", Access: ByUsers, Object: KindWebhook, Verb: Change,
		Summary: "Delete a webhook with the events that wait for it"}
	TestWebhook = Endpoint[None, TestWebhookResponse]{Method: "POST", Path: "/webhooks/:id/test", Access: ByUsers, Object: KindWebhook, Verb: Change,
		Summary: "Send a test event to a webhook"}
	ListWebhookDeliveries = Endpoint[GetWebhookDeliveriesRequest, GetWebhookDeliveriesResponse]{Method: "GET", Path: "/detent/webhooks/:id/deliveries", Access: ByUsers, Object: KindWebhook, Verb: Change,
		Summary: "List the newest events of a webhook, with the results of the requests"}
	RedeliverWebhook = Endpoint[None, RedeliverWebhookResponse]{Method: "POST", Path: "/detent/webhooks/:id/deliveries/:delivery/redeliver", Access: ByUsers, Object: KindWebhook, Verb: Change,
		Summary: "Send an event to a webhook once more"}
)

// Webhook is a message of the wire.
type Webhook struct {
	ID          int         `json:"id"`
	URL         string      `json:"url"`
	Triggers    []Trigger   `json:"triggers"`
	WebhookType WebhookType `json:"webhookType"`
	Name        string      `json:"name"`
	WorkspaceID int         `json:"workspaceId"` // 0: all workspaces
	Mode        WebhookMode `json:"mode"`
	Off         bool        `json:"off"` // imported, and not tested since: it gets no events; not in Determined
}

// Trigger is a message of the wire.
type Trigger struct {
	ID          int         `json:"id"`
	TriggerType TriggerType `json:"triggerType"`
	Condition   Struct      `json:"condition,null"`
	WebhookID   int         `json:"webhookId"`
}

// WebhookType is an enum of the wire.
type WebhookType string

// The values of WebhookType.
const (
	WebhookTypeDefault WebhookType = "WEBHOOK_TYPE_DEFAULT"
	WebhookTypeSlack   WebhookType = "WEBHOOK_TYPE_SLACK"
)

// WebhookMode is an enum of the wire.
type WebhookMode string

// The values that programs name.
const (
	WebhookModeWorkspace WebhookMode = "WEBHOOK_MODE_WORKSPACE"
	WebhookModeSpecific  WebhookMode = "WEBHOOK_MODE_SPECIFIC"
)

// TriggerType is an enum of the wire.
type TriggerType string

// The values that programs name.
const (
	TriggerTypeExperimentStateChange   TriggerType = "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE"
	TriggerTypeMetricThresholdExceeded TriggerType = "TRIGGER_TYPE_METRIC_THRESHOLD_EXCEEDED"
	TriggerTypeTaskLog                 TriggerType = "TRIGGER_TYPE_TASK_LOG"
	TriggerTypeCustom                  TriggerType = "TRIGGER_TYPE_CUSTOM"
)

// GetWebhooksResponse is a message of the wire.
type GetWebhooksResponse struct {
	Webhooks []Webhook `json:"webhooks"`
}

// PostWebhookResponse is a message of the wire.
type PostWebhookResponse struct {
	Webhook Webhook `json:"webhook"`
}

// PatchWebhook is a message of the wire.
type PatchWebhook struct {
	URL string `json:"url"`
}

// TestWebhookResponse is a message of the wire.
type TestWebhookResponse struct {
	Completed bool `json:"completed"`
}

// CustomWebhookEventData is a message of the wire.
type CustomWebhookEventData struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Level       LogLevel `json:"level"`
}

// PostWebhookEventDataRequest is a message of the wire.
type PostWebhookEventDataRequest struct {
	Data         CustomWebhookEventData `json:"data"`
	ExperimentID int                    `json:"experimentId"`
	TrialID      *int                   `json:"trialId,omitempty"`
}

// WebhookDelivery is an event for a webhook, with the results of the requests so far.
// Determined has no such message.
type WebhookDelivery struct {
	ID          int64      `json:"id"`
	EventID     string     `json:"eventId"`
	EventType   string     `json:"eventType"`
	Event       Struct     `json:"event"`
	State       string     `json:"state"` // WAITING, DELIVERED, FAILED or DROPPED
	Tries       int        `json:"tries"`
	Status      int        `json:"status"` // HTTP status of the last answer; 0 for none
	Error       string     `json:"error"`
	CreatedTime time.Time  `json:"createdTime"`
	NextTime    *time.Time `json:"nextTime"` // of the next try, while it is WAITING
	EndedTime   *time.Time `json:"endedTime"`
}

// GetWebhookDeliveriesResponse is the answer of ListWebhookDeliveries, the newest first.
type GetWebhookDeliveriesResponse struct {
	Deliveries []WebhookDelivery `json:"deliveries"`
}

// RedeliverWebhookResponse is the answer of RedeliverWebhook.
type RedeliverWebhookResponse struct {
	ID int64 `json:"id"` // of the new delivery
}
