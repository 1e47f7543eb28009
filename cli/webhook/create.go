package webhook

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/exit"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/master/v1"
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
	var err error
	if w.Triggers, err = o.triggers(); err != nil {
		return err
	}
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
	made, err := c.CreateWebhook(ctx, w)
	if err != nil {
		return err
	}
	if o.format.Structured() {
		return o.format.Messages(a.IO.Out, made)
	}
	a.Done("Created webhook %d with the name %s", made.ID, made.Name)
	return nil
}

func (o createOptions) triggers() (list []v1.Trigger, err error) {
	add := func(kind v1.TriggerType, condition map[string]any) {
		list = append(list, v1.Trigger{TriggerType: kind, Condition: v1.StructOf(condition)})
	}
	for _, s := range o.states {
		add(v1.TriggerTypeExperimentStateChange, map[string]any{"state": strings.ToUpper(s)})
	}
	for _, r := range o.logs {
		add(v1.TriggerTypeTaskLog, map[string]any{"regex": r})
	}
	for _, m := range o.metrics {
		condition, err := thresholdOf(m)
		if err != nil {
			return nil, err
		}
		add(v1.TriggerTypeMetricThresholdExceeded, condition)
	}
	if o.custom {
		add(v1.TriggerTypeCustom, map[string]any{})
	}
	if len(list) == 0 {
		return nil, &exit.UsageError{Message: "choose at least one of --state, --log, --metric and --custom"}
	}
	return list, nil
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
