package nodes_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/nodes"
)

// TestDemandGauges: names of pools and classes are quoted, and a scrape has a line for each figure.
func TestDemandGauges(t *testing.T) {
	var b bytes.Buffer
	nodes.WriteDemand(&b, []nodes.Demand{{Pool: "gpu", Held: 8, Idle: 3, Pending: 16, Classes: []nodes.ClassDemand{
		{Class: `p4"d`, Slots: 8, Model: "NVIDIA A100", Present: 3, Working: 1, Idle: 2, Removable: 1, Short: 2, Clears: 5}}}, {Pool: "empty"}})
	for _, line := range []string{
		`det_pool_slots{pool="gpu",state="wanted"} 24`, `det_pool_slots{pool="gpu",state="held"} 8`, `det_pool_slots{pool="gpu",state="idle"} 3`,
		`det_pool_slots{pool="gpu",state="pending"} 16`, `det_pool_slots{pool="empty",state="pending"} 0`,
		`det_pool_nodes{pool="gpu",class="p4\"d",state="working"} 1`, `det_pool_nodes{pool="gpu",class="p4\"d",state="idle"} 2`,
		`det_pool_nodes{pool="gpu",class="p4\"d",state="removable"} 1`, `det_pool_nodes_short{pool="gpu",class="p4\"d"} 2`,
		`det_pool_nodes_wanted{pool="gpu",class="p4\"d"} 4`, `det_pool_attempts_short{pool="gpu",class="p4\"d"} 5`,
		`det_pool_node_slots{pool="gpu",class="p4\"d",model="NVIDIA A100"} 8`,
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, b.String())
		}
	}
}
