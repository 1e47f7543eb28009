// Package clients tests what users type and call: det, Determined's own client and Python package,
// notebooks, shells, TensorBoard, and the proxy to them.
package clients

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
