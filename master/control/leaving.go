package control

import (
	"fmt"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/pool/leaving"
)

// A departure is a notice that a machine goes away: its node's meta detent.leaving, which
// det-notice sets for a cloud, or an operator.
type departure struct {
	at   time.Time // zero if the notice has no time that can be read
	said string
	why  string // in words; "" if the notice says no reason
}

// maxNotice bounds the texts of a notice in messages.
const maxNotice = 64

// departureOf returns the notice of a node; nil if it has none.
func departureOf(n *cluster.Node) *departure {
	said, _ := n.Fact("meta." + leaving.Key)
	if said == "" {
		return nil
	}
	why, _ := n.Fact("meta." + leaving.WhyKey)
	return &departure{at: leaving.At(said), said: said, why: why}
}

// String follows the name of the node in messages.
func (d *departure) String() string {
	text := "goes away"
	switch {
	case !d.at.IsZero():
		text += " at " + d.at.Format(time.RFC3339)
	case d.why == "":
		text += fmt.Sprintf(" (its meta detent.leaving is %.*q, which is not a time such as 2026-11-23T14:05:00Z or 1795442700)", maxNotice, d.said)
	}
	if d.why != "" {
		text += fmt.Sprintf(" (%.*q)", maxNotice, d.why)
	}
	return text
}

// leaving returns the notice of a node; nil if it has none, or if its row cannot be read.
func (p *Snapshot) leaving(row *nodes.Row) *departure {
	n, err := p.inventories.read(*row)
	if err != nil {
		return nil
	}
	return departureOf(&n)
}

// isSpot reports whether a node's machine can go away at any time.
func isSpot(p *pool.Pool, n *cluster.Node) bool {
	spot, _ := n.Fact(pool.SpotMeta)
	is, err := strconv.ParseBool(spot)
	return p.Spot || err == nil && is
}

// excuse returns why a failure costs no restart: the machine of a member was going away, or it
// was a spot machine and is gone. A machine that shuts down ends programs in its own order, and what remains
// of a gang fails for lack of it. "" if the failure counts.
func (d *attemptPass) excuse(a *rows.LiveAllocation, end lifecycle.Step) string {
	if end.Outcome != lifecycle.Failed || end.Final || d.p.frozen(a.Pool) != "" {
		return ""
	}
	of := d.p.Pools.Named(a.Pool)
	for _, m := range a.Members {
		row := d.nodeRow(m.NodeID)
		switch {
		case row == nil && of != nil && of.Spot:
			return fmt.Sprintf("not counted as a failure: its spot machine %s is gone", m.NodeName)
		case row == nil:
			continue
		case row.Draining && row.DrainDeadline != nil:
			return fmt.Sprintf("not counted as a failure: node %s is drained in Nomad until %s", row.Name, row.DrainDeadline.UTC().Format(time.RFC3339))
		}
		n, err := d.p.inventories.read(*row)
		if err != nil {
			continue
		}
		if goes := departureOf(&n); goes != nil {
			return fmt.Sprintf("not counted as a failure: node %s %s", row.Name, goes)
		}
		if of != nil && isSpot(of, &n) && row.Status != "ready" {
			return fmt.Sprintf("not counted as a failure: the spot machine %s is %s", row.Name, row.Status)
		}
	}
	return ""
}

// nodeRow finds a node by its id; nil if Nomad does not list it.
func (d *attemptPass) nodeRow(id string) *nodes.Row {
	return each.Find(d.p.Nodes, func(row *nodes.Row) bool { return row.ID == id })
}
