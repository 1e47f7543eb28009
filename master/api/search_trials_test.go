package api

import (
	"fmt"
	"net/url"
	"testing"
	"time"
)

// TestSearchTrials: the API returns the trials of a search by id with their curves, in parts, or
// only those that can have changed.
func TestSearchTrials(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	a := r.running(yaml(), 1)
	for i, loss := range []string{"0.75", `"NaN"`, "0.5", "1"} {
		a.reports("validation", 10*(i+1), fmt.Sprintf(`{"loss":%s}`, loss))
	}
	path := fmt.Sprintf("/api/v1/detent/experiments/%d/search-trials", a.exp)
	got := me.get(path + "?metric=loss").ok().tree()
	one := at(t, got, "trials.0")
	for field, want := range map[string]string{"id": fmt.Sprint(a.trial), "min": "0.5", "max": "1", "last": "1", "batches": "40",
		"steps": "[10 20 30 40]", "values": "[0.75 NaN 0.5 1]", "stopped": "false", "endTime": "<nil>"} {
		if have := fmt.Sprint(at(t, one, field)); have != want {
			t.Errorf("%s: %s; want %s", field, have, want)
		}
	}
	if n := at(t, got, "next"); fmt.Sprint(n) != "0" {
		t.Errorf("there is a next part after %v", n)
	}
	if two := at(t, me.get(path+"?metric=loss&limit=1").ok().tree(), "next"); fmt.Sprint(two) != fmt.Sprint(a.trial) {
		t.Errorf("the part after a full one begins after %v", two)
	}
	if rest := at(t, me.get(fmt.Sprintf("%s?metric=loss&after=%d", path, a.trial)).ok().tree(), "trials"); fmt.Sprint(rest) != "[]" {
		t.Errorf("after the last trial: %v", rest)
	}
	if none := at(t, me.get(path+"?metric=other&points=0").ok().tree(), "trials.0.min"); none != nil {
		t.Errorf("a metric without reports: %v", none)
	}
	r.over(a.exp)
	since := func(when string) string {
		return fmt.Sprint(at(t, me.get(path+"?metric=loss&changedSince="+url.QueryEscape(when)).ok().tree(), "trials"))
	}
	if list := since("2100-01-01T00:00:00Z"); list != "[]" {
		t.Errorf("an ended trial changes no more: %s", list)
	}
	if list := since("2001-01-01T00:00:00Z"); list == "[]" {
		t.Error("a trial that has ended since is missing")
	}
	me.get(path).says(400, "metric")
	me.get(path+"?metric=loss&limit=100000").says(400, "limit")
	me.get("/api/v1/detent/experiments/99999/search-trials?metric=loss").is(404)
}

// TestAttempts: the history of an experiment's attempts, and of a task's.
func TestAttempts(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	a := r.running(yaml(), 1)
	r.exec(`UPDATE allocations SET preempt_at = now(), preempt_reason = 'a job with priority 10 needs its slots'`)
	list := me.get(fmt.Sprintf("/api/v1/detent/experiments/%d/attempts", a.exp)).ok().tree()
	x := at(t, list, "attempts.0")
	if fmt.Sprint(at(t, x, "trialId")) != fmt.Sprint(a.trial) || at(t, x, "preemptReason") != "a job with priority 10 needs its slots" || at(t, x, "outcome") != "" {
		t.Errorf("the attempt: %v", x)
	}
	if rank := at(t, x, "members.0.rank"); fmt.Sprint(rank) != "0" {
		t.Errorf("the attempt's first member has rank %v", rank)
	}
	of := at(t, me.get(fmt.Sprintf("/api/v1/detent/tasks/%v/attempts", at(t, x, "taskId"))).ok().tree(), "attempts.0.allocationId")
	if of != at(t, x, "allocationId") {
		t.Errorf("the task's attempt is %v", of)
	}
	if none := at(t, me.get(fmt.Sprintf("/api/v1/detent/experiments/%d/attempts?trial=999999", a.exp)).ok().tree(), "attempts"); fmt.Sprint(none) != "[]" {
		t.Errorf("attempts of a trial that is not there: %v", none)
	}
	// The task keeps its place in the queue; an attempt began to wait when the one before had ended, or later.
	r.exec(`UPDATE allocations SET state = 'TERMINATED', outcome = 'failed', ended_at = queued_at + interval '1 hour'`)
	r.exec(`INSERT INTO allocations (id, task_id, run_id, pool, slots, priority, queued_at, created_at, state, outcome, ended_at)
		SELECT task_id || '.' || n, task_id, n, pool, slots, priority, queued_at, CASE n WHEN 11 THEN queued_at + interval '15 hours' ELSE queued_at + (n - 1) * interval '1 hour' END, 'TERMINATED', 'failed', queued_at + (n + 5 * (n / 11)) * interval '1 hour'
		FROM allocations, generate_series(2, 11) n`)
	list = me.get(fmt.Sprintf("/api/v1/detent/experiments/%d/attempts", a.exp)).ok().tree()
	queued := func(i int) time.Time {
		when, err := time.Parse(time.RFC3339Nano, fmt.Sprint(at(t, list, fmt.Sprintf("attempts.%d.queuedTime", i))))
		if err != nil {
			t.Fatal(err)
		}
		return when
	}
	for i := range 11 {
		want := time.Duration(10-i) * time.Hour
		if i == 0 {
			want = 15 * time.Hour // it was paused meanwhile
		}
		if got := queued(i).Sub(queued(10)); fmt.Sprint(at(t, list, fmt.Sprintf("attempts.%d.run", i))) != fmt.Sprint(11-i) || got.Round(time.Minute) != want {
			t.Errorf("attempt %v, at %d, began to wait %s after the first one; expected %s", at(t, list, fmt.Sprintf("attempts.%d.run", i)), i, got, want)
		}
	}
}
