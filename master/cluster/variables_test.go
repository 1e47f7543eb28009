package cluster_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster"
)

// variables tests that a job's variable exists before the job, that it is removed after the end
// of its attempt, and that variables of others stay.
func variables(t *testing.T, r *rig) {
	c := r.connect(t, cluster.Config{ClusterID: mine})
	kept := func(path string) map[string]string {
		v, _, err := r.agent.API.Variables().Read(path, nil)
		if errors.Is(err, api.ErrVariablePathNotFound) {
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return v.Items
	}
	ids := []string{"v.over.1", "v.live.1"}
	for _, id := range ids {
		k := r.Task(mine, id, 1)
		k.Variables = map[string]string{"username": "robot", "password": "of " + id}
		if outcome, err := c.Submit(t.Context(), k); outcome != cluster.Done {
			t.Fatalf("%s: %s, %v", id, outcome, err)
		}
		if got := kept(jobspecs.VariablePath(id)); got["password"] != "of "+id {
			t.Errorf("beside %s Nomad keeps %v", id, got)
		}
		defer func() { _, _ = c.Stop(context.WithoutCancel(t.Context()), id) }()
	}
	for path, items := range map[string]api.VariableItems{
		"nomad/jobs/det-master":   {"dsn": "x"},
		"nomad/jobs/det-v-else-1": {"detent_cluster": "another", "detent_allocation": "v.else.1"},
		"nomad/jobs/det-v-odd-1":  {"detent_cluster": mine, "detent_allocation": "v.over.1"},
	} {
		if _, _, err := r.agent.API.Variables().Create(&api.Variable{Path: path, Items: items}, nil); err != nil {
			t.Fatal(err)
		}
		defer func() { _, _ = r.agent.API.Variables().Delete(path, nil) }()
	}
	live := func(_ context.Context, asked []string) (map[string]bool, error) {
		slices.Sort(asked)
		if !slices.Equal(asked, []string{"v.live.1", "v.over.1"}) {
			t.Errorf("the master asked about the variables of %v", asked)
		}
		return map[string]bool{"v.live.1": true}, nil
	}
	if n, err := c.DropVariables(t.Context(), live); err != nil || n != 1 {
		t.Errorf("%d variables were removed: %v; want one", n, err)
	}
	if got := kept(jobspecs.VariablePath("v.over.1")); got != nil {
		t.Errorf("of an attempt that is over Nomad keeps %v", got)
	}
	for _, path := range []string{jobspecs.VariablePath("v.live.1"), "nomad/jobs/det-master", "nomad/jobs/det-v-else-1", "nomad/jobs/det-v-odd-1"} {
		if kept(path) == nil {
			t.Errorf("%s was removed", path)
		}
	}
	away := errors.New("away")
	if n, err := c.DropVariables(t.Context(), func(context.Context, []string) (map[string]bool, error) { return nil, away }); n != 0 || !errors.Is(err, away) {
		t.Errorf("without a database %d variables were removed: %v", n, err)
	}
}
