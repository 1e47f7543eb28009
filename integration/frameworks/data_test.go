package frameworks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// TestDataStore: the records of an example are made once in a folder of the node, as operators prepare it for
// everybody, and read by the next trial; without such a folder they are in the allocation's.
func TestDataStore(t *testing.T) {
	turn.Second(t)
	t.Parallel()
	r := start(t)
	code := filepath.Join(r.Root, "plugins", "harness", "examples", "waves_data")
	node := filepath.Join(t.TempDir(), "detent-data")
	if err := os.Mkdir(node, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(node, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + rig.PythonOf(t, "harness") + ":/usr/local/bin:/usr/bin:/bin"
	train := func(variables string) string {
		out, err := r.Det(t, "experiment", "create", filepath.Join(code, "waves.yaml"), code, "--follow",
			"--config", "hyperparameters.epochs=1", "--config", "environment.environment_variables=[DET_DATA_LIMIT=100MB, "+variables+"]")
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		r.WaitState(t, rig.First(t, `Created experiment (\d+)`, out), v1.ExperimentStateCompleted)
		return out
	}
	rig.Holds(t, "the log of the first trial", train(path+", DET_DATA_DIR="+node), "making 2000 waves", node)
	if out := train(path + ", DET_DATA_DIR=" + node); strings.Contains(out, "making") {
		t.Errorf("the second trial made its data again:\n%s", out)
	}
	if own, err := filepath.Glob(filepath.Join(node, "uid-*", "waves-1-*", "meta")); err != nil || len(own) != 1 {
		t.Errorf("the node has %v: %v", own, err)
	}
	rig.Holds(t, "the log of a trial without a folder of the node", train(path), "making 2000 waves", "/alloc/data/determined-data/waves-1-")
}
