// Package security tests clusters with access control, and with TLS everywhere.
package security

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
