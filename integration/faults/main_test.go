// Package faults tests that experiments survive when parts of a cluster die, hang, lose their state or
// run out of disk space. Tests that break the shared cluster repair it, and run one after another.
package faults

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
