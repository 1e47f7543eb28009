package task

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/wandb"
	v1 "github.com/detent-ml/detent/master/v1"
)

// TestHParamVariables: an entrypoint can give each hyperparameter to a program.
func TestHParamVariables(t *testing.T) {
	env := map[string]string{}
	if err := hparamVariables(env, json.RawMessage(`{"lr":1e-3,"net":{"width":3,"act":"relu"},"on":true,"list":[1],"none":null,"a-b c":"x y","long":"`+strings.Repeat("x", 2000)+`","nul":"a\u0000"}`)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		got = append(got, name+"="+env[name])
	}
	if text := strings.Join(got, " "); text != "DET_HPARAM_a_b_c=x y DET_HPARAM_lr=1e-3 DET_HPARAM_net_act=relu DET_HPARAM_net_width=3 DET_HPARAM_on=true" {
		t.Error(text)
	}
	many := map[string]int{}
	for i := range 1000 {
		many[fmt.Sprint("h", i)] = i
	}
	raw, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	env = map[string]string{}
	if err := hparamVariables(env, raw); err != nil || len(env) != maxHParamVariables {
		t.Errorf("%d variables: %v", len(env), err)
	}
}

// TestMLflowVariables: a task logs to its master, unless its user names another server.
func TestMLflowVariables(t *testing.T) {
	of := func(trial int, session string, own map[string]string) map[string]string {
		b := specBuilder{spec: &v1.TaskSpec{}, a: &Attempt{Row: Row{TrialID: trial, ProjectID: 4}}, m: &Claimed{Token: "attempt", Session: session}}
		b.spec.Env = maps.Clone(own)
		b.mlflow()
		return b.spec.Env
	}
	none := map[string]string{}
	for what, c := range map[string]struct {
		got  map[string]string
		want string
	}{
		"a trial":           {of(7, "session", none), "4 86400 7 attempt {{DET_MASTER}}/mlflow"},
		"a notebook":        {of(0, "session", none), "86400 session {{DET_MASTER}}/mlflow"},
		"a task of old":     {of(0, "", none), "86400 attempt {{DET_MASTER}}/mlflow"},
		"another server":    {of(7, "session", map[string]string{"MLFLOW_TRACKING_URI": "http://theirs"}), "http://theirs"},
		"a timeout by hand": {of(0, "s", map[string]string{"MLFLOW_HTTP_REQUEST_TIMEOUT": "5"}), "5 s {{DET_MASTER}}/mlflow"},
	} {
		var got []string
		for _, name := range slices.Sorted(maps.Keys(c.got)) {
			got = append(got, c.got[name])
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", what, text, c.want)
		}
	}
}

// TestWandBVariables: W&B's client in a trial logs to one run for all attempts, in the group of the experiment; the user's own variables win.
func TestWandBVariables(t *testing.T) {
	entity, project := "vision", "shapes"
	of := func(i *expconf.Integrations, own map[string]string) map[string]string {
		b := specBuilder{spec: &v1.TaskSpec{Env: maps.Clone(own)}, a: &Attempt{Row: Row{ExperimentID: 3, TrialID: 7, TaskID: "3.f00d"}}}
		b.wandb(i)
		return b.spec.Env
	}
	asked := &expconf.Integrations{WandB: &wandb.Section{Entity: &entity, Project: &project}}
	want := map[string]string{"WANDB_ENTITY": "vision", "WANDB_PROJECT": "shapes", "WANDB_RUN_GROUP": "experiment-3", "WANDB_NAME": "trial-7", "WANDB_RUN_ID": "3.f00d", "WANDB_RESUME": "allow"}
	if got := of(asked, map[string]string{}); !maps.Equal(got, want) {
		t.Errorf("the variables are %v", got)
	}
	want["WANDB_NAME"] = "mine"
	if got := of(asked, map[string]string{"WANDB_NAME": "mine"}); !maps.Equal(got, want) {
		t.Errorf("with a variable of the user's they are %v", got)
	}
	for _, i := range []*expconf.Integrations{nil, {}} {
		if got := of(i, map[string]string{}); len(got) > 0 {
			t.Errorf("without the section the variables are %v", got)
		}
	}
}
