package diskuse_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/diskuse"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/logs"
	"github.com/detent-ml/detent/master/metrics"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// noise is text that does not compress to less than half.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n))) //nolint:gosec // no secret
	b := make([]byte, n)
	for i := range b {
		b[i] = "0123456789abcdef"[r.IntN(16)]
	}
	return string(b)
}

// stores makes a user with an experiment that has code, a log, metrics and a checkpoint.
func (w *world) stores(name string) (user, experiment int) {
	w.T.Helper()
	ctx := context.Background()
	user = w.Int(`INSERT INTO users (username) VALUES ($1) RETURNING id`, name)
	experiment = w.Experiment(rowtest.LossSearcher)
	hash := []byte("code of " + name)
	code := bytes.Repeat([]byte(name), 5000)
	if err := contexts.Save(ctx, w.DB, user, hash, func(to io.Writer) error { _, err := to.Write(code); return err }); err != nil {
		w.T.Fatal(err)
	}
	w.Exec(`UPDATE experiments SET owner_id = $1, context_hash = $2 WHERE id = $3`, user, hash, experiment)
	trial := w.Trial(experiment, 0, 1)
	task := w.TaskOf(trial)
	if _, err := logs.NewStore(w.DB, w.Bus, logs.Settings{Days: logs.Forever}).Append(ctx, logs.Batch{TaskID: task, Lines: []logs.Line{{At: time.Now(), Rank: -1, Text: noise(20_000)}}}); err != nil {
		w.T.Fatal(err)
	}
	if err := w.Writer(nil).Report(ctx, metrics.Report{TrialID: trial, RunID: 1, Group: "training", Steps: new(1), Metrics: json.RawMessage(`{"text":"` + noise(30_000) + `"}`)}); err != nil {
		w.T.Fatal(err)
	}
	w.Summarize()
	w.Exec(`INSERT INTO checkpoints (uuid, task_id, trial_id, state, metadata) VALUES (gen_random_uuid(), $1, $2, 'COMPLETED', jsonb_build_object('text', $3::text))`, task, trial, noise(5000))
	return user, experiment
}

// TestStored: what users store is counted for each of them, what they store too much rejects what they submit, and a deletion or
// the end of the retention of logs frees it.
func TestStored(t *testing.T) {
	w := newWorld(t)
	users := diskuse.NewUsers(w.DB, diskuse.Limits{Owner: 100 << 10})
	ben, experiment := w.stores("benjamin") // 40,000 bytes of code
	eve, _ := w.stores("eve")
	got, err := diskuse.Of(t.Context(), w.DB, ben)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string][3]int64{"code": {got.Code, 40_000, 40_000}, "logs": {got.Logs, 10_000, 20_200}, "metrics": {got.Metrics, 15_000, 40_000}, "records": {got.Records, 4500, 10_000}} {
		if c[0] < c[1] || c[0] > c[2] {
			t.Errorf("%d bytes of %s, want %d to %d", c[0], name, c[1], c[2])
		}
	}
	if err := users.Admit(t.Context(), ben, 50_000); err != nil {
		t.Errorf("a request within the limit: %v", err)
	}
	w.Exec(`UPDATE log_tasks SET bytes = bytes + 50000 WHERE task_id IN (SELECT id FROM tasks WHERE owner_id = $1)`, ben)
	err = users.Admit(t.Context(), ben, 0)
	if !fault.Is(err, fault.TooLarge) {
		t.Fatalf("over the limit: %v", err)
	}
	for _, word := range []string{"benjamin stores", "100 KiB", "40 KiB of code", "of logs", "of metrics", "det experiment delete", "log-retention", "database_limits.user_mb"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
	if err := users.Admit(t.Context(), eve, 0); err != nil {
		t.Errorf("another user: %v", err)
	}
	if list, err := diskuse.Most(t.Context(), w.DB, 10); err != nil || len(list) < 2 || list[0].UserID != ben || list[1].UserID != eve || list[0].All() <= list[1].All() {
		t.Errorf("the users who store the most: %+v, %v", list, err)
	}
	w.Exec(`UPDATE tasks SET ended_at = now() - interval '3 days' WHERE owner_id = $1`, ben)
	if _, _, err := logs.Expire(t.Context(), w.DB, 1, w.Text(`SELECT id FROM tasks WHERE owner_id = $1`, ben)); err != nil {
		t.Fatal(err)
	}
	if err := users.Admit(t.Context(), ben, 0); err != nil {
		t.Errorf("after the end of the retention: %v", err)
	}
	w.Exec(`UPDATE contexts SET created_at = now() - interval '1 day'`)
	w.Exec(`UPDATE experiments SET state = 'DELETING', desired = 'deleted' WHERE id = $1`, experiment)
	for done := false; !done; {
		err := w.DB.Tx(t.Context(), func(tx *database.DB) (err error) {
			done, err = experiments.DeleteRows(t.Context(), tx, experiment)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got, err := diskuse.Of(t.Context(), w.DB, ben); err != nil || got.All() != 0 {
		t.Errorf("after the deletion: %+v, %v", got, err)
	}
}

// TestCodeWithoutExperiment: code that was sent, and that no experiment has, counts for the user who sent it.
func TestCodeWithoutExperiment(t *testing.T) {
	w := newWorld(t)
	users := diskuse.NewUsers(w.DB, diskuse.Limits{Owner: 10_000})
	if err := contexts.Save(t.Context(), w.DB, 1, []byte("h"), func(to io.Writer) error { _, err := to.Write(make([]byte, 20_000)); return err }); err != nil {
		t.Fatal(err)
	}
	if err := users.Admit(t.Context(), 1, 0); !fault.Is(err, fault.TooLarge) {
		t.Error(err)
	}
	w.Exec(`UPDATE contexts SET created_at = now() - interval '3 hours'`)
	if _, err := contexts.Drop(t.Context(), w.DB); err != nil {
		t.Fatal(err)
	}
	if err := users.Admit(t.Context(), 1, 0); err != nil {
		t.Error(err)
	}
}
