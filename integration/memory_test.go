package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

// greedy is a program that takes memory until it has no more.
const greedy = "tail /dev/zero"

// starves runs a trial that wants more memory than its slot has, and wants the trial's
// log and its attempt to say so. The node and everything else on it goes on.
func (r *rig) starves(t *testing.T, entrypoint, limit, more string) {
	t.Helper()
	id := r.submit(t, fmt.Sprintf(`
name: %s
entrypoint: %s
searcher: {name: single, metric: loss, max_length: {batches: 1}}
max_restarts: 0
%s`, strings.ReplaceAll(t.Name(), "/", " "), entrypoint, more), script(""))
	eventually(t, fmt.Sprintf("experiment %d fails", id), func() (bool, error) {
		e, err := r.client.Experiment(t.Context(), id)
		if err != nil {
			return false, err
		}
		if s := e.Experiment.State; terminal(s) && s != v1.ExperimentStateError {
			t.Fatalf("experiment %d ended in %s", id, s)
		}
		return e.Experiment.State == v1.ExperimentStateError, fmt.Errorf("it is in %s", e.Experiment.State)
	})
	reasons, err := query(t, r, pgx.RowTo[string], `SELECT exit_reason FROM allocations a JOIN tasks k ON k.id = a.task_id WHERE k.experiment_id = $1`, id)
	if err != nil || len(reasons) != 1 {
		t.Fatalf("its attempts ended with %q: %v", reasons, err)
	}
	t.Log(reasons[0])
	holds(t, "the reason of its end", reasons[0], limit+" MB of memory", "resources.memory")
	out, err := r.det(t, "trial", "logs", itoa(r.trial(t, id).ID))
	if err != nil {
		t.Fatal(err)
	}
	holds(t, "det trial logs", out, limit+" MB of memory")
}

// TestOutOfMemory: a program that takes more memory than its task has is ended by the
// kernel, and its users are told why, under every driver without images.
func TestOutOfMemory(t *testing.T) {
	r := start(t)
	t.Run("raw_exec", func(t *testing.T) {
		r.starves(t, "["+strings.ReplaceAll(greedy, " ", ", ")+"]", "because it used more than 128", "")
	})
	t.Run("two slots", func(t *testing.T) {
		r.starves(t, greedy, "because it used more than 256", "resources: {slots_per_trial: 2}\n")
	})
	t.Run("through a shell", func(t *testing.T) { r.starves(t, `"`+greedy+`; exit 3"`, "because it used more than 128", "") })
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
		r.starves(t, "[/bin/tail, /dev/zero]", "most likely because memory ran out: the kernel killed processes on this node meanwhile, and this task may use 512", "resources: {resource_pool: lab}\ncheckpoint_storage: {type: directory, container_path: /tmp}\n")
	})
}
