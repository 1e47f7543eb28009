package nodes

import (
	"bytes"
	"fmt"

	"github.com/detent-ml/detent/master/rest"
)

// A Demand is what a pool holds and lacks.
type Demand struct {
	Pool    string
	Held    int // slots that attempts hold
	Idle    int // slots that could be assigned
	Pending int // slots of attempts that wait and could start now
	Classes []ClassDemand
}

// Wanted is the number of slots that attempts would hold if all of them ran.
func (d *Demand) Wanted() int { return d.Held + d.Pending }

// A ClassDemand is about a pool's nodes of one node class.
type ClassDemand struct {
	Class     string
	Slots     int    // of one of its nodes
	Model     string // of their devices; several are joined by +
	Present   int    // nodes that are not down
	Working   int    // of them: nodes that hold an attempt, or are about to
	Idle      int    // … that could hold one and hold none
	Removable int    // … for so long that an autoscaler may remove them
	Short     int    // nodes of this class that would have to be added to clear the queue
	Clears    int    // attempts that would start then
}

// Wanted is the number of nodes of the class that there should be.
func (c *ClassDemand) Wanted() int { return c.Present - c.Removable + c.Short }

// WriteDemand writes the slots and nodes that pools have, use and lack, for programs that add and remove nodes. Only
// the leading master knows them. The classes are those of the configuration, and a bounded number of classes that
// nodes name.
func WriteDemand(b *bytes.Buffer, demand []Demand) {
	for _, d := range demand {
		for _, x := range []struct {
			state string
			slots int
		}{{"wanted", d.Wanted()}, {"held", d.Held}, {"idle", d.Idle}, {"pending", d.Pending}} {
			rest.Gauge(b, "det_pool_slots", fmt.Sprintf("{pool=%q,state=%q}", d.Pool, x.state), float64(x.slots))
		}
		for _, c := range d.Classes {
			of := fmt.Sprintf("pool=%q,class=%q", d.Pool, c.Class)
			for _, x := range []struct {
				state string
				nodes int
			}{{"working", c.Working}, {"idle", c.Idle}, {"removable", c.Removable}} {
				rest.Gauge(b, "det_pool_nodes", fmt.Sprintf("{%s,state=%q}", of, x.state), float64(x.nodes))
			}
			rest.Gauge(b, "det_pool_nodes_short", "{"+of+"}", float64(c.Short))
			rest.Gauge(b, "det_pool_nodes_wanted", "{"+of+"}", float64(c.Wanted()))
			rest.Gauge(b, "det_pool_attempts_short", "{"+of+"}", float64(c.Clears))
			rest.Gauge(b, "det_pool_node_slots", fmt.Sprintf("{%s,model=%q}", of, c.Model), float64(c.Slots))
		}
	}
}
