// Package webhook is det webhook, which Determined's det does not have.
package webhook

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
)

// New is det webhook.
func New(a *app.App) *cobra.Command {
	return noun.New("webhook", "manage webhooks: addresses that receive events", nil, newList(a),
		newCreate(a), newDelete(a), newTest(a), newDeliveries(a), newRedeliver(a))
}

const webhookID = "the id of a webhook"

func newList(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list webhooks",
		Args:    args.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runList(cmd.Context(), a, format) },
	}
	format.Flags(cmd)
	return cmd
}

func runList(ctx context.Context, a *app.App, format output.Format) error {
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	list, err := c.Webhooks(ctx)
	if err != nil {
		return err
	}
	workspaces, err := client.Collect(c.Workspaces(ctx, client.WorkspaceQuery{}))
	if err != nil {
		return err
	}
	names := map[int]string{0: "all"}
	for _, w := range workspaces {
		names[w.ID] = w.Name
	}
	t := table.New("ID", "Name", "Workspace", "Type", "Mode", "URL", "Triggers")
	for _, w := range list {
		var triggers []string
		for _, g := range w.Triggers {
			triggers = append(triggers, strings.TrimPrefix(string(g.TriggerType), "TRIGGER_TYPE_")+" "+string(g.Condition))
		}
		t.Row(w.ID, w.Name, names[w.WorkspaceID], strings.TrimPrefix(string(w.WebhookType), "WEBHOOK_TYPE_"),
			strings.TrimPrefix(string(w.Mode), "WEBHOOK_MODE_"), w.URL, strings.Join(triggers, ", "))
	}
	return format.Print(a.IO, t, list)
}

// act is a verb of one webhook that prints a line when it has succeeded.
func act(a *app.App, use, short, done string, do func(ctx context.Context, c *client.Client, id int) error) *cobra.Command {
	return &cobra.Command{
		Use:   use + " ID",
		Short: short,
		Args:  args.Exactly(webhookID),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID("webhook", given[0])
			if err != nil {
				return err
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			if err := do(cmd.Context(), c, id); err != nil {
				return err
			}
			a.Printf("%s\n", a.IO.OutStyle().Green(done+" "+given[0]))
			return nil
		},
	}
}

func newDelete(a *app.App) *cobra.Command {
	cmd := act(a, "delete", "delete a webhook with the events that wait for it", "Deleted webhook",
		func(ctx context.Context, c *client.Client, id int) error { return c.DeleteWebhook(ctx, id) })
	cmd.Aliases = []string{"rm"}
	return cmd
}

func newTest(a *app.App) *cobra.Command {
	return act(a, "test", "send a test event to a webhook", "The receiver accepted the test event of webhook",
		func(ctx context.Context, c *client.Client, id int) error { return c.TestWebhook(ctx, id) })
}

func newDeliveries(a *app.App) *cobra.Command {
	var format output.Format
	var limit int
	cmd := &cobra.Command{
		Use:   "deliveries ID",
		Short: "list the newest events of a webhook, with the results of the requests",
		Args:  args.Exactly(webhookID),
		RunE: func(cmd *cobra.Command, given []string) error {
			return runDeliveries(cmd.Context(), a, given[0], limit, format)
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "number of events, at most 1000")
	format.Flags(cmd)
	return cmd
}

func runDeliveries(ctx context.Context, a *app.App, given string, limit int, format output.Format) error {
	id, err := args.ID("webhook", given)
	if err != nil {
		return err
	}
	c, err := a.Client(ctx)
	if err != nil {
		return err
	}
	list, err := c.WebhookDeliveries(ctx, id, limit)
	if err != nil {
		return err
	}
	t := table.New("ID", "Event ID", "Type", "Created", "State", "Tries", "Status", "Next Try", "Error")
	for _, d := range list {
		var status any
		if d.Status > 0 {
			status = d.Status
		}
		t.Row(d.ID, d.EventID, d.EventType, d.CreatedTime, d.State, d.Tries, status, table.Time(d.NextTime), d.Error)
	}
	return format.Print(a.IO, t, list)
}

func newRedeliver(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "redeliver ID DELIVERY",
		Short: "send an event to a webhook once more, with the same event id",
		Args:  args.Exactly(webhookID, "the id of a delivery"),
		RunE: func(cmd *cobra.Command, given []string) error {
			id, err := args.ID("webhook", given[0])
			if err != nil {
				return err
			}
			delivery, err := strconv.ParseInt(given[1], 10, 64)
			if err != nil {
				return args.Wrong(cmd, "%q is not the id of a delivery", given[1])
			}
			c, err := a.Client(cmd.Context())
			if err != nil {
				return err
			}
			again, err := c.RedeliverWebhook(cmd.Context(), id, delivery)
			if err != nil {
				return err
			}
			a.Printf("%s\n", a.IO.OutStyle().Green("Queued delivery "+strconv.FormatInt(again, 10)+" of webhook "+given[0]))
			return nil
		},
	}
}
