package api

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/experiments"
)

// elsewhere is a configuration as a program sends it for what it runs itself.
const elsewhere = `
name: laptop
data: null
description: null
labels: [mine]
searcher: {name: single, metric: loss}
workspace: null
project: null
checkpoint_storage: {type: shared_fs, host_path: /home/ada/checkpoints}
`

func (c as) putExperiment(external string) map[string]any {
	c.r.t.Helper()
	return c.put("/api/v1/experiments/by-external-id/"+external, createBody(elsewhere, `"unmanaged":true`)).ok().tree()
}

func (c as) putTrial(experiment any, external string) map[string]any {
	c.r.t.Helper()
	return c.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":%q,"createTrialRequest":{"experimentId":%v,"hparams":{"lr":0.1},"unmanaged":true}}`, external, experiment)).ok().tree()
}

func (c as) patchTrial(id any, state string) map[string]any {
	c.r.t.Helper()
	body := fmt.Sprintf(`{"trialId":%v}`, id)
	if state != "" {
		body = fmt.Sprintf(`{"trialId":%v,"state":"STATE_%s"}`, id, state)
	}
	return c.patch(fmt.Sprintf("/api/v1/trials/%v", id), body).ok().tree()
}

func (c as) stateOf(kind string, id any) string {
	c.r.t.Helper()
	return at(c.r.t, c.get(fmt.Sprintf("/api/v1/%ss/%v", kind, id)).ok().tree(), kind+".state").(string)
}

// TestUnmanagedRun: a program runs a trial elsewhere, from its creation to its end, and
// resumes it.
func TestUnmanagedRun(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	exp := me.putExperiment("my%20run-1")
	id := at(t, exp, "experiment.id")
	if at(t, exp, "experiment.externalExperimentId") != "my run-1" || at(t, exp, "experiment.unmanaged") != true || at(t, exp, "config.name") != "laptop" {
		t.Fatalf("%v", exp)
	}
	if again := at(t, me.putExperiment("my%20run-1"), "experiment.id"); again != id {
		t.Errorf("the same external id made %v and %v", id, again)
	}
	if state := me.stateOf("experiment", id); state != "STATE_RUNNING" {
		t.Errorf("without a trial it is %s", state)
	}
	trial := me.putTrial(id, "t-1")
	tid, task := at(t, trial, "trial.id"), at(t, trial, "trial.taskId").(string)
	if at(t, trial, "trial.hparams.lr") != 0.1 || at(t, me.putTrial(id, "t-1"), "trial.id") != tid || at(t, me.putTrial(id, "2"), "trial.id") == tid {
		t.Errorf("%v", trial)
	}
	if got := me.get("/api/v1/trials/by-external-id/my%20run-1/t-1").ok().tree(); at(t, got, "trial.id") != tid {
		t.Errorf("by external ids: %v", got)
	}
	path := fmt.Sprintf("/api/v1/trials/%v", tid)
	start := me.post(path+"/start", fmt.Sprintf(`{"trialId":%v,"resume":true}`, tid)).ok().tree()
	if at(t, start, "trialRunId") != 1.0 || at(t, start, "stepsCompleted") != 0.0 || at(t, start, "latestCheckpoint") != nil {
		t.Errorf("a first start: %v", start)
	}
	me.patchTrial(tid, "RUNNING")
	me.patchTrial(tid, "")
	me.post("/api/v1/runs/start", fmt.Sprintf(`{"runId":%v,"checkpointStorage":{"type":"shared_fs","host_path":"/home/ada/checkpoints"}}`, tid)).ok()
	me.post(path+"/metrics", fmt.Sprintf(`{"group":"validation","metrics":{"trialId":%v,"trialRunId":1,"stepsCompleted":5,"metrics":{"avgMetrics":{"loss":0.5}}}}`, tid)).ok()
	me.post(path+"/progress", `{"progress":0.5,"isRaw":true}`).ok()
	const uuid = "11111111-2222-4333-8444-555555555555"
	checkpoint := fmt.Sprintf(`{"uuid":%q,"taskId":%q,"allocationId":null,"state":"STATE_COMPLETED","resources":{"a":1},"metadata":{"steps_completed":5}}`, uuid, task)
	me.post("/api/v1/checkpoints", checkpoint).ok()
	me.post("/api/v1/checkpoints", checkpoint).ok()
	me.post("/task-logs", fmt.Sprintf(`[{"task_id":%q,"timestamp":"2026-01-01T00:00:00Z","rank":"0","log":"hello\n"}]`, task)).ok()
	if log := string(me.get(path + "/logs").ok().body); !strings.Contains(log, "hello") {
		t.Errorf("the trial's log: %s", log)
	}
	me.patchTrial(at(t, me.putTrial(id, "2"), "trial.id"), "COMPLETED")
	ended := me.patchTrial(tid, "COMPLETED")
	if at(t, ended, "trial.state") != "STATE_COMPLETED" || me.stateOf("experiment", id) != "STATE_COMPLETED" {
		t.Errorf("ended: %v, the experiment %s", at(t, ended, "trial.state"), me.stateOf("experiment", id))
	}
	whole := me.get(fmt.Sprintf("/api/v1/experiments/%v", id)).ok().tree()
	if at(t, whole, "experiment.bestTrialId") != tid || at(t, whole, "experiment.progress") != 1.0 || at(t, whole, "experiment.numTrials") != 2.0 || at(t, whole, "experiment.checkpointCount") != 1.0 {
		t.Errorf("%v", whole)
	}
	// A late heartbeat changes nothing.
	if at(t, me.patchTrial(tid, ""), "trial.state") != "STATE_COMPLETED" {
		t.Error("a late heartbeat opens the trial")
	}
	again := me.post(path+"/start", `{"resume":true}`).ok().tree()
	if at(t, again, "trialRunId") != 2.0 || at(t, again, "stepsCompleted") != 5.0 || at(t, again, "latestCheckpoint") != uuid {
		t.Errorf("a second start: %v", again)
	}
	if me.stateOf("experiment", id) != "STATE_RUNNING" || me.stateOf("trial", tid) != "STATE_RUNNING" {
		t.Errorf("resumed: %s, %s", me.stateOf("experiment", id), me.stateOf("trial", tid))
	}
	afresh := me.post(path+"/start", `{"resume":false}`).ok().tree()
	if at(t, afresh, "trialRunId") != 3.0 || at(t, afresh, "stepsCompleted") != 0.0 || at(t, afresh, "latestCheckpoint") != nil {
		t.Errorf("a start from the beginning: %v", afresh)
	}
	me.patchTrial(tid, "ERROR")
	if me.stateOf("experiment", id) != "STATE_ERROR" {
		t.Errorf("failed: %s", me.stateOf("experiment", id))
	}
}

// TestUnmanagedWithoutNames: each request creates a new one, and experiments that the master runs
// accept no unmanaged trials.
func TestUnmanagedWithoutNames(t *testing.T) {
	r := newRig(t)
	me, other := r.user("determined"), r.user("admin")
	id := me.create(elsewhere, `"unmanaged":true`)
	inFile := me.create(elsewhere + "unmanaged: true\n")
	if id == inFile || me.stateOf("experiment", inFile) != "STATE_RUNNING" {
		t.Errorf("%d and %d", id, inFile)
	}
	create := func(c as, experiment int, more string) answer {
		return c.post("/api/v1/trials", fmt.Sprintf(`{"experimentId":%d,"hparams":null%s}`, experiment, more))
	}
	first := at(t, create(me, id, `,"unmanaged":true`).ok().tree(), "trial.id")
	if second := at(t, create(me, id, `,"unmanaged":true`).ok().tree(), "trial.id"); second == first {
		t.Errorf("two requests made one trial, %v", first)
	}
	create(me, id, "").says(400, "unmanaged: must be true")
	create(me, 99, `,"unmanaged":true`).says(404, "99")
	create(other, id, `,"unmanaged":true`).ok() // an admin
	managed := r.running(yaml(), 1)
	create(me, managed.exp, `,"unmanaged":true`).says(400, "not unmanaged")
	path := fmt.Sprintf("/api/v1/trials/%d", managed.trial)
	me.patch(path, `{"state":"STATE_COMPLETED"}`).says(400, "not unmanaged")
	me.post(path+"/start", `{"resume":true}`).says(400, "not unmanaged")
	me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":"11111111-2222-4333-8444-555555555555","taskId":%q,"state":"STATE_COMPLETED","metadata":{}}`, managed.task)).says(403, "only the attempt")
	me.patch(fmt.Sprintf("/api/v1/trials/%v", first), `{"state":"STATE_PAUSED"}`).says(400, "STATE_PAUSED", "STATE_RUNNING")
	me.patch(fmt.Sprintf("/api/v1/trials/%v", first), `{"trialId":4711}`).says(400, "4711")
	me.put("/api/v1/experiments/by-external-id/x", createBody(elsewhere)).says(400, "unmanaged: must be true")
	me.put("/api/v1/experiments/by-external-id/"+strings.Repeat("x", 600), createBody(elsewhere, `"unmanaged":true`)).says(400, "limit of 512")
	me.put("/api/v1/trials", `{"externalTrialId":"x"}`).says(400, "createTrialRequest")
	me.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":"","createTrialRequest":{"experimentId":%d,"unmanaged":true}}`, id)).says(400, "externalTrialId", "empty")
	me.get("/api/v1/trials/by-external-id/nobody/nothing").says(404, "nothing")
	me.post(fmt.Sprintf("/api/v1/experiments/%d/pause", id), "").says(400, "unmanaged")
}

// TestUnmanagedAtOnce: several processes of one program that begin at the same time share
// one experiment and one trial.
func TestUnmanagedAtOnce(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	experiments, trials := make([]any, 6), make([]any, 6)
	var all sync.WaitGroup
	for i := range experiments {
		all.Go(func() {
			experiments[i] = at(t, me.put("/api/v1/experiments/by-external-id/shared", createBody(elsewhere, `"unmanaged":true`)).tree(), "experiment.id")
			trials[i] = at(t, me.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":"one","createTrialRequest":{"experimentId":%v,"unmanaged":true}}`, experiments[i])).tree(), "trial.id")
		})
	}
	all.Wait()
	for i := range experiments {
		if experiments[i] != experiments[0] || trials[i] != trials[0] {
			t.Errorf("experiments %v, trials %v", experiments, trials)
		}
	}
}

// TestUnmanagedTrialsOfOthers: other users cannot change an unmanaged trial, and a user who may not see
// it cannot find it by its external id.
func TestUnmanagedTrialsOfOthers(t *testing.T) {
	r := newRig(t)
	admin := r.user("admin")
	id := at(t, admin.putExperiment("theirs"), "experiment.id")
	trial := at(t, admin.putTrial(id, "one"), "trial.id")
	me := r.user("determined")
	me.put("/api/v1/experiments/by-external-id/theirs", createBody(elsewhere, `"unmanaged":true`)).is(403)
	me.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":"one","createTrialRequest":{"experimentId":%v,"unmanaged":true}}`, id)).is(403)
	me.patch(fmt.Sprintf("/api/v1/trials/%v", trial), `{"state":"STATE_ERROR"}`).is(403)
	me.post(fmt.Sprintf("/api/v1/trials/%v/start", trial), `{}`).is(403)
	me.get("/api/v1/trials/by-external-id/theirs/one").ok()
	ws := at(t, admin.post("/api/v1/workspaces", `{"name":"elsewhere"}`).ok().tree(), "workspace.id")
	me.get("/api/v1/me").ok()
	r.confine("determined", int(ws.(float64)))
	// Nothing tells the internal ids of what the caller does not see.
	me.get("/api/v1/trials/by-external-id/theirs/one").says(404, `trial with the external id "one" not found`)
	me.get("/api/v1/trials/by-external-id/theirs/two").says(404, `trial with the external id "two" not found`)
	me.put("/api/v1/experiments/by-external-id/theirs", createBody(elsewhere, `"unmanaged":true`)).
		says(409, `the external id "theirs" belongs to an experiment of another workspace; use another external id`)
}

// TestExternalIDsOfAnotherProject: a request does not get an experiment that is not in the project that it names.
func TestExternalIDsOfAnotherProject(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := at(t, me.putExperiment("e"), "experiment.id")
	ws := at(t, me.post("/api/v1/workspaces", `{"name":"w"}`).ok().tree(), "workspace.id")
	project := at(t, me.post(fmt.Sprintf("/api/v1/workspaces/%v/projects", ws), `{"name":"p"}`).ok().tree(), "project.id")
	named := strings.NewReplacer("workspace: null", "workspace: w", "project: null", "project: p").Replace(elsewhere)
	for _, body := range []string{createBody(elsewhere, fmt.Sprintf(`"unmanaged":true,"projectId":%v`, project)), createBody(named, `"unmanaged":true`)} {
		me.put("/api/v1/experiments/by-external-id/e", body).says(409, `the external id "e" is in the project "Uncategorized"`)
		if got := at(t, me.put("/api/v1/experiments/by-external-id/e2", body).ok().tree(), "experiment.projectId"); got != project {
			t.Errorf("a new experiment is in the project %v", got)
		}
	}
	for _, body := range []string{createBody(elsewhere, `"unmanaged":true,"projectId":1`), createBody(elsewhere, `"unmanaged":true`)} {
		if got := at(t, me.put("/api/v1/experiments/by-external-id/e", body).ok().tree(), "experiment.id"); got != id {
			t.Errorf("experiment %v, want %v", got, id)
		}
	}
	me.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":"t","createTrialRequest":{"experimentId":%v,"hparams":{"x":"\ud800"},"unmanaged":true}}`, id)).
		says(400, "cannot be stored")
}

// TestSilentTrials: a trial whose program sends no heartbeats fails, and continues when the program
// reports again; a killed trial stays ended.
func TestSilentTrials(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	me := r.user("determined")
	id := at(t, me.putExperiment("e"), "experiment.id")
	silent, alive, killed := at(t, me.putTrial(id, "silent"), "trial.id"), at(t, me.putTrial(id, "alive"), "trial.id"), at(t, me.putTrial(id, "killed"), "trial.id")
	if err := r.db.Exec(ctx, `UPDATE trials SET alive_at = now() - interval '6 minutes' WHERE external_id = 'silent'`); err != nil {
		t.Fatal(err)
	}
	me.post(fmt.Sprintf("/api/v1/trials/%v/kill", killed), "").ok()
	if n, err := experiments.EndSilentTrials(ctx, r.db, 5*time.Minute); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if got := []string{me.stateOf("trial", silent), me.stateOf("trial", alive), me.stateOf("trial", killed), me.stateOf("experiment", id)}; fmt.Sprint(got) !=
		"[STATE_ERROR STATE_RUNNING STATE_CANCELED STATE_RUNNING]" {
		t.Errorf("%v", got)
	}
	if got := me.patchTrial(silent, ""); at(t, got, "trial.state") != "STATE_RUNNING" {
		t.Errorf("heard again: %v", got)
	}
	if got := me.patchTrial(killed, ""); at(t, got, "trial.state") != "STATE_CANCELED" {
		t.Errorf("killed, and heard again: %v", got)
	}
	if got := me.patchTrial(killed, "RUNNING"); at(t, got, "trial.state") != "STATE_CANCELED" {
		t.Errorf("killed, and reported as running: %v", got)
	}
	me.post(fmt.Sprintf("/api/v1/experiments/%v/cancel", id), "").ok()
	me.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":"new","createTrialRequest":{"experimentId":%v,"unmanaged":true}}`, id)).says(409, "canceled")
	e, err := experiments.Get(ctx, r.db, int(id.(float64)))
	if err != nil {
		t.Fatal(err)
	}
	r.apply(rows.Changes{Experiments: []rows.ExperimentChange{{ID: e.ID, Saw: e.State, State: "CANCELED", Ended: true}}})
	if n, err := experiments.EndSilentTrials(ctx, r.db, 5*time.Minute); n != 2 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if me.stateOf("trial", alive) != "STATE_CANCELED" || me.stateOf("experiment", id) != "STATE_CANCELED" {
		t.Errorf("canceled: %s, %s", me.stateOf("trial", alive), me.stateOf("experiment", id))
	}
}

// TestReportsAreSignsOfLife: whatever the program of an unmanaged trial reports keeps the trial open, and opens it again after it was
// closed for silence. Reports that follow at once are not stored as signs of life.
func TestReportsAreSignsOfLife(t *testing.T) {
	r := newRig(t)
	ctx := context.Background()
	me := r.user("determined")
	id := at(t, me.putExperiment("e"), "experiment.id")
	for name, report := range map[string]func(trial any, task string){
		"metrics": func(trial any, _ string) {
			me.post(fmt.Sprintf("/api/v1/trials/%v/metrics", trial),
				fmt.Sprintf(`{"group":"training","metrics":{"trialId":%v,"stepsCompleted":1,"metrics":{"avgMetrics":{"loss":1}}}}`, trial)).ok()
		},
		"progress": func(trial any, _ string) {
			me.post(fmt.Sprintf("/api/v1/trials/%v/progress", trial), `{"progress":0.5,"isRaw":true}`).ok()
		},
		"log": func(_ any, task string) {
			me.post("/task-logs", fmt.Sprintf(`[{"task_id":%q,"timestamp":"2026-01-01T00:00:00Z","log":"hello\n"}]`, task)).ok()
		},
		"checkpoint": func(_ any, task string) {
			me.post("/api/v1/checkpoints", fmt.Sprintf(`{"uuid":"11111111-2222-4333-8444-555555555555","taskId":%q,"state":"STATE_COMPLETED","metadata":{}}`, task)).ok()
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := me.putTrial(id, name)
			trial, task := at(t, made, "trial.id"), at(t, made, "trial.taskId").(string)
			age := func() {
				t.Helper()
				if err := r.db.Exec(ctx, `UPDATE trials SET alive_at = now() - interval '6 minutes' WHERE task_id = $1`, task); err != nil {
					t.Fatal(err)
				}
			}
			ends := func(want int) {
				t.Helper()
				if n, err := experiments.EndSilentTrials(ctx, r.db, 5*time.Minute); n != want || err != nil {
					t.Fatalf("%d trials ended, want %d: %v", n, want, err)
				}
			}
			age()
			report(trial, task)
			ends(0)
			age()
			report(trial, task) // within heardEvery of the first
			ends(1)
			if got := me.stateOf("trial", trial); got != "STATE_ERROR" {
				t.Errorf("silent: %s", got)
			}
			*r.api.experiments.Heard = *experiments.NewHeard(r.db, r.bus) // as after heardEvery
			report(trial, task)
			if got := me.stateOf("trial", trial); got != "STATE_RUNNING" {
				t.Errorf("closed for silence, and heard again: %s", got)
			}
			me.patchTrial(trial, "COMPLETED")
			*r.api.experiments.Heard = *experiments.NewHeard(r.db, r.bus)
			report(trial, task)
			if got := me.stateOf("trial", trial); got != "STATE_COMPLETED" {
				t.Errorf("completed, and a late report: %s", got)
			}
		})
	}
}

// TestUnmanagedArchived: an archived experiment stays ended although its program reports.
func TestUnmanagedArchived(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := at(t, me.putExperiment("e"), "experiment.id")
	trial := at(t, me.putTrial(id, "t"), "trial.id")
	me.patchTrial(trial, "COMPLETED")
	me.post(fmt.Sprintf("/api/v1/experiments/%v/archive", id), "").ok()
	me.patchTrial(trial, "RUNNING")
	if got := []string{me.stateOf("trial", trial), me.stateOf("experiment", id)}; fmt.Sprint(got) != "[STATE_COMPLETED STATE_COMPLETED]" {
		t.Errorf("archived, and reported as running: %v", got)
	}
	me.post(fmt.Sprintf("/api/v1/experiments/%v/unarchive", id), "").ok()
	if got := me.patchTrial(trial, "RUNNING"); at(t, got, "trial.state") != "STATE_RUNNING" {
		t.Errorf("unarchived, and reported as running: %v", got)
	}
}

// TestUnmanagedBounds: an unmanaged experiment has a maximum number of trials; at the maximum, existing
// trials are still found. Only POST validates.
func TestUnmanagedBounds(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := at(t, me.putExperiment("e"), "experiment.id")
	first := at(t, me.putTrial(id, "first"), "trial.id")
	if err := r.db.Exec(context.Background(), `UPDATE trials SET number = 9999`); err != nil {
		t.Fatal(err)
	}
	me.put("/api/v1/trials", fmt.Sprintf(`{"externalTrialId":"one more","createTrialRequest":{"experimentId":%v,"unmanaged":true}}`, id)).says(400, "10000 trials")
	if again := at(t, me.putTrial(id, "first"), "trial.id"); again != first {
		t.Errorf("the first trial is %v, and %v when it is asked for again", first, again)
	}
	me.put("/api/v1/experiments/by-external-id/other", `{"unmanaged":true,"validateOnly":true,"config":"name: x"}`).says(400, "validateOnly")
}
