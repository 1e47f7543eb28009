package expconf

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestTemplate(t *testing.T) {
	for name, c := range map[string]struct{ src, source, config string }{
		"YAML stays as written": {"# for GPUs\nresources:\n  slots_per_trial: 2\n", "# for GPUs\nresources:\n  slots_per_trial: 2\n", `{"resources":{"slots_per_trial":2}}`},
		"JSON becomes YAML":     {`{"resources": {"slots_per_trial": 2}, "labels": ["a b", "on"]}`, "resources:\n  slots_per_trial: 2\nlabels:\n  - a b\n  - \"on\"\n", `{"labels":["a b","on"],"resources":{"slots_per_trial":2}}`},
		"of a task":             {"resources: {slots: 1}\nidle_timeout: 30m\n", "resources: {slots: 1}\nidle_timeout: 30m\n", `{"idle_timeout":"30m","resources":{"slots":1}}`},
		"nothing":               {"", "", `{}`},
		"an empty object":       {"{}", "{}\n", `{}`},
	} {
		got, err := ParseTemplate("t", []byte(c.src))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// An emitted list's indentation is the emitter's business.
		if strings.Join(strings.Fields(got.Source), " ") != strings.Join(strings.Fields(c.source), " ") || string(got.Config) != c.config {
			t.Errorf("%s: %q, %s", name, got.Source, got.Config)
		}
		again, err := ParseTemplate("t", []byte(got.Source))
		if err != nil || string(again.Config) != string(got.Config) {
			t.Errorf("%s: its own source gives %s, %v", name, again.Config, err)
		}
	}
	for name, c := range map[string]struct{ src, want string }{
		"a field of neither":  {"resources:\n  slots_per_tril: 2\nsearcher: {name: single}\n", "t:2:3: resources.slots_per_tril: unknown field"},
		"mostly of a task":    {"idle_timeout: 5m\nwork_dir: 7\nnotebook_idle_type: activity\n", "t:2:11: work_dir: expected a string"},
		"a list":              {"- a\n", "t:1:1: expected a mapping, found a list"},
		"not YAML":            {"a: [", "t:1:"},
		"a place in the YAML": {`{"name": "x", "max_restarts": "many"}`, "t:2:15: max_restarts:"},
	} {
		if _, err := ParseTemplate("t", []byte(c.src)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// Errors in a template name the template, and errors in the configuration name the configuration.
func TestTemplateIsNamed(t *testing.T) {
	under, _, err := Parse(`template "gpu"`, []byte("searcher:\n  name: single\n  metric: loss\nmax_restarts: -1\nentrypoint: x\n"))
	if err != nil {
		t.Fatal(err)
	}
	over, _, err := Parse("config", []byte("resources:\n  slots_per_trial: -2\n"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Complete(Merge(over, under), cluster())
	if err != nil {
		t.Fatal(err)
	}
	err = c.Validate()
	if err == nil || !strings.Contains(err.Error(), `template "gpu":4:15: max_restarts`) || !strings.Contains(err.Error(), "config:2:20: resources.slots_per_trial") {
		t.Errorf("%v", err)
	}
}

func TestTemplateRedacted(t *testing.T) {
	src := `# the key is hunter2
checkpoint_storage: {type: s3, bucket: b, access_key: hunter2, secret_key: hunter2}
environment:
  registry_auth: {username: me, password: hunter2}
  environment_variables: [A=1]
data: {secrets: {a: hunter2, b: [hunter2]}, url: x}
integrations: {pachyderm: {pachd: {host: h, token: hunter2}}}
tensorboard_storage: {type: s3, secret_key: hunter2}
`
	parsed, err := ParseTemplate("t", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	got, err := parsed.Redacted()
	if err != nil || strings.Contains(got.Source+string(got.Config), "hunter2") {
		t.Fatalf("%v\n%s\n%s", err, got.Source, got.Config)
	}
	for _, kept := range []string{"bucket: b", "username: me", "url: x", "A=1", "secret_key: \"********\""} {
		if !strings.Contains(got.Source, kept) {
			t.Errorf("%q is not there any more:\n%s", kept, got.Source)
		}
	}
	if !json.Valid(got.Config) || !strings.Contains(string(parsed.Config), "hunter2") {
		t.Errorf("%s\n%s", got.Config, parsed.Config)
	}
}
