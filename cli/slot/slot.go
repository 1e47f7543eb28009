// Package slot has the command det slot: it lists, enables and disables the slots of nodes.
package slot

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/detent-ml/detent/cli/internal/app"
	"github.com/detent-ml/detent/cli/internal/noun"
	"github.com/detent-ml/detent/cli/internal/output"
	"github.com/detent-ml/detent/cli/internal/table"
	"github.com/detent-ml/detent/master/client"
	v1 "github.com/detent-ml/detent/master/v1"
)

// New returns the command det slot.
func New(a *app.App) *cobra.Command {
	return noun.New("slot", "list, disable and enable slots of nodes", []string{"s"}, newList(a), newEnable(a), newDisable(a))
}

func newList(a *app.App) *cobra.Command {
	var format output.Format
	cmd := app.List(a, "list the slots and the tasks that use them", func(ctx context.Context, c *client.Client) error {
		tasks, err := c.Tasks(ctx)
		if err != nil {
			return err
		}
		resp, err := client.Send(ctx, c, v1.ListAgents, v1.GetAgentsRequest{})
		if err != nil {
			return err
		}
		rows := list(resp.Agents, tasks)
		return format.Print(a.IO, tableOf(rows), rows)
	})
	format.Flags(cmd)
	return cmd
}

// tableOf shows slots. It has a column with their link groups if any slot is in one.
func tableOf(rows []row) *table.Table {
	headers := []string{"Agent ID", "Resource Pool", "Slot ID", "Enabled", "Draining", "Allocation ID", "Task Name", "Type", "Device", "Health"}
	linked := slices.ContainsFunc(rows, func(r row) bool { return r.LinkGroup != 0 })
	if linked {
		headers = append(headers, "Link Group")
	}
	t := table.New(headers...)
	for _, r := range rows {
		cells := []any{r.AgentID, r.ResourcePools, r.SlotID, r.Enabled, r.Draining, r.AllocationID, r.TaskName, r.Type, r.Device, r.Health}
		if linked {
			group := ""
			if r.LinkGroup != 0 {
				group = strconv.Itoa(r.LinkGroup)
			}
			cells = append(cells, group)
		}
		t.Row(cells...)
	}
	return t
}

// row is a slot in the list.
type row struct {
	AgentID       string `json:"agent_id"`
	ResourcePools string `json:"resource_pools"`
	SlotID        string `json:"slot_id"`
	Enabled       bool   `json:"enabled"`
	Draining      bool   `json:"draining"`
	AllocationID  string `json:"allocation_id"`
	TaskName      string `json:"task_name"`
	Type          string `json:"type"`
	Device        string `json:"device"`
	UUID          string `json:"uuid"`
	Health        string `json:"health"` // why it is unhealthy, or "healthy"
	LinkGroup     int    `json:"link_group,omitempty"`
}

const healthy = "healthy"

// list joins slots with their tasks, by the container that both name.
func list(agents []v1.Agent, tasks map[string]v1.AllocationSummary) []row {
	holders := map[string]v1.AllocationSummary{}
	for _, s := range tasks {
		for _, r := range s.Resources {
			holders[r.ContainerID] = s
		}
	}
	slices.SortFunc(agents, func(x, y v1.Agent) int { return cmp.Compare(x.ID, y.ID) })
	var rows []row
	for _, n := range agents {
		for _, key := range slices.SortedFunc(maps.Keys(n.Slots), byNumber) {
			slot := n.Slots[key]
			r := row{
				AgentID: path.Base(n.ID), ResourcePools: cmp.Or(slot.ResourcePool, strings.Join(n.ResourcePools, ", ")),
				SlotID: path.Base(cmp.Or(slot.ID, key)), Enabled: slot.Enabled, Draining: slot.Draining,
				AllocationID: "FREE", TaskName: "FREE", Type: "unknown", Health: cmp.Or(slot.Health, healthy),
				LinkGroup: slot.LinkGroup,
			}
			if d := slot.Device; d != nil {
				r.Type, r.Device, r.UUID = deviceType(d.Type), d.Brand, d.UUID
			}
			if k := slot.Container; k != nil {
				r.AllocationID, r.TaskName = holder(k, holders)
			}
			rows = append(rows, r)
		}
	}
	return rows
}

// holder describes the task on a slot.
func holder(k *v1.Container, holders map[string]v1.AllocationSummary) (allocation, name string) {
	s, ok := holders[k.ID]
	allocation = "OCCUPIED"
	if ok && s.AllocationID != "" {
		allocation = s.AllocationID
	}
	switch {
	case k.PermissionDenied:
		return allocation, "NO PERMISSIONS"
	case ok:
		return allocation, s.Name
	}
	return allocation, "Non-Determined Task: " + k.ID
}

func deviceType(t v1.DeviceType) string {
	switch t {
	case v1.DeviceTypeCuda:
		return "cuda"
	case v1.DeviceTypeRocm:
		return "rocm"
	case v1.DeviceTypeCpu:
		return "cpu"
	}
	return "unknown"
}

// byNumber sorts 10 after 9.
func byNumber(x, y string) int {
	a, aerr := strconv.Atoi(x)
	b, berr := strconv.Atoi(y)
	if aerr == nil && berr == nil {
		return cmp.Compare(a, b)
	}
	return cmp.Compare(x, y)
}
