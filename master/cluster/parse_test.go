package cluster_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
)

const inHCL = `
variable "rack" { default = "r7" }

job "pool" {
  datacenters = [for n in [1, 2]: "dc${n}"]
  group "g" {
    task "t" {
      driver = "exec"
      constraint {
        attribute = "${meta.rack}"
        value     = upper(var.rack)
      }
    }
  }
}
`

// parses tests that Nomad parses jobs of pools, with its functions and variables, for a token
// with the minimal rights of a master.
func parses(t *testing.T, c *cluster.Cluster) {
	job, err := c.ParseJob(t.Context(), inHCL)
	if err != nil {
		t.Fatal(err)
	}
	p := pool.Pool{}.WithJob(job)
	if !p.Reaches("dc2") || p.Reaches("dc3") || p.Driver != "exec" || len(p.Constraints()) != 1 || p.Constraints()[0].String() != "${meta.rack} = R7" {
		t.Errorf("%+v: %v", p, p.Constraints())
	}
	_, err = c.ParseJob(t.Context(), strings.Replace(inHCL, "upper", "upperr", 1))
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "input.hcl:11") {
		t.Errorf("a function that is none: %v", err)
	}
}

// facts tests that the attributes of a node are read, and read again when the node changes.
func facts(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	node := func() cluster.Node {
		o, err := c.Observe(t.Context(), cluster.Known{Full: true})
		if err != nil || len(o.Nodes) != 1 {
			t.Fatalf("%d nodes, %v", len(o.Nodes), err)
		}
		return o.Nodes[0]
	}
	n := node()
	linux := []pool.Comparison{{Attribute: "${attr.kernel.name}", Value: "linux"}, {Attribute: "${node.unique.id}", Value: r.NodeID},
		{Attribute: "${attr.nomad.version}", Operator: "version", Value: ">= 1.9"}, {Attribute: "${node.datacenter}", Operator: "=", Value: "dc1"}}
	if unmet := pool.Unmet(linux, n.Fact, nil); unmet != "" {
		t.Errorf("the node does not meet %s, with %v", unmet, n.Facts)
	}
	rack := []pool.Comparison{{Attribute: "${meta.rack}", Value: "r7"}}
	if pool.Unmet(rack, n.Fact, nil) == "" {
		t.Error("a node without metadata is in a rack")
	}
	if _, err := r.agent.API.Nodes().Meta().Apply(&api.NodeMetaApplyRequest{NodeID: r.NodeID, Meta: map[string]*string{"rack": new("r7")}}, nil); err != nil {
		t.Fatal(err)
	}
	r.agent.Until(t, 30*time.Second, "the rack of the node", func() error {
		n := node()
		if unmet := pool.Unmet(rack, n.Fact, nil); unmet != "" {
			return fmt.Errorf("the condition %s is false", unmet)
		}
		return nil
	})
}
