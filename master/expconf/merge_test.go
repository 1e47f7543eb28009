package expconf

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// choices offers, per section, values that a document may have there. Some
// differ only a little, so that layers often meet in the same place.
func choices() map[string][]string {
	return map[string][]string{
		"name":        {`"a"`, `"b"`},
		"description": {`"d"`},
		"entrypoint":  {`"python3 train.py"`, `["python3","x"]`, `"m:C"`},
		"bind_mounts": {`[]`, `[{"host_path":"/a","container_path":"/x"}]`,
			`[{"host_path":"/b","container_path":"/x","read_only":true},{"host_path":"/c","container_path":"/y"}]`},
		"checkpoint_policy": {`"all"`, `"none"`},
		"checkpoint_storage": {`{"save_trial_best":3}`, `{"type":"shared_fs","host_path":"/h"}`,
			`{"type":"shared_fs","host_path":"/i","storage_path":"p","save_trial_latest":7}`,
			`{"type":"s3","bucket":"b","save_experiment_best":2}`, `{"type":"s3","bucket":"c","access_key":"k","secret_key":"s"}`,
			`{"type":"azure","container":"c","connection_string":"x"}`, `{"type":"azure","container":"c","account_url":"u","credential":"v"}`},
		"data":  {`{"a":1}`, `{"a":{"b":2.5},"c":null}`, `{}`},
		"debug": {`true`, `false`},
		"environment": {`{"image":"i"}`, `{"image":{"cpu":"c"},"environment_variables":["A=1","B=2"]}`,
			`{"environment_variables":{"cpu":["B=3"],"gpu":["C=4"]},"ports":{"x":1}}`, `{"ports":{"x":2,"y":3},"proxy_ports":[{"proxy_port":80}]}`,
			`{"registry_auth":{"username":"u"},"proxy_ports":[{"proxy_port":80,"proxy_tcp":true},{"proxy_port":81}]}`,
			`{"registry_auth":{"password":"p"},"pod_spec":{"a":1},"add_capabilities":["X"]}`,
			`{"nomad":{"constraints":[{"attribute":"a","value":"b"}],"meta":{"k":"1"}}}`,
			`{"nomad":{"constraints":[{"attribute":"c","value":"d"}],"meta":{"k":"2","l":"3"},"volumes":[{"name":"v","container_path":"/v"}]}}`},
		"hyperparameters": {`{"lr":0.1}`, `{"lr":{"type":"log","base":10,"minval":-3,"maxval":-1},"net":{"depth":3}}`,
			`{"net":{"width":{"type":"int","minval":1,"maxval":4},"in":{"a":1}}}`, `{"net":5}`, `{"net":{"in":7}}`, `{"net":{"in":{"b":[1,"x"]}}}`},
		"integrations": {`{"webhooks":{"webhook_id":[1]}}`, `{"webhooks":{"webhook_name":["n"]},"pachyderm":{"branch":"b"}}`},
		"labels":       {`["x"]`, `["y","x"]`, `[]`},
		"log_policies": {`[]`, `[{"name":"n","pattern":"p"}]`, `[{"name":"n"},{"pattern":"q","action":"exclude_node"}]`,
			`[{"pattern":"q","action":{"type":"cancel_retries"}}]`},
		"max_restarts":          {`0`, `3`},
		"min_validation_period": {`5`, `{"epochs":1}`},
		"optimizations":         {`{"mixed_precision":"O1"}`, `{"aggregation_frequency":2}`},
		"preemption":            {`{"signal":"SIGUSR1"}`, `{"grace":"90s"}`, `{"signal":"SIGTERM","grace":30,"always":true}`},
		"preemption_timeout":    {`60`},
		"profiling":             {`{"enabled":true}`, `{"begin_on_batch":1}`},
		"resources": {`{"slots_per_trial":2}`, `{"weight":2.5,"priority":3,"devices":["/a:/b"]}`,
			`{"shm_size":"2g","slots_per_trial":0,"devices":["/c:/b","/d:/e:r"]}`},
		"resume":           {`{"path":"out"}`, `{"path":"/data/out"}`},
		"retention_policy": {`{"log_retention_days":3}`},
		"searcher": {`{"metric":"loss"}`, `{"name":"single","metric":"acc","max_length":{"batches":10}}`,
			`{"name":"random","max_trials":4,"metric":"m"}`, `{"name":"random","max_concurrent_trials":2,"smaller_is_better":false}`,
			`{"name":"adaptive_asha","max_trials":5,"metric":"m","max_length":9,"bracket_rungs":[1,2]}`,
			`{"name":"pbt","metric":"m","population_size":2,"replace_function":{"truncate_fraction":0.1}}`},
		"slurm":     {`{"sbatch_args":["a"]}`, `{"slots_per_node":2}`},
		"workspace": {`"w"`},
		"project":   {`"p"`},
	}
}

// document draws a document with some of the sections.
func randomDocument(t *rapid.T, label string) Raw {
	doc := map[string]json.RawMessage{}
	all := choices()
	for _, section := range slices.Sorted(maps.Keys(all)) {
		if rapid.IntRange(0, 2).Draw(t, label+" has "+section) == 0 {
			continue
		}
		doc[section] = json.RawMessage(rapid.SampledFrom(all[section]).Draw(t, label+" "+section))
	}
	src, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	raw, _, err := Parse(label, src)
	if err != nil {
		t.Fatalf("%s\n%v", src, err)
	}
	return raw
}

// same compares two documents, their hidden marks included, but not places.
func same(a, b Raw) string {
	return cmp.Diff(a, b,
		cmp.Exporter(func(reflect.Type) bool { return true }),
		cmpopts.IgnoreFields(Raw{}, "pos"), cmpopts.EquateEmpty())
}

func TestMergeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := randomDocument(t, "a"), randomDocument(t, "b"), randomDocument(t, "c")
		if diff := same(Merge(a, Raw{}), a) + same(Merge(Raw{}, a), a); diff != "" {
			t.Fatalf("an empty document changes something:\n%s", diff)
		}
		if diff := same(Merge(a, a), a); diff != "" {
			t.Fatalf("a document over itself changes something:\n%s", diff)
		}
		left, right := Merge(Merge(a, b), c), Merge(a, Merge(b, c))
		if diff := same(left, right); diff != "" {
			t.Fatalf("the grouping matters:\n%s", diff)
		}
	})
}

// TestMergeLeavesArguments merges and looks whether the inputs are as before.
func TestMergeLeavesArguments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := randomDocument(t, "a"), randomDocument(t, "b")
		before := fmt.Sprint(storedAs(t, a), storedAs(t, b))
		Merge(a, b)
		if after := fmt.Sprint(storedAs(t, a), storedAs(t, b)); after != before {
			t.Fatalf("changed:\n%s\n%s", before, after)
		}
	})
}

func storedAs(t *rapid.T, raw Raw) string {
	c, err := Complete(raw, cluster())
	if err != nil {
		t.Fatal(err)
	}
	src, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(src)
}

func TestStoredFormIsStable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, err := Complete(Merge(randomDocument(t, "a"), randomDocument(t, "b")), cluster())
		if err != nil {
			t.Fatal(err)
		}
		back := roundTrip(t, c)
		if got, want := fmt.Sprint(back.Validate() == nil), fmt.Sprint(c.Validate() == nil); got != want {
			t.Fatalf("valid before: %s, after: %s", want, got)
		}
	})
}

// TestEverythingCanBeLeftEmpty writes each field without a value.
func TestEverythingCanBeLeftEmpty(t *testing.T) {
	for _, name := range sectionOf(reflect.TypeFor[Raw]()).names {
		if _, _, err := Parse("", []byte(`{"`+name+`": null}`)); err != nil {
			t.Errorf("%s cannot be left empty: %v", name, err)
		}
	}
}
