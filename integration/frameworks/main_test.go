// Package frameworks tests trials in PyTorch and Keras, and the experiments of 2022 as they were written.
package frameworks

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
