package expconf_test

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/difference"
)

// What is wrong with a policy is said with its place.
func TestPolicyMistakes(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "p:1:1: the policy is empty"},
		{"empty mapping", "{}", "the policy is empty"},
		{"a list", "[1]", "expected a mapping"},
		{"unknown section", "constraint:\n  priority_limit: 3\n", "p:1:1: constraint: unknown field; did you mean constraints?"},
		{"unknown field of an experiment", "invariant_config:\n  resources:\n    slots_per_trail: 3\n", "p:3:5: invariant_config.resources.slots_per_trail: unknown field; did you mean slots_per_trial?"},
		{"limit in the wrong place", "constraints:\n  resources:\n    priority_limit: 3\n", "p:3:5: constraints.resources.priority_limit: unknown field; did you mean constraints.priority_limit?"},
		{"limit out of range", "constraints:\n  priority_limit: 0\n", "p:2:19: constraints.priority_limit: must be from 1 (first) to 99 (last), found 0"},
		{"limit of the wrong type", "constraints: {resources: {max_slots: many}}", "p:1:38: constraints.resources.max_slots: expected an integer"},
		{"negative limit", "constraints: {resources: {max_slots: -1}}", "constraints.resources.max_slots: must be from 0"},
		{"limit of no time", "constraints: {resources: {max_runtime: 0s}}", "p:1:40: constraints.resources.max_runtime: must be from 1s to 3650 days"},
		{"value of no time", "invariant_config: {resources: {max_runtime: -4h}}", "invariant_config.resources.max_runtime: must be from 1s to 3650 days"},
		{"value out of range", "invariant_config:\n  max_restarts: -1\n", "p:2:17: invariant_config.max_restarts: must be from 0"},
		{"value of a list", "invariant_config: {bind_mounts: [{host_path: x, container_path: /y}]}", "invariant_config.bind_mounts[0].host_path: must be an absolute path"},
		{"fields that depend on each other", "invariant_config: {resources: {max_slots: 2, slots_per_trial: 4}}", "invariant_config.resources.max_slots: 2 is less than slots_per_trial 4"},
		{"workspace", "invariant_config: {workspace: w, project: p}", "invariant_config.workspace: cannot be set by a policy"},
		{"secrets", "invariant_config: {environment: {secrets: [{name: a, key: b, env: C}]}}", "invariant_config.environment.secrets: cannot be set by a policy"},
		{"a field at the top", "resources: {max_slots: 4}", "p:1:1: resources: unknown field; fields of configurations belong below invariant_config, limits below constraints"},
		{"all together", "invariant_config: {max_restarts: -1, nme: x}\nconstraints: {priority_limit: 200}", "p:1:34: invariant_config.max_restarts: must be from 0 to 1000000, found -1\n" +
			"p:1:38: invariant_config.nme: unknown field; did you mean name?\np:2:31: constraints.priority_limit: must be from 1"},
		{"no error that follows from another", "invariant_config: {hyperparameters: {x: {type: int, minval: 1, maxval: 1.5}}}",
			"p:1:72: invariant_config.hyperparameters.x.maxval: expected an integer, found the number 1.5"},
		{"unmanaged", "invariant_config: {unmanaged: true}", "invariant_config.unmanaged: cannot be set by a policy"},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := expconf.ParsePolicy("p", []byte(test.text))
			if err == nil {
				err = expconf.CheckPolicy(p)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Count(err.Error(), "\n") > strings.Count(test.want, "\n")+1 {
				t.Errorf("%v; want %q", err, test.want)
			}
		})
	}
	if _, err := expconf.ParseCommandPolicy("p", []byte("invariant_config: {max_restarts: 1}")); err == nil || !strings.Contains(err.Error(), "max_restarts: unknown field") {
		t.Errorf("a field of experiments in a policy for tasks: %v", err)
	}
	p, err := expconf.ParseCommandPolicy("p", []byte("invariant_config: {resources: {slots: -1}}"))
	if err == nil {
		err = expconf.CheckCommandPolicy(p)
	}
	if err == nil || !strings.Contains(err.Error(), "invariant_config.resources.slots: must be from 0") {
		t.Errorf("a wrong value in a policy for tasks: %v", err)
	}
}

// A policy is valid although experiments need further fields, and its values override those of
// users.
func TestPolicyIsLaidOver(t *testing.T) {
	p, err := expconf.ParsePolicy("p", []byte("invariant_config:\n  max_restarts: 0\n  labels: [ours]\n  searcher: {metric: loss}\n  environment: {environment_variables: [A=policy]}\n"))
	if err == nil {
		err = expconf.CheckPolicy(p)
	}
	if err != nil {
		t.Fatal(err)
	}
	user, _, err := expconf.Parse("u", []byte("entrypoint: x\nmax_restarts: 3\nlabels: [mine]\nsearcher: {name: single, metric: accuracy, max_length: {batches: 1}}\nenvironment: {environment_variables: [A=user, B=user]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	complete := func(raw expconf.Raw) ([]byte, expconf.Config) {
		c, err := expconf.Complete(raw, expconf.ClusterDefaults{Name: "n"})
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		return b, c
	}
	before, _ := complete(user)
	after, c := complete(expconf.Merge(p.Invariant, user))
	if c.MaxRestarts != 0 || c.Searcher.Metric != "loss" || c.Searcher.Name != "single" || len(c.Labels) != 2 {
		t.Errorf("%+v", c)
	}
	list, err := difference.Of(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, d := range list {
		lines = append(lines, d.String())
	}
	got := strings.Join(lines, "\n")
	for _, want := range []string{`max_restarts: 0`, `searcher.metric: "loss"`, `labels: ["ours","mine"]`} {
		if !strings.Contains(got, want) {
			t.Errorf("the differences are\n%s\nwithout %s", got, want)
		}
	}
	if len(list) != 6 { // and the variables of three kinds of slots
		t.Errorf("%d differences:\n%s", len(list), got)
	}
}

// Users who may not change a policy see no secrets of it.
func TestPolicyRedacted(t *testing.T) {
	p, err := expconf.ParsePolicy("p", []byte("invariant_config: {checkpoint_storage: {type: s3, bucket: b, access_key: k, secret_key: hunter2}}"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := p.Redacted()
	if err != nil {
		t.Fatal(err)
	}
	b, err := doc.JSON()
	if err != nil || strings.Contains(string(b), "hunter2") || !strings.Contains(string(b), `"bucket":"b"`) {
		t.Errorf("%s, %v", b, err)
	}
	if whole, err := p.Document.JSON(); err != nil || !strings.Contains(string(whole), "hunter2") {
		t.Errorf("the document itself changed: %s, %v", whole, err)
	}
}

// TestChanges: what a policy would change of a complete configuration; the order of combined lists does not count, and no secret is shown.
func TestChanges(t *testing.T) {
	raw, _, err := expconf.Parse("c", []byte("name: n\nlabels: [mine, ours]\nmax_restarts: 2\nhyperparameters: {a: 1}\nentrypoint: [a, b]\n"+
		"checkpoint_storage: {type: s3, bucket: b, access_key: k, secret_key: hunter1}\n"+
		"environment: {environment_variables: [OURS=1, MINE=hunter2], nomad: {constraints: [{attribute: x, value: a}, {attribute: y, value: b}]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := expconf.Complete(raw, expconf.ClusterDefaults{})
	if err != nil {
		t.Fatal(err)
	}
	for policy, want := range map[string]string{
		"max_restarts: 2":       "",
		"max_restarts: 0":       "max_restarts: 0",
		"labels: [ours]":        "",
		"labels: [ours, other]": `labels: ["ours","other","mine"]`,
		"environment: {environment_variables: [OURS=1]}":                  "",
		"environment: {environment_variables: [OURS=2]}":                  `environment.environment_variables.cpu: ["MINE=********","OURS=********"]`,
		"environment: {nomad: {constraints: [{attribute: y, value: b}]}}": "",
		"entrypoint: [b, a]": `entrypoint: ["b","a"]`,
		"checkpoint_storage: {type: s3, bucket: b, access_key: k, secret_key: hunter1}": "",
		"checkpoint_storage: {type: s3, bucket: b, access_key: k, secret_key: hunter3}": `checkpoint_storage.secret_key: "********"`,
		"data: {secrets: {a: hunter4}}": `data.secrets.a: "********"`,
	} {
		p, err := expconf.ParsePolicy("p", []byte("invariant_config: {"+policy+"}"))
		if err != nil {
			t.Fatal(err)
		}
		list, err := c.Changes(p.Invariant)
		got := ""
		if len(list) > 0 {
			got = list[0].String()
		}
		if err != nil || got != want {
			t.Errorf("%s: %v, want %s (%v)", policy, list, want, err)
		}
	}
}
