package cluster_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/cluster/clustertest"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
)

// TestAnotherRegionThroughForwardingServers: a cluster whose address is that of the servers of another, federated region behaves as
// one with an address of its own. It sees nothing of the region that forwards.
func TestAnotherRegionThroughForwardingServers(t *testing.T) {
	r := newRig(t, nomadtest.Options{Region: "west"})
	east := nomadtest.Start(t, nomadtest.Options{Region: "east", Join: r.agent.Serf})
	east.Until(t, time.Minute, "the federation of both regions", func() error {
		regions, err := east.API.Regions().List()
		if err == nil && !slices.Contains(regions, "west") {
			err = fmt.Errorf("the east knows %v", regions)
		}
		return err
	})
	r.Cluster = func(t *testing.T, id string) clustertest.View {
		return r.connect(t, cluster.Config{Address: east.Address, Region: "west", ClusterID: id})
	}
	clustertest.Conform(t, &r.Rig)
	o, err := r.connect(t, cluster.Config{Address: east.Address, Region: "west", ClusterID: mine}).Observe(t.Context(), cluster.Known{Full: true})
	if err != nil || len(o.Nodes) != 1 || o.Nodes[0].ID != r.agent.NodeID || o.Nodes[0].ID == east.NodeID {
		t.Errorf("%v: the nodes of the west are %+v", err, o.Nodes)
	}
}
