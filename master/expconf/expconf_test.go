package expconf

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/master/document"

	"github.com/detent-ml/detent/master/names"
)

// parsed completes a document that is known to be good.
func parsed(t testing.TB, src string) Config {
	t.Helper()
	raw, _, err := Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Complete(raw, cluster())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func commandRoundTrip(t *testing.T, c CommandConfig) {
	t.Helper()
	before, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	back, err := ParseCommandConfigJSON(before)
	if err != nil {
		t.Fatalf("%v\n%s", err, before)
	}
	after, err := json.Marshal(back)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Fatalf("changed on the way:\n%s\n%s", before, after)
	}
}

// TestLimits feeds documents that are built to hurt. Each must be refused, with
// a place, and quickly: a test that hangs here has found a way to hurt.
func TestLimits(t *testing.T) {
	laughs := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'k'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*%c, ", c-1), 10), ", "))
	}
	deepBlock := ""
	for i := range 200 {
		deepBlock += strings.Repeat(" ", i) + "a:\n"
	}
	tests := []struct{ name, src, want string }{
		{"billion laughs", laughs, "more than 100000 values"},
		{"deep flow lists", "data: " + strings.Repeat("[", 100_000), "nested more than 64 levels"},
		{"deep flow maps", "data: " + strings.Repeat("{a: ", 100_000), "nested more than 64 levels"},
		{"deep block maps", deepBlock, "nested more than 64 levels"},
		{"piled list markers", "data:\n  " + strings.Repeat("- ", 100_000) + "x", "nested more than 64 levels"},
		{"piled tags", "data: " + strings.Repeat("!!str ", 10_000) + "x", "nested more than 64 levels"},
		{"piled keys", strings.Repeat("a: ", 100_000) + "x", "nested more than 64 levels"},
		{"deep JSON", `{"data": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}", "nested more than 64 levels"},
		{"wide JSON", `{"data": {"a": [` + strings.TrimSuffix(strings.Repeat("1,", 200_000), ",") + "]}}", "more than 100000 values"},
		{"large", "name: " + strings.Repeat("x", document.MaxSource), "at most 524288 are allowed"},
		{"many keys", "data:\n" + strings.Repeat("  k: 1\n", 20_000), "more than 10000 keys"},
		{"long key", strings.Repeat("k", 100_000) + ": 1", "kkk…: unknown field"},
		{"binary", "name: a\x00b", "control character U+0000"},
		{"not UTF-8", "name: caf\xe9", "0xe9 is not UTF-8"},
		{"escaped NUL", `name: "a\0b"`, "contains a NUL"},
		{"escaped NUL in a key", `data: {"a\0b": 1}`, "a key contains a NUL"},
		{"escaped NUL in JSON", `{"data": {"a\u0000": "\u0000"}}`, "a key contains a NUL"},
		{"tab", "\tname: x", "tab character"},
		{"many problems", strings.Repeat("x: 1\n", 500), "and 399 more problems"},
		{"endless alias", "a: &a\n  b: *a\n", `no anchor named "a"`},
		{"merge key of a list", "a: &a [1]\nb: {<<: *a}\n", "<< requires mappings"},
		{"merge key of a word", "b: {<<: x}\n", "<< requires a mapping"},
		{"complex key", "[a, b]: c\n", "found an invalid key"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, _, err := Parse("bad.yaml", []byte(test.src))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("want %q, got: %s", test.want, document.Clip(fmt.Sprint(err)))
			}
			var problems document.Errors
			if !errors.As(err, &problems) {
				t.Fatalf("%T", err)
			}
			checkPlaces(t, problems)
		})
	}
}

func TestLongNames(t *testing.T) {
	const base = "entrypoint: e\nsearcher: {name: single, metric: m}\n"
	long := strings.Repeat("x", names.MaxText+1)
	for text, want := range map[string]string{
		"name: " + long + "\n":                                       "test.yaml:3:7: name: has 262145 bytes, over the limit of 262144",
		"name: n\ndescription: " + long + "\n":                       "test.yaml:4:14: description: has 262145 bytes, over the limit of 262144",
		"labels: [a, " + long + "]\n":                                "test.yaml:3:13: labels[1]: has 262145 bytes, over the limit of 262144",
		"labels: [a, ' ']\n":                                         "test.yaml:3:13: labels[1]: is empty",
		"labels: [" + long[:200_000] + ", " + long[:200_001] + "]\n": "test.yaml:3:9: labels: has labels of 400001 bytes together, over the limit of 262144",
		"name: \"a\\nb\"\n":                                          "test.yaml:3:7: name: must be one line without control characters",
		"name: " + strings.Repeat("🧪", 50_000) + "\n":                "",
	} {
		if err := parsed(t, base+text).Validate(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%.20s: %.200v\nwant %s", text, err, want)
		}
	}
}

// TestNamesOfWebhooks: an experiment names no more webhooks than there can be, and no longer names than webhooks can have. An alias makes a
// short document with many long names.
func TestNamesOfWebhooks(t *testing.T) {
	const base = "entrypoint: e\nsearcher: {name: single, metric: m}\nintegrations: {webhooks: {"
	list := func(entry string, n int) string {
		return "[" + strings.TrimSuffix(strings.Repeat(entry+", ", n), ", ") + "]"
	}
	aliases := func(bytes, n int) string {
		return "[&a " + strings.Repeat("n", bytes) + strings.Repeat(", *a", n-1) + "]"
	}
	for text, want := range map[string]string{
		"webhook_name: " + list("n", 200):                                  "",
		"webhook_name: " + list("n", 201):                                  "test.yaml:3:41: integrations.webhooks.webhook_name: has 201 webhooks; at most 200 are allowed",
		"webhook_id: " + list("1", 200):                                    "",
		"webhook_id: " + list("1", 201):                                    "test.yaml:3:39: integrations.webhooks.webhook_id: has 201 webhooks; at most 200 are allowed",
		"webhook_name: " + aliases(names.MaxUnique, 25):                    "",
		"webhook_name: " + list(strings.Repeat("n", names.MaxUnique+1), 1): "test.yaml:3:42: integrations.webhooks.webhook_name[0]: has 2601 bytes; at most 2600 are allowed",
		"webhook_name: " + aliases(800, 200):                               "test.yaml:3:41: integrations.webhooks.webhook_name: has names of 160000 bytes together; at most 65536 are allowed; give the ids of the webhooks in webhook_id",
	} {
		if err := parsed(t, base+text+"}}\n").Validate(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%.30s: %.300v\nwant %s", text, err, want)
		}
	}
}

func TestPlainScalars(t *testing.T) {
	tests := map[string]any{
		"":                    nil,
		"~":                   nil,
		"null":                nil,
		"true":                true,
		"False":               false,
		"yes":                 true, // as Determined's master reads it
		"No":                  false,
		"off":                 false,
		"y":                   true,
		"'no'":                "no",
		"!!str no":            "no",
		"yEs":                 "yEs",
		"1":                   int64(1),
		"-7":                  int64(-7),
		"+7":                  int64(7),
		"007":                 int64(7),
		"0o17":                int64(15),
		"0x1F":                int64(31),
		"1_000":               int64(1000),
		"1e3":                 int64(1000), // a whole number, however it is written
		"1.0":                 int64(1),
		"1e-4":                0.0001,
		"-.5":                 -0.5,
		"1.":                  int64(1),
		"1e400":               nil, // refused, see below
		"1:30":                "1:30",
		"1.2.3":               "1.2.3",
		"0x":                  "0x",
		"e5":                  "e5",
		"'1'":                 "1",
		`"1"`:                 "1",
		"2024-01-02":          "2024-01-02",
		"9223372036854775807": int64(9223372036854775807),
		"9223372036854775808": 9223372036854775808.0,
	}
	for text, want := range tests {
		raw, _, err := Parse("", []byte("data: {x: "+text+"}"))
		if text == "1e400" {
			if err == nil {
				t.Errorf("%s: accepted", text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := raw.Data["x"]; !reflect.DeepEqual(got, want) {
			t.Errorf("%s is read as %T %v, want %T %v", text, got, got, want, want)
		}
	}
}

func TestBooleansOfOldDocuments(t *testing.T) {
	for text, want := range map[string]bool{"yes": true, "on": true, "No": false, "OFF": false, "TRUE": true} {
		raw, _, err := Parse("", []byte("debug: "+text))
		if err != nil || !IsSet(&raw, "debug") || raw.Debug != want {
			t.Errorf("%s: %v, %v", text, raw.Debug, err)
		}
	}
}

// TestJSONEqualsYAML reads the same document in both notations.
func TestJSONEqualsYAML(t *testing.T) {
	yaml := parsed(t, "name: x\nhyperparameters: {a: 1.5, b: {type: int, minval: 1, maxval: 2}}\ndata: {s: \"q\\\"\\n\\u00e9\"}\n")
	js := parsed(t, `{"name":"x","hyperparameters":{"a":1.5,"b":{"type":"int","minval":1,"maxval":2}},"data":{"s":"q\"\n\u00e9"}}`)
	a, errA := yaml.JSON()
	b, errB := js.JSON()
	if err := errors.Join(errA, errB); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a, b) {
		t.Fatalf("%s\n%s", a, b)
	}
}

func TestRedacted(t *testing.T) {
	c := parsed(t, `
name: open
checkpoint_storage: {type: s3, bucket: open, access_key: SECRET1, secret_key: SECRET2}
data: {path: open, secrets: {token: SECRET3, nested: {x: SECRET4}, list: [SECRET5]}}
data_layer: {type: s3, bucket: open, access_key: SECRET6, secret_key: SECRET7}
tensorboard_storage: {type: s3, bucket: open, secret_key: SECRET8}
environment:
  registry_auth: {username: open, password: SECRET9, auth: SECRET10, identitytoken: SECRET11, registrytoken: SECRET12}
integrations: {pachyderm: {pachd: {host: open, token: SECRET13}, dataset: {repo: open, token: SECRET14}}}
`)
	before, err := c.JSON()
	if err != nil {
		t.Fatal(err)
	}
	src, err := c.Shown(true)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(src, []byte("SECRET")) {
		t.Errorf("a secret is left in %s", src)
	}
	if got, want := bytes.Count(src, []byte("open")), bytes.Count(before, []byte("open")); got != want {
		t.Errorf("%d public values left of %d in %s", got, want, src)
	}
	if got := bytes.Count(src, []byte(hidden)); got != 14 {
		t.Errorf("%d secrets hidden, want 14: %s", got, src)
	}
	after, err := c.JSON()
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the configuration itself was changed: %s", after)
	}
	token := parsed(t, "checkpoint_storage: {type: azure, container: c, account_url: 'https://u?sig=SECRET'}")
	if src, err := token.Shown(true); err != nil || bytes.Contains(src, []byte("SECRET")) || !bytes.Contains(src, []byte(`"https://u?********"`)) {
		t.Errorf("%s %v", src, err)
	}
	azure := parsed(t, "checkpoint_storage: {type: azure, container: c, account_url: u, credential: SECRET}")
	if src, err := azure.Shown(true); err != nil || bytes.Contains(src, []byte("SECRET")) {
		t.Errorf("%s %v", src, err)
	}
}

func TestHyperparameterOrder(t *testing.T) {
	c := parsed(t, "hyperparameters: {z: 1, b: {y: 2, a: {type: categorical, vals: [1, x]}}, a: 3}")
	var got []string
	c.Hyperparameters.Walk(func(names []string, p Hyperparameter) {
		got = append(got, strings.Join(names, ".")+" "+string(p.Type))
	})
	want := []string{"a const", "b.a categorical", "b.y const", "z const"}
	if !slices.Equal(got, want) {
		t.Errorf("walked %v, want %v", got, want)
	}
}

func TestTrialClass(t *testing.T) {
	tests := []struct {
		entrypoint    string
		module, class string
		ok            bool
	}{
		{"model_def:IrisTrial", "model_def", "IrisTrial", true},
		{"pkg.mod:Trial", "pkg.mod", "Trial", true},
		{"python3 train.py", "", "", false},
		{"python3 -m x:y", "", "", false},
		{"[a:b]", "", "", false},
		{"a:b:c", "", "", false},
	}
	for _, test := range tests {
		e := parsed(t, "entrypoint: "+test.entrypoint).Entrypoint
		module, class, ok := e.TrialClass()
		if module != test.module || class != test.class || ok != test.ok {
			t.Errorf("%s: %q %q %v", test.entrypoint, module, class, ok)
		}
	}
}

func TestStoragePaths(t *testing.T) {
	tests := []struct{ storage, inTask, onHost string }{
		{"{type: shared_fs, host_path: /mnt/c}", "/determined_shared_fs", "/mnt/c"},
		{"{type: shared_fs, host_path: /mnt/c, storage_path: a/b}", "/determined_shared_fs/a/b", "/mnt/c/a/b"},
		{"{type: shared_fs, host_path: /mnt/c/, storage_path: /mnt/c/a}", "/determined_shared_fs/a", "/mnt/c/a"},
		{"{type: directory, container_path: /ckpt}", "/ckpt", ""},
		{"{type: s3, bucket: b}", "", ""},
	}
	for _, test := range tests {
		s := parsed(t, "checkpoint_storage: "+test.storage).CheckpointStorage
		inTask, _ := s.PathInTask()
		onHost, _ := s.PathOnHost()
		if inTask != test.inTask || onHost != test.onHost {
			t.Errorf("%s: in the task %q, on the host %q", test.storage, inTask, onHost)
		}
	}
}

func TestPerDevice(t *testing.T) {
	e := parsed(t, "environment: {image: {cpu: a, cuda: b, rocm: c}, environment_variables: {cpu: [A=1], cuda: [B=1], rocm: [C=1]}}").Environment
	for device, want := range map[DeviceType]string{CPU: "a [A=1]", CUDA: "b [B=1]", ROCM: "c [C=1]"} {
		if got := fmt.Sprint(e.Image.For(device), " ", e.EnvironmentVariables.For(device)); got != want {
			t.Errorf("%s: %s, want %s", device, got, want)
		}
	}
}

func TestPreemptionSeconds(t *testing.T) {
	if got := parsed(t, "{}").PreemptionSeconds(); got != DefaultPreemptionTimeout {
		t.Error(got)
	}
	if got := parsed(t, "preemption_timeout: 7").PreemptionSeconds(); got != 7 {
		t.Error(got)
	}
}

func TestGeneratedNameAndSeed(t *testing.T) {
	raw, _, err := Parse("", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Complete(raw, ClusterDefaults{}); err == nil {
		t.Error("completed without a name")
	}
	c, err := Complete(raw, ClusterDefaults{Name: "x", Seed: 0xffffffff})
	if err != nil || c.Name != "Experiment (x)" || c.Reproducibility.ExperimentSeed != 0x7fffffff {
		t.Errorf("%q %d %v", c.Name, c.Reproducibility.ExperimentSeed, err)
	}
}

// TestEverythingIsHonoured: with all capabilities only the past is remarked on.
func TestEverythingIsHonoured(t *testing.T) {
	c := parsed(t, `
entrypoint: e
searcher: {name: pbt, metric: m}
environment: {image: i, proxy_ports: [{proxy_port: 1}], nomad: {meta: {a: b}, constraints: [{attribute: a}]}}
resources: {slots_per_trial: 8, shm_size: 1g, weight: 2, max_slots: 9, max_runtime: 4h, devices: ["/a:/b"], is_single_node: true}
log_policies: [{name: n, pattern: p}]
retention_policy: {log_retention_days: 3}
profiling: {enabled: true}
integrations: {webhooks: {webhook_id: [1]}}
bind_mounts: [{host_path: /a, container_path: /b}]
`)
	if err := c.Refused(Everything()); err != nil {
		t.Error(err)
	}
	if w := c.Unhonoured(Everything()); len(w) > 0 {
		t.Error(w.Strings())
	}
	short := Everything()
	short.MaxRuntime = 90 * time.Minute
	if err := c.Refused(short); err == nil || !strings.Contains(err.Error(), "resources.max_runtime: 4h is over the max_runtime of this resource pool, 1h30m") {
		t.Error(err)
	}
	none := c.Refused(Capabilities{})
	if none == nil || strings.Count(none.Error(), "\n") != 4 {
		t.Errorf("refused without capabilities: %v", none)
	}
}

// TestUnmarshal reads a configuration as part of something larger.
func TestUnmarshal(t *testing.T) {
	c := parsed(t, "name: x")
	src, err := json.Marshal(map[string]any{"config": c})
	if err != nil {
		t.Fatal(err)
	}
	var row struct{ Config Config }
	if err := json.Unmarshal(src, &row); err != nil || row.Config.Name != "x" {
		t.Fatalf("%v %q", err, row.Config.Name)
	}
	if err := json.Unmarshal([]byte(`{"config":{"name":"x"}}`), &row); err == nil {
		t.Error("an incomplete configuration was read as a complete one")
	}
}

func TestTaskContainerDefaults(t *testing.T) {
	parse := func(src string) TaskContainerDefaults {
		d, _, err := ParseTaskContainerDefaults("master.yaml", []byte(src))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	pool := parse("image: pool\nenvironment_variables: [A=pool]\nshm_size_bytes: 1g")
	master := parse("image: master\nenvironment_variables: [A=master, B=master]\nwork_dir: /w\ndevices: [\"/a:/b\"]\nbind_mounts: [{host_path: /m, container_path: /m}]")
	both := pool.Over(master)
	if both.Image == nil || both.Image.CPU != "pool" || both.WorkDir == nil || *both.ShmSizeBytes != 1<<30 {
		t.Errorf("%+v", both)
	}
	raw, _, err := ParseCommand("", []byte("{environment: {environment_variables: [C=task]}}"))
	if err != nil {
		t.Fatal(err)
	}
	c, err := CompleteCommand(raw, CommandDefaults{TaskContainer: both, Description: "d"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Environment.EnvironmentVariables.CPU; !slices.Equal(got, []string{"B=master", "A=pool", "C=task"}) {
		t.Errorf("variables %v", got)
	}
	if *c.WorkDir != "/w" || len(c.Resources.Devices) != 1 || len(c.BindMounts) != 1 {
		t.Errorf("%+v", c)
	}
	for _, p := range DefaultLogPolicies() {
		if p.Action != nil {
			t.Errorf("%s acts", *p.Name)
		}
	}
}

// TestOverrideArguments checks how values on the command line are read.
func TestOverrideArguments(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"a=1", "a: 1\n"},
		{"a=1,2,x", "a:\n  - 1\n  - 2\n  - x\n"},
		{"a=[1, 2]", "a:\n  - 1\n  - 2\n"},
		{"a={b: [c]}", "a:\n  b:\n    - c\n"},
		{"a='1,2'", "a: \"1,2\"\n"},
		{"a=", "a: null\n"},
		{"a=#5", "a: \"#5\"\n"},
		{"a=x: y: z", "a: \"x: y: z\"\n"},
		{"a=x=y", "a: \"x=y\"\n"},
		{"bind_mounts={host_path: /a, container_path: /b}", "bind_mounts:\n  -\n    host_path: /a\n    container_path: /b\n"},
		{"environment.image=det/env:cuda-10", "environment:\n  image: \"det/env:cuda-10\"\n"},
		{"a=one\nb: 2", "a: \"one\\nb: 2\"\n"},
	} {
		out, err := ApplyOverrides("", []byte("{}"), []string{test.arg})
		if err != nil || string(out) != test.want {
			t.Errorf("%q gives %q, %v; want %q", test.arg, out, err, test.want)
		}
	}
	for _, bad := range []string{"a=[1", "a\xff=1", "a=\x00"} {
		if out, err := ApplyOverrides("", []byte("{}"), []string{bad}); err == nil {
			t.Errorf("%q gives %q", bad, out)
		}
	}
	shared, err := ApplyOverrides("", []byte("a: &x {k: 1}\nb: *x\n"), []string{"a.k=2"})
	if err != nil || string(shared) != "a:\n  k: 2\nb:\n  k: 1\n" {
		t.Errorf("%s %v", shared, err)
	}
}

func TestWarningsPrint(t *testing.T) {
	_, warnings, err := Parse("x.yaml", []byte("environment: {image: {gpu: a}}"))
	if err != nil {
		t.Fatal(err)
	}
	if got := warnings.Strings(); len(got) != 1 || !strings.HasPrefix(got[0], "x.yaml:1:28: environment.image.gpu: ") {
		t.Errorf("%q", got)
	}
}

// TestPure asserts that the package does no I/O.
func TestPure(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range parsed.Imports {
			path := strings.Trim(i.Path.Value, `"`)
			switch {
			case slices.Contains([]string{"os", "net", "net/http", "context", "math/rand", "math/rand/v2", "log", "log/slog", "io"}, path),
				strings.Contains(path, "detent-ml") && !strings.HasSuffix(path, "/master/document") && !strings.HasSuffix(path, "/master/each") && !strings.HasSuffix(path, "/master/optional") && !strings.HasSuffix(path, "/master/names") && !strings.HasSuffix(path, "/master/spelling") && !strings.HasSuffix(path, "/master/regex") && !strings.Contains(path, "/master/expconf/"):
				t.Errorf("%s imports %s", f.Name(), path)
			}
		}
	}
}

// TestFieldsOfTheFork: what the public fork of Determined added to resources is honoured, or rejected with the reason.
func TestFieldsOfTheFork(t *testing.T) {
	const experiment, command = "entrypoint: e\nsearcher: {name: single, metric: m}\n", "description: d\n"
	for text, want := range map[string]string{
		"slots_per_trial: 4, prefer_gpu_topology: soft":   "",
		"slots_per_trial: 4, prefer_gpu_topology: false":  "",
		"slots_per_trial: 4, prefer_gpu_topology: ":       "",
		"slots_per_trial: 1, prefer_gpu_topology: strong": "",
		"slots_per_trial: 4, prefer_gpu_topology: strong": "prefer_gpu_topology: strong is not supported: a task gets GPUs of one link group where one has enough that are free, and does not wait for that; soft is what every task here has",
		"slots_per_trial: 4, prefer_gpu_topology: true":   `prefer_gpu_topology: expected false, "soft" or "strong", found true`,
		"slots_per_trial: 4, prefer_gpu_topology: [soft]": `prefer_gpu_topology: expected false, "soft" or "strong", found [soft]`,
		"slots_per_trial: 4, exclude_gpus: [GPU-1]":       "exclude_gpus: is a key of an agent in Determined's public fork; ignored_gpu_ids of det-gpu on the node excludes GPUs (docs/gpu.md)",
	} {
		raw, _, err := Parse("test.yaml", []byte(experiment+"resources: {"+text+"}\n"))
		if err == nil {
			var c Config
			if c, err = Complete(raw, cluster()); err == nil {
				err = c.Validate()
			}
		}
		if (err == nil) != (want == "") || err != nil && (!strings.HasPrefix(err.Error(), "test.yaml:3:") || !strings.HasSuffix(err.Error(), "resources."+want)) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
		text = strings.Replace(text, "slots_per_trial", "slots", 1)
		ofTask, _, err := ParseCommand("test.yaml", []byte(command+"resources: {"+text+"}\n"))
		if err == nil {
			var c CommandConfig
			if c, err = CompleteCommand(ofTask, CommandDefaults{}); err == nil {
				err = c.Validate(false)
			}
		}
		if (err == nil) != (want == "") || err != nil && (!strings.HasPrefix(err.Error(), "test.yaml:2:") || !strings.HasSuffix(err.Error(), "resources."+want)) {
			t.Errorf("%s of a task: %v\nwant %s", text, err, want)
		}
	}
}

// TestWandB: the section of W&B has names of one line and an address of the web, and is merged key by key.
func TestWandB(t *testing.T) {
	const base = "entrypoint: e\nsearcher: {name: single, metric: m}\nintegrations: {wandb: {"
	for text, want := range map[string]string{
		"entity: a, project: b, group: c, base_url: https://w.example:8080/x": "",
		"base_url: 'javascript:alert(1)'":                                     `test.yaml:3:34: integrations.wandb.base_url: expected an address such as https://wandb.example.com, found "javascript:alert(1)"`,
		"base_url: https://user:key@w.example":                                `test.yaml:3:34: integrations.wandb.base_url: expected an address such as https://wandb.example.com, found "https://user:key@w.example"`,
		"entity: " + strings.Repeat("e", 129):                                 "test.yaml:3:32: integrations.wandb.entity: has 129 bytes; at most 128 are allowed",
	} {
		if err := parsed(t, base+text+"}}\n").Validate(); (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
	if _, _, err := Parse("test.yaml", []byte(base+"key: x}}\n")); err == nil || !strings.Contains(err.Error(), "integrations.wandb.key: unknown field") {
		t.Errorf("a key of W&B in the configuration: %v", err)
	}
}

// TestPreemption: the signal and the grace that documents give, and their defaults.
func TestPreemption(t *testing.T) {
	for doc, want := range map[string]string{
		"{}":                            " 1m0s",
		"preemption_timeout: 7":         " 7s",
		"preemption: {}":                " 1m0s",
		"preemption: {signal: SIGUSR1}": "SIGUSR1 1m0s",
		"preemption: {grace: 90}":       " 1m30s",
		"preemption: {signal: SIGTERM, grace: 2m}\npreemption_timeout: 7": "SIGTERM 2m0s",
	} {
		c := parsed(t, doc)
		if got := c.PreemptionSignal() + " " + c.PreemptionGrace().String(); got != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
		stored, err := c.JSON()
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseConfigJSON(stored)
		if err != nil || again.PreemptionSignal() != c.PreemptionSignal() || again.PreemptionGrace() != c.PreemptionGrace() {
			t.Errorf("%s: stored and read again: %q %s %v", doc, again.PreemptionSignal(), again.PreemptionGrace(), err)
		}
	}
}

// TestDocumented asserts that the page for users names every field.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/experiment-config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []any{Raw{}, RawCommand{}, CommandResources{}, Resources{}, Environment{},
		Searcher{}, CheckpointStorage{}, Nomad{}, Profiling{}, Integrations{}, Webhooks{}, LogPolicy{},
		BindMount{}, Device{}, ProxyPort{}, RegistryAuth{}, Preemption{}, Resume{}} {
		for _, f := range sectionOf(reflect.TypeOf(section)).fields {
			// The relics of storages and searchers are read and not advertised.
			if slices.Contains([]string{"budget", "train_stragglers", "unit", "checkpoint_path", "tensorboard_path",
				"hdfs_path", "hdfs_url", "user"}, f.name) {
				continue
			}
			if !bytes.Contains(page, []byte(f.name)) {
				t.Errorf("%T: %s is not described", section, f.name)
			}
		}
	}
}
