package tasks_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/accounts"
	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/tasks"
)

// TestTicketsAndCookies tests that a ticket can be redeemed once, for one task, also by
// simultaneous requests, and that its cookie ends with the session.
func TestTicketsAndCookies(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	for _, id := range []string{"a", "b"} {
		if _, err := tasks.Create(ctx, w.DB, tasks.New{ID: id, Type: "NOTEBOOK", OwnerID: 2, WorkspaceID: 1, Name: id, Config: []byte("{}"), Pool: "default", Priority: 42}); err != nil {
			t.Fatal(err)
		}
	}
	token, hash := auth.NewToken()
	user, err := accounts.UserByID(ctx, w.DB, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := accounts.NewSession(ctx, w.DB, user, hash, time.Hour, accounts.Place{}); err != nil {
		t.Fatal(err)
	}
	who, err := accounts.SessionWho(ctx, w.DB, false, auth.HashToken(token))
	if err != nil {
		t.Fatal(err)
	}
	issue := func(name string) []byte {
		t.Helper()
		if err := w.pages().IssueTicket(ctx, auth.HashToken(name), "a", who.SessionID, time.Minute); err != nil {
			t.Fatal(err)
		}
		return auth.HashToken(name)
	}
	missing := func(err error) bool {
		t.Helper()
		if err != nil && !fault.Is(err, fault.NotFound) {
			t.Fatal(err)
		}
		return err != nil
	}
	ticket := issue("one")
	if !missing(w.pages().RedeemTicket(ctx, ticket, "b", []byte("x"))) || !missing(w.pages().RedeemTicket(ctx, []byte("none"), "a", []byte("x"))) {
		t.Error("a ticket opens another task, or none does")
	}
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if !missing(w.pages().RedeemTicket(context.WithoutCancel(ctx), ticket, "a", []byte("cookie"+strconv.Itoa(i)))) {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 used one ticket", won.Load())
	}
	cookie := []byte("cookie")
	if missing(w.pages().RedeemTicket(ctx, issue("two"), "a", cookie)) {
		t.Fatal("a second ticket is no good")
	}
	known := func(task string) bool { _, err := w.pages().CookieWho(ctx, cookie, task, ""); return !missing(err) }
	if got, err := w.pages().CookieWho(ctx, cookie, "a", ""); err != nil || got.UserID != 2 || got.SessionID != who.SessionID || got.Admin {
		t.Fatalf("%+v %v", got, err)
	}
	if _, err := w.pages().CookieWho(ctx, issue("three"), "a", ""); !missing(err) {
		t.Error("a ticket is a cookie")
	}
	if known("b") {
		t.Error("the cookie opens another task")
	}
	w.Exec(`UPDATE passes SET expires_at = now() - interval '1 second' WHERE kind = 'ticket'`)
	if !missing(w.pages().RedeemTicket(ctx, auth.HashToken("three"), "a", []byte("late"))) {
		t.Error("an old ticket is good")
	}
	for i := range tasks.MaxCookies + 3 {
		if missing(w.pages().RedeemTicket(ctx, issue("many"+strconv.Itoa(i)), "a", []byte("many"+strconv.Itoa(i)))) {
			t.Fatal(i)
		}
	}
	if n := w.Int(`SELECT count(*) FROM passes WHERE kind = 'cookie'`); n != tasks.MaxCookies {
		t.Errorf("%d cookies of one session for one task, want %d", n, tasks.MaxCookies)
	}
	if known("a") {
		t.Error("the oldest cookie stays")
	}
	cookie = []byte("many" + strconv.Itoa(tasks.MaxCookies))
	w.Exec(`UPDATE users SET active = false WHERE id = 2`)
	if known("a") {
		t.Error("the cookie of a deactivated user opens")
	}
	w.Exec(`UPDATE users SET active = true WHERE id = 2`)
	if !known("a") {
		t.Error("and does not when they are back")
	}
	issue("left over")
	w.Exec(`UPDATE passes SET expires_at = now() - interval '1 second' WHERE kind = 'ticket'`)
	if n, err := tasks.DropPasses(ctx, w.DB); n != 1 || err != nil {
		t.Errorf("%d dropped, %v", n, err)
	}
	if err := accounts.EndSession(ctx, w.DB, who.SessionID); err != nil {
		t.Fatal(err)
	}
	if known("a") || w.Int(`SELECT count(*) FROM passes`) != 0 {
		t.Error("the cookie is valid after its session")
	}
	if err := w.pages().IssueTicket(ctx, []byte("later"), "a", who.SessionID, time.Minute); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a ticket for a session that is over: %v", err)
	}
}

// TestTensorboardsAreFound: the proxy finds a TensorBoard of a hundred trials without a look at the other experiments.
func TestTensorboardsAreFound(t *testing.T) {
	w := newWorld(t)
	w.Exec(`INSERT INTO experiments (owner_id, project_id, config, original_config, seed, name, desired, pool, slots_per_trial, state, ended_at)
		SELECT 2, 1, '{"searcher": {"name": "single"}}', '', 1, 'test', 'active', 'default', 1, 'COMPLETED', now() FROM generate_series(1, 2000)`)
	w.Exec(`INSERT INTO tasks (id, type, job_id, owner_id, workspace_id, experiment_id, name, pool, slots, ended_at)
		SELECT e.id || '.t', 'TRIAL', e.job_id, 2, 1, e.id, 'trial', 'default', 1, now() FROM experiments e`)
	w.Exec(`INSERT INTO trials (experiment_id, number, task_id, hparams, seed, run_id, ended_at, state) SELECT e.id, 0, e.id || '.t', '{}', 7, 1, now(), 'COMPLETED' FROM experiments e`)
	w.task(tasks.New{ID: "board", Type: "TENSORBOARD", Tensorboard: &tasks.Board{}})
	w.Exec(`UPDATE tensorboards SET trial_ids = ARRAY(SELECT id FROM trials ORDER BY id DESC LIMIT 100), experiment_ids = '{1, 2}' WHERE task_id = 'board'`)
	w.Exec(`ANALYZE`)
	if v, err := w.pages().Task(t.Context(), "board", ""); err != nil || len(v.Shown) != 1 {
		t.Fatalf("%+v %v", v, err)
	}
	if n := w.Pages(tasks.ProxyTasks+`WHERE k.id = $1`, "board"); n == 0 || n > 3000 {
		t.Errorf("the look-up reads %d pages", n)
	}
}
