package task

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

func newList(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.List(a, "list the attempts that run or wait", func(ctx context.Context, c *client.Client) error {
		tasks, err := c.Tasks(ctx)
		if err != nil {
			return err
		}
		return Print(a, tasks, format)
	})
	cmd.Long = `Lists the attempts that run or wait: of trials, commands, notebooks, shells,
TensorBoards and garbage collections.

Allocation ID is the id of the attempt; its Nomad job is det-<allocation ID>, with
dashes in place of dots. Agent is the node, by Nomad's name; an attempt that waits
has none.`
	format.Flags(cmd)
	return cmd
}

// Print prints attempts like det task list.
func Print(a *app.App, tasks map[string]v1.AllocationSummary, format output.Format) error {
	t := table.New("Task ID", "Allocation ID", "Name", "Slots Needed", "Registered Time", "Agent", "Priority",
		"Resource Pool", "Ports")
	for _, s := range byTime(tasks) {
		var priority any = table.NA
		if s.SchedulerType == "priority" {
			priority = s.Priority
		}
		t.Row(s.TaskID, s.AllocationID, s.Name, s.SlotsNeeded, table.Time(s.RegisteredTime), agents(s),
			priority, s.ResourcePool, ports(s))
	}
	return format.Print(a.IO, t, tasks)
}

func byTime(tasks map[string]v1.AllocationSummary) []v1.AllocationSummary {
	ids := slices.SortedFunc(maps.Keys(tasks), func(x, y string) int {
		a, b := tasks[x].RegisteredTime, tasks[y].RegisteredTime
		if a != nil && b != nil && !a.Equal(*b) {
			return a.Compare(*b)
		}
		return cmp.Compare(x, y)
	})
	return each.Of(ids, func(id string) v1.AllocationSummary { return tasks[id] })
}

func agents(s v1.AllocationSummary) string {
	if len(s.Resources) == 0 {
		return "unassigned"
	}
	names := map[string]bool{}
	for _, r := range s.Resources {
		for name := range r.AgentDevices {
			names[name] = true
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(names)), ", ")
}

func ports(s v1.AllocationSummary) string {
	numbers := each.Of(s.ProxyPorts, func(p v1.ProxyPortConfig) int { return p.Port })
	slices.Sort(numbers)
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(numbers), "[]"), " ", ",")
}
