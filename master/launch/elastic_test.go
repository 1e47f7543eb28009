package launch

import (
	"context"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/workspaces"
)

// TestPoolsOfSpotMachines: tasks without slots are rejected there, whoever named the pool, unless
// operators allow them; tasks with slots are not.
func TestPoolsOfSpotMachines(t *testing.T) {
	c := &Cluster{Pools: pool.Set{{Name: "steady", Compute: true, Aux: true}, {Name: "spot", Spot: true}, {Name: "both", Spot: true, AuxOnSpot: true}}}
	for _, x := range []struct {
		named string
		slots int
		ws    workspaces.Settings
		want  string
	}{
		{"", 0, workspaces.Settings{}, "steady"},
		{"spot", 1, workspaces.Settings{}, "spot"},
		{"both", 0, workspaces.Settings{}, "both"},
		{"spot", 0, workspaces.Settings{}, "it runs no tasks without slots"},
		{"", 0, workspaces.Settings{DefaultAuxPool: "spot"}, "it runs no tasks without slots"},
	} {
		p, err := c.poolFor(x.named, x.slots, x.ws)
		if err != nil && !strings.Contains(err.Error(), x.want) || err == nil && p.Name != x.want {
			t.Errorf("%+v: %+v, %v", x, p, err)
		}
	}
}

// TestNodesThatCanBeAdded: a request that fits only after nodes are added waits, with a warning; one that
// fits on no node that could be added is rejected.
func TestNodesThatCanBeAdded(t *testing.T) {
	c := &Cluster{LaunchError: true, Pools: pool.Set{{Name: "fixed"}, {Name: "grows", Classes: []pool.Class{{Name: "a", Slots: 8, Max: 2}, {Name: "b", Slots: 4, Max: 1}}}, {Name: "any", Classes: []pool.Class{{Name: "a", Slots: 8}}}},
		Slots: func(context.Context, string, func(PoolSlots) bool) (PoolSlots, error) {
			return PoolSlots{PerNode: 2, Total: 2}, nil
		}}
	for _, x := range []struct {
		pool    string
		slots   int
		oneNode bool
		refused string
	}{
		{"fixed", 2, true, ""}, {"fixed", 3, false, "exceeds cluster capacity"}, {"fixed", 3, true, "request unfulfillable"},
		{"grows", 8, true, ""}, {"grows", 22, false, ""}, {"grows", 23, false, "exceeds cluster capacity"}, {"grows", 9, true, "request unfulfillable"},
		{"any", 800, false, ""},
	} {
		warnings, _, err := c.checkSlots(t.Context(), x.pool, x.slots, x.oneNode)
		switch {
		case x.refused != "":
			if err == nil || !strings.Contains(err.Error(), x.refused) {
				t.Errorf("%+v: %v", x, err)
			}
		case err != nil:
			t.Errorf("%+v: %v", x, err)
		case (len(warnings) > 0) != (x.slots > 2):
			t.Errorf("%+v: warned of %v", x, warnings)
		}
	}
}
