// Package guides tests what the documentation tells its readers to do, word by word.
package guides

import (
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }
