package tasks_test

import (
	"context"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/schema/rowtest"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
)

// Notebooks, shells and TensorBoards are stored with the fields of their types.

// claimTask places the attempt of a task, and makes its runner's claim.
func (w *world) claimTask(id string) attempts.Claimed {
	w.T.Helper()
	w.Exec(`UPDATE allocations SET state = 'ASSIGNED' WHERE id = $1 || '.1'`, id)
	w.Exec(`INSERT INTO members (allocation_id, rank, node_id, node_name) VALUES ($1 || '.1', 0, 'node-0', 'node-0')`, id)
	got, err := attempts.Gate{DB: w.DB}.Claim(context.Background(), rowtest.Claim(id+".1", 0, "nonce"))
	if err != nil {
		w.T.Fatal(err)
	}
	return got
}

func TestShellKeysTravelToTheRunner(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.task(tasks.New{ID: "sh", Type: "SHELL", Shell: &tasks.ShellKeys{PrivateKey: "p", PublicKey: "pub", HostPrivateKey: "h", HostPublicKey: "hpub"}})
	w.task(tasks.New{ID: "nb", Type: "NOTEBOOK"})
	w.Exec(`UPDATE users SET agent_user = '{"user": "ada"}' WHERE id = 2`)
	keys, err := tasks.ShellKeysOf(ctx, w.DB, []string{"sh", "nb", "none"})
	want := tasks.ShellKeys{TaskID: "sh", PrivateKey: "p", PublicKey: "pub", HostPrivateKey: "h", HostPublicKey: "hpub", AgentUser: `{"user": "ada"}`}
	if err != nil || len(keys) != 1 || keys["sh"] != want {
		t.Fatalf("%+v %v", keys, err)
	}
	if got := w.claimTask("sh"); got.Keys != (task.Keys{Authorized: "pub", Host: "h"}) || got.GatewaySecret == "" {
		t.Errorf("the runner's claim has %+v", got)
	}
	if a, b := w.claimTask("nb"), w.Text(`SELECT gateway_secret::text FROM allocations WHERE id = 'sh.1'`); a.GatewaySecret == b || a.Keys != (task.Keys{}) {
		t.Errorf("a notebook's claim has %+v", a)
	}
	w.Exec(`DELETE FROM tasks WHERE id = 'sh'`)
	if n := w.Int(`SELECT count(*) FROM shell_keys`); n != 0 {
		t.Error("keys outlive their shell")
	}
}

func TestWhatATensorboardShows(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	one, two, empty := w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher), w.Experiment(rowtest.LossSearcher)
	a, b, c := w.Trial(one, 0, 1), w.Trial(one, 1, 1), w.Trial(two, 0, 1)
	w.Trial(two, 1, 1)
	w.task(tasks.New{ID: "tb", Type: "TENSORBOARD", Tensorboard: &tasks.Board{ExperimentIDs: []int{one, empty}, TrialIDs: []int{c, a}}})
	w.task(tasks.New{ID: "bare", Type: "TENSORBOARD", Tensorboard: &tasks.Board{}})
	boards, err := tasks.Boards(ctx, w.DB, []string{"tb", "bare"})
	if err != nil || len(boards) != 2 || !slices.Equal(boards["tb"].ExperimentIDs, []int{one, empty}) || !slices.Equal(boards["tb"].TrialIDs, []int{c, a}) {
		t.Fatalf("%+v %v", boards, err)
	}
	var trials []int
	known := map[int]bool{}
	for _, s := range w.claimTask("tb").Shows {
		if has := len(s.Config) > 0; has == known[s.ExperimentID] {
			t.Errorf("experiment %d: another configuration: %v", s.ExperimentID, has)
		}
		known[s.ExperimentID] = true
		if s.TrialID == nil {
			trials = append(trials, -s.ExperimentID)
			continue
		}
		trials = append(trials, *s.TrialID)
	}
	if !slices.Equal(trials, []int{a, b, c, -empty}) {
		t.Errorf("the TensorBoard shows %v, want %v", trials, []int{a, b, c, -empty})
	}
	w.Exec(`DELETE FROM experiments WHERE id = $1`, one)
	left, err := tasks.ShownTrials(ctx, w.DB, boards["tb"])
	if err != nil || len(left) != 2 {
		t.Errorf("after a deletion it shows %+v, %v", left, err)
	}
}
