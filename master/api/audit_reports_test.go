package api

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/audit"
)

// TestAuditOfTasksThatRead: what a program reads with its attempt's token of objects of other users is in the trail, and what it
// reads and reports of its own is not.
func TestAuditOfTasksThatRead(t *testing.T) {
	r := newRig(t)
	a := r.running(yaml(), 1)
	admin, in := r.user("admin"), a.ranks[0]
	hers := admin.create(yaml(), `"modelDefinition":[`+modelFile("train.py", "secret")+`]`)
	theirTrial, theirTask := r.trial(hers, 0)
	for range 3 {
		in.get(fmt.Sprintf("/api/v1/experiments/%d/model_def", hers)).ok()
	}
	in.get(fmt.Sprintf("/api/v1/trials/%d/logs", theirTrial)).ok()
	in.get("/api/v1/tasks/" + theirTask + "/logs").ok()
	in.get(fmt.Sprintf("/api/v1/experiments/%d/model_def", a.exp)).ok()
	in.get(a.trialPath("/logs")).ok()
	in.post(a.trialPath("/metrics"), fmt.Sprintf(`{"metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":1,"metrics":{"avgMetrics":{"loss":1}}},"group":"training"}`, a.trial)).ok()
	in.post(a.trialPath("/runner/metadata"), `{"state":"TRAINING"}`).ok()
	in.post(fmt.Sprintf("/api/v1/experiments/%d/kill", hers), "").is(403)
	var lines []string
	for _, e := range trailOf(t, admin, "username=determined") {
		if strings.HasPrefix(e.Credential, "task ") {
			lines = append(lines, fmt.Sprintf("%s ×%d %s", told(e), e.Times, e.Credential))
		}
	}
	want := []string{
		fmt.Sprintf(`determined view experiment "%d" 200 ×3 task %s`, hers, a.id),
		fmt.Sprintf(`determined view trial "%d" 200 ×1 task %s`, theirTrial, a.id),
		fmt.Sprintf(`determined view task "%s" 200 ×1 task %s`, theirTask, a.id),
		fmt.Sprintf(`determined change experiment "%d" 403 ×1 task %s`, hers, a.id),
	}
	if !slices.Equal(lines, want) {
		t.Errorf("the trail has\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}

// TestAuditOfReportsByUsers: the first report in an hour of a user about an object has an entry, before it is stored and with its
// result; those that follow cost no entry, however many there are.
func TestAuditOfReportsByUsers(t *testing.T) {
	r := newRig(t)
	me, admin := r.user("determined"), r.user("admin")
	trial := me.putTrial(at(t, me.putExperiment("x"), "experiment.id"), "t")
	id, task := int(at(t, trial, "trial.id").(float64)), at(t, trial, "trial.taskId").(string)
	exp := int(at(t, trial, "trial.experimentId").(float64))
	path := fmt.Sprintf("/api/v1/trials/%d", id)
	metrics := func(who as, step int) answer {
		return who.post(path+"/metrics", fmt.Sprintf(`{"metrics":{"trialId":%d,"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"loss":1}}},"group":"training"}`, id, step))
	}
	reports := func(query string) (lines []string) {
		for _, e := range trailOf(t, admin, query) {
			if e.Method != "PUT" && e.Kind != "session" && e.Kind != "cluster" && e.Kind != "user" {
				lines = append(lines, fmt.Sprintf("%s %s ×%d", e.Path[strings.LastIndexByte(e.Path, '/'):], told(e), e.Times))
			}
		}
		return lines
	}
	me.post(path+"/start", fmt.Sprintf(`{"trialId":%d}`, id)).ok()
	for step := range 20 {
		metrics(me, step).ok()
	}
	me.post("/api/v1/task/logs", fmt.Sprintf(`{"logs":[{"taskId":%q,"log":"x"}]}`, task)).ok()
	me.post("/api/v1/task/logs", fmt.Sprintf(`{"logs":[{"taskId":%q,"log":"y"}]}`, task)).ok()
	want := []string{
		fmt.Sprintf(`/start determined change trial "%d" 200 ×1`, id),
		fmt.Sprintf(`/metrics determined change trial "%d" 200 ×1`, id),
		fmt.Sprintf(`/logs determined change task "%s" 200 ×1`, task),
	}
	if got := reports("username=determined"); !slices.Equal(got, want) {
		t.Errorf("the owner's reports:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	// Another user, of whom an admin may report for everybody and eve for nobody.
	eve := r.newUser("eve")
	admin.post(path+"/metrics", "{").is(400) // a report that fails hides none that follows
	admin.post(path+"/metrics", "{").is(400)
	metrics(admin, 50).ok()
	metrics(admin, 51).ok()
	admin.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%d}`, id)).ok()
	admin.post("/api/v1/webhooks/custom", fmt.Sprintf(`{"experimentId":%d,"eventData":{"title":"t"}}`, exp)).ok()
	admin.post(path+"/early_exit", `{"reason":"no such reason"}`).is(400)
	admin.patch(path, fmt.Sprintf(`{"trialId":%d,"state":"STATE_COMPLETED"}`, id)).ok()
	for range 3 {
		metrics(eve, 60).is(403)
	}
	want = []string{
		fmt.Sprintf(`/metrics admin change trial "%d" 400 ×2`, id),
		fmt.Sprintf(`/metrics admin change trial "%d" 200 ×1`, id),
		fmt.Sprintf(`/start admin change run "%d" 200 ×1`, id),
		fmt.Sprintf(`/custom admin change experiment "%d" 200 ×1`, exp),
		fmt.Sprintf(`/early_exit admin change trial "%d" 400 ×1`, id),
		fmt.Sprintf(`/:id admin change trial "%d" 200 ×1`, id),
		fmt.Sprintf(`/metrics eve change trial "%d" 403 ×3`, id),
	}
	if got := slices.Concat(reports("username=admin"), reports("username=eve")); !slices.Equal(got, want) {
		t.Errorf("reports by others:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if none := r.text(`SELECT count(*)::text FROM audit WHERE ended_at IS NULL`); none != "0" {
		t.Errorf("%s entries have no result", none)
	}

	// Without an entry nothing is stored; and beyond a caller's entries one for the call counts the objects that follow.
	*r.api.trail = *audit.New(t.Context(), r.db, slog.New(slog.DiscardHandler), audit.Limits{})
	stored := func() string { return r.text(`SELECT count(*)::text FROM metrics`) }
	before := stored()
	r.exec(`ALTER TABLE audit ADD CONSTRAINT full_disk CHECK (id < 0) NOT VALID`)
	metrics(me, 70).is(500)
	if after := stored(); after != before {
		t.Errorf("%s reports are stored, and %s before: one without an entry", after, before)
	}
	r.exec(`ALTER TABLE audit DROP CONSTRAINT full_disk`)
	*r.api.trail = *audit.New(t.Context(), r.db, slog.New(slog.DiscardHandler), audit.Limits{Singles: 1, SinglesEvery: time.Hour})
	for i := range 4 {
		other := me.putTrial(exp, fmt.Sprint("more-", i))
		me.post(fmt.Sprintf("/api/v1/trials/%v/start", at(t, other, "trial.id")), fmt.Sprintf(`{"trialId":%v}`, at(t, other, "trial.id"))).ok()
	}
	if got := r.text(`SELECT count(*) FILTER (WHERE object <> '') || ' and ' || count(*) FILTER (WHERE object = '') FROM audit WHERE path LIKE '%/trials/:id/start' AND id > (SELECT max(id) FROM audit WHERE path LIKE '%/early_exit')`); got != "1 and 1" {
		t.Errorf("entries with an object, and without: %s", got)
	}
}
