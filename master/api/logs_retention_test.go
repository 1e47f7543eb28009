package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "github.com/detent-ml/detent/master/v1"
)

func TestRetentionOfLogs(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	owner, other := r.user("determined"), r.user("admin")
	r.user("admin").post("/api/v1/users", `{"user":{"username":"mallory","active":true},"password":""}`).ok()
	experiment := fmt.Sprintf("/api/v1/experiments/%d", a.exp)
	trial := fmt.Sprintf("/api/v1/trials/%d", a.trial)
	days := func(want string) {
		t.Helper()
		var left struct{ RemainingDays *int }
		owner.get(trial + "/remaining_log_retention_days").ok().into(&left)
		var got struct {
			Trial struct{ LogRetentionDays *int }
		}
		owner.get(trial).ok().into(&got)
		if left.RemainingDays == nil || fmt.Sprint(*left.RemainingDays) != want || got.Trial.LogRetentionDays == nil || fmt.Sprint(*got.Trial.LogRetentionDays) != want {
			t.Errorf("remaining %v, of %v, want %s", left.RemainingDays, got.Trial.LogRetentionDays, want)
		}
	}
	days("-1")
	owner.put(experiment+"/retain_logs", `{"numDays":30}`).ok()
	days("30")
	owner.put(trial+"/retain_logs", `{"numDays":7}`).ok()
	days("7")
	other.put("/api/v1/projects/1/experiments/retain_logs", fmt.Sprintf(`{"numDays":-1,"experimentIds":[%d,999],"projectId":1}`, a.exp)).ok()
	days("-1")
	for _, body := range []string{`{}`, `{"numDays":-2}`, `{"numDays":32768}`} {
		owner.put(experiment+"/retain_logs", body).is(400)
		owner.put(trial+"/retain_logs", body).is(400)
		owner.put("/api/v1/projects/1/experiments/retain_logs", body).is(400)
	}
	r.user("mallory").put(experiment+"/retain_logs", `{"numDays":0}`).is(403)
	r.user("mallory").put(trial+"/retain_logs", `{"numDays":0}`).is(403)
	var many struct {
		Results []struct {
			ID    int
			Error string
		}
	}
	r.user("mallory").put("/api/v1/projects/1/experiments/retain_logs", fmt.Sprintf(`{"numDays":0,"experimentIds":[%d,999],"projectId":1}`, a.exp)).ok().into(&many)
	if len(many.Results) != 2 || many.Results[0].Error == "" || many.Results[1].Error == "" {
		t.Errorf("another user, for several: %+v", many)
	}
	days("-1")

	a.ranks[0].post("/api/v1/detent/logs", `{"shipper":"s","first":0,"lines":[{"timestamp":"2026-01-01T00:00:00Z","log":"a line"},{"timestamp":"2026-01-01T00:00:00Z","log":"another"}]}`).ok()
	owner.post("/api/v1/cleanup_logs", "").is(403)
	removed := func(want string) {
		t.Helper()
		var got struct{ RemovedCount string }
		r.user("admin").post("/api/v1/cleanup_logs", "").ok().into(&got)
		if got.RemovedCount != want {
			t.Errorf("%s lines were removed, want %s", got.RemovedCount, want)
		}
	}
	owner.put(trial+"/retain_logs", `{"numDays":0}`).ok()
	removed("0") // it runs
	if err := r.db.Exec(t.Context(), `UPDATE tasks SET ended_at = now() WHERE id = $1`, a.task); err != nil {
		t.Fatal(err)
	}
	before := owner.get("/api/v1/tasks/" + a.task + "/logs").ok()
	if before.header.Get(v1.LogsDeletedHeader) != "" || !strings.Contains(string(before.body), "another") {
		t.Errorf("before: %v\n%s", before.header, before.body)
	}
	removed("2")
	removed("0")
	for _, path := range []string{"/api/v1/tasks/" + a.task + "/logs", trial + "/logs"} {
		got := owner.get(path).ok()
		if _, err := time.Parse(time.RFC3339, got.header.Get(v1.LogsDeletedAtHeader)); err != nil || got.header.Get(v1.LogsDeletedHeader) != "2" || len(got.body) > 0 {
			t.Errorf("%s: %v, %v\n%s", path, got.header, err, got.body)
		}
	}
}

// TestTrialsByRetention: the trials of a list are in the order of the days that each shows.
func TestTrialsByRetention(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Logs.Days = 30 })
	me := r.user("determined")
	exp := me.create(strings.Replace(yaml(), "  name: single", "  name: random\n  max_trials: 3", 1))
	path := fmt.Sprintf("/api/v1/experiments/%d/trials", exp)
	list := func(order string) string {
		t.Helper()
		var got struct {
			Trials []struct{ ID, LogRetentionDays int }
		}
		me.get(path + "?sortBy=SORT_BY_LOG_RETENTION_DAYS&orderBy=" + order).ok().into(&got)
		var out []string
		for _, it := range got.Trials {
			out = append(out, fmt.Sprint(it.LogRetentionDays))
		}
		return strings.Join(out, " ")
	}
	first, _ := r.trial(exp, 0)
	third, _ := r.trial(exp, 2)
	me.put(fmt.Sprintf("/api/v1/trials/%d/retain_logs", first), `{"numDays":90}`).ok()
	me.put(fmt.Sprintf("/api/v1/trials/%d/retain_logs", third), `{"numDays":-1}`).ok()
	if up, down := list("ORDER_BY_ASC"), list("ORDER_BY_DESC"); up != "-1 30 90" || down != "90 30 -1" {
		t.Errorf("the order is %s, and %s", up, down)
	}
}
