package experiment

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newLabel(a *app.App) *cobra.Command {
	return noun.New("label", "add and remove labels", nil, nil,
		newLabelVerb(a, "add", "add a label", "Added label '%s' to experiment %d\n", v1.AddExperimentLabel),
		newLabelVerb(a, "remove", "remove a label", "Removed label '%s' from experiment %d\n", v1.RemoveExperimentLabel))
}

func newLabelVerb(a *app.App, use, short, done string, change v1.Endpoint[v1.None, v1.PutExperimentLabelResponse]) *cobra.Command {
	return verb(a, use+" EXPERIMENT_ID LABEL", short, func(ctx context.Context, c *client.Client, id int, given []string) error {
		_, err := client.Call(ctx, c, change, id, given[1])
		return a.Say(err, done, given[1], id)
	}, "a label")
}
