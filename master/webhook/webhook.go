// Package webhook is the room of webhooks: addresses that receive events of experiments and of the logs of tasks.
//
// An event is a row of webhook_outbox, which whoever fires it adds in the transaction of its cause. The sender of the leading master
// spreads the events: it adds a row of webhook_deliveries for each webhook that receives an event, sends these rows in their order, and
// stores the results. The files, in the order in which one reads them:
//
//	event/               pure: events, the bodies and signatures of requests, and which addresses may receive them
//	webhook.go           what a webhook is, who may use it, and how callers see it
//	condition.go         pure: what the triggers of a webhook may have as their conditions
//	routes.go            the endpoints, and what they use of other rooms
//	create.go            list and create
//	change.go            change, delete and test
//	deliveries.go        list and repeat what was sent
//	custom.go            events of programs and users
//	rows.go              webhooks with their triggers, and their limits
//	rows_events.go       what fires events
//	rows_outbox.go       events that wait, which the sender gives to webhooks
//	rows_deliveries.go   what is sent, its retries, and the log of a webhook
//	sender/              the loop that sends, which the leading master runs
//
// The rows are functions over database.DB, because others fire events in their own transactions. So this room is below those that have
// experiments, metrics and logs: it imports none of them, and Deps has what it asks of them. What compares lines and reports with
// triggers stands beside the lines and the reports: logs/triggers.go and metrics/thresholds.go.
package webhook

import (
	"context"
	"fmt"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/event"
)

// A Webhook is an address that receives events.
type Webhook struct {
	ID          int       `db:"id"`
	WorkspaceID *int      `db:"workspace_id"` // nil: events of all workspaces
	OwnerID     int       `db:"owner_id"`     // the workspace's owner; 0 without a workspace
	Name        string    `db:"name"`
	URL         string    `db:"url"`
	Type        string    `db:"type"`
	Mode        string    `db:"mode"`
	Off         bool      `db:"off"` // imported, and not tested since: it gets no events
	Triggers    []Trigger `db:"triggers"`
}

// A Trigger says which events a webhook receives.
type Trigger struct {
	ID        int             `json:"id"`
	Type      string          `json:"type"`
	Condition event.Condition `json:"condition"`
}

// What the names of types and modes begin with in the interface.
const (
	typeOfTriggers = "TRIGGER_TYPE_"
	typeOfWebhooks = "WEBHOOK_TYPE_"
	modeOfWebhooks = "WEBHOOK_MODE_"
)

// object is a webhook for auth. One for all workspaces belongs to the cluster: everybody may
// look at it, and admins may change it.
func object(w Webhook) auth.Object {
	o := auth.Object{Kind: v1.KindWebhook, Name: fmt.Sprintf("%s %d", v1.KindWebhook, w.ID)}
	if w.WorkspaceID != nil {
		o.OwnerID, o.WorkspaceID = w.OwnerID, *w.WorkspaceID
	}
	return o
}

// on loads the webhook that a path names. with returns the code of the error for a caller who may not do what the request asks for.
func (d Deps) on(with func(auth.Who) fault.Code) rest.Object[Webhook] {
	o := rest.On("id", func(ctx context.Context, id int) (Webhook, error) { return Get(ctx, d.DB, id) }, object)
	o.Refusal = func(c *rest.Call, _ auth.Verb, w Webhook) error { return refusal(with(c.Who()), w.WorkspaceID) }
	return o
}

// refusedWith is the code for a caller who may not change a webhook. Determined answers 400 without roles, and its Python client raises
// another exception for 403.
func refusedWith(who auth.Who) fault.Code {
	if who.Grants != nil {
		return fault.Forbidden
	}
	return fault.Invalid
}

// forbidden is the code for requests about deliveries, which Determined does not have.
func forbidden(auth.Who) fault.Code { return fault.Forbidden }

func refusal(code fault.Code, workspace *int) error {
	if workspace == nil {
		return fault.New(code, "non admin users can't edit global webhooks: only admins may change webhooks for all workspaces")
	}
	return fault.New(code, "only the owner of workspace %d and admins may change its webhooks", *workspace)
}

// wire is a webhook as who may see it: without the path of its address, which may be a
// secret, for those who may not change it.
func wire(w Webhook, who auth.Who) v1.Webhook {
	out := v1.Webhook{ID: w.ID, URL: w.URL, Name: w.Name, WorkspaceID: optional.Value(w.WorkspaceID),
		WebhookType: v1.WebhookType(typeOfWebhooks + w.Type), Mode: v1.WebhookMode(modeOfWebhooks + w.Mode), Off: w.Off, Triggers: make([]v1.Trigger, len(w.Triggers))}
	if !auth.Can(who, auth.Change, object(w)) {
		out.URL = event.Shown(w.URL)
	}
	for i, t := range w.Triggers {
		out.Triggers[i] = v1.Trigger{ID: t.ID, WebhookID: w.ID, TriggerType: v1.TriggerType(typeOfTriggers + t.Type), Condition: v1.StructOf(t.Condition)}
	}
	return out
}
