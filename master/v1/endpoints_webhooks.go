package v1

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
