package launch

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/experiments"
	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/tasks"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/master/workspaces"
)

func ofCluster(workload, source string) workspaces.Policy {
	return workspaces.Policy{Workload: workload, Source: source}
}

func ofWorkspace(workload, source string) workspaces.Policy {
	return workspaces.Policy{WorkspaceID: new(1), Workload: workload, Source: source}
}

// TestPoliciesOfExperiments: the fields that policies set, the errors, and the remarks for the submitter.
func TestPoliciesOfExperiments(t *testing.T) {
	const limits = "constraints: {priority_limit: 45, resources: {max_slots: 2}}"
	w, l, _ := launchers(t)
	w.template("t", "max_restarts: 7\n")
	for _, test := range []struct {
		name     string
		policies []string // the cluster's, the workspace's
		config   string
		want     func(c expconf.Config) bool
		remarks  []string
		refused  string
	}{
		{name: "the cluster's over the workspace's over the user's",
			policies: []string{"invariant_config: {max_restarts: 1}", "invariant_config: {max_restarts: 2, debug: true, labels: [w]}"},
			config:   "max_restarts: 9\nlabels: [u]\n",
			want: func(c expconf.Config) bool {
				return c.MaxRestarts == 1 && c.Debug && len(c.Labels) == 2
			},
			remarks: []string{`max_restarts: 1, set by the config policy of the cluster`, `debug: true, set by the config policy of workspace "w"`, `labels: ["w","u"], set by the config policy of workspace "w"`}},
		{name: "over its template", policies: []string{"invariant_config: {max_restarts: 1}", ""},
			want: func(c expconf.Config) bool { return c.MaxRestarts == 1 }, remarks: []string{"max_restarts: 1"}},
		{name: "what is so already needs no remark", policies: []string{"invariant_config: {max_restarts: 9}", ""}, config: "max_restarts: 9\n",
			want: func(c expconf.Config) bool { return c.MaxRestarts == 9 }},
		{name: "the pool", policies: []string{"invariant_config: {resources: {resource_pool: aux, slots_per_trial: 0}}", ""},
			want: func(c expconf.Config) bool { return c.Resources.ResourcePool == "aux" }, remarks: []string{`resources.resource_pool: "aux"`}},
		{name: "limits hold without a request", policies: []string{limits, ""},
			want: func(c expconf.Config) bool { return *c.Resources.MaxSlots == 2 && *c.Resources.Priority == 45 },
			remarks: []string{"resources.max_slots: 2, the limit in the config policy of the cluster",
				"resources.priority: 45, the limit in the config policy of the cluster; the pool's is 41"}},
		{name: "within the limits", policies: []string{limits, ""}, config: "resources: {priority: 45, max_slots: 2, slots_per_trial: 2}\n",
			want: func(c expconf.Config) bool { return *c.Resources.MaxSlots == 2 && *c.Resources.Priority == 45 }},
		{name: "priority over the limit", policies: []string{limits, ""}, config: "resources: {priority: 44}\n",
			refused: "requested priority [44] exceeds limit set by admin [45] in the config policy of the cluster"},
		{name: "slots over the limit", policies: []string{limits, ""}, config: "resources: {slots_per_trial: 3}\n",
			refused: "requested resources.slots_per_trial [3] exceeds limit set by admin [2]"},
		{name: "max_slots over the limit", policies: []string{limits, ""}, config: "resources: {max_slots: 3}\n",
			refused: "requested resources.max_slots [3] exceeds limit set by admin [2]"},
		{name: "the stricter of two limits", policies: []string{limits, "constraints: {priority_limit: 50, resources: {max_slots: 1}}"}, config: "resources: {priority: 49}\n",
			refused: `requested priority [49] exceeds limit set by admin [50] in the config policy of workspace "w"`},
		{name: "a template's priority", policies: []string{limits, "invariant_config: {resources: {priority: 3}}"},
			refused: "requested priority [3] exceeds limit set by admin [45]"},
		{name: "max_runtime", policies: []string{"constraints: {resources: {max_runtime: 4h}}", "constraints: {resources: {max_runtime: 5h}}"},
			want:    func(c expconf.Config) bool { return *c.Resources.MaxRuntime == expconf.Duration(4*time.Hour) },
			remarks: []string{"resources.max_runtime: 4h, the limit in the config policy of the cluster"}},
		{name: "max_runtime over the limit", policies: []string{"constraints: {resources: {max_runtime: 4h}}", "constraints: {resources: {max_runtime: 90m}}"}, config: "resources: {max_runtime: 2h}\n",
			refused: `requested resources.max_runtime [2h] exceeds limit set by admin [1h30m] in the config policy of workspace "w"`},
		{name: "what the user wrote is wrong under the policy", policies: []string{"invariant_config:\n  resources: {max_slots: 1}\n", ""}, config: "resources: {slots_per_trial: 2}\n",
			refused: "config policy of the cluster:2:26: resources.max_slots: 1 is less than slots_per_trial 2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var policies []workspaces.Policy
			if test.policies[0] != "" {
				policies = append(policies, ofCluster(workspaces.WorkloadExperiment, test.policies[0]))
			}
			if test.policies[1] != "" {
				policies = append(policies, ofWorkspace(workspaces.WorkloadExperiment, test.policies[1]))
			}
			w.policies(policies...)
			made, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial + test.config), Template: new("t")})
			if test.refused != "" {
				if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), test.refused) {
					t.Fatalf("%v; want %q", err, test.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			n := w.experiment(made.ID)
			stored, err := expconf.ParseConfigJSON(n.Config)
			if err != nil || !test.want(stored) {
				t.Errorf("the experiment's configuration is %s: %v", n.Config, err)
			}
			told := strings.Join(made.Remarks, "\n")
			for _, want := range test.remarks {
				if !strings.Contains(told, want) {
					t.Errorf("the submitter reads\n%s\nwithout %s", told, want)
				}
			}
			if len(test.remarks) == 0 && strings.Contains(told, "config polic") {
				t.Errorf("the submitter reads %s", told)
			}
			if stored.Resources.Priority != nil && n.Priority != *stored.Resources.Priority || stored.Resources.MaxSlots != nil && *n.MaxSlots != *stored.Resources.MaxSlots {
				t.Errorf("the columns of its row are %+v", n)
			}
		})
	}
}

// Forks, unmanaged experiments and continuations go through the policies as well.
func TestPoliciesOfForksAndContinuations(t *testing.T) {
	w, l, _ := launchers(t)
	made, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial + "resources: {priority: 10, max_slots: 8, slots_per_trial: 2}\n")})
	if err != nil {
		t.Fatal(err)
	}
	limits := ofCluster(workspaces.WorkloadExperiment, "constraints: {priority_limit: 45, resources: {max_slots: 2}}")
	w.policies(limits, ofWorkspace(workspaces.WorkloadExperiment, "invariant_config: {max_restarts: 1, searcher: {metric: other}}"))
	ends := func() experiments.Experiment { // as the loop ends it
		w.Exec(`UPDATE experiments SET state = 'ERROR', ended_at = now(), continued = continues WHERE id = $1`, made.ID)
		return w.experiment(made.ID)
	}
	parent := ends()
	if _, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{ParentID: &made.ID}); err == nil || !strings.Contains(err.Error(), "exceeds limit set by admin") {
		t.Errorf("a fork: %v", err)
	}
	program := me
	program.External = new("x")
	if _, err := l.Create(t.Context(), program, &v1.CreateExperimentRequest{Config: new(oneTrial + "resources: {priority: 1}\n"), Unmanaged: new(true)}); err == nil || !strings.Contains(err.Error(), "exceeds limit set by admin") {
		t.Errorf("an unmanaged experiment: %v", err)
	}
	// The continuation requests no new values, so the limits apply to the values of the experiment.
	// Its search does not change.
	again, err := l.Continue(t.Context(), parent, "", true)
	changed := w.experiment(made.ID)
	if err != nil || bytes.Equal(changed.Config, parent.Config) {
		t.Fatalf("continued: %+v, %v", changed, err)
	}
	cfg, err := expconf.ParseConfigJSON(changed.Config)
	if err != nil || *cfg.Resources.Priority != 45 || *cfg.Resources.MaxSlots != 2 || cfg.MaxRestarts != 1 || cfg.Searcher.Metric != made.Complete.Searcher.Metric || changed.Priority != 45 {
		t.Errorf("continued with %s: %v", changed.Config, err)
	}
	if told := strings.Join(again.Remarks, "\n"); !strings.Contains(told, "max_restarts: 1, set by") || !strings.Contains(told, "resources.priority: 45, the limit in the config policy of the cluster; the experiment's is 10") {
		t.Errorf("the remarks are %s", told)
	}
	if _, err := l.Continue(t.Context(), parent, "resources: {priority: 3}", true); err == nil || !strings.Contains(err.Error(), "requested priority [3] exceeds limit") {
		t.Errorf("continued with another priority: %v", err)
	}
	parent = ends()
	// Nobody but the owner continues it with a program that a policy sets.
	w.policies(limits, ofWorkspace(workspaces.WorkloadExperiment, "invariant_config: {max_restarts: 1, searcher: {metric: other}, entrypoint: other.py}"))
	if _, err := l.Continue(t.Context(), parent, "", false); !fault.Is(err, fault.Forbidden) || !strings.Contains(err.Error(), "runs with the rights of") {
		t.Errorf("continued by somebody else with another program: %v", err)
	}
	w.policies(limits, ofWorkspace(workspaces.WorkloadExperiment, "invariant_config: {max_restarts: 1, searcher: {metric: other}}"))
	again, err = l.Continue(t.Context(), parent, "", true)
	if after := w.experiment(made.ID); err != nil || again.N != 2 || !bytes.Equal(after.Config, parent.Config) {
		t.Errorf("a continuation that keeps to the policies changes %+v, %v", after, err)
	}
}

// TestPoliciesOfTasks tests the policies of notebooks, shells, commands, TensorBoards and generic
// tasks.
func TestPoliciesOfTasks(t *testing.T) {
	w, _, l := launchers(t)
	w.policies(
		ofCluster(workspaces.WorkloadTasks, "invariant_config: {work_dir: /w}\nconstraints: {priority_limit: 60, resources: {max_slots: 1}}"),
		ofCluster(workspaces.WorkloadExperiment, "invariant_config: {max_restarts: 1}\nconstraints: {resources: {max_slots: 0}}"),
	)
	for _, of := range []tasks.Kind{tasks.Command(), tasks.Notebook(), tasks.Shell(), tasks.Generic()} {
		config := v1.Struct(`{"entrypoint":["true"],"work_dir":"/mine"}`)
		made, err := l.Start(t.Context(), me, of, tasks.Request{Config: config})
		if err != nil {
			t.Fatalf("%s: %v", of.Noun, err)
		}
		if told := strings.Join(made.Remarks, "\n"); *made.Complete.WorkDir != "/w" || made.Priority != 60 || made.Complete.Resources.MaxSlots != nil ||
			!strings.Contains(told, `work_dir: "/w", set by the config policy of the cluster`) || !strings.Contains(told, "resources.priority: 60, the limit") {
			t.Errorf("%s: %+v, the remarks are %s", of.Noun, made.New, told)
		}
		if _, err := l.Start(t.Context(), me, of, tasks.Request{Config: v1.Struct(`{"entrypoint":["true"],"resources":{"slots":2}}`)}); err == nil ||
			!strings.Contains(err.Error(), "requested resources.slots [2] exceeds limit set by admin [1]") {
			t.Errorf("%s with two slots: %v", of.Noun, err)
		}
		if _, err := l.Start(t.Context(), me, of, tasks.Request{Config: v1.Struct(`{"entrypoint":["true"],"resources":{"priority":5}}`)}); err == nil ||
			!strings.Contains(err.Error(), "requested priority [5] exceeds limit") {
			t.Errorf("%s with a priority: %v", of.Noun, err)
		}
	}
}

// TestPoliciesThatAreRefused: nothing could run under them.
func TestPoliciesThatAreRefused(t *testing.T) {
	w, l, _ := launchers(t)
	ws := workspaces.Workspace{ID: 1, Name: "w"}
	limit := ofCluster(workspaces.WorkloadExperiment, "constraints: {priority_limit: 20}")
	w.policies(limit, ofCluster(workspaces.WorkloadTasks, "constraints: {resources: {max_slots: 2}}"))
	for _, test := range []struct {
		name, workload string
		in             workspaces.Workspace
		text, want     string
	}{
		{"a priority over its own limit", workspaces.WorkloadExperiment, ws, "invariant_config: {resources: {priority: 3}}\nconstraints: {priority_limit: 5}", "nothing could run under the policy: in pool gpu: requested priority [3]"},
		{"slots over its own limit", workspaces.WorkloadExperiment, ws, "invariant_config: {resources: {slots_per_trial: 4}}\nconstraints: {resources: {max_slots: 2}}", "requested resources.slots_per_trial [4]"},
		{"a priority over the cluster's limit", workspaces.WorkloadExperiment, ws, "invariant_config: {resources: {priority: 19}}", "exceeds limit set by admin [20] in the config policy of the cluster"},
		{"the same for tasks", workspaces.WorkloadTasks, ws, "invariant_config: {resources: {slots: 3}}", "requested resources.slots [3] exceeds limit set by admin [2] in the config policy of the cluster"},
		{"a pool that is not there", workspaces.WorkloadExperiment, ws, "invariant_config: {resources: {resource_pool: tpu}}", "invariant_config.resources.resource_pool"},
		{"another spelling", workspaces.WorkloadTasks, workspaces.Workspace{}, "constraints: {priorty_limit: 3}", "config policy of the cluster:1:15: constraints.priorty_limit: unknown field; did you mean priority_limit?"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := l.CheckPolicy(t.Context(), test.in, test.workload, test.text); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
	w.policies(limit)
	for _, text := range []string{"invariant_config: {resources: {priority: 20}}", "constraints: {resources: {max_slots: 0}}", `{"constraints":{"priority_limit":1}}`} {
		if _, err := l.CheckPolicy(t.Context(), ws, workspaces.WorkloadExperiment, text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	// The checks use the cluster's new policy in place of the stored one.
	if _, err := l.CheckPolicy(t.Context(), workspaces.Workspace{}, workspaces.WorkloadExperiment, "invariant_config: {resources: {priority: 3}}"); err != nil {
		t.Errorf("the cluster's new policy: %v", err)
	}
}

// TestGuard: the changes of running and waiting jobs that policies allow.
func TestGuard(t *testing.T) {
	w, l, _ := launchers(t)
	w.policies(ofCluster(workspaces.WorkloadExperiment, "invariant_config: {resources: {weight: 2}}\nconstraints: {priority_limit: 45, resources: {max_slots: 2}}"),
		ofWorkspace(workspaces.WorkloadTasks, "invariant_config: {resources: {priority: 30, resource_pool: gpu}}"))
	for _, test := range []struct {
		name, workload string
		change         Change
		refused        string
	}{
		{"lower", workspaces.WorkloadExperiment, Change{Priority: new(46), MaxSlots: new(2), Weight: new(2.0), Pool: new("aux")}, ""},
		{"priority", workspaces.WorkloadExperiment, Change{Priority: new(44)}, "requested priority [44] exceeds limit set by admin [45]"},
		{"max_slots", workspaces.WorkloadExperiment, Change{MaxSlots: new(3)}, "requested resources.max_slots [3] exceeds limit set by admin [2]"},
		{"weight", workspaces.WorkloadExperiment, Change{Weight: new(3.0)}, "resources.weight cannot be modified: the config policy of the cluster sets it to 2"},
		{"the same priority of a task", workspaces.WorkloadTasks, Change{Priority: new(30)}, ""},
		{"another priority of a task", workspaces.WorkloadTasks, Change{Priority: new(50)}, `priority cannot be modified: the config policy of workspace "w" sets it to 30`},
		{"another pool of a task", workspaces.WorkloadTasks, Change{Pool: new("aux")}, "resources.resource_pool cannot be modified"},
	} {
		t.Run(test.name, func(t *testing.T) {
			g, err := l.Guard(t.Context(), 1, test.workload)
			if err != nil {
				t.Fatal(err)
			}
			err = g.Allows(test.change)
			if test.refused == "" && err != nil || test.refused != "" && (err == nil || !strings.Contains(err.Error(), test.refused)) {
				t.Errorf("%v; want %q", err, test.refused)
			}
		})
	}
}

// TestSecretsAtTheSubmission: who may not mount a secret is told so, and policies allow some or none.
func TestSecretsAtTheSubmission(t *testing.T) {
	w, l, starts := launchers(t)
	l.Cluster.Site.Secrets = task.Secrets{{Name: "team", Path: "secret/data/team", Users: []string{"ada"}}, {Name: "other", Path: "secret/data/other", Users: []string{"ben"}}}
	starts.Cluster.Site.Secrets = l.Cluster.Site.Secrets
	submit := func(name string) error {
		_, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial + "environment: {secrets: [{name: " + name + ", key: k, env: T}]}\n")})
		_, err2 := starts.Start(t.Context(), me, tasks.Command(), tasks.Request{Config: v1.Struct(`{"entrypoint":["true"],"environment":{"secrets":[{"name":"` + name + `","key":"k","env":"T"}]}}`)})
		if (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Errorf("%s: an experiment %v, a command %v", name, err, err2)
		}
		return err
	}
	if err := submit("team"); err != nil {
		t.Error(err)
	}
	if err := submit("other"); err == nil || !strings.Contains(err.Error(), `there is no secret "other" that ada may mount`) {
		t.Errorf("another's: %v", err)
	}
	for constraint, want := range map[string]string{
		"[]":            `the config policy of the cluster allows no secrets, found "team"`,
		"[next, other]": `the config policy of the cluster does not allow the secret "team"; it allows next, other`,
		"[team]":        "",
	} {
		w.policies(ofCluster(workspaces.WorkloadTasks, "constraints: {secrets: "+constraint+"}"), ofCluster(workspaces.WorkloadExperiment, "constraints: {secrets: "+constraint+"}"))
		if err := submit("team"); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %s", constraint, err, want)
		}
	}
	w.policies(ofCluster(workspaces.WorkloadExperiment, "invariant_config: {environment: {secrets: [{name: other, key: k, env: T}]}}"))
	if _, err := l.Create(t.Context(), me, &v1.CreateExperimentRequest{Config: new(oneTrial)}); err == nil || !strings.Contains(err.Error(), `there is no secret "other" that ada may mount`) {
		t.Errorf("a policy gives a right that its user lacks: %v", err)
	}
}
