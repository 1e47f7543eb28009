package servertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

// Play is the default program of attempts: trials train, commands and generic tasks run, removals
// remove, and notebooks, shells and TensorBoards are open until they are killed.
func Play(ctx context.Context, a *Attempt) int {
	switch a.TaskType {
	case "TRIAL":
		return Train(ctx, a)
	case "COMMAND", "GENERIC":
		return execute(ctx, a)
	case "CHECKPOINT_GC":
		return remove(ctx, a)
	}
	return open(ctx, a)
}

// The length of a training, which reports every ten batches, and validates and stores a
// checkpoint every fifty.
const (
	runBatches  = 200
	reportEvery = 10
	checkEvery  = 50
)

// Train trains a trial completely: its loss falls, and one line of its log matches a log
// policy. The hyperparameter fails is the number of attempts that fail.
func Train(ctx context.Context, a *Attempt) int {
	if a.Run <= int(a.HParam("fails")) {
		return 1
	}
	metric := searcherMetric(a)
	var said []string
	for batch := reportEvery; batch <= runBatches; batch += reportEvery {
		loss := 2 / (1 + float64(batch)/40)
		a.Metrics(ctx, "training", batch, map[string]float64{"loss": loss})
		said = append(said, fmt.Sprintf("batch %d: loss %.3f", batch, loss))
		if batch%checkEvery != 0 {
			continue
		}
		a.Metrics(ctx, "validation", batch, map[string]float64{metric: loss + 0.05, "accuracy": 1 - (loss+0.05)/3})
		a.Checkpoint(ctx, CheckpointOf(a.TrialID, batch), batch, time.Now(), map[string]string{"model.npz": string(make([]byte, 4096)), "state/": "",
			"state/epoch": "4\n", "metadata.json": fmt.Sprintf(`{"steps_completed":%d}`, batch)})
		if batch == checkEvery {
			said = append(said, "CUDA out of memory; the batches become smaller")
		}
	}
	a.Log(ctx, said...)
	return 0
}

// CheckpointOf is the UUID of the checkpoint that Train stores after a number of batches.
func CheckpointOf(trial, batch int) string {
	return fmt.Sprintf("%08d-0000-4000-8000-%012d", trial, batch)
}

func searcherMetric(a *Attempt) string {
	var config struct {
		Searcher struct {
			Metric string `json:"metric"`
		} `json:"searcher"`
	}
	if err := json.Unmarshal([]byte(a.Env["DET_EXPERIMENT_CONFIG"]), &config); err != nil {
		a.m.t.Errorf("the configuration of attempt %s: %v", a.ID, err)
	}
	return config.Searcher.Metric
}

// execute runs a command.
func execute(ctx context.Context, a *Attempt) int {
	argv := a.Entrypoint
	if a.Shell {
		argv = append([]string{"sh", "-c"}, argv...)
	}
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if text := strings.TrimSpace(string(out)); text != "" {
		a.Log(ctx, strings.Split(text, "\n")...)
	}
	var failed *exec.ExitError
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return stopped
	case errors.As(err, &failed):
		return failed.ExitCode()
	}
	a.Log(ctx, err.Error())
	return notFound
}

// The exit codes of a program that was stopped, and of a program that does not exist.
const (
	stopped  = 143
	notFound = 127
)

// open is ready until it is killed. If the description is "broken", it fails at once.
func open(ctx context.Context, a *Attempt) int {
	k, err := tasks.Get(ctx, a.m.DB, a.TaskID)
	if err != nil {
		a.m.t.Errorf("task %s: %v", a.TaskID, err)
		return 1
	}
	a.Log(ctx, "starting "+k.Name)
	if k.Name == "broken" {
		return 1
	}
	a.Ready(ctx)
	<-ctx.Done()
	return stopped
}

// remove reports that it removed all files of each checkpoint in its task.
func remove(ctx context.Context, a *Attempt) int {
	for _, k := range a.Collect.Checkpoints {
		a.Freed(ctx, v1.FreedRequest{UUID: k.UUID, Files: int64(k.Known), Left: &v1.PatchCheckpointOptionalResources{Resources: map[string]int64{}}})
	}
	if a.Collect.Events != "" || a.Collect.Sweep != nil {
		a.Freed(ctx, v1.FreedRequest{})
	}
	return 0
}
