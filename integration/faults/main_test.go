// Package faults tests what is left of experiments when parts of a cluster die, hang, forget or fill up.
// Tests that break the shared cluster put it back, and run one after another.
package faults

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
