// Package frameworks tests trials in PyTorch and Keras, and the experiments of 2022 without changes.
package frameworks

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
