package pages

import (
	"context"
	"os"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// TestPictures takes pictures of the main pages: ./justw ui-pictures.
func TestPictures(t *testing.T) {
	if os.Getenv("DETENT_PICTURES") == "" {
		t.Skip("no folder for pictures is named in DETENT_PICTURES: ./justw ui-pictures")
	}
	rig.BrowserTools(t)
	r := rig.Start(t)
	inBrowser(t, r, "test/pictures.mjs", gallery(t, r))
}

// galleryTraining looks like a training, and takes a moment.
const galleryTraining = `"""Trains a small network, for pictures."""
import math
import random

import determined
from determined import core


def main(context: core.Context) -> None:
    hparams = determined.get_cluster_info().trial.hparams
    random.seed(str(hparams))
    lr, width = hparams.get("lr", 0.01), hparams.get("width", 64)
    best = 0.15 + 0.25 * abs(math.log10(lr) + 2.2) + 8 / width + 0.03 * random.random()
    print(f"\033[32mdevice\033[0m cpu, \033[1m{width}\033[0m units, learning rate {lr:.5f}", flush=True)
    for op in context.searcher.operations():
        start = getattr(main, "steps", 0)
        for step in range(start + 1, op.length + 1):
            fit = math.exp(-step / (6 + 0.1 * width))
            context.train.report_training_metrics(step, {"loss": best + 2 * fit + 0.06 * random.random()})
            if step % 8 == 0 or step == op.length:
                loss = best + 2.1 * fit + 0.02 * random.random()
                print(f"step {step}: validation loss {loss:.4f}", flush=True)
                context.train.report_validation_metrics(step, {"val_loss": loss, "accuracy": 1 / (1 + loss)})
            if step % 64 == 0:
                with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
                    (path / "weights").write_bytes(random.randbytes(200_000))
        main.steps = op.length
        op.report_completed(loss)


if __name__ == "__main__":
    with core.init() as context:
        main(context)
`

// gallery makes what the pictures show.
func gallery(t *testing.T, r *rig.Rig) map[string]any {
	t.Helper()
	train := map[string]string{"train.py": galleryTraining, "notes.ipynb": uiBook}
	single := func(name, hparams string) int {
		return r.Submit(t, "name: "+name+"\nentrypoint: python3 train.py\nlabels: [mnist, baseline]\nhyperparameters: "+hparams+
			"\nsearcher: {name: single, metric: val_loss, max_length: {batches: 256}}\nmax_restarts: 0\n", train)
	}
	done := single("mnist-cnn", "{lr: 0.005, width: 128, optimizer: adam}")
	other := single("mnist-cnn, smaller steps", "{lr: 0.0008, width: 128, optimizer: sgd}")
	search := r.Submit(t, `
name: resnet-18, learning rate and width
entrypoint: python3 train.py
labels: [cifar, search]
hyperparameters:
  lr: {type: log, base: 10, minval: -4, maxval: -1}
  width: {type: int, minval: 16, maxval: 256}
  dropout: {type: double, minval: 0, maxval: 0.6}
  optimizer: {type: categorical, vals: [adam, sgd]}
searcher: {name: adaptive_asha, metric: val_loss, max_trials: 24, max_length: {batches: 64}, divisor: 2, mode: standard, max_concurrent_trials: 4}
max_restarts: 0
`, train)
	failed := r.Submit(t, "name: vit-base, batch of 512\nentrypoint: python3 train.py\nlabels: [imagenet]\nsearcher: {name: single, metric: val_loss, max_length: {batches: 100}}\nmax_restarts: 1\n",
		rig.Script(`raise RuntimeError("the batch of 512 images does not fit: 23.1 GiB wanted, 15.7 GiB free")`))
	for _, id := range []int{done, other, search} {
		r.WaitState(t, id, v1.ExperimentStateCompleted)
	}
	r.WaitState(t, failed, v1.ExperimentStateError)
	live := r.Submit(t, "name: gpt-small, from scratch\nentrypoint: python3 train.py\nlabels: [text]\nsearcher: {name: single, metric: val_loss, max_length: {batches: 10000}}\n", rig.Script(uiLive))
	r.WaitState(t, live, v1.ExperimentStateRunning)
	waiting := r.Submit(t, "name: gpt-small, four workers\nentrypoint: python3 train.py\nresources: {slots_per_trial: 4}\nsearcher: {name: single, metric: val_loss, max_length: {batches: 100}}\n", rig.Script(uiDone))
	t.Cleanup(func() {
		for _, id := range []int{live, waiting} {
			if err := client.Act(context.WithoutCancel(t.Context()), r.Client, v1.KillExperiment, id); err != nil {
				t.Errorf("kill %d: %v", id, err)
			}
		}
	})
	uiNotebook(t, r, "look-at-digits")
	nodes, err := client.Send(t.Context(), r.Client, v1.ListAgents, v1.GetAgentsRequest{})
	if err != nil || len(nodes.Agents) == 0 {
		t.Fatalf("no node: %v", err)
	}
	return map[string]any{"done": done, "other": other, "search": search, "failed": failed, "live": live, "waiting": waiting, "node": nodes.Agents[0].ID}
}
