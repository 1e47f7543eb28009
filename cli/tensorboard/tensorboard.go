// Package tensorboard has the command det tensorboard: curves of experiments and trials.
package tensorboard

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/tasks"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/v1"
)

// New returns the command det tensorboard.
func New(a *app.App) *cobra.Command {
	k := kind()
	return noun.New("tensorboard", "show experiments in TensorBoard", nil, tasks.NewList(a, k), newStart(a), tasks.NewOpen(a, k, running),
		tasks.NewDescribe(a, k), tasks.NewConfig(a, k), tasks.NewLogs(a, k), tasks.NewKill(a, k), tasks.NewSet(a, k))
}

// running is the message for a TensorBoard that is ready.
const running = "TensorBoard is running at"

func kind() tasks.Kind {
	return tasks.Kind{
		Noun: "tensorboard", Nouns: "TensorBoards", Columns: []string{"experimentIds", "trialIds"},
		List: func(ctx context.Context, c *client.Client, q v1.GetCommandsRequest) ([]tasks.Item, error) {
			resp, err := client.Send(ctx, c, v1.ListTensorboards, q)
			return each.Of(resp.Tensorboards, item), err
		},
		Get: func(ctx context.Context, c *client.Client, id string) (tasks.Item, v1.Struct, error) {
			resp, err := client.Call(ctx, c, v1.GetTensorboard, id)
			return item(resp.Tensorboard), resp.Config, err
		},
		Kill:       tasks.Kill(v1.KillTensorboard),
		Prioritize: tasks.Prioritize(v1.PrioritizeTensorboard),
	}
}

func item(m v1.Tensorboard) tasks.Item {
	i := tasks.Item{ID: m.ID, Username: m.Username, Description: m.Description, State: m.State, ExitStatus: m.ExitStatus,
		Pool: m.ResourcePool, WorkspaceID: m.WorkspaceID, StartTime: m.StartTime, Message: m,
		Extra: []any{numbers(m.ExperimentIDs), numbers(m.TrialIDs)}}
	i.Address = m.ServiceAddress
	return i
}

// numbers formats a list as Determined's tables do: [1, 2].
func numbers(ids []int) string {
	return fmt.Sprintf("[%s]", strings.Join(each.Of(ids, strconv.Itoa), ", "))
}
