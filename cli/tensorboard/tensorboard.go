// Package tensorboard has the command det tensorboard: curves of experiments and trials.
package tensorboard

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/tasks"
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
		List:       tasks.List(v1.ListTensorboards, func(r *v1.GetTensorboardsResponse) []tasks.Item { return each.Of(r.Tensorboards, item) }),
		Get:        tasks.Get(v1.GetTensorboard, func(r *v1.GetTensorboardResponse) (tasks.Item, v1.Struct) { return item(r.Tensorboard), r.Config }),
		Kill:       tasks.Kill(v1.KillTensorboard),
		Prioritize: tasks.Prioritize(v1.PrioritizeTensorboard),
	}
}

func item(m v1.Tensorboard) tasks.Item {
	return tasks.Item{ID: m.ID, Username: m.Username, Description: m.Description, State: m.State, ExitStatus: m.ExitStatus,
		Pool: m.ResourcePool, WorkspaceID: m.WorkspaceID, StartTime: m.StartTime, Address: m.ServiceAddress, Message: m,
		Extra: []any{numbers(m.ExperimentIDs), numbers(m.TrialIDs)}}
}

// numbers formats a list as Determined's tables do: [1, 2].
func numbers(ids []int) string {
	return fmt.Sprintf("[%s]", strings.Join(each.Of(ids, strconv.Itoa), ", "))
}
