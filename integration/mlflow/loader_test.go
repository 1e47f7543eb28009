package mlflow

import (
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/server/servertest"
)

// TestALoaderRunsTwice: exporters of other trackers bring their runs with MLflow's client, and adding a run again adds nothing.
func TestALoaderRunsTwice(t *testing.T) {
	m := servertest.Start(t, nil)
	env := []string{"MLFLOW_TRACKING_TOKEN=" + m.Client("determined").Token(), "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR=false"}
	want := []string{`["the run", 1, 250, {"monitoring/cpu": 0.0004, "train/loss": 0.0004}, "FINISHED", 2500, ["artifacts", "monitoring"], ["artifacts/best model/model.bin"]]`}
	for range 2 {
		if got := script(t, env, "loader.py", ours(m)); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
}
