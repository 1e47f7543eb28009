package clients

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/detent-ml/detent/integration/rig"
)

// quickTraining has the shape of the first programs that Determined teaches for its Core API.
const quickTraining = `
import logging
import pathlib

import determined as det
from determined import core


def main(core_context, info):
    logging.info("starting from %s", info.latest_checkpoint)
    for steps in range(1, 11):
        core_context.train.report_training_metrics(steps_completed=steps, metrics={"x": steps})
        if steps % 5 == 0:
            core_context.train.report_validation_metrics(steps_completed=steps, metrics={"x": steps})
            core_context.train.report_progress(steps / 10)
            with core_context.checkpoint.store_path({"steps_completed": steps}) as (path, uuid):
                (pathlib.Path(path) / "state").write_text(str(steps))
        logging.info("x is now %d", steps)
        if core_context.preempt.should_preempt():
            return


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    with core.init() as core_context:
        main(core_context, det.get_cluster_info())
`

const quickConfig = "name: core-api\nentrypoint: python3 train.py\nsearcher:\n  name: single\n  metric: x\n  max_length: 1\nmax_restarts: 0\n"

// TestQuickStart: a new user has Determined's package, an empty home folder and the master's
// address, and does what Determined's quick start says, in its order.
func TestQuickStart(t *testing.T) {
	r := rig.Start(t)
	u := rig.Person{R: r, Python: rig.DeterminedPython(t), Home: t.TempDir()}
	fails := func(stdin, words string, args ...string) {
		t.Helper()
		if _, stderr, code := u.Run(t, stdin, u.Client(), args...); code == 0 || !strings.Contains(stderr, words) {
			t.Errorf("Determined's det %s: exit %d, without %q\n%s", strings.Join(args, " "), code, words, stderr)
		}
	}
	u.Det(t, "experiment", "list") // the client signs in as determined by itself
	rig.Holds(t, "who", u.Det(t, "user", "whoami"), "You are logged in as user 'determined'")
	const wrong = "Invalid username/password combination. Please try again."
	fails("wrong\n", wrong, "user", "login", "determined")
	fails("wrong\n", wrong, "user", "login", "nobody")
	u.Run(t, "\n", u.Client(), "user", "login", "determined")

	rig.Write(t, u.Home, "const.yaml", quickConfig)
	rig.Write(t, u.Home, "wrong.yaml", quickConfig+"max_restart: 1\n")
	_, dir := u.Experiment(t, "code", quickTraining)
	fails("", "max_restart: unknown field; did you mean max_restarts?", "experiment", "create", "wrong.yaml", dir)
	out := u.Det(t, "experiment", "create", "const.yaml", dir, "-f")
	rig.Holds(t, "what they follow", out, "Created experiment", "Waiting for first trial to begin...", "Following first trial with ID", "starting from None",
		"x is now 10", "resources exited successfully with a zero exit code", "Trial log stream ended.")
	id := strconv.Itoa(rig.First(t, `experiment (\d+)`, out))
	u.Det(t, "experiment", "wait", id)
	rig.Holds(t, "describe", u.Det(t, "experiment", "describe", id), "COMPLETED", "100.0%", "core-api", "Checkpoint State")
	rig.Holds(t, "list", u.Det(t, "experiment", "list"), "core-api")
	rig.Holds(t, "logs", u.Det(t, "experiment", "logs", id), "x is now 10")
	best := u.Table(t, "experiment", "list-checkpoints", "--best", "1", id)
	if len(best) != 1 || best[0]["# of Batches"] != "5" {
		t.Fatalf("the best checkpoint is %v", best)
	}
	into := filepath.Join("checkpoints", best[0]["UUID"])
	rig.Holds(t, "download", u.Det(t, "checkpoint", "download", best[0]["UUID"]), into)
	if state, err := filepath.Glob(filepath.Join(u.Home, into, "state")); err != nil || len(state) != 1 {
		t.Errorf("the checkpoint's file is not in %s: %v", into, err)
	}
	for noun, args := range map[string][]string{
		"notebook":    {"--config", "resources.slots=0", "--config", rig.WithPython(rig.PythonOf(t, "notebook"))},
		"tensorboard": {id},
	} {
		task := strings.TrimSpace(u.Det(t, append([]string{noun, "start", "--no-browser", "-d"}, args...)...))
		rig.Holds(t, noun+" list", u.Det(t, noun, "list"), task)
		rig.Holds(t, noun+" kill", u.Det(t, noun, "kill", task), "Killed", task)
	}
	rig.Holds(t, "a command", u.Det(t, "cmd", "run", "echo", "hello"), "Launched command", "hello", "resources exited successfully")
	rig.Holds(t, "the shell's help", u.Det(t, "shell", "start", "--help"), "--show-ssh-command")
	rig.Holds(t, "kill", u.Det(t, "experiment", "kill", id), "Killed experiment "+id)
	fails("", "experiment 99999 not found", "experiment", "kill", "99999")
	fails("", "there is nothing to pause", "experiment", "pause", id)
	rig.Holds(t, "delete", u.Det(t, "experiment", "delete", id, "--yes"), "Deletion of experiment "+id+" is in progress")
	u.Det(t, "user", "logout")
}
