package server

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
)

func TestSettingsOfFaults(t *testing.T) {
	env := []string{"DETENT_DATABASE=postgres://a/b"}
	for file, want := range map[string]int{"": 3, "avoid_node_after: 7": 7, "avoid_node_after: 0": 0} {
		cfg, err := load(t, file+"\nresource_pools: [{name: a}]", env, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := &master{cfg: cfg, pools: poolsOf(t, cfg), log: slog.New(slog.DiscardHandler)}
		if got := m.loopConfig().AvoidAfter; got != want {
			t.Errorf("%s: the loop's setting is %d, want %d", file, got, want)
		}
	}
	if _, err := load(t, "avoid_node_after: -1\nresource_pools: [{name: a}]", env, nil); err == nil || !strings.Contains(err.Error(), "avoid_node_after") {
		t.Errorf("-1 failures: %v", err)
	}
}

// TestLogPoliciesOfTheCluster: a cluster has some until its operators say otherwise.
func TestLogPoliciesOfTheCluster(t *testing.T) {
	for file, want := range map[string]int{
		"task_container_defaults: {}":                                                             2,
		"task_container_defaults: {log_policies: []}":                                             0,
		"task_container_defaults: {log_policies: [{pattern: x, action: exclude_node}]}":           1,
		"task_container_defaults: {log_policies: [{pattern: x, action: {type: cancel_retries}}]}": 1,
	} {
		cfg, err := load(t, file+"\nresource_pools: [{name: a}]", []string{"DETENT_DATABASE=postgres://a/b"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m := sited(t, cfg)
		c, err := m.apiConfig()
		if err != nil {
			t.Fatal(err)
		}
		if got := len(c.Site.Defaults.LogPolicies); got != want {
			t.Errorf("%s: %d policies, want %d", file, got, want)
		}
		if !c.Site.Capabilities.LogPolicies {
			t.Error("the capabilities do not include log policies")
		}
		if w := (expconf.Config{LogPolicies: c.Site.Defaults.LogPolicies}).Unhonoured(c.Site.Capabilities); strings.Contains(strings.Join(w.Strings(), "\n"), "log_policies") {
			t.Errorf("%s: warned of %v", file, w)
		}
	}
}
