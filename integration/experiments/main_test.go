// Package experiments tests what users do with experiments: from their creation to their best
// checkpoint, pauses, changes, searches, restarts, bad input, and trials on GPUs.
package experiments

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
