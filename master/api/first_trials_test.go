package api

import (
	"fmt"
	"strings"
	"testing"
)

// TestFirstTrialsAreThereAtOnce: the trials that a search begins with exist when the
// submission is answered, whether it runs or waits, as clients that submit a paused
// experiment and work with its trial expect.
func TestFirstTrialsAreThereAtOnce(t *testing.T) {
	r := newRig(t, everySearcher)
	me := r.user("determined")
	for _, c := range []struct {
		config, more, state string
		trials              int
	}{
		{yaml("hyperparameters: {lr: 0.5}"), "", "STATE_PAUSED", 1},
		{yaml("hyperparameters: {lr: 0.5}"), `"activate":true`, "STATE_QUEUED", 1},
		{searching("{name: random, metric: loss, max_trials: 9, max_concurrent_trials: 3}"), "", "STATE_PAUSED", 3},
		{searching("{name: grid, metric: loss, max_concurrent_trials: 2}"), `"activate":true`, "STATE_QUEUED", 2},
		{searching("{name: random, metric: loss, max_trials: 300, max_concurrent_trials: 300}"), "", "STATE_PAUSED", 256},
	} {
		var more []string
		if c.more != "" {
			more = append(more, c.more)
		}
		made := me.post("/api/v1/experiments", createBody(c.config, more...)).ok().tree()
		id := int(at(t, made, "experiment.id").(float64))
		list := at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d/trials?limit=1000", id)).ok().tree(), "trials").([]any)
		if len(list) != c.trials || at(t, made, "experiment.numTrials") != float64(c.trials) {
			t.Errorf("%s%s: %d trials, and %v by the answer, want %d", c.config, c.more, len(list), at(t, made, "experiment.numTrials"), c.trials)
			continue
		}
		for _, x := range list {
			lr, _ := at(t, x, "hparams.lr").(float64)
			if at(t, x, "state") != c.state || lr == 0 || !strings.HasPrefix(at(t, x, "taskId").(string), fmt.Sprint(id, ".")) {
				t.Errorf("%s%s: %v", c.config, c.more, x)
			}
		}
	}
}

func searching(searcher string) string {
	return "name: x\nentrypoint: x\nsearcher: " + searcher + "\nhyperparameters: {lr: {type: double, minval: 0.1, maxval: 1, count: 3}}\n"
}

// TestTrialOfAPausedExperiment: users work with it before it ever ran.
func TestTrialOfAPausedExperiment(t *testing.T) {
	r := newRig(t)
	me := r.user("determined")
	id := me.create(yaml())
	trial := int(at(t, me.get(fmt.Sprintf("/api/v1/experiments/%d/trials", id)).ok().tree(), "trials.0.id").(float64))
	path := fmt.Sprintf("/api/v1/trials/%d", trial)
	report := fmt.Sprintf(`{"metrics":{"trialId":%d,"trialRunId":0,"stepsCompleted":1,"metrics":{"avgMetrics":{"loss":0.25}}},"group":"validation"}`, trial)
	me.post(path+"/metrics", report).ok()
	r.user("admin").post("/api/v1/users", `{"user":{"username":"eve","active":true}}`).ok()
	r.user("eve").post(path+"/metrics", report).is(403)
	if rows := string(me.get(fmt.Sprintf("/api/v1/trials/metrics/trial_metrics?trialIds=%d&group=validation", trial)).ok().body); !strings.Contains(rows, `{"loss": 0.25}`) {
		t.Errorf("the trial's reports are %s", rows)
	}
	me.post(fmt.Sprintf("/api/v1/runs/%d/metadata", trial), fmt.Sprintf(`{"runId":%d,"metadata":{"note":"early"}}`, trial)).ok()
	if got := at(t, me.get(fmt.Sprintf("/api/v1/runs/%d/metadata", trial)).ok().tree(), "metadata.note"); got != "early" {
		t.Errorf("the note in the trial's metadata is %v", got)
	}
	me.post(path+"/kill", "").ok()
	var killed bool
	if err := r.db.QueryRow(t.Context(), `SELECT kill_wanted FROM trials WHERE id = $1`, trial).Scan(&killed); err != nil || !killed {
		t.Errorf("kill: %v %v", killed, err)
	}
}
