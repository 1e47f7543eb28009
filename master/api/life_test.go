package api

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/checkpoints"
	"github.com/detent-ml/detent/master/control/rows"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/lifecycle"
	"github.com/detent-ml/detent/master/searches"
)

// goesOn stands in for the loop: it carries the next action out that an experiment
// continues.
func (r *rig) goesOn(id int, saw string) (done chan struct{}) {
	wake, cancel := r.bus.Subscribe(lifecycle.TopicIntent)
	done = make(chan struct{})
	go func() {
		defer close(done)
		defer cancel()
		for {
			select {
			case <-wake:
			case <-r.t.Context().Done():
				return
			}
			var n int
			err := r.db.QueryRow(context.Background(), "SELECT continues FROM experiments WHERE id = $1 AND continues > continued", id).Scan(&n)
			if err != nil {
				continue
			}
			c := rows.Changes{Experiments: []rows.ExperimentChange{{ID: id, Saw: saw, State: "ACTIVE", Continued: &n}}}
			if err := r.db.Tx(context.Background(), func(tx *database.DB) error { return rows.ApplyChanges(context.Background(), tx, &c) }); err != nil {
				r.t.Error(err)
			}
			r.bus.Publish(lifecycle.TopicState)
			return
		}
	}()
	return done
}

func continueBody(id int, override string) string {
	return fmt.Sprintf(`{"id":%d,"overrideConfig":%q}`, id, override)
}

func TestContinueExperiment(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml("hyperparameters: {lr: 1}", "labels: [a]"), `"activate":true`)
	trial, task := r.trial(id, 0)
	const path = "/api/v1/experiments/continue"
	r.moves(id, "PAUSED", "ACTIVE")
	me.post(path, continueBody(id, "{}")).says(400, "experiment in non terminal state 'ACTIVE', try again later")
	r.runs(task+".1", "PENDING", "TERMINATED")
	r.apply(rows.Changes{Trials: []rows.TrialChange{{ID: trial, Saw: "ACTIVE", State: "ERROR", Ended: true, RunID: 1}}})
	r.moves(id, "ACTIVE", "ERROR")

	me.post(path, continueBody(9999, "{}")).says(404, "experiment 9999 not found")
	for override, words := range map[string]string{
		"project: x\nworkspace: y\n":                               "in override config cannot be specified",
		"searcher: {name: random, max_trials: 3}":                  "override config must have single searcher type got 'random' instead",
		"max_restart: 1":                                           "did you mean max_restarts",
		"max_restarts: -1":                                         "max_restarts",
		"checkpoint_storage: {type: shared_fs, host_path: /other}": "fork the experiment instead",
		"searcher: {name: single, source_trial_id: 1}":             "starts from its own checkpoints",
		"resources: {resource_pool: nowhere}":                      `there is no resource pool "nowhere"`,
	} {
		me.post(path, continueBody(id, override)).says(400, words)
	}
	// As an import from Determined stores it: its request named the project beside the configuration.
	if err := r.db.Exec(t.Context(), `UPDATE experiments SET config = config || '{"project": "baseline", "workspace": ""}' WHERE id = $1`, id); err != nil {
		t.Fatal(err)
	}
	done := r.goesOn(id, "ERROR")
	got := me.post(path, continueBody(id, "name: again\nmax_restarts: 2\nlabels: [b]\nhyperparameters: {lr: 2}\nsearcher: {max_length: {batches: 200}}\nresources: {priority: 7}\n")).ok().tree()
	<-done
	for k, want := range map[string]any{"experiment.id": float64(id), "experiment.name": "again", "experiment.state": "STATE_QUEUED",
		"experiment.config.max_restarts": 2.0, "experiment.config.searcher.max_length.batches": 200.0, "experiment.config.searcher.metric": "loss",
		"experiment.config.hyperparameters.lr.val": 2.0, "experiment.config.resources.priority": 7.0, "experiment.config.workspace": "Uncategorized", "experiment.config.project": "Uncategorized",
		"experiment.originalConfig": yaml("hyperparameters: {lr: 1}", "labels: [a]")} {
		if at(t, got, k) != want {
			t.Errorf("%s = %v, want %v", k, at(t, got, k), want)
		}
	}
	if labels := fmt.Sprint(at(t, got, "experiment.labels")); labels != "[a b]" && labels != "[b a]" {
		t.Errorf("the experiment's labels are %s", labels)
	}
	in, err := searches.ReadInput(t.Context(), r.db, id, 0)
	if err != nil || len(in.Events) != 1 || in.Events[0].Kind != "continued" || !strings.Contains(string(in.Events[0].Body), `"batches": 200`) ||
		strings.Contains(string(in.Events[0].Body), "checkpoint_storage") || !strings.Contains(string(in.Config), `"batches": 100`) {
		t.Errorf("the search begins with %s and the events %+v: %v", in.Config, in.Events, err)
	}
	r.moves(id, "ACTIVE", "COMPLETED")
	me.post(fmt.Sprintf("/api/v1/experiments/%d/archive", id), "").ok()
	me.post(path, continueBody(id, "{}")).says(400, "unarchive it first")
}

func TestContinueSearches(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	const path = "/api/v1/experiments/continue"
	halving := me.create("name: h\nentrypoint: x\nsearcher: {name: async_halving, metric: loss, max_trials: 2, num_rungs: 2, max_length: {batches: 10}}\n", `"activate":true`)
	r.moves(halving, "PAUSED", "CANCELED")
	me.post(path, continueBody(halving, "")).says(400, "'async_halving'", "single, random and grid")
	id := me.create("name: r\nentrypoint: x\nsearcher: {name: random, metric: loss, max_trials: 2}\n", `"activate":true`)
	for number := range 2 {
		trial, _ := r.trial(id, number)
		r.apply(rows.Changes{Trials: []rows.TrialChange{{ID: trial, Saw: "ACTIVE", State: "COMPLETED", Ended: true, RunID: 1}}})
	}
	r.moves(id, "PAUSED", "COMPLETED")
	me.post(path, continueBody(id, "max_restarts: 1")).says(400, "override config is provided and experiment is not single searcher, got 'random' instead")
	me.post(path, continueBody(id, "{}")).says(400, "experiment has been completed, cannot continue this experiment")
}

// TestASpentBudget is shown, and an experiment does not continue with it: each trial would stop at its first report.
func TestASpentBudget(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	const path = "/api/v1/experiments/continue"
	id := me.create("name: r\nentrypoint: x\nsearcher: {name: random, metric: loss, budget: {slot_hours: 40}}\n", `"activate":true`)
	single := me.create("name: s\nentrypoint: x\nsearcher: {name: single, metric: loss, budget: {hours: 2}}\n", `"activate":true`)
	says := func(id int, words string) {
		t.Helper()
		if got := fmt.Sprint(at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree(), "outlook.says")); got != "["+words+"]" {
			t.Errorf("experiment %d says %s", id, got)
		}
	}
	says(id, "")
	tell := func(id int, saw, state, outlook string) {
		t.Helper()
		r.apply(rows.Changes{Experiments: []rows.ExperimentChange{{ID: id, Saw: saw, State: state, Outlook: outlook, Ended: state == "CANCELED"}}})
	}
	tell(id, "PAUSED", "ACTIVE", `{"budget":{"unit":"slot_hours","limit":40,"spent":12.4}}`)
	says(id, "12.4 of 40 slot-hours are spent; what a trial costs is not known yet")
	tell(id, "ACTIVE", "ACTIVE", `{"budget":{"unit":"slot_hours","limit":40,"spent":12.4,"more":31}}`)
	says(id, "12.4 of 40 slot-hours are spent; about 31 more trials")
	tell(id, "ACTIVE", "ACTIVE", `{"gain":{"of":60,"trials":20,"gain":0.01,"better":0.4,"enough":0.12}}`)
	says(id, "another 20 trials would improve the best result with a probability of 40 %, and by 1 % or more with 12 % (estimated from 60 trials)")
	tell(id, "ACTIVE", "ACTIVE", `{"gain":{"of":61,"trials":1,"gain":0,"better":0.08,"enough":0.08,"stopped":true}}`)
	says(id, "the search created no further trials, because another trial would improve the best result with a probability of only 8 % (searcher.stop_when; estimated from 61 trials)")
	tell(id, "ACTIVE", "ACTIVE", `{"budget":{"unit":"slot_hours","limit":40,"spent":40.01,"more":0,"over":true}}`)
	says(id, "40 of 40 slot-hours are spent; no trial begins any more")
	tell(id, "ACTIVE", "CANCELED", "")
	says(id, "40 of 40 slot-hours are spent")
	me.post(path, continueBody(id, "{}")).says(400, "has spent its budget of 40 slot-hours; fork it")

	tell(single, "PAUSED", "CANCELED", `{"budget":{"unit":"hours","limit":2,"spent":2.02,"more":0,"over":true}}`)
	for _, override := range []string{"{}", "searcher: {budget: {hours: 1}}"} {
		me.post(path, continueBody(single, override)).says(400, "has spent its budget of", "searcher.budget")
	}
	done := r.goesOn(single, "CANCELED")
	got := me.post(path, continueBody(single, "searcher: {budget: {hours: 5}}")).ok().tree()
	<-done
	if hours := at(t, got, "experiment.config.searcher.budget.hours"); hours != 5.0 {
		t.Errorf("it continues with a budget of %v hours", hours)
	}
}

// TestOnlyOwnersContinue: it runs as its owner.
func TestOnlyOwnersContinue(t *testing.T) {
	r := newRig(t)
	boss := r.user("admin")
	boss.post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	id := r.user("determined").create(yaml(), `"activate":true`)
	r.moves(id, "PAUSED", "CANCELED")
	r.user("eve").post("/api/v1/experiments/continue", continueBody(id, "{}")).is(403)
}

func TestSourceOfTrials(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	first := me.create(yaml(), `"activate":true`)
	trial, task := r.trial(first, 0)
	const id = "0190b5a5-0000-4000-8000-000000000001"
	source := func(by string) string {
		return strings.Replace(yaml(), "  name: single", "  name: single\n  "+by, 1)
	}
	refused := func(config, words string) {
		t.Helper()
		me.post("/api/v1/experiments", createBody(config)).says(400, words)
	}
	refused(source(fmt.Sprintf("source_trial_id: %d", trial)), fmt.Sprintf("no checkpoint found for trial %d", trial))
	refused(source("source_trial_id: 4711"), "trial 4711 not found")
	refused(source("source_checkpoint_uuid: "+id), "no checkpoint found with UUID "+id)
	refused(source("source_checkpoint_uuid: nonsense"), `"nonsense" is not the id of a checkpoint`)
	if err := checkpoints.Add(t.Context(), r.db, checkpoints.New{UUID: id, TaskID: task, AllocationID: task + ".1", RunID: 1, State: "COMPLETED", Steps: 5,
		Resources: map[string]int64{"a": 1}, Metadata: []byte(`{"steps_completed":5}`)}); err != nil {
		t.Fatal(err)
	}
	folder := "00000000-0000-4000-8000-00000000000f"
	if err := checkpoints.Add(t.Context(), r.db, checkpoints.New{UUID: folder, TaskID: task, AllocationID: task + ".1", RunID: 1, State: "COMPLETED", Steps: 9, Kept: true,
		Metadata: []byte(`{"steps_completed":9}`)}); err != nil {
		t.Fatal(err)
	}
	r.moves(first, "PAUSED", "COMPLETED")
	byTrial := fmt.Sprintf("source_trial_id: %d", trial)
	for _, by := range []string{byTrial, "source_checkpoint_uuid: " + strings.ToUpper(id), byTrial + " # with a folder"} {
		config, id := source(by), id
		if strings.HasSuffix(by, "folder") {
			config, id = config+"resume: {path: out}\n", folder
		}
		got := me.post("/api/v1/experiments", createBody(config)).ok().tree()
		var warm string
		if err := r.db.QueryRow(t.Context(), "SELECT warm_start::text FROM experiments WHERE id = $1", int(at(t, got, "experiment.id").(float64))).Scan(&warm); err != nil || warm != id {
			t.Errorf("by %s it starts from %q: %v", by, warm, err)
		}
	}
	me.del(fmt.Sprintf("/api/v1/experiments/%d", first)).says(400, fmt.Sprintf("experiment %d cannot be deleted", first), "which is not over, starts from its checkpoint "+id, "end that one first")
	refused(source("source_checkpoint_uuid: "+id)+"checkpoint_storage: {type: shared_fs, host_path: /var/tmp}\n", "in the shared file system at /tmp, which this experiment does not mount")
	if err := r.db.Exec(t.Context(), "UPDATE checkpoints SET state = 'DELETED'"); err != nil {
		t.Fatal(err)
	}
	refused(source("source_checkpoint_uuid: "+id), "is DELETED")
	refused(source(fmt.Sprintf("source_trial_id: %d", trial)), "no checkpoint found")
}

func TestJobsMove(t *testing.T) {
	r := newRig(t, func(c *Config) {
		more := c.Pools[0]
		more.Name, more.Compute, more.Aux = "other", false, false
		c.Pools = append(c.Pools, more)
	})
	me := r.user("determined")
	var ids []int
	var jobs []string
	for range 3 {
		id := me.create(yaml(), `"activate":true`)
		r.moves(id, "PAUSED", "ACTIVE")
		r.trial(id, 0)
		ids = append(ids, id)
		jobs = append(jobs, at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree(), "experiment.jobId").(string))
	}
	// Jobs that were queued in one transaction stand at the same moment.
	if err := r.db.Exec(t.Context(), "UPDATE allocations SET queued_at = now()"); err != nil {
		t.Fatal(err)
	}
	order := func(want ...int) {
		t.Helper()
		list := at(t, me.get("/api/v1/job-queues-v2").ok().tree(), "jobs").([]any)
		for i, w := range want {
			if got := at(t, list[i], "full.entityId"); got != fmt.Sprint(ids[w]) || at(t, list[i], "full.summary.jobsAhead") != float64(i) {
				t.Fatalf("%d in the queue is %v of %v", i, got, list[i])
			}
		}
	}
	order(0, 1, 2)
	const path = "/api/v1/job-queues"
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"aheadOf":%q}]}`, jobs[2], jobs[1])).ok()
	order(0, 2, 1)
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"behindOf":%q}]}`, jobs[0], jobs[1])).ok()
	order(2, 1, 0)
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"priority":1}]}`, jobs[0])).ok()
	order(0, 2, 1)
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"aheadOf":%q}]}`, jobs[1], jobs[0])).ok() // and takes its priority
	order(1, 0, 2)
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"aheadOf":"x","behindOf":"y"}]}`, jobs[1])).says(400, "not both")
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"aheadOf":"x"}]}`, jobs[1])).says(404, "job x not found")
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"resourcePool":"nowhere"}]}`, jobs[1])).says(404, `no resource pool "nowhere"`)
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"resourcePool":"other"}]}`, jobs[1])).ok()
	e := me.get(fmt.Sprintf("/api/v1/experiments/%d", ids[1])).ok().tree()
	if at(t, e, "experiment.resourcePool") != "other" || at(t, e, "experiment.config.resources.resource_pool") != "other" {
		t.Errorf("the moved experiment is %v", e)
	}
	r.moves(ids[1], "ACTIVE", "CANCELED")
	me.post(path, fmt.Sprintf(`{"updates":[{"jobId":%q,"resourcePool":"default"}]}`, jobs[1])).says(400, "has ended")
}

func TestPinsAndMoves(t *testing.T) {
	r := newRig(t)
	me, boss := r.user("determined"), r.user("admin")
	made := me.post("/api/v1/workspaces", `{"name":"w"}`).ok().tree()
	if at(t, made, "workspace.pinned") != true {
		t.Errorf("a new workspace is not pinned for who created it: %v", made)
	}
	path := fmt.Sprintf("/api/v1/workspaces/%v", at(t, made, "workspace.id"))
	pinned := func(who as, want int) {
		t.Helper()
		if list, _ := at(t, who.get("/api/v1/workspaces?pinned=true").ok().tree(), "workspaces").([]any); len(list) != want {
			t.Errorf("pinned are %v", list)
		}
	}
	if got := me.get(path).ok().tree(); at(t, got, "workspace.pinned") != true || at(t, got, "workspace.pinnedAt") == nil {
		t.Errorf("pinned it is %v", got)
	}
	pinned(me, 1)
	pinned(boss, 0)
	if list := at(t, boss.get("/api/v1/workspaces?pinned=false").ok().tree(), "workspaces").([]any); len(list) != 2 {
		t.Errorf("not pinned are %v", list)
	}
	me.post(path+"/unpin", "").ok()
	pinned(me, 0)
	me.post(path+"/pin", "").ok()
	me.post(path+"/pin", "").ok()
	pinned(me, 1)

	project := at(t, me.post(path+"/projects", `{"name":"p"}`).ok().tree(), "project.id")
	id := me.create(yaml())
	kept := me.create(yaml())
	r.over(kept)
	me.post(fmt.Sprintf("/api/v1/experiments/%d/archive", kept), "").ok()
	me.post(fmt.Sprintf("/api/v1/experiments/%d/move", kept), fmt.Sprintf(`{"destinationProjectId":%v}`, project)).says(409, fmt.Sprintf("experiment (%d) is archived and cannot be moved", kept))
	archived := me.post("/api/v1/projects/1/experiments/move", fmt.Sprintf(`{"projectId":1,"experimentIds":[%d],"destinationProjectId":%v}`, kept, project)).ok().tree()
	if at(t, archived, "results.0.error") != "Experiment is archived." {
		t.Errorf("archived: %v", archived)
	}
	got := me.post("/api/v1/projects/1/experiments/move", fmt.Sprintf(`{"projectId":1,"experimentIds":[%d,999],"destinationProjectId":%v}`, id, project)).ok().tree()
	if at(t, got, "results.0.error") != "" || at(t, got, "results.1.error") != "experiment 999 not found" {
		t.Errorf("moved: %v", got)
	}
	other := at(t, me.post("/api/v1/workspaces", `{"name":"o"}`).ok().tree(), "workspace.id")
	me.post(fmt.Sprintf("/api/v1/projects/%v/move", project), fmt.Sprintf(`{"projectId":%v,"destinationWorkspaceId":%v}`, project, other)).ok()
	if e := me.get(fmt.Sprintf("/api/v1/experiments/%d", id)).ok().tree(); at(t, e, "experiment.workspaceName") != "o" || at(t, e, "experiment.projectName") != "p" {
		t.Errorf("the moved experiment is %v", e)
	}
	boss.post("/api/v1/projects/1/move", fmt.Sprintf(`{"projectId":1,"destinationWorkspaceId":%v}`, other)).says(409, "built in")
	me.post(fmt.Sprintf("/api/v1/projects/%v/move", project), `{"destinationWorkspaceId":99}`).says(404, "workspace 99 not found")
}

func TestOldMe(t *testing.T) {
	r := newRig(t)
	if got := r.user("determined").get("/users/me").ok().tree(); got["username"] != "determined" || got["admin"] != false {
		t.Errorf("I am %v", got)
	}
	r.anyone().get("/users/me").is(401)
}
