package nodes_test

import (
	"encoding/json"
	"testing"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/rest"
	"github.com/detent-ml/detent/master/rest/resttest"
	"github.com/detent-ml/detent/master/sched"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// A rig serves the room alone. A token is the name of a user without roles.
type rig struct {
	*rowtest.World
	*resttest.Site
}

func newRig(t *testing.T, change ...func(*nodes.Deps)) *rig {
	t.Helper()
	r := &rig{World: rowtest.New(t)}
	d := nodes.Deps{Changed: func() {}, Inventory: nodes.Inventory{DB: r.DB, Offer: offer,
		Pools: pool.Set{{Name: "default", NodePool: "default", Compute: true, Aux: true, Slots: pool.Slots{Kind: pool.CPUSlots}, Priority: 42}}}}
	for _, c := range change {
		c(&d)
	}
	r.Site = resttest.Serve(t, resttest.ByName(r.DB), func(router *rest.Router) { nodes.Routes(router, d) })
	return r
}

// offer is the slots of a node's inventory, for the pool with the name of its node pool.
func offer(pool string, n nodes.Row) *sched.Node {
	if n.NodePool != pool {
		return nil
	}
	var has struct{ Slots []sched.Slot }
	if err := json.Unmarshal(n.Inventory, &has); err != nil {
		panic(err)
	}
	return &sched.Node{Slots: has.Slots, Schedulable: n.Status == "ready" && n.Enabled && !n.DrainWanted}
}

// node adds a machine with slots to the default pool.
func (r *rig) node(id, name string, slots int) {
	r.World.T.Helper()
	var has struct{ Slots []sched.Slot }
	for i := range slots {
		has.Slots = append(has.Slots, sched.Slot{ID: i, Brand: "cores", Healthy: true, Enabled: true})
	}
	inventory, err := json.Marshal(has)
	if err != nil {
		r.World.T.Fatal(err)
	}
	all, err := nodes.List(r.World.T.Context(), r.DB)
	if err != nil {
		r.World.T.Fatal(err)
	}
	all = append(all, nodes.Row{ID: id, Name: name, Address: "127.0.0.1", NodePool: "default", Status: "ready", Eligible: true, Version: "2.0.4", Inventory: inventory})
	if err := rows.RecordNodes(r.World.T.Context(), r.DB, "", all); err != nil {
		r.World.T.Fatal(err)
	}
}

func walk(v any, fn func(k string, v any)) {
	switch x := v.(type) {
	case map[string]any:
		for k, y := range x {
			fn(k, y)
			walk(y, fn)
		}
	case []any:
		for _, y := range x {
			walk(y, fn)
		}
	}
}
