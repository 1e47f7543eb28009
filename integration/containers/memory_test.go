package containers

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// greedy is a program that allocates memory until it is killed.
const greedy = "tail /dev/zero"

// runsOutOfMemory runs a trial that needs more memory than its slot has, and checks that the trial's
// log and its attempt name this reason, and that the node still runs other tasks.
func runsOutOfMemory(t *testing.T, r *rig.Rig, entrypoint, limit, more string) {
	t.Helper()
	id := r.Submit(t, fmt.Sprintf(`
name: %s
entrypoint: %s
searcher: {name: single, metric: loss, max_length: {batches: 1}}
max_restarts: 0
%s`, strings.ReplaceAll(t.Name(), "/", " "), entrypoint, more), rig.Script(""))
	rig.Eventually(t, fmt.Sprintf("experiment %d fails", id), func() (bool, error) {
		e, err := client.Call(t.Context(), r.Client, v1.GetExperiment, id)
		if err != nil {
			return false, err
		}
		if s := e.Experiment.State; rig.Terminal(s) && s != v1.ExperimentStateError {
			t.Fatalf("experiment %d ended in %s", id, s)
		}
		return e.Experiment.State == v1.ExperimentStateError, fmt.Errorf("the experiment is in %s", e.Experiment.State)
	})
	reasons, err := rig.Query(t, r, pgx.RowTo[string], `SELECT exit_reason FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1`, id)
	if err != nil || len(reasons) != 1 {
		t.Fatalf("the experiment's attempts ended with %q: %v", reasons, err)
	}
	t.Log(reasons[0])
	rig.Holds(t, "the reason of its end", reasons[0], limit+" MB of memory", "resources.memory")
	out, err := r.Det(t, "trial", "logs", strconv.Itoa(r.Trial(t, id).ID))
	if err != nil {
		t.Fatal(err)
	}
	rig.Holds(t, "det trial logs", out, limit+" MB of memory")
}

// TestOutOfMemory tests, with every driver without images, that users see why the kernel
// killed a program that needed more memory than its task has.
func TestOutOfMemory(t *testing.T) {
	r := rig.Start(t)
	t.Run("raw_exec", func(t *testing.T) {
		runsOutOfMemory(t, r, "["+strings.ReplaceAll(greedy, " ", ", ")+"]", "because it used more than 128", "")
	})
	t.Run("two slots", func(t *testing.T) {
		runsOutOfMemory(t, r, greedy, "because it used more than 256", "resources: {slots_per_trial: 2}\n")
	})
	t.Run("through a shell", func(t *testing.T) { runsOutOfMemory(t, r, `"`+greedy+`; exit 3"`, "because it used more than 128", "") })
	t.Run("exec", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("the exec driver needs root")
		}
		if err := r.AddClient(t.Context(), local.Client{Name: "greedy", Pool: "lab", Chroot: []string{"/bin", "/etc/passwd", "/lib", "/lib64"}}); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.RemoveClient(context.WithoutCancel(t.Context()), "greedy"); err != nil {
				t.Error(err)
			}
		}()
		runsOutOfMemory(t, r, "[/bin/tail, /dev/zero]", "most likely because memory ran out: the kernel killed processes on this node meanwhile, and this task may use 512", "resources: {resource_pool: lab}\ncheckpoint_storage: {type: directory, container_path: /tmp}\n")
	})
}
