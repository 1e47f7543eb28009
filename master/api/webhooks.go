package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/names"
	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/regex"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/store"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook"
)

const (
	maxTriggers = 20 // of a webhook
	// A user may send maxCustomEvents at once, and then one each customEventEvery.
	maxCustomEvents  = 100
	customEventEvery = 100 * time.Millisecond
	maxEventTitle    = 500
	maxCustom        = 8 << 10 // bytes of the description of an event
	maxMetricName    = 500
	shownWebhooks    = 100 // deliveries of an answer, unless the caller wants another number
	maxDeliveries    = 1000
	typeOfTriggers   = "TRIGGER_TYPE_"
	typeOfWebhooks   = "WEBHOOK_TYPE_"
	modeOfWebhooks   = "WEBHOOK_MODE_"
)

// Events sends test events to webhooks, and checks their addresses.
type Events interface {
	Check(address string) error
	Test(ctx context.Context, w store.Webhook) (status int, err error)
}

func (a *API) registerWebhooks() {
	rest.Serve(a.router, v1.ListWebhooks, a.listWebhooks)
	rest.Serve(a.router, v1.CreateWebhook, a.createWebhook)
	rest.Serve(a.router, v1.SendCustomEvent, a.sendCustomEvent)
	rest.ServeOn(a.router, v1.ChangeWebhook, a.onWebhook(), a.patchWebhook)
	rest.ServeOn(a.router, v1.DeleteWebhook, a.onWebhook(), a.deleteWebhook)
	rest.ServeOn(a.router, v1.TestWebhook, a.onWebhook(), a.testWebhook)
	rest.ServeOn(a.router, v1.ListWebhookDeliveries, a.onWebhookLog(), a.webhookDeliveries)
	rest.ServeOn(a.router, v1.RedeliverWebhook, a.onWebhookLog(), a.redeliverWebhook)
}

// ofWebhook is a webhook for auth. One for all workspaces belongs to the cluster: everybody may
// look at it, and admins may change it.
func ofWebhook(w store.Webhook) auth.Object {
	if w.WorkspaceID == nil {
		return auth.Object{Kind: v1.KindWebhook, Name: called(v1.KindWebhook, w.ID)}
	}
	return auth.Object{Kind: v1.KindWebhook, Name: called(v1.KindWebhook, w.ID), OwnerID: w.OwnerID, WorkspaceID: *w.WorkspaceID}
}

func (a *API) onWebhook() rest.Object[store.Webhook] {
	o := rest.On("id", a.db.Webhook, ofWebhook)
	o.Refusal = func(c *rest.Call, _ auth.Verb, w store.Webhook) error { return refusedWebhook(c.Who(), w.WorkspaceID) }
	return o
}

// onWebhookLog is a webhook whose deliveries a request is about; Determined has none.
func (a *API) onWebhookLog() rest.Object[store.Webhook] {
	o := rest.On("id", a.db.Webhook, ofWebhook)
	o.Refusal = func(_ *rest.Call, _ auth.Verb, w store.Webhook) error {
		return webhookRefusal(fault.Forbidden, w.WorkspaceID)
	}
	return o
}

// refusedWebhook has a status that depends on the mode of rights, see fixed.go.
func refusedWebhook(who auth.Who, workspace *int) error {
	if who.Grants != nil {
		return webhookRefusal(fault.Forbidden, workspace)
	}
	return webhookRefusal(fault.Invalid, workspace)
}

func webhookRefusal(code fault.Code, workspace *int) error {
	if workspace == nil {
		return fault.New(code, "non admin users can't edit global webhooks: only admins may change webhooks for all workspaces")
	}
	return fault.New(code, "only the owner of workspace %d and admins may change its webhooks", *workspace)
}

// wireWebhook is a webhook as who may see it: without the path of its address, which may be a
// secret, for those who may not change it.
func wireWebhook(w store.Webhook, who auth.Who) v1.Webhook {
	out := v1.Webhook{ID: w.ID, URL: w.URL, Name: w.Name, WorkspaceID: optional.Value(w.WorkspaceID),
		WebhookType: v1.WebhookType(typeOfWebhooks + w.Type), Mode: v1.WebhookMode(modeOfWebhooks + w.Mode), Triggers: make([]v1.Trigger, len(w.Triggers))}
	if !auth.Can(who, auth.Change, ofWebhook(w)) {
		out.URL = webhook.Shown(w.URL)
	}
	for i, t := range w.Triggers {
		out.Triggers[i] = v1.Trigger{ID: t.ID, WebhookID: w.ID, TriggerType: v1.TriggerType(typeOfTriggers + t.Type), Condition: v1.StructOf(t.Condition)}
	}
	return out
}

func (a *API) listWebhooks(ctx context.Context, c *rest.Call, _ *v1.None) (*v1.GetWebhooksResponse, error) {
	owner := c.Who().UserID
	if c.Who().Grants != nil || c.Who().Admin { // roles say in which workspaces
		owner = 0
	}
	list, err := a.db.Webhooks(ctx, c.Scope(), owner)
	resp := &v1.GetWebhooksResponse{Webhooks: make([]v1.Webhook, len(list))}
	for i, w := range list {
		resp.Webhooks[i] = wireWebhook(w, c.Who())
	}
	return resp, err
}

func (a *API) createWebhook(ctx context.Context, c *rest.Call, req *v1.Webhook) (*v1.PostWebhookResponse, error) {
	w := store.Webhook{Name: cmp.Or(strings.TrimSpace(req.Name), "webhook-"+uuid.NewString()[:8]), URL: req.URL,
		Type: strings.TrimPrefix(string(req.WebhookType), typeOfWebhooks), Mode: cmp.Or(strings.TrimPrefix(string(req.Mode), modeOfWebhooks), webhook.Workspace)}
	if w.Mode == "UNSPECIFIED" {
		w.Mode = webhook.Workspace
	}
	if req.WorkspaceID > 0 {
		ws, err := a.db.Workspace(ctx, req.WorkspaceID)
		if err != nil {
			return nil, err
		}
		w.WorkspaceID, w.OwnerID = &ws.ID, ws.OwnerID
	}
	if w.WorkspaceID != nil {
		if err := c.May(auth.Create, ofWebhook(w)); err != nil && fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	if !auth.Can(c.Who(), auth.Change, ofWebhook(w)) {
		return nil, refusedWebhook(c.Who(), w.WorkspaceID)
	}
	if err := a.checkWebhook(&w, req.Triggers); err != nil {
		return nil, err
	}
	id, err := a.db.CreateWebhook(ctx, w)
	if err != nil {
		return nil, err
	}
	a.taskIO.logs.TriggersChanged()
	if w, err = a.db.Webhook(ctx, id); err != nil {
		return nil, err
	}
	return &v1.PostWebhookResponse{Webhook: wireWebhook(w, c.Who())}, nil
}

// checkWebhook checks a new webhook and reads its triggers.
func (a *API) checkWebhook(w *store.Webhook, triggers []v1.Trigger) error {
	if err := checkName("name", w.Name, names.MaxUnique); err != nil {
		return err
	}
	if err := a.cfg.Webhooks.Check(w.URL); err != nil {
		return fault.New(fault.Invalid, "url: %w", err)
	}
	if w.Type != webhook.Default && w.Type != webhook.Slack {
		return fault.New(fault.Invalid, "webhookType: expected WEBHOOK_TYPE_DEFAULT or WEBHOOK_TYPE_SLACK, found %q", fault.Clip(w.Type))
	}
	if w.Mode != webhook.Workspace && w.Mode != webhook.Specific {
		return fault.New(fault.Invalid, "mode: expected WEBHOOK_MODE_WORKSPACE or WEBHOOK_MODE_SPECIFIC, found %q", fault.Clip(w.Mode))
	}
	if len(triggers) == 0 || len(triggers) > maxTriggers {
		return fault.New(fault.Invalid, "triggers: a webhook needs 1 to %d triggers, found %d", maxTriggers, len(triggers))
	}
	for i, t := range triggers {
		kind := strings.TrimPrefix(string(t.TriggerType), typeOfTriggers)
		condition, err := readCondition(kind, t.Condition)
		if err == nil && kind == webhook.Custom && w.Mode != webhook.Specific {
			err = fault.New(fault.Invalid, "a trigger of type CUSTOM needs a webhook with the mode WEBHOOK_MODE_SPECIFIC")
		}
		if err != nil {
			return fault.New(fault.Invalid, "triggers[%d]: %w", i, err)
		}
		w.Triggers = append(w.Triggers, store.WebhookTrigger{Type: kind, Condition: condition})
	}
	return nil
}

// readCondition reads the condition of a trigger of a type, and rejects keys that other types
// have.
func readCondition(kind string, raw v1.Struct) (c webhook.Condition, err error) {
	if len(raw) > 0 {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			return c, fault.New(fault.Invalid, "condition: %w", err)
		}
	}
	rest := c
	switch kind {
	case webhook.StateChange:
		if c.State = strings.TrimPrefix(c.State, "STATE_"); !webhook.Fires(c.State) {
			return c, fault.New(fault.Invalid, "condition.state: expected one of %s, found %q", strings.Join(webhook.States(), ", "), fault.Clip(c.State))
		}
		rest.State = ""
	case webhook.TaskLog:
		if c.Regex == "" {
			return c, fault.New(fault.Invalid, `condition: expected {"regex": "…"} with a regular expression`)
		}
		if _, err := regex.Compile(c.Regex); err != nil {
			return c, fault.New(fault.Invalid, "condition.regex: %w", err)
		}
		rest.Regex = ""
	case webhook.Threshold:
		c.Group = cmp.Or(c.Group, store.Validation)
		if err := checkThreshold(c); err != nil {
			return c, err
		}
		rest.Metric, rest.Group, rest.Above, rest.Below = "", "", nil, nil
	case webhook.Custom:
	default:
		return c, fault.New(fault.Invalid, "triggerType: expected one of %s, each after %s; found %q",
			strings.Join([]string{webhook.StateChange, webhook.Threshold, webhook.TaskLog, webhook.Custom}, ", "), typeOfTriggers, fault.Clip(kind))
	}
	if rest != (webhook.Condition{}) {
		return c, fault.New(fault.Invalid, "condition: it has a key that belongs to another type of trigger than %s: %s", kind, fault.Clip(string(raw)))
	}
	return c, nil
}

func checkThreshold(c webhook.Condition) error {
	if c.Metric == "" || len(c.Metric) > maxMetricName || len(c.Group) > maxMetricName || strings.ContainsRune(c.Metric+c.Group, 0) {
		return fault.New(fault.Invalid, "condition.metric: expected the name of a metric with at most %d bytes, found %q", maxMetricName, fault.Clip(c.Metric))
	}
	if (c.Above == nil) == (c.Below == nil) {
		return fault.New(fault.Invalid, "condition: expected one of above and below, with a number")
	}
	if limit := cmp.Or(c.Above, c.Below); math.IsInf(*limit, 0) || math.IsNaN(*limit) {
		return fault.New(fault.Invalid, "condition: the number is too large")
	}
	return nil
}

func (a *API) patchWebhook(ctx context.Context, _ *rest.Call, w store.Webhook, req *v1.PatchWebhook) (*v1.Empty, error) {
	if err := a.cfg.Webhooks.Check(req.URL); err != nil {
		return nil, fault.New(fault.Invalid, "url: %w", err)
	}
	return &v1.Empty{}, a.db.ChangeWebhook(ctx, w.ID, req.URL)
}

func (a *API) deleteWebhook(ctx context.Context, _ *rest.Call, w store.Webhook, _ *v1.None) (*v1.Empty, error) {
	return &v1.Empty{}, a.db.DeleteWebhook(ctx, w.ID)
}

func (a *API) testWebhook(ctx context.Context, c *rest.Call, w store.Webhook, _ *v1.None) (*v1.TestWebhookResponse, error) {
	if !a.tests.Take(c.Who().UserID) {
		return nil, fault.New(fault.TooMany, "another test of yours is still running; try again in a moment")
	}
	defer a.tests.Free(c.Who().UserID)
	if _, err := a.cfg.Webhooks.Test(ctx, w); err != nil {
		return nil, fault.New(fault.Invalid, "the test of webhook %d failed: %w", w.ID, err)
	}
	return &v1.TestWebhookResponse{Completed: true}, nil
}

// sendCustomEvent sends the event of a program, or of a user who may change the experiment.
func (a *API) sendCustomEvent(ctx context.Context, c *rest.Call, req *v1.PostWebhookEventDataRequest) (*v1.Empty, error) {
	if req.TrialID != nil {
		r, err := a.db.Trial(ctx, *req.TrialID)
		if err == nil {
			err = c.May(auth.Report, ofTrial(r))
		}
		if err == nil && r.ExperimentID != req.ExperimentID {
			err = fault.New(fault.Invalid, "trialId: trial %d belongs to experiment %d, and not to %d", r.ID, r.ExperimentID, req.ExperimentID)
		}
		if err != nil {
			return nil, err
		}
	} else {
		e, err := a.db.ExperimentHead(ctx, req.ExperimentID)
		if err == nil {
			err = c.May(auth.Report, ofExperiment(e))
		}
		if err != nil {
			return nil, err
		}
	}
	d := req.Data
	if len(d.Title) > maxEventTitle || len(d.Description) > maxCustom {
		return nil, fault.New(fault.Invalid, "data: the title may have %d bytes and the description %d; found %d and %d", maxEventTitle, maxCustom, len(d.Title), len(d.Description))
	}
	if d.Level != "" && !slices.Contains(v1.LogLevels(), d.Level) {
		return nil, fault.New(fault.Invalid, "data.level: expected a level such as LOG_LEVEL_INFO, found %q", fault.Clip(string(d.Level)))
	}
	if !a.customEvents.Take(c.Who().UserID, time.Now()) {
		return nil, fault.New(fault.TooMany, "a user may send %d events at once, and then %d in a second; try again later", maxCustomEvents, int(time.Second/customEventEvery))
	}
	custom := webhook.CustomData{Title: d.Title, Description: d.Description, Level: strings.TrimPrefix(string(cmp.Or(d.Level, v1.LogLevelInfo)), "LOG_LEVEL_")}
	n, err := a.db.FireCustom(ctx, req.ExperimentID, req.TrialID, custom)
	if n > 0 {
		a.bus.Publish(store.TopicWebhooks)
	}
	return &v1.Empty{}, err
}

func (a *API) webhookDeliveries(ctx context.Context, c *rest.Call, w store.Webhook, req *v1.GetWebhookDeliveriesRequest) (*v1.GetWebhookDeliveriesResponse, error) {
	limit, before := shownWebhooks, optional.Value(req.Before)
	if req.Limit != nil {
		limit = *req.Limit
	}
	switch {
	case limit < 1 || limit > maxDeliveries:
		return nil, fault.New(fault.Invalid, "limit: expected 1 to %d, found %d", maxDeliveries, limit)
	case req.Before != nil && before < 1:
		return nil, fault.New(fault.Invalid, "before: expected the id of a delivery, found %d", before)
	}
	list, err := a.db.Deliveries(ctx, w.ID, before, limit)
	resp := &v1.GetWebhookDeliveriesResponse{Deliveries: make([]v1.WebhookDelivery, len(list))}
	for i, d := range list {
		resp.Deliveries[i] = wireDelivery(d)
	}
	return resp, err
}

func wireDelivery(d store.Delivery) v1.WebhookDelivery {
	var event webhook.Event
	_ = json.Unmarshal(d.Event, &event) // else its type is not shown
	out := v1.WebhookDelivery{ID: d.ID, EventID: d.EventID, EventType: event.Type, Event: v1.Struct(d.Event), State: d.State, Tries: d.Tries,
		Status: optional.Value(d.Status), Error: d.Error, CreatedTime: d.CreatedAt, EndedTime: d.EndedAt}
	if d.EndedAt == nil {
		out.NextTime = &d.DueAt
	}
	return out
}

func (a *API) redeliverWebhook(ctx context.Context, c *rest.Call, w store.Webhook, _ *v1.None) (*v1.RedeliverWebhookResponse, error) {
	id, err := strconv.ParseInt(c.Param("delivery"), 10, 64)
	if err != nil || id < 1 {
		return nil, fault.New(fault.Invalid, "%q is not the id of a delivery", fault.Clip(c.Param("delivery")))
	}
	again, err := a.db.Redeliver(ctx, w.ID, id)
	if err != nil {
		return nil, err
	}
	a.bus.Publish(store.TopicWebhooks)
	return &v1.RedeliverWebhookResponse{ID: again}, nil
}
