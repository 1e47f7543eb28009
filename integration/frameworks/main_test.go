// Package frameworks tests trials in PyTorch and Keras, and the experiments of 2022 without changes.
package frameworks

import (
	"fmt"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

func TestMain(m *testing.M) { rig.Main(m) }

// start starts the cluster that the package's tests share, whose slots have room for PyTorch: its Python is in every task's PATH, as in an image.
func start(t *testing.T) *rig.Rig {
	t.Helper()
	python, lean := rig.PythonOf(t, "torch"), rig.Lean(t)
	return rig.StartWith(t, func(dir string) string {
		return fmt.Sprintf(`
cluster_name: frameworks
launch_error: false
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
task_container_defaults:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", "PYTHONPATH=%s", OMP_NUM_THREADS=1]
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 1536}
`, dir, python, lean)
	})
}
