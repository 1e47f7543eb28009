package api

import (
	"bytes"
	"fmt"
)

// demandGauges write what pools hold and lack, for those who add and remove nodes. Only the
// master that leads knows it. Pools and classes are those of the configuration, and a bounded
// number of classes that nodes have.
func demandGauges(b *bytes.Buffer, demand []PoolDemand) {
	for _, d := range demand {
		for _, x := range []struct {
			state string
			slots int
		}{{"wanted", d.Wanted}, {"held", d.Held}, {"idle", d.Idle}, {"pending", d.Pending}} {
			gauge(b, "det_pool_slots", fmt.Sprintf("{pool=%q,state=%q}", d.Pool, x.state), float64(x.slots))
		}
		for _, c := range d.Classes {
			of := fmt.Sprintf("pool=%q,class=%q", d.Pool, c.Class)
			for _, x := range []struct {
				state string
				nodes int
			}{{"working", c.Working}, {"idle", c.Idle}, {"removable", c.Removable}} {
				gauge(b, "det_pool_nodes", fmt.Sprintf("{%s,state=%q}", of, x.state), float64(x.nodes))
			}
			gauge(b, "det_pool_nodes_short", "{"+of+"}", float64(c.Short))
			gauge(b, "det_pool_nodes_wanted", "{"+of+"}", float64(c.Wanted))
			gauge(b, "det_pool_attempts_short", "{"+of+"}", float64(c.Clears))
			gauge(b, "det_pool_node_slots", fmt.Sprintf("{%s,model=%q}", of, c.Model), float64(c.Slots))
		}
	}
}
