package frameworks

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestClothesOnSixteenSlots trains a published configuration without changes: 16 workers on two nodes of eight slots.
func TestClothesOnSixteenSlots(t *testing.T) {
	turn.First(t)
	rig.Long(t)
	needsMounts(t)
	python := kerasPython(t)
	r, dir := rig.NewOwn(t, "clothes")
	config := fmt.Sprintf(`
cluster_name: clothes
checkpoint_storage: {type: shared_fs, host_path: %s/checkpoints}
task_container_defaults:
  environment_variables: ["PATH=%s:/usr/local/bin:/usr/bin:/bin", TF_CPP_MIN_LOG_LEVEL=3, OMP_NUM_THREADS=1, TF_NUM_INTRAOP_THREADS=1, TF_NUM_INTEROP_THREADS=1]
resource_pools:
  - {name: default, node_pool: eight, driver: raw_exec, slots: cpu, slots_per_node: 8, memory_mb_per_slot: 1024}
`, dir, filepath.Dir(python))
	r.StartCluster(t, dir, local.Options{Name: "clothes", Master: local.Master{Config: config}})
	for _, name := range []string{"left", "right"} {
		if err := r.AddClient(t.Context(), local.Client{Name: name, Pool: "eight"}); err != nil {
			t.Fatal(err)
		}
	}
	examples := examplesOf(r, "fashion_keras")
	seed := placed(t, "../../master/expconf/testdata/seeds/coreweave-1.yaml", nil)
	if own := placed(t, filepath.Join(examples, "distributed.yaml"), nil); own != seed {
		t.Error("distributed.yaml of the example is another text than the published one")
	}
	id := submitted(t, r, "fashion_keras", "distributed.yaml")
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	log := r.Log(t, id)
	if got := strings.Count(log, "each worker trains with 16 pictures in a batch"); got != 16 {
		t.Errorf("%d workers say that they train with 16 pictures", got)
	}
	if nodes := rig.Value[int](t, r, `SELECT count(DISTINCT m.node_id) FROM members m JOIN allocations a ON a.id = m.allocation_id JOIN tasks k ON k.id = a.task_id
		WHERE k.experiment_id = $1`, id); nodes != 2 {
		t.Errorf("the workers were on %d nodes", nodes)
	}
	// Five epochs of 600 records, in batches of 256.
	if trial := r.Trial(t, id); trial.TotalBatchesProcessed != 5*600/256 || trial.BestValidation == nil {
		t.Errorf("the trial trained %d batches, and its best validation is %+v", trial.TotalBatchesProcessed, trial.BestValidation)
	}
}
