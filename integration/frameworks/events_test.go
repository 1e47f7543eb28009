package frameworks

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/pyenv"
)

// writeEvents writes event files with the writers of TensorFlow 1 and 2, in the folders that Keras uses.
const writeEvents = `
import sys
import tensorflow as tf
for part in ("train", "validation"):
    with tf.summary.create_file_writer(f"{sys.argv[1]}/keras/{part}").as_default():
        for step in range(5):
            tf.summary.scalar("epoch_loss", 1 / (step + 1), step=step)
with tf.compat.v1.Graph().as_default():
    old = tf.compat.v1.summary.FileWriter(f"{sys.argv[1]}/estimator")
    for step in range(5):
        old.add_summary(tf.compat.v1.Summary(value=[tf.compat.v1.Summary.Value(tag="loss", simple_value=step / 4)]), step)
    old.close()
`

// writeTorch writes event files with PyTorch's writer, which begins again at step 10.
const writeTorch = `
import sys
from torch.utils.tensorboard import SummaryWriter
w = SummaryWriter(sys.argv[1] + "/torch")
for i in range(20):
    w.add_scalar("train/loss", 1 / (i + 1), i)
    w.add_scalar("eval/accuracy", i / 20, i)
w.add_hparams({"lr": 0.1, "act": "relu"}, {"best": 0.9}, run_name="search")
w.close()
w = SummaryWriter(sys.argv[1] + "/torch", purge_step=10)
w.add_scalar("train/loss", 7.0, 10)
w.close()
`

// importsEventFiles: det import reports what TensorFlow and PyTorch themselves have written for TensorBoard, once.
func importsEventFiles(t *testing.T, r *rig.Rig, keras string) {
	t.Helper()
	logs := filepath.Join(t.TempDir(), "logs")
	torch, err := pyenv.Named(t.Context(), "torch", servers.NewReporter(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	for script, python := range map[string]string{writeEvents: keras, writeTorch: torch} {
		cmd := exec.CommandContext(t.Context(), python, "-c", script, logs)
		cmd.Env = append(os.Environ(), "TF_CPP_MIN_LOG_LEVEL=3", "CUDA_VISIBLE_DEVICES=")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, want := range []string{"37 new values in 4 runs", "0 new values in 0 runs"} {
		if out, err := r.Det(t, "import", "tensorboard", logs, "--external-id", "of real writers"); err != nil || !strings.Contains(out, want) {
			t.Fatalf("%v, want %s:\n%s", err, want, out)
		}
	}
	out, err := r.Det(t, "experiment", "list", "--json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		ID        int    `json:"id"`
		Name      string `json:"name"`
		NumTrials int    `json:"numTrials"`
		Unmanaged bool   `json:"unmanaged"`
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, e := range list {
		if e.Name != "logs" {
			continue
		}
		trials := r.Trials(t, e.ID)
		var got []string
		for _, x := range trials {
			got = append(got, fmt.Sprintf("%s %d %s", x.State, x.TotalBatchesProcessed, x.HParams))
		}
		// In the order of their folders: estimator, keras, torch, torch/search.
		if text := strings.ReplaceAll(strings.Join(got, ", "), `": `, `":`); !e.Unmanaged || text != `STATE_COMPLETED 4 {}, STATE_COMPLETED 4 {}, STATE_COMPLETED 10 {}, STATE_COMPLETED 0 {"lr":0.1, "act":"relu"}` {
			t.Errorf("the trials are %s", text)
		}
		return
	}
	t.Errorf("no experiment is called logs: %s", out)
}
