package webhook

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/event"
)

const maxTriggers = 20 // of a webhook

func (d Deps) list(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetWebhooksResponse, error) {
	owner := c.Who().UserID
	if c.Who().Grants != nil || c.Who().Admin { // roles say in which workspaces
		owner = 0
	}
	list, err := List(ctx, d.DB, c.Scope(), owner)
	return &v1.GetWebhooksResponse{Webhooks: each.Of(list, func(w Webhook) v1.Webhook { return wire(w, c.Who()) })}, err
}

func (d Deps) create(ctx context.Context, c *rest.Call, req *v1.Webhook) (*v1.PostWebhookResponse, error) {
	w := asked(req)
	if req.WorkspaceID > 0 {
		owner, err := d.OwnerOf(ctx, req.WorkspaceID)
		if err != nil {
			return nil, err
		}
		w.WorkspaceID, w.OwnerID = &req.WorkspaceID, owner
		if err := c.May(auth.Create, object(w)); err != nil && fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	if !auth.Can(c.Who(), auth.Change, object(w)) {
		return nil, refusal(refusedWith(c.Who()), w.WorkspaceID)
	}
	if err := d.check(&w, req.Triggers); err != nil {
		return nil, err
	}
	id, err := Insert(ctx, d.DB, w)
	if err != nil {
		return nil, err
	}
	d.TriggersChanged()
	w, err = Get(ctx, d.DB, id)
	return &v1.PostWebhookResponse{Webhook: wire(w, c.Who())}, err
}

// asked is the webhook that a request asks for, without its workspace and its triggers.
func asked(req *v1.Webhook) Webhook {
	w := Webhook{Name: cmp.Or(strings.TrimSpace(req.Name), "webhook-"+uuid.NewString()[:8]), URL: req.URL,
		Type: strings.TrimPrefix(string(req.WebhookType), typeOfWebhooks), Mode: cmp.Or(strings.TrimPrefix(string(req.Mode), modeOfWebhooks), event.Workspace)}
	if w.Mode == "UNSPECIFIED" {
		w.Mode = event.Workspace
	}
	return w
}

// check checks a new webhook and reads its triggers.
func (d Deps) check(w *Webhook, triggers []v1.Trigger) error {
	if err := names.Check("name", w.Name, names.MaxUnique); err != nil {
		return err
	}
	if err := d.Sender.Check(w.URL); err != nil {
		return fault.New(fault.Invalid, "url: %w", err)
	}
	if w.Type != event.Default && w.Type != event.Slack {
		return fault.New(fault.Invalid, "webhookType: expected WEBHOOK_TYPE_DEFAULT or WEBHOOK_TYPE_SLACK, found %q", fault.Clip(w.Type))
	}
	if w.Mode != event.Workspace && w.Mode != event.Specific {
		return fault.New(fault.Invalid, "mode: expected WEBHOOK_MODE_WORKSPACE or WEBHOOK_MODE_SPECIFIC, found %q", fault.Clip(w.Mode))
	}
	if len(triggers) == 0 || len(triggers) > maxTriggers {
		return fault.New(fault.Invalid, "triggers: a webhook needs 1 to %d triggers, found %d", maxTriggers, len(triggers))
	}
	for i, t := range triggers {
		kind := strings.TrimPrefix(string(t.TriggerType), typeOfTriggers)
		condition, err := readCondition(kind, t.Condition)
		if err == nil && kind == event.Custom && w.Mode != event.Specific {
			err = fault.New(fault.Invalid, "a trigger of type CUSTOM needs a webhook with the mode WEBHOOK_MODE_SPECIFIC")
		}
		if err != nil {
			return fault.New(fault.Invalid, "triggers[%d]: %w", i, err)
		}
		w.Triggers = append(w.Triggers, Trigger{Type: kind, Condition: condition})
	}
	return nil
}
