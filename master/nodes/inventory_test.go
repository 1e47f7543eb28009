package nodes_test

import (
	"testing"

	"github.com/detent-ml/detent/master/nodes"
)

// TestADeviceThatLeft: a device that has left its node keeps its id.
func TestADeviceThatLeft(t *testing.T) {
	if s := nodes.ByDevice(nil, "GPU-9", 7); s.ID != 7 || s.Device != "GPU-9" {
		t.Errorf("a device that left is %+v", s)
	}
}
