// Package webhook has the command det webhook, which Determined's det does not have.
package webhook

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/args"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

// New is det webhook.
func New(a *app.App) *cobra.Command {
	return noun.New("webhook", "manage webhooks: addresses that receive events", nil, newList(a),
		newCreate(a), newDelete(a), newTest(a), newDeliveries(a), newRedeliver(a))
}

const (
	aWebhook  = "a webhook"
	webhookID = "the id of a webhook"
)

func newList(a *app.App) *cobra.Command {
	var format output.Format
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "list webhooks",
		Args:    args.None,
		RunE: app.Call(a, func(ctx context.Context, c *client.Client, _ []string) error {
			list, err := client.Call(ctx, c, v1.ListWebhooks)
			if err != nil {
				return err
			}
			workspaces, err := client.List(ctx, c, v1.ListWorkspaces, client.Page{}, nil)
			if err != nil {
				return err
			}
			names := each.Map(workspaces, func(w v1.Workspace) (int, string) { return w.ID, w.Name })
			names[0] = "all"
			t := table.New("ID", "Name", "Workspace", "Type", "Mode", "URL", "Triggers")
			for _, w := range list.Webhooks {
				triggers := each.Of(w.Triggers, func(g v1.Trigger) string {
					return strings.TrimPrefix(string(g.TriggerType), "TRIGGER_TYPE_") + " " + string(g.Condition)
				})
				if w.Off {
					triggers = append([]string{fmt.Sprintf("none yet: imported (det webhook test %d turns it on)", w.ID)}, triggers...)
				}
				t.Row(w.ID, w.Name, names[w.WorkspaceID], strings.TrimPrefix(string(w.WebhookType), "WEBHOOK_TYPE_"),
					strings.TrimPrefix(string(w.Mode), "WEBHOOK_MODE_"), w.URL, strings.Join(triggers, ", "))
			}
			return format.Print(a.IO, t, list.Webhooks)
		}),
	}
	format.Flags(cmd)
	return cmd
}

// act is a verb of one webhook that prints a line when it has succeeded.
func act[Resp any](a *app.App, use, short, done string, do v1.Endpoint[v1.None, Resp]) *cobra.Command {
	return &cobra.Command{
		Use:   use + " ID",
		Short: short,
		Args:  args.Exactly(webhookID),
		RunE: app.ByID(a, aWebhook, func(ctx context.Context, c *client.Client, id int, given []string) error {
			return a.SayDone(client.Act(ctx, c, do, id), "%s %s", done, given[0])
		}),
	}
}

func newDelete(a *app.App) *cobra.Command {
	cmd := act(a, "delete", "delete a webhook with the events that wait for it", "Deleted webhook", v1.DeleteWebhook)
	cmd.Aliases = []string{"rm"}
	return cmd
}

func newTest(a *app.App) *cobra.Command {
	return act(a, "test", "send a test event to a webhook", "The receiver accepted the test event of webhook", v1.TestWebhook)
}

func newDeliveries(a *app.App) *cobra.Command {
	var format output.Format
	var limit int
	cmd := &cobra.Command{
		Use:   "deliveries ID",
		Short: "list the newest events of a webhook, with the results of the requests",
		Args:  args.Exactly(webhookID),
		RunE: app.ByID(a, aWebhook, func(ctx context.Context, c *client.Client, id int, _ []string) error {
			list, err := client.Send(ctx, c, v1.ListWebhookDeliveries, v1.GetWebhookDeliveriesRequest{Limit: &limit}, id)
			if err != nil {
				return err
			}
			t := table.New("ID", "Event ID", "Type", "Created", "State", "Tries", "Status", "Next Try", "Error")
			for _, d := range list.Deliveries {
				var status any
				if d.Status > 0 {
					status = d.Status
				}
				t.Row(d.ID, d.EventID, d.EventType, d.CreatedTime, d.State, d.Tries, status, table.Time(d.NextTime), d.Error)
			}
			return format.Print(a.IO, t, list.Deliveries)
		}),
	}
	cmd.Flags().IntVar(&limit, "limit", 100, "number of events, at most 1000")
	format.Flags(cmd)
	return cmd
}

func newRedeliver(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:   "redeliver ID DELIVERY",
		Short: "send an event to a webhook once more, with the same event id",
		Args:  args.Exactly(webhookID, "the id of a delivery"),
		RunE: app.ByID(a, aWebhook, func(ctx context.Context, c *client.Client, id int, given []string) error {
			delivery, err := args.ID("a delivery", given[1])
			if err != nil {
				return err
			}
			again, err := client.Send(ctx, c, v1.RedeliverWebhook, v1.None{}, id, int64(delivery))
			return a.SayDone(err, "Queued delivery %d of webhook %s", again.ID, given[0])
		}),
	}
}
