package pages

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
)

// uiDone is a short training with all data that a page shows.
const uiDone = `
from determined import core
with core.init() as context:
    print("<b>not bold</b> & <script>alert(1)</script>", flush=True)
    for step in range(1, 101):
        print(f"step {step} \033[32mloss\033[0m {1 / step:.4f}", flush=True)
        context.train.report_training_metrics(step, {"loss": 1 / step, "accuracy": 1 - 1 / step})
        if step % 10 == 0:
            context.train.report_validation_metrics(step, {"val_loss": 1.1 / step})
        if step % 50 == 0:
            with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                (path / "state").write_text(str(step))
    print("the last line of all", flush=True)
`

// uiBook is a notebook that would run scripts if a page let it.
const uiBook = `{"nbformat": 4, "cells": [
 {"cell_type": "markdown", "source": ["# A look\n", "<script>alert(1)</script> <b>not bold</b>"]},
 {"cell_type": "code", "execution_count": 3, "source": "print(6 * 7)", "outputs": [{"output_type": "stream", "text": ["42\n"]},
  {"output_type": "display_data", "data": {"text/html": "<script>alert(2)</script><iframe></iframe>"}}]}]}`

// uiLive trains until the test stops it.
const uiLive = `
import time
from determined import core
with core.init() as context:
    step = 0
    while not context.preempt.should_preempt():
        step += 1
        print(f"step {step}", flush=True)
        context.train.report_training_metrics(step, {"loss": 1 / step})
        context.train.report_progress(1 - 1 / (1 + step / 200))
        time.sleep(0.2)
`

// uiFront is a search with two metrics: the wide trials are better and slower, and the widest is too slow.
const uiFront = `
import determined
from determined import core
with core.init() as context:
    width = determined.get_cluster_info().trial.hparams["width"]
    context.train.report_validation_metrics(10, {"val_loss": 1 / width, "latency": float(width)})
`

const uiFrontConfig = `name: ui-front
entrypoint: python3 train.py
hyperparameters: {width: {type: categorical, vals: [1, 4, 9]}}
searcher: {name: grid, metrics: [{name: val_loss}, {name: latency, at_most: 5}], max_length: {batches: 10}}
`

// TestUI is what people do with the pages, in a real browser with a real master.
func TestUI(t *testing.T) {
	rig.BrowserTools(t)
	r := rig.Start(t)
	front := r.Submit(t, uiFrontConfig, rig.Script(uiFront))
	world := uiWorld(t, r, "ui")
	r.WaitState(t, front, v1.ExperimentStateCompleted)
	world["front"] = front
	inBrowser(t, r, "test/browser.mjs", world)
}

// inBrowser runs a script of webui with a world for it.
func inBrowser(t *testing.T, r *rig.Rig, script string, world map[string]any) {
	t.Helper()
	node, chromium := rig.BrowserTools(t)
	said, err := json.Marshal(world)
	if err != nil {
		t.Fatal(err)
	}
	shots := uiShots(t)
	stories := strings.Fields(os.Getenv("DETENT_STORIES")) // words of the names of tests; all tests if there is none
	cmd := exec.CommandContext(t.Context(), node, append([]string{script}, stories...)...)
	cmd.Dir = filepath.Join(r.Root, "webui")
	cmd.Env = append(os.Environ(), "DETENT_URL="+r.MasterURL, "CHROMIUM="+chromium, "DETENT_WORLD="+string(said), "DETENT_SHOTS="+shots)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	uiTests(t, r, out, in)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the browser: %v; screenshots of the failures are in %s", err, shots)
	}
}

// uiShots is the folder for screenshots, which remains when a test has failed.
func uiShots(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "detent-ui-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		}
	})
	return dir
}

// uiWorld creates the experiments and tasks for the browser's tests; their names begin with prefix, because the tests
// share a cluster.
func uiWorld(t *testing.T, r *rig.Rig, prefix string) map[string]any {
	t.Helper()
	config := func(name, more string) string {
		return fmt.Sprintf(`# a note of its author
name: %s
entrypoint: python3 train.py
searcher: {name: single, metric: val_loss, max_length: {batches: 100}}
max_restarts: 0
%s`, name, more)
	}
	done := r.Submit(t, config(prefix+"-done", "hyperparameters: {lr: 0.5}"), map[string]string{"train.py": uiDone, "look.ipynb": uiBook})
	failed := r.Submit(t, config(prefix+"-failed", ""), rig.Script(`raise RuntimeError("it broke on purpose")`))
	search := r.Submit(t, "name: "+prefix+`-search
entrypoint: python3 train.py
hyperparameters: {width: {type: int, minval: 1, maxval: 100000}, depth: 3}
searcher: {name: random, metric: val_loss, max_trials: 3, max_length: {batches: 100}}
`, rig.Script(uiDone))
	live := r.Submit(t, config(prefix+"-live", ""), rig.Script(uiLive))
	r.WaitState(t, done, v1.ExperimentStateCompleted)
	r.WaitState(t, failed, v1.ExperimentStateError)
	r.WaitState(t, search, v1.ExperimentStateCompleted)
	r.WaitState(t, live, v1.ExperimentStateRunning)
	// It fits on the node, but not while the others run.
	waiting := r.Submit(t, config(prefix+"-waiting", "resources: {slots_per_trial: 4}"), rig.Script(uiDone))
	t.Cleanup(func() {
		for _, id := range []int{live, waiting} {
			if err := client.Act(context.WithoutCancel(t.Context()), r.Client, v1.KillExperiment, id); err != nil {
				t.Errorf("kill %d: %v", id, err)
			}
		}
	})
	if out, err := r.Det(t, "command", "run", "--config", "description="+prefix+"-command", "--config", "resources.slots=0", "echo", "hello from a command"); err != nil {
		t.Fatalf("a command: %v\n%s", err, out)
	}
	uiNotebook(t, r, prefix)
	resp, err := client.Send(t.Context(), r.Client, v1.ListCommands, v1.GetCommandsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	own := slices.IndexFunc(resp.Commands, func(c v1.Command) bool { return c.Description == prefix+"-command" })
	if own < 0 {
		t.Fatalf("the command is not among %d commands", len(resp.Commands))
	}
	nodes, err := client.Send(t.Context(), r.Client, v1.ListAgents, v1.GetAgentsRequest{})
	if err != nil || len(nodes.Agents) == 0 {
		t.Fatalf("no node: %v", err)
	}
	return map[string]any{"done": done, "search": search, "live": live, "failed": failed, "waiting": waiting, "command": resp.Commands[own].ID, "node": nodes.Agents[0].ID}
}

// uiNotebook starts the notebook that the browser opens.
func uiNotebook(t *testing.T, r *rig.Rig, prefix string) {
	t.Helper()
	out, err := r.Det(t, "notebook", "start", "--no-browser", "--config", "description="+prefix+"-notebook", "--config", "resources.slots=0",
		"--config", rig.WithPython(rig.PythonOf(t, "notebook")))
	if err != nil {
		t.Fatalf("a notebook: %v\n%s", err, out)
	}
	id := rig.Started(t, out)
	t.Cleanup(func() {
		if err := client.Act(context.WithoutCancel(t.Context()), r.Client, v1.KillNotebook, id); err != nil {
			t.Errorf("kill notebook %s: %v", id, err)
		}
	})
}

// uiTests prints the messages of the browser's tests, and carries out their requests.
func uiTests(t *testing.T, r *rig.Rig, out io.Reader, in io.WriteCloser) {
	t.Helper()
	defer in.Close()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		word, asked := strings.CutPrefix(lines.Text(), "@ask ")
		if !asked {
			t.Log(lines.Text())
			continue
		}
		answer := "done"
		if err := uiAsked(t, r, word); err != nil {
			answer = err.Error()
		}
		if _, err := fmt.Fprintln(in, strings.ReplaceAll(answer, "\n", " ")); err != nil {
			t.Errorf("the browser's side has gone: %v", err)
			return
		}
	}
}

func uiAsked(t *testing.T, r *rig.Rig, word string) error {
	t.Helper()
	master, err := r.Part("master")
	if err != nil {
		return err
	}
	switch word {
	case "master-away":
		t.Cleanup(func() { r.StartPart(t, "master") }) // others use it
		return master.Stop(t.Context())
	case "master-back":
		return master.Start(t.Context())
	case "roles-on":
		return r.Configure(t.Context(), "security: {authz: {type: rbac}}\n")
	case "roles-off":
		return r.Configure(t.Context(), "")
	}
	return fmt.Errorf("the browser's script requested the unknown action %q", word)
}
