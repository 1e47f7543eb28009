package frameworks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// An autologged is a program of testdata/autolog, which one of MLflow's autologging functions logs.
type autologged struct {
	program, hyperparameters, searcher string
	params                             string // what the metadata of each trial have of its parameters
	steps                              int    // at which the best trial has values of the searcher's metric
}

var autologs = map[string]autologged{
	"scikit-learn": {"fitted.py", "{alpha: 0.5}", "{name: single, metric: training_r2_score, smaller_is_better: false, max_length: {batches: 1}}", `"alpha":"0.5"`, 1},
	// The rounds of boosting are the batches: what autologging logs as held-rmse drives the search.
	"XGBoost": {"boosted.py", "{eta: {type: categorical, vals: [0.001, 0.3, 0.002]}}",
		"{name: adaptive_asha, metric: held-rmse, max_length: {batches: 64}, max_trials: 3, max_rungs: 2, divisor: 2, mode: aggressive}", `"max_depth":"6"`, 64},
	"Keras": {"dense.py", "{rate: {type: categorical, vals: [0.00001, 0.01, 0.00002]}}",
		"{name: adaptive_asha, metric: val_loss, max_length: {batches: 8}, max_trials: 3, max_rungs: 2, divisor: 2, mode: aggressive}", `"batch_size":"32"`, 8},
}

// submit creates an experiment of the program, with the Python that has MLflow.
func (a autologged) submit(t *testing.T, r *rig.Rig) int {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("testdata", "autolog", a.program))
	if err != nil {
		t.Fatal(err)
	}
	return r.Submit(t, "name: autologging\nentrypoint: python3 "+a.program+"\nmax_restarts: 0\nhyperparameters: "+a.hyperparameters+"\nsearcher: "+a.searcher+
		"\nenvironment: {environment_variables: ['PATH="+rig.PythonOf(t, "mlflow")+":/usr/local/bin:/usr/bin:/bin']}\n", map[string]string{a.program: string(code)})
}

// ends checks that the trials have the parameters and the metrics that autologging has logged, and that the metric of the best one drove the search.
func (a autologged) ends(t *testing.T, r *rig.Rig, id int) {
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	for _, trial := range r.Trials(t, id) {
		meta, err := client.Call(t.Context(), r.Client, v1.GetRunMetadata, trial.ID)
		if text := strings.ReplaceAll(string(meta.Metadata), ": ", ":"); err != nil || !strings.Contains(text, a.params) || trial.State != v1.TrialStateCompleted {
			t.Errorf("trial %d is %s, its metadata are %s: %v\n%s", trial.ID, trial.State, text, err, r.Log(t, id))
		}
	}
	best := r.Experiment(t, id).BestTrialID
	if best == nil {
		t.Fatalf("the experiment has no best trial\n%s", r.Log(t, id))
	}
	if n := len(r.Steps(t, "validation", *best)); n < a.steps {
		t.Errorf("the best trial has %d values of the searcher's metric, want %d at least", n, a.steps)
	}
}
