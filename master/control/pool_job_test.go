package control

import (
	"encoding/json"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/pool"
)

// TestNodesOfAPoolWithAJob: the constraints of the pool's job decide which nodes belong to the pool.
func TestNodesOfAPoolWithAJob(t *testing.T) {
	word := func(s string) *string { return &s }
	job := &api.Job{NodePool: word("gpu"), Datacenters: []string{"east-*"},
		Constraints: []*api.Constraint{{LTarget: "${attr.cpu.arch}", Operand: "=", RTarget: "amd64"}},
		TaskGroups: []*api.TaskGroup{{
			Volumes: map[string]*api.VolumeRequest{"data": {Type: "host", Source: "datasets"}, "offered": {Type: "host", Source: "elsewhere"}},
			Tasks:   []*api.Task{{Driver: "exec", VolumeMounts: []*api.VolumeMount{{Volume: word("data"), Destination: word("/data")}}}}}}}
	p := pool.Pool{Name: "east", Platforms: []string{"linux-amd64", "linux-arm64"}, Slots: pool.Slots{CoresPerSlot: 1}}.WithJob(job)
	offered := func(change func(*nodes.Row, *cluster.Node)) (int, string) {
		t.Helper()
		n := cluster.Node{Drivers: []string{"exec"}, Cores: 4, FreeCores: 4, Facts: map[string]string{"attr.cpu.arch": "amd64"}, HostVolumes: map[string]bool{"datasets": false}}
		row := nodes.Row{ID: "id1", Name: "n1", NodePool: "gpu", Datacenter: "east-1", Status: "ready", Eligible: true, Enabled: true}
		change(&row, &n)
		inventory, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		row.Inventory = inventory
		offer, err := Offer(&p, row, cluster.Use{})
		if err != nil {
			t.Fatal(err)
		}
		if offer == nil {
			return -1, ""
		}
		return len(offer.Slots), offer.Why
	}
	for name, c := range map[string]struct {
		change func(*nodes.Row, *cluster.Node)
		slots  int
		why    string
	}{
		"as the job wants it":      {func(*nodes.Row, *cluster.Node) {}, 4, ""},
		"another architecture":     {func(_ *nodes.Row, n *cluster.Node) { n.Facts["attr.cpu.arch"] = "arm64" }, -1, ""},
		"nothing known of it":      {func(_ *nodes.Row, n *cluster.Node) { n.Facts = nil }, -1, ""},
		"another datacenter":       {func(r *nodes.Row, _ *cluster.Node) { r.Datacenter = "west-1" }, -1, ""},
		"another node pool":        {func(r *nodes.Row, _ *cluster.Node) { r.NodePool = "default" }, -1, ""},
		"without the driver":       {func(_ *nodes.Row, n *cluster.Node) { n.Drivers = nil }, 4, "has no healthy driver exec"},
		"without the volume":       {func(_ *nodes.Row, n *cluster.Node) { n.HostVolumes = nil }, 4, "has no host volume datasets"},
		"a volume only to read":    {func(_ *nodes.Row, n *cluster.Node) { n.HostVolumes["datasets"] = true }, 4, "offers the host volume datasets to be read only"},
		"MHz instead of cores":     {func(_ *nodes.Row, n *cluster.Node) { n.MHz = 9000 }, 4, ""},
		"a platform with a runner": {func(_ *nodes.Row, n *cluster.Node) { n.Facts["attr.kernel.name"] = "linux" }, 4, ""},
		"a platform without one": {func(_ *nodes.Row, n *cluster.Node) { n.Facts["attr.kernel.name"] = "plan9" }, 4,
			"is a machine of plan9-amd64, for which the master has no det-runner"},
		"a volume nobody mounted": {func(_ *nodes.Row, n *cluster.Node) { n.HostVolumes["elsewhere"] = true }, 4, ""},
	} {
		if slots, why := offered(c.change); slots != c.slots || why != c.why {
			t.Errorf("%s: %d slots, %q; want %d, %q", name, slots, why, c.slots, c.why)
		}
	}
}
