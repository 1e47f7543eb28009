package experiments

import (
	"io"
	"slices"
	"testing"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/contexts"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/schema/rowtest"
)

// TestActions tests which actions each state allows, and what they store.
func TestActions(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	id := w.Experiment(rowtest.LossSearcher)
	for _, state := range []string{"ACTIVE", "PAUSED", "STOPPING_CANCELED", "STOPPING_KILLED", "STOPPING_COMPLETED", "STOPPING_ERROR", "COMPLETED", "CANCELED", "ERROR", "DELETING"} {
		over := slices.Contains([]string{"COMPLETED", "CANCELED", "ERROR"}, state)
		runs := state == "ACTIVE" || state == "PAUSED"
		for action, want := range map[Action]struct {
			had     bool
			desired string
		}{
			Activate: {runs, "active"}, Pause: {runs, map[bool]string{true: "paused", false: "active"}[runs]},
			Cancel: {true, map[bool]string{true: "active", false: "canceled"}[over]}, Kill: {true, map[bool]string{true: "active", false: "killed"}[over]},
			Archive: {over, "active"}, Unarchive: {true, "active"}, Delete: {over, map[bool]string{true: "deleted", false: "active"}[over]},
		} {
			w.Exec(`UPDATE experiments SET state = $2, desired = 'active', archived = false, ended_at = CASE WHEN $3 THEN now() END WHERE id = $1`, id, state, over)
			had, err := RequestAction(ctx, w.DB, []int{id}, action)
			if err != nil {
				t.Fatalf("%s of %s: %v", action, state, err)
			}
			got := w.Text(`SELECT desired FROM experiments WHERE id = $1`, id)
			if (len(had) == 1) != want.had || got != want.desired {
				t.Errorf("%s of %s: had %v and it is desired %s; want %v, %s", action, state, had, got, want.had, want.desired)
			}
			if after := w.Text(`SELECT state FROM experiments WHERE id = $1`, id); after != state {
				t.Errorf("%s changed the state of %s, which is the loop's, to %s", action, state, after)
			}
		}
	}
	w.Exec(`UPDATE experiments SET state = 'ACTIVE', desired = 'killed', ended_at = NULL WHERE id = $1`, id)
	for _, action := range []Action{Activate, Pause, Cancel} {
		if _, err := RequestAction(ctx, w.DB, []int{id}, action); err != nil {
			t.Fatal(err)
		}
		if got := w.Text(`SELECT desired FROM experiments WHERE id = $1`, id); got != "killed" {
			t.Errorf("%s took back a kill: %s", action, got)
		}
	}
}

func TestContextsAreStoredOnce(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	hash := []byte{1, 2, 3}
	for range 2 { // the second finds it
		if err := contexts.Save(ctx, w.DB, 1, hash, func(to io.Writer) error { _, err := io.WriteString(to, "tgz"); return err }); err != nil {
			t.Fatal(err)
		}
	}
	n := New{OwnerID: 2, ProjectID: 1, Config: []byte(`{}`), Context: hash, Name: "a", Pool: "default", Weight: 1, Priority: 42}
	first, err := Create(ctx, w.DB, nil, n)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(ctx, w.DB, nil, n); err != nil {
		t.Fatal(err)
	}
	n.Context = []byte{9}
	if _, err := Create(ctx, w.DB, nil, n); !fault.Is(err, fault.NotFound) {
		t.Fatalf("an experiment without its code: %v", err)
	}
	if rows := w.Int(`SELECT count(*) FROM contexts`); rows != 1 {
		t.Fatalf("%d contexts", rows)
	}
	if next := w.Int(`SELECT next FROM search_counters WHERE experiment_id = $1`, first); next != 1 {
		t.Fatalf("the search begins at %d", next)
	}
	w.Exec(`UPDATE contexts SET created_at = now() - interval '2 hours'`)
	if n, err := contexts.Drop(ctx, w.DB); err != nil || n != 0 {
		t.Fatalf("%d contexts in use were dropped: %v", n, err)
	}
	w.Exec(`DELETE FROM experiments`)
	if n, err := contexts.Drop(ctx, w.DB); err != nil || n != 1 {
		t.Fatalf("%d unused contexts were dropped: %v", n, err)
	}
}

func TestOrdersAreClosed(t *testing.T) {
	if _, err := sorts.Order("id; DROP TABLE users", false, "e.id"); !fault.Is(err, fault.Invalid) {
		t.Fatalf("%v", err)
	}
	w := newWorld(t)
	w.Trial(w.Experiment(rowtest.LossSearcher), 0, 1)
	for _, desc := range []bool{false, true} {
		for name := range sorts {
			if _, err := List(t.Context(), w.DB, auth.Everywhere(), Filter{Sort: name, Desc: desc}, 0, 10); err != nil {
				t.Errorf("experiments by %s: %v", name, err)
			}
		}
		for name := range trialSorts {
			if _, err := ListTrials(t.Context(), w.DB, auth.Everywhere(), TrialFilter{ExperimentID: 1, Sort: name, Desc: desc}, 0, 10); err != nil {
				t.Errorf("trials by %s: %v", name, err)
			}
		}
	}
}
