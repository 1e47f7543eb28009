package clustertest_test

import (
	"testing"
	"time"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster/clustertest"
)

func TestFakeConforms(t *testing.T) {
	nomad := clustertest.New()
	clustertest.Conform(t, &clustertest.Rig{
		Cluster: func(_ *testing.T, id string) clustertest.View { return nomad.Cluster(id) },
		NodeID:  "node-1", Runner: jobspecs.Runner{Path: "/opt/det-runner"},
		End:   func(_ *testing.T, id string, rank, code int) { nomad.End(id, rank, code) },
		Purge: func(_ *testing.T, id string) { nomad.Purge(id) },
		Drain: func(_ *testing.T, on bool) { nomad.Drain("node-1", on, time.Unix(2_000_000_000, 0)) },
		JWT:   func(_ *testing.T, id string, rank int) string { return nomad.JWT(id, rank) },
	})
}
