package task

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
)

func TestOverlay(t *testing.T) {
	weight := -20
	got := overlay(&expconf.Nomad{
		Constraints: []expconf.NomadConstraint{{Attribute: "${meta.a}", Value: "1"}},
		Affinities:  []expconf.NomadAffinity{{Attribute: "${meta.b}", Operator: "!=", Value: "2"}, {Attribute: "${meta.c}", Value: "3", Weight: &weight}},
		Spread:      []expconf.NomadSpread{{Attribute: "${meta.d}", Targets: []expconf.NomadSpreadTarget{{Value: "x", Percent: 70}}}},
		Meta:        map[string]string{"team": "vision"},
		Volumes:     []expconf.NomadVolume{{Name: "v", ContainerPath: "/v", ReadOnly: true}},
		HostPaths:   []expconf.NomadHostPath{{HostPath: "/h", ContainerPath: "/h"}},
	})
	want := jobspecs.Overlay{
		Constraints: []pool.Comparison{{Attribute: "${meta.a}", Value: "1"}},
		Affinities: []pool.Affinity{{Comparison: pool.Comparison{Attribute: "${meta.b}", Operator: "!=", Value: "2"}, Weight: 50},
			{Comparison: pool.Comparison{Attribute: "${meta.c}", Value: "3"}, Weight: -20}},
		Spreads: []pool.Spread{{Attribute: "${meta.d}", Weight: 50, Targets: []pool.SpreadTarget{{Value: "x", Percent: 70}}}},
		Meta:    map[string]string{"team": "vision"},
		Volumes: []jobspecs.Volume{{Name: "v", Path: "/v", ReadOnly: true}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(jobspecs.Overlay{}, overlay(nil)); diff != "" {
		t.Error(diff)
	}
}
