package nodes

import (
	"context"
	"slices"
	"time"

	"github.com/detent-ml/detent/master/cache"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	// measuredFor is how long the measurements of a node are shown to further callers.
	measuredFor = 5 * time.Second
	// maxMeasuring is how many nodes are asked at once; a node that hangs delays a caller by some seconds.
	maxMeasuring = 8
	// maxMeasured is the number of nodes whose measurements are kept.
	maxMeasured = 5000
)

// measurements asks nodes what their devices measure, and keeps the answers for a moment.
type measurements struct {
	known *cache.Cache[string, []v1.DeviceMeasurement]
	turns chan struct{}
}

func newMeasurements() *measurements {
	return &measurements{known: cache.New[string, []v1.DeviceMeasurement](measuredFor, maxMeasured), turns: make(chan struct{}, maxMeasuring)}
}

func (d Deps) measureNode(ctx context.Context, c *rest.Call, n agent, _ *v1.None) (*v1.NodeMeasurements, error) {
	if d.Measure == nil {
		return nil, fault.New(fault.Unimplemented, "this master does not read the measurements of nodes")
	}
	m := d.measured
	if list, fresh, _ := m.known.Get(n.row.ID, time.Now()); fresh {
		return &v1.NodeMeasurements{Devices: list}, nil
	}
	c.EndReading() // a node that hangs must not keep others from reading
	select {
	case m.turns <- struct{}{}:
		defer func() { <-m.turns }()
	case <-ctx.Done():
		return nil, fault.New(fault.Unavailable, "this master is already reading the measurements of many nodes; try again later")
	}
	if list, fresh, _ := m.known.Get(n.row.ID, time.Now()); fresh { // another caller has asked meanwhile
		return &v1.NodeMeasurements{Devices: list}, nil
	}
	list, err := d.Measure(ctx, n.row.ID)
	if err != nil {
		return nil, err
	}
	m.known.Put(n.row.ID, slices.Clip(list), time.Now())
	return &v1.NodeMeasurements{Devices: list}, nil
}

func (d Deps) attempts(ctx context.Context, c *rest.Call, n agent, req *v1.GetListRequest) (*v1.ListAttemptsResponse, error) {
	return d.Attempts(ctx, c, n.row.ID, req)
}
