package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/webhook/event"
)

type createOptions struct {
	workspace, name string
	kind            args.OneOf
	specific        bool
	states          []string
	logs            []string
	metrics         []string
	custom          bool
	format          output.Format
}

func newCreate(a *app.App) *cobra.Command {
	o := createOptions{kind: args.OneOf{Value: "default", Allowed: []string{"default", "slack"}}}
	cmd := &cobra.Command{
		Use:   "create URL",
		Short: "create a webhook",
		Example: "  det webhook create https://example.com/hook -w vision --state COMPLETED --state ERROR\n" +
			"  det webhook create https://example.com/hook --name alerts --specific --custom --log 'CUDA out of memory' --metric 'loss>10'",
		Args: args.Exactly("the address of the receiver"),
		RunE: func(cmd *cobra.Command, given []string) error { return runCreate(cmd.Context(), a, given[0], o) },
	}
	cmd.Flags().StringVarP(&o.workspace, "workspace-name", "w", "", "receive the events of this workspace; default is all workspaces, which admins may choose")
	cmd.Flags().StringVar(&o.name, "name", "", "name by which experiments refer to the webhook")
	cmd.Flags().Var(&o.kind, "type", "form of the messages")
	cmd.Flags().BoolVar(&o.specific, "specific", false, "receive only the events of experiments whose configuration names the webhook")
	cmd.Flags().StringArrayVar(&o.states, "state", nil, "send changes of experiments to this state; may be repeated")
	cmd.Flags().StringArrayVar(&o.logs, "log", nil, "send the first line of each task's log that matches this regular expression; may be repeated")
	cmd.Flags().StringArrayVar(&o.metrics, "metric", nil, "send the first report of each trial over or under a value, such as 'accuracy>0.9' or 'training/loss<0.1'; may be repeated")
	cmd.Flags().BoolVar(&o.custom, "custom", false, "send the events of core_context.alert; needs --specific")
	o.format.FlagsWithoutCSV(cmd)
	return cmd
}

func runCreate(ctx context.Context, a *app.App, url string, o createOptions) error {
	w := v1.Webhook{URL: url, Name: o.name, WebhookType: v1.WebhookType("WEBHOOK_TYPE_" + strings.ToUpper(o.kind.Value)), Mode: v1.WebhookModeWorkspace}
	if o.specific {
		w.Mode = v1.WebhookModeSpecific
	}
	triggers, err := o.triggers()
	if err != nil {
		return err
	}
	w.Triggers = each.Of(triggers, func(t flagged) v1.Trigger { return t.Trigger })
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	if o.workspace != "" {
		ws, err := c.WorkspaceByName(ctx, o.workspace)
		if err != nil {
			return err
		}
		w.WorkspaceID = ws.ID
	}
	made, err := client.Send(ctx, c, v1.CreateWebhook, w)
	if err != nil {
		return explained(err, triggers)
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, &made.Webhook)
	}
	a.Done("Created webhook %d with the name %s", made.Webhook.ID, made.Webhook.Name)
	return nil
}

// A flagged trigger is a trigger with the flag that it comes from, for errors.
type flagged struct {
	v1.Trigger
	flag string
}

// triggers reads the flags, and reports all mistakes at once.
func (o createOptions) triggers() (list []flagged, err error) {
	var wrong []string
	add := func(kind v1.TriggerType, flag string, condition map[string]any) {
		list = append(list, flagged{v1.Trigger{TriggerType: kind, Condition: v1.StructOf(condition)}, flag})
	}
	for _, s := range o.states {
		state := strings.TrimPrefix(strings.ToUpper(s), "STATE_")
		if !event.Fires(state) {
			wrong = append(wrong, fmt.Sprintf("--state %s: expected one of %s", s, strings.Join(event.States(), ", ")))
		}
		add(v1.TriggerTypeExperimentStateChange, "--state "+s, map[string]any{"state": state})
	}
	for _, r := range o.logs {
		if _, err := regexp.Compile(r); err != nil {
			wrong = append(wrong, fmt.Sprintf("--log %s: %s", r, strings.TrimPrefix(err.Error(), "error parsing regexp: ")))
		}
		add(v1.TriggerTypeTaskLog, "--log "+r, map[string]any{"regex": r})
	}
	for _, m := range o.metrics {
		condition, err := thresholdOf(m)
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		add(v1.TriggerTypeMetricThresholdExceeded, "--metric "+m, condition)
	}
	if o.custom {
		if !o.specific {
			wrong = append(wrong, "--custom needs --specific: only webhooks that experiments name receive such events")
		}
		add(v1.TriggerTypeCustom, "--custom", map[string]any{})
	}
	if len(list) == 0 {
		wrong = append(wrong, "choose at least one of --state, --log, --metric and --custom")
	}
	if len(wrong) > 0 {
		return nil, &exit.UsageError{Message: strings.Join(wrong, "\n")}
	}
	return list, nil
}

// explained puts flags in the place of the master's names of fields.
func explained(err error, list []flagged) error {
	if err == nil {
		return nil
	}
	names := []string{"webhookType: ", "--type: ", "url: ", "URL: ", "name: ", "--name: "}
	for i, t := range list {
		for _, field := range []string{" condition.state:", " condition.regex:", " condition.metric:", " condition:", ""} {
			names = append(names, fmt.Sprintf("triggers[%d]:%s", i, field), t.flag+":")
		}
	}
	for i := 0; i < len(names); i += 2 {
		if rest, found := strings.CutPrefix(err.Error(), names[i]); found {
			return fault.Wrap(fault.CodeOf(err), err, "%s", names[i+1]+rest)
		}
	}
	return err
}

// thresholdOf reads NAME>VALUE and NAME<VALUE, with the group before a slash.
func thresholdOf(text string) (map[string]any, error) {
	wrong := &exit.UsageError{Message: "--metric: expected a metric with > or < and a number, such as 'accuracy>0.9', found " + text}
	at := strings.LastIndexAny(text, "<>")
	if at < 0 {
		return nil, wrong
	}
	value := json.Number(strings.TrimSpace(text[at+1:]))
	if _, err := value.Float64(); err != nil {
		return nil, wrong
	}
	name := strings.TrimSpace(text[:at])
	condition := map[string]any{map[byte]string{'>': "above", '<': "below"}[text[at]]: value}
	if group, rest, cut := strings.Cut(name, "/"); cut && (group == "training" || group == "validation") {
		condition["group"], name = group, rest
	}
	if name == "" {
		return nil, wrong
	}
	condition["metric"] = name
	return condition, nil
}
