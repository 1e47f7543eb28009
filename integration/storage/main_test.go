// Package storage tests checkpoints and their files: on a shared disk and in S3, with keys
// from Vault, and how they are removed.
package storage

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
