// Package containers tests how tasks run on nodes: in Docker, in Podman, on bridges, under exec,
// in the pools that operators describe with jobs, and with little memory.
package containers

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
