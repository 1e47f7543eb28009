package server

import (
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/pool"
)

func TestSchedulers(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	cfg, err := load(t, `
resource_pools:
  - name: plain
  - {name: old, preemption: true, default_priority: 30}
  - {name: theirs, scheduler: {type: priority, preemption: true, default_priority: 20, fitting_policy: worst}}
  - name: fair
    scheduler: {type: fair_share, workspace_weights: {research: 3, "Team A": 0.5}, user_weights: {ann: 2}, min_run_time: 90s, half_life: 7d}
  - {name: usual, scheduler: {type: fair_share}}
  - {name: turns, scheduler: {type: round_robin, rack: '${meta.rack}'}}
`, env, nil)
	if err != nil {
		t.Fatal(err)
	}
	set := poolsOf(t, cfg)
	if p := set.Named("plain"); p.Scheduler.Type != pool.Priority || p.Scheduler.Fitting != pool.BestFit || p.Preemption || p.Priority != 42 {
		t.Errorf("plain: %+v", p)
	}
	if p := set.Named("old"); !p.Preemption || p.Priority != 30 || !p.Preempts() {
		t.Errorf("old: %+v", p)
	}
	if p := set.Named("theirs"); !p.Preemption || p.Priority != 20 || p.Scheduler.Fitting != pool.WorstFit {
		t.Errorf("theirs: %+v", p)
	}
	p := set.Named("fair")
	if s := &p.Scheduler; s.Type != pool.FairShare || s.WorkspaceWeight("research") != 3 || s.WorkspaceWeight("Team A") != 0.5 ||
		s.WorkspaceWeight("other") != 1 || s.UserWeight("ann") != 2 || s.UserWeight("bob") != 1 || s.MinRunTime != 90*time.Second || s.HalfLife != 7*24*time.Hour || !p.Preempts() {
		t.Errorf("fair: %+v", p)
	}
	if p := set.Named("usual"); p.Scheduler.MinRunTime != 10*time.Minute || p.Scheduler.HalfLife != 0 {
		t.Errorf("usual: %+v", p)
	}
	if p := set.Named("turns"); p.Scheduler.Type != pool.RoundRobin || p.Preempts() || p.Scheduler.Rack != "${meta.rack}" {
		t.Errorf("turns: %+v", p)
	}
	for _, name := range []string{"plain", "turns"} { // a task over a soft quota makes way there, however young it is
		if p := set.Named(name); p.Scheduler.MinRunTime != 0 {
			t.Errorf("%s has the min_run_time of fair_share: %+v", name, p)
		}
	}
	shown, _ := cfg.shown()["resource_pools"].([]any)
	for i, want := range []string{"priority", "priority", "priority", "fair_share", "fair_share", "round_robin"} {
		p, _ := shown[i].(map[string]any)
		if s, _ := p["scheduler"].(map[string]any); s["type"] != want {
			t.Errorf("pool %d is shown with %v", i, p["scheduler"])
		}
	}
}

func TestWrongSchedulers(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	for scheduler, want := range map[string]string{
		"{type: fair}":                                `resource_pools[0].scheduler.type: expected one of priority, fair_share, round_robin, found "fair"`,
		"{fitting_policy: first}":                     `resource_pools[0].scheduler.fitting_policy: expected one of best, worst, found "first"`,
		"{workspace_weights: {a: 3}}":                 "resource_pools[0].scheduler.workspace_weights: is for type fair_share; this pool has type priority",
		"{type: round_robin, user_weights: {a: 3}}":   "resource_pools[0].scheduler.user_weights: is for type fair_share; this pool has type round_robin",
		"{type: fair_share, user_weights: {a: 0}}":    "resource_pools[0].scheduler.user_weights.a: expected a number above 0, up to 1e+06, found 0",
		"{type: fair_share, user_weights: {a: -1}}":   "found -1",
		"{type: fair_share, user_weights: {a: .nan}}": "found NaN",
		"{type: fair_share, user_weights: {a: 1e9}}":  "found 1e+09",
		"{type: fair_share, user_weights: {a: x}}":    "resource_pools[0].scheduler.user_weights: expected names with numbers",
		"{type: fair_share, user_weights: 3}":         "resource_pools[0].scheduler.user_weights: expected names with numbers",
		"{type: fair_share, min_run_time: soon}":      "is not a duration",
		"{min_run_time: 5m}":                          "resource_pools[0].scheduler.min_run_time: is for type fair_share",
		"{half_life: 7d}":                             "resource_pools[0].scheduler.half_life: is for type fair_share",
		"{type: fair_share, half_life: 5m}":           "resource_pools[0].scheduler.half_life: expected 10m to 90d, found 5m0s",
		"{type: fair_share, half_life: 91d}":          "found 2184h0m0s",
		"{type: fair_share, half_life: 1.5d}":         "is not a duration",
		"{type: fair_share, preemption: true}":        "resource_pools[0].preemption: is for type priority; type fair_share always preempts",
		"{type: round_robin, preemption: true}":       "type round_robin never preempts",
		"{default_priority: 30}":                      "resource_pools[0].scheduler.default_priority: is 30, and default_priority of the pool is 50; remove one of them",
		"{default_priority: 100}":                     "is 100",
		"{rack: meta.rack}":                           `resource_pools[0].scheduler.rack: write an attribute in braces, such as ${meta.rack}, found "meta.rack"`,
		"{weights: {a: 1}}":                           "resource_pools[0].scheduler.weights: no such key",
		"{allow_heterogeneous_fits: true}":            "this is a key of Determined, for which Detent has the opposite, equal_parts",
		"fair_share":                                  "expected a section with keys",
	} {
		_, err := load(t, "resource_pools:\n  - name: a\n    default_priority: 50\n    scheduler: "+scheduler+"\n", env, nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", scheduler, err, want)
		}
	}
}

// TestPodTables: the tables that translate labels and resources of Kubernetes, and their errors.
func TestPodTables(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	const pool = "resource_pools:\n  - name: a\n    slots: device\n    device: nvidia/gpu\n    "
	cfg, err := load(t, pool+"pod_labels: [{label: gpu.nvidia.com/class, value: A40, gpu: A40}, {label: rack, attribute: '${meta.rack}'}]\n    pod_limits: [{name: rdma/ib, devices: [/dev/infiniband/uverbs0, '/dev/a:/dev/b:rw']}]\n", env, nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := cfg.pools(nil)
	if err != nil {
		t.Fatal(err)
	}
	if p := set.Named("a"); len(p.PodLabels) != 2 || p.PodLabels[0].GPU != "A40" || p.PodLabels[1].Attribute != "${meta.rack}" || len(p.PodLimits) != 1 || len(p.PodLimits[0].Devices) != 2 {
		t.Errorf("%+v %+v", p.PodLabels, p.PodLimits)
	}
	for tables, want := range map[string]string{
		"pod_labels: [{value: A40, gpu: A40}]":              "resource_pools[0].pod_labels[0].label: is required",
		"pod_labels: [{label: x, value: y}]":                "pod_labels[0]: needs either gpu or attribute",
		"pod_labels: [{label: x, gpu: y}]":                  "pod_labels[0].gpu: needs a value of the label",
		"pod_labels: [{label: x, value: y, gpu: z, is: a}]": "pod_labels[0].is: belongs to attribute",
		"pod_labels: [{label: x, attribute: meta.rack}]":    "pod_labels[0].attribute: write a name in braces",
		"pod_labels: [{label: x, model: A40}]":              "pod_labels[0].model: no such key",
		"pod_limits: [{devices: [/dev/a]}]":                 "pod_limits[0].name: is required",
		"pod_limits: [{name: rdma/ib, devices: [uverbs0]}]": "pod_limits[0].devices[0]: expected a path",
	} {
		if _, err := load(t, pool+tables+"\n", env, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", tables, err, want)
		}
	}
}
