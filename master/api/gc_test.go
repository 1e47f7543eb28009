package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
)

const (
	older = "aaaaaaaa-0000-4000-8000-000000000001"
	newer = "aaaaaaaa-0000-4000-8000-000000000002"
)

// stored reports two checkpoints of a trial that runs, the older one the better.
func (a *attempt) stored() {
	a.r.t.Helper()
	me := a.ranks[0]
	for i, id := range []string{older, newer} {
		me.post(a.trialPath("/metrics"), fmt.Sprintf(`{"group":"validation","metrics":{"trialRunId":1,"stepsCompleted":%d,"metrics":{"avgMetrics":{"loss":%d}}}}`, i+1, i+1)).ok()
		me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":%q,"state":"STATE_COMPLETED","metadata":{"steps_completed":%d},
			"resources":{"model.bin":"5","sub/":"0","sub/x":"1"},"training":{}}`, id, a.task, a.id, i+1)).ok()
	}
}

// over ends the experiment of an attempt.
func (a *attempt) over() {
	a.r.t.Helper()
	a.r.apply(rows.Changes{Allocations: []rows.AllocationChange{{ID: a.id, Saw: "ASSIGNED", State: "TERMINATED", Ended: true, Outcome: "completed"}},
		Trials: []rows.TrialChange{{ID: a.trial, Saw: "ACTIVE", State: "COMPLETED", RunID: 1, Ended: true}}})
	a.r.moves(a.exp, "PAUSED", "COMPLETED")
}

// collected is the newest garbage collection of an experiment.
func (a *attempt) collected() map[string]any {
	a.r.t.Helper()
	list := at(a.r.t, a.r.user("determined").get(fmt.Sprintf("/api/v1/detent/experiments/%d/collections", a.exp)).ok().tree(), "collections").([]any)
	if len(list) == 0 {
		a.r.t.Fatal("there is no collection")
	}
	return list[0].(map[string]any)
}

// collector is the attempt of a task that removes files, past the gate.
func (a *attempt) collector(task string) *attempt {
	a.r.t.Helper()
	b := &attempt{r: a.r, exp: a.exp, task: task, id: task + ".1"}
	a.r.apply(rows.Changes{NewAllocations: []tasks.NewAttempt{{ID: b.id, TaskID: task, RunID: 1, Pool: "default", Priority: 42}}})
	b.put(1)
	return b.claimAll(1)
}

func uuids(ids ...string) string { return `{"checkpointUuids":["` + strings.Join(ids, `","`) + `"]}` }

func TestWhatMayBeRemoved(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	me := r.user("determined")
	del := func(body string) answer { return me.do("DELETE", "/api/v1/checkpoints", body) }
	del(uuids(newer)).says(409, newer, "continues from it")
	del(uuids(older, newer)).says(409, newer)
	del(uuids(older, "aaaaaaaa-0000-4000-8000-000000000009")).says(404, "000000000009")
	del(uuids("nonsense")).says(400, "nonsense")
	del(`{}`).says(400, "checkpointUuids")
	for glob, why := range map[string]string{"../x": "outside the checkpoint", "/etc/*": "outside the checkpoint", "a/../../b": "outside the checkpoint", "": "pattern", strings.Repeat("x", 2000): "pattern"} {
		me.post("/api/v1/checkpoints/rm", fmt.Sprintf(`{"checkpointUuids":[%q],"checkpointGlobs":[%q]}`, older, glob)).says(400, why)
	}
	r.anyone().do("DELETE", "/api/v1/checkpoints", uuids(older)).is(401)
	a.ranks[0].do("DELETE", "/api/v1/checkpoints", uuids(older)).is(403)
	if list := at(t, me.get(fmt.Sprintf("/api/v1/detent/experiments/%d/collections", a.exp)).ok().tree(), "collections").([]any); len(list) != 0 {
		t.Errorf("a rejected removal was begun: %v", list)
	}
	me.post("/api/v1/checkpoints/rm", uuids(newer)).ok() // only looks
	del(uuids(older, older)).ok()
	if c := a.collected(); c["checkpoints"] != 1.0 || c["reason"] != "asked" {
		t.Errorf("%v", c)
	}
	a.over()
	me.del(fmt.Sprintf("/api/v1/experiments/%d", a.exp)).ok()
	del(uuids(newer)).says(400, "being deleted")
}

func TestPreviewOfAPolicy(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	me := r.user("determined")
	preview := func(query, want string) {
		t.Helper()
		got := me.get(fmt.Sprintf("/experiments/%d/preview_gc?%s", a.exp, query)).ok().tree()
		var ids []string
		for _, k := range got["checkpoints"].([]any) {
			ids = append(ids, at(t, k, "UUID").(string))
			requireKeys(t, "a checkpoint", k, "TrialID", "StepsCompleted", "State", "ValidationMetrics", "Resources", "ReportTime", "step")
		}
		if strings.Join(ids, " ") != want || got["metric_name"] != "loss" {
			t.Errorf("%s: %v of %v, want %s", query, ids, got["metric_name"], want)
		}
	}
	preview("", "")
	preview("save_experiment_best=0&save_trial_best=0&save_trial_latest=0", older) // the trial continues from the other
	a.over()
	preview("save_experiment_best=0&save_trial_best=0&save_trial_latest=0", older+" "+newer)
	preview("save_trial_best=1&save_trial_latest=0", newer)
	preview("save_trial_best=0&save_trial_latest=1", older)
	me.get(fmt.Sprintf("/experiments/%d/preview_gc?save_trial_best=-1", a.exp)).says(400, "save_trial_best")
	me.get("/experiments/999/preview_gc").is(404)
}

// TestPreviewOfManyCheckpoints: a preview has pages, and a call may name only a limited number of
// checkpoints.
func TestPreviewOfManyCheckpoints(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	a.over()
	const many = 5200
	for _, sql := range []string{
		fmt.Sprintf(`INSERT INTO checkpoints SELECT (jsonb_populate_record(k, jsonb_build_object('uuid', gen_random_uuid(), 'steps', i))).*
			FROM checkpoints k, generate_series(1, %d) i WHERE k.uuid = '%s'`, many, older),
	} {
		if err := r.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	me := r.user("determined")
	ids := map[string]bool{}
	pages := 0
	for offset := 0; ; pages++ {
		got := me.get(fmt.Sprintf("/experiments/%d/preview_gc?save_experiment_best=0&save_trial_best=0&save_trial_latest=0&offset=%d", a.exp, offset)).ok().tree()
		list := got["checkpoints"].([]any)
		if got["total"] != float64(many+2) || len(list) > 5000 {
			t.Fatalf("%d of %v in a page", len(list), got["total"])
		}
		for _, k := range list {
			ids[at(t, k, "UUID").(string)] = true
		}
		if offset += len(list); len(list) == 0 {
			break
		}
	}
	if len(ids) != many+2 || pages < 2 {
		t.Errorf("%d checkpoints in %d pages", len(ids), pages)
	}
	me.get(fmt.Sprintf("/experiments/%d/preview_gc?offset=-1", a.exp)).says(400, "offset")
	entries := strings.Repeat(`{"uuid":"`+older+`"},`, checkpoints.MaxRemovals) + `{"uuid":"` + older + `"}`
	me.do("PATCH", "/api/v1/checkpoints", `{"checkpoints":[`+entries+`]}`).says(400, "over the limit")
	me.do("PATCH", "/api/v1/checkpoints", `{"checkpoints":[{"uuid":"`+older+`","resources":{"resources":{}}},{"uuid":"aaaaaaaa-0000-4000-8000-000000000009"}]}`).says(404, "000000000009")
}

func TestATaskThatRemovesFiles(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	a.over()
	me := r.user("determined")
	me.post("/api/v1/checkpoints/rm", `{"checkpointUuids":["`+older+`"],"checkpointGlobs":["*.bin"]}`).ok()
	task := a.collected()["taskId"].(string)
	b := a.collector(task)
	spec := at(t, b.claimed[0], "spec").(map[string]any)
	for path, want := range map[string]any{"taskType": "CHECKPOINT_GC", "collect.storage.folder": "/determined_shared_fs/ckpt", "collect.checkpoints.0.uuid": older,
		"collect.checkpoints.0.globs.0": "*.bin", "collect.checkpoints.0.known": 2.0, "collect.events": "", "env.DET_TASK_TYPE": "CHECKPOINT_GC"} {
		if got := at(t, spec, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if env := spec["env"].(map[string]any); env["DET_HARNESS_URL"] != nil || env["FOO"] != "bar" {
		t.Errorf("the task's environment: %v", env)
	}
	for _, m := range spec["bindMounts"].([]any) {
		if at(t, m, "create") != false {
			t.Errorf("a storage that is not there would be made: %v", m)
		}
	}
	mine, path := b.ranks[0], "/api/v1/detent/collections/"+task+"/freed"
	freed := `{"uuid":"` + older + `","files":"1","bytes":"5","left":{"resources":{"sub/":"0","sub/x":"1"}},"error":""}`
	a.r.user("determined").post(path, freed).is(403)
	mine.post("/api/v1/detent/collections/other/freed", freed).says(403, "other")
	mine.post(path, `{"uuid":"`+older+`","files":"-1","bytes":"5"}`).says(400, "from 0")
	mine.post(path, `{"uuid":"`+older+`","files":"1","bytes":"1125899906842625"}`).says(400, "from 0")
	mine.post(path, strings.Replace(freed, `"sub/x":"1"`, `"sub/x":"9223372036854775807"`, 1)).says(400, "sub/x")
	mine.post(path, `{"uuid":"x","files":"1","bytes":"5"}`).says(400, "UUID")
	mine.post(path, `{"uuid":"`+newer+`","files":"1","bytes":"5","left":{"resources":{}}}`).ok() // not its to remove
	mine.post(path, strings.Replace(freed, `"error":""`, `"error":"access denied"`, 1)).ok()
	mine.post(path, freed).ok()
	mine.post(path, freed).ok() // again, as after an answer that was lost
	k := at(t, me.get("/api/v1/checkpoints/"+older).ok().tree(), "checkpoint").(map[string]any)
	removal := at(t, k, "removals.0").(map[string]any)
	if k["state"] != "STATE_PARTIALLY_DELETED" || removal["files"] != "2" || removal["bytes"] != "10" || removal["error"] != "" || removal["time"] == nil || removal["taskId"] != task {
		t.Errorf("%v", k)
	}
	if got := at(t, me.get("/api/v1/checkpoints/"+newer).ok().tree(), "checkpoint.state"); got != "STATE_COMPLETED" {
		t.Errorf("another checkpoint is %v", got)
	}
	if c := a.collected(); c["done"] != 1.0 || c["bytes"] != "10" {
		t.Errorf("the record: %v", c)
	}
	total := me.get(fmt.Sprintf("/api/v1/experiments/%d", a.exp)).ok().tree()
	for path, want := range map[string]any{"experiment.freed.checkpoints": 1.0, "experiment.freed.files": "2", "experiment.freed.bytes": "10"} {
		if got := at(t, total, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	remover, gone := a.removesEvents(me, task)
	events := a.collector(remover)
	if got := at(t, events.claimed[0], "spec.collect.events"); got != fmt.Sprintf("%s/tensorboard/experiment/%d", r.api.cfg.ClusterID, a.exp) {
		t.Errorf("TensorBoard's files are looked for in %v", got)
	}

	// Sums that no number of 64 bits holds are shown as the most that one does.
	const most = "9223372036854775807"
	for _, sql := range []string{`UPDATE removals SET files = ` + most + `, bytes = ` + most, `UPDATE collections SET events = true, events_files = ` + most + `, events_bytes = ` + most} {
		if err := r.db.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	events.ranks[0].post("/api/v1/detent/collections/"+remover+"/freed", `{"files":"1","bytes":"1"}`).ok()
	total = me.get(fmt.Sprintf("/api/v1/experiments/%d", a.exp)).ok().tree()
	if b, c := at(t, total, "experiment.freed.bytes"), a.collected(); b != most || c["bytes"] != most || c["files"] != most {
		t.Errorf("freed: %v, of the newest collection %v", b, c)
	}
	// The master answers the request when the task has ended, with the result.
	a.ends(remover, "success")
	(<-gone).ok()
	failing, stuck := a.removesEvents(me, remover)
	a.ends(failing, "failed: exit code 1")
	(<-stuck).says(409, "could not be removed", "failed: exit code 1", failing)
}

// TestASweepAsksWhatIsKnown: a sweep learns its time from its claim, and from the master which folders belong to no checkpoint.
func TestASweepAsksWhatIsKnown(t *testing.T) {
	r := newRig(t)
	a := r.running(sharedStorage(t.TempDir()), 1)
	a.stored()
	a.over()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sweep := checkpoints.NewGC{TaskID: checkpoints.GCTaskID(a.exp), ExperimentID: a.exp, Reason: checkpoints.BySweep, Pool: "default", Priority: 42, Saw: "COMPLETED",
		Sweep: &task.Sweep{Since: began, Until: began.Add(time.Hour)}}
	if err := r.db.Tx(t.Context(), func(tx *database.DB) error { _, err := checkpoints.CreateGC(t.Context(), tx, sweep); return err }); err != nil {
		t.Fatal(err)
	}
	b := a.collector(sweep.TaskID)
	spec := at(t, b.claimed[0], "spec").(map[string]any)
	for path, want := range map[string]any{"collect.sweep.since": "2026-01-02T03:04:05Z", "collect.sweep.until": "2026-01-02T04:04:05Z", "collect.events": "", "collect.storage.folder": "/determined_shared_fs/ckpt"} {
		if got := at(t, spec, path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	const free = "bbbbbbbb-0000-4000-8000-000000000001"
	mine, path := b.ranks[0], "/api/v1/detent/collections/"+sweep.TaskID+"/strays"
	if got := at(t, mine.post(path, fmt.Sprintf(`{"uuids":[%q,%q,%q]}`, older, free, newer)).ok().tree(), "uuids").([]any); len(got) != 1 || got[0] != free {
		t.Errorf("belongs to no checkpoint: %v", got)
	}
	mine.post(path, `{"uuids":["x"]}`).says(400, "not the UUID")
	mine.post(path, `{"uuids":[`+strings.TrimSuffix(strings.Repeat(`"`+free+`",`, v1.MaxStrays+1), ",")+`]}`).says(400, "over the limit")
	mine.post("/api/v1/detent/collections/other/strays", `{"uuids":[]}`).says(403, "other")
	r.user("determined").post(path, `{"uuids":[]}`).is(403)
	mine.post("/api/v1/detent/collections/"+sweep.TaskID+"/freed", `{"files":"3","bytes":"15"}`).ok()
	if c := a.collected(); c["reason"] != "sweep" || c["files"] != "3" || c["bytes"] != "15" {
		t.Errorf("the record: %v", c)
	}
}

// removesEvents asks for the removal of the files of TensorBoards, and returns its task, which
// follows the task last, and the channel of the answer.
func (a *attempt) removesEvents(me as, last string) (task string, answered chan answer) {
	a.r.t.Helper()
	answered = make(chan answer, 1)
	go func() { answered <- me.del(fmt.Sprintf("/api/v1/experiments/%d/tensorboard-files", a.exp)) }()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if task = a.collected()["taskId"].(string); task != last {
			return task, answered
		}
	}
	a.r.t.Fatal("no task removes the files of TensorBoards")
	return "", nil
}

// ends ends a task, as the loop does.
func (a *attempt) ends(task, status string) {
	a.r.t.Helper()
	a.r.apply(rows.Changes{Tasks: []rows.TaskChange{{ID: task, Ended: true, ExitStatus: status}}})
	a.r.bus.Publish(lifecycle.TopicState)
}
