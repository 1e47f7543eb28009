package nodes_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/nodes"
	"github.com/detent-ml/detent/master/rest/resttest"
	v1 "github.com/detent-ml/detent/master/v1"
)

func TestMeasurementsOfANode(t *testing.T) {
	var asked atomic.Int32
	silent := "bbbbbbbb-2"
	r := newRig(t, func(d *nodes.Deps) {
		d.Measure = func(_ context.Context, node string) ([]v1.DeviceMeasurement, error) {
			asked.Add(1)
			if node == silent {
				return nil, fault.New(fault.Unavailable, "the node's Nomad does not answer: %w", errors.New("timeout"))
			}
			return []v1.DeviceMeasurement{{UUID: "GPU-1", TemperatureC: new(61), PowerWatts: new(120.5)}}, nil
		}
	})
	r.node("aaaaaaaa-1", "hot", 2)
	r.node(silent, "silent", 2)
	me := r.With("determined")
	for range 3 {
		got := me.Get("/api/v1/detent/agents/hot/measurements").OK().Tree()
		if resttest.At(t, got, "devices.0.temperatureC") != 61.0 || resttest.At(t, got, "devices.0.powerWatts") != 120.5 || resttest.At(t, got, "devices.0.utilization") != nil {
			t.Fatalf("%v", got)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the node was asked %d times within %s", n, nodes.MeasuredFor)
	}
	me.Get("/api/v1/detent/agents/silent/measurements").Says(503, "does not answer")
	me.Get("/api/v1/detent/agents/none/measurements").Says(404)
}
