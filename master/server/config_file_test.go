package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAllThatIsWrongWithAFileIsSaid: the errors of a file have line and column, and say what would be right.
func TestAllThatIsWrongWithAFileIsSaid(t *testing.T) {
	_, err := load(t, `# from another system
databse: postgres://a/b
db: {host: x}
port: 8080
stop_after: 10
place_timeout: soon
notebook_timeout: 30m
shared_raw_exec: perhaps
hosts: {a: b}
nomad: http://nomad
spool: {max_mb: much, foldr: /x}
resource_pools:
  - pool_name: gpu
    max_aux_containers_per_agent: [1]
    docker: {usr: "1"}
  - plain
`, nil, nil)
	if err == nil {
		t.Fatal("the file was accepted")
	}
	for _, want := range []string{
		":2:1: databse: no such key; did you mean database?",
		":3:6: db.host: no such key; this is a key of Determined, for which Detent has the host in database: postgres://",
		":4:1: port: no such key; this is a key of Determined, for which Detent has listen",
		":5:13: stop_after: \"10\" is not a duration such as 30s or 5m",
		":6:16: place_timeout: \"soon\" is not a duration",
		":7:19: notebook_timeout: expected a whole number, found \"30m\"",
		":8:18: shared_raw_exec: expected true or false, found \"perhaps\"",
		"hosts: expected a list of words, found a section with keys",
		":10:8: nomad: expected a section with keys, found \"http://nomad\"",
		":11:17: spool.max_mb: expected a whole number, found \"much\"",
		"spool.foldr: no such key; did you mean folder?",
		":13:5: resource_pools[0].pool_name: no such key; this is a key of Determined, for which Detent has name",
		"resource_pools[0].max_aux_containers_per_agent: expected a whole number, found a list",
		"resource_pools[0].docker.usr: no such key; did you mean user?",
		":16:5: resource_pools[1]: expected a section with keys, found \"plain\"",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "Go struct") {
		t.Errorf("the error names Go types: %v", err)
	}
}

// TestAMasterYAMLOfDetermined: each key of a whole master.yaml of Determined is known here, or a line with its place says what Detent has instead,
// or a warning says that it has no effect. No line repeats a secret of the file.
func TestAMasterYAMLOfDetermined(t *testing.T) {
	const file = "testdata/determined-master.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = CheckConfig(file, nil, nil); err == nil {
		t.Fatal("the file was accepted")
	}
	said := map[int]string{} // by the line of the file
	correct, remove, grouped := strings.Cut(err.Error(), "\nkeys of Determined that have no meaning here, and only have to be deleted: ")
	if !grouped || strings.Contains(correct, "has no meaning here: ") && !strings.Contains(correct, "task_container_defaults") || strings.Contains(remove, "for which Detent has") {
		t.Errorf("what has to be corrected and what only has to go are not apart:\n%v", err)
	}
	for line := range strings.Lines(err.Error()) {
		_, at, inFile := strings.Cut(line, file+":")
		if !inFile {
			continue
		}
		n, _, _ := strings.Cut(at, ":")
		number, err := strconv.Atoi(n)
		if err != nil {
			t.Fatalf("no place in %q", line)
		}
		if !strings.Contains(line, "this is a key of Determined") && !strings.Contains(remove, line) {
			t.Errorf("a key of Determined is met with %s", line)
		}
		if said[number] == "" {
			said[number] = line
		}
	}
	var missing []string
	for i, line := range strings.Split(string(src), "\n") {
		if strings.HasPrefix(line, "#") || said[i+1] == "" {
			continue
		}
		key, _, _ := strings.Cut(strings.TrimLeft(line, " -"), ":")
		if !strings.Contains(said[i+1], key+": ") {
			missing = append(missing, line)
		}
	}
	if len(missing) > 0 || len(said) < 140 {
		t.Errorf("%d lines have a message, and those of other keys: %q", len(said), missing)
	}
	for _, want := range []string{
		":4:1: port: no such key; this is a key of Determined, for which Detent has listen: host:port",
		":35:3: db.password: no such key; this is a key of Determined, for which Detent has the password in database",
		":17:1: ui_customization: the pages have no logo of a site\n",
		"task_container_defaults.kubernetes: unknown field; this is a key of Determined, for which Detent has resource_pools[].max_slots_per_node",
		"resource_pools[0].provider.spot: no such key; this is a key of Determined, for which Detent has resource_pools[].spot",
		"resource_manager.scheduler.allow_heterogeneous_fits: no such key",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	for _, secret := range []string{"secret-of-the-old-database", "Secret-of-all-1"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the report repeats %q", secret)
		}
	}
}

// TestKeysThatOnlyHaveToGo: what somebody has to write elsewhere comes first, and a missing name has one message, that of the key which had it.
func TestKeysThatOnlyHaveToGo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "master.yaml")
	for text, want := range map[string]string{
		"log: {level: info, color: true}\nconfig_file: ''\nresource_pools: [{pool_name: a, provider: null}]\n": `the master's configuration has 2 problems:
  FILE:1:7: log.level: no such key; this is a key of Determined, for which Detent has log_level
  FILE:3:19: resource_pools[0].pool_name: no such key; this is a key of Determined, for which Detent has name
keys of Determined that have no meaning here, and only have to be deleted: 3
  FILE:1:20: log.color: lines of the master have no colors
  FILE:2:1: config_file: it has no value
  FILE:3:33: resource_pools[0].provider: it has no value`,
		"cache: {cache_dir: /c}\n": `keys of Determined that have no meaning here, and only have to be deleted: 1
  FILE:1:1: cache: code and files are in PostgreSQL`,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := CheckConfig(file, nil, nil)
		if err == nil || strings.ReplaceAll(err.Error(), file, "FILE") != want {
			t.Errorf("%s:\n%v\nwant:\n%s", text, err, want)
		}
	}
}

// TestKeysWithoutEffect: a key of Determined that this master knows and does not use is named with what has its effect.
func TestKeysWithoutEffect(t *testing.T) {
	file := filepath.Join(t.TempDir(), "master.yaml")
	text := "task_container_defaults: {cpu_pod_spec: {}, nccl_port_range: '1:2', gloo_port_range: '3:4', slurm: {gpu_type: a}, pbs: {slots_per_node: 4}, checkpoint_gc_pod_spec: {}, work_dir: /w}\n" +
		"resource_pools: [{name: a, task_container_defaults: {gpu_pod_spec: {}}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	found, err := CheckConfig(file, nil, nil)
	if err != nil || len(found) != 7 || !strings.Contains(found[6], "resource_pools[0].task_container_defaults.gpu_pod_spec has no effect: ") {
		t.Errorf("%q, %v", found, err)
	}
}

// TestProblemsInSectionsOfExperiments: problems in sections with the form of an experiment's configuration have their place in the master's file.
func TestProblemsInSectionsOfExperiments(t *testing.T) {
	_, err := load(t, "database: postgres://a/b\ncheckpoint_storage:\n  type: s3\n  bukcet: x\nresource_pools:\n  - name: a\n    task_container_defaults:\n      work_dir: 3\n      foo: 1\n", nil, nil)
	for _, want := range []string{":4:3: checkpoint_storage.bukcet: unknown field", ":8:7: resource_pools[0].task_container_defaults.work_dir: expected a string", ":9:7: resource_pools[0].task_container_defaults.foo: unknown field"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
}

func TestFilesThatSayNothing(t *testing.T) {
	for _, text := range []string{"", "# a note\n", "---\n", "null\n", "~\n"} {
		cfg := Defaults()
		if problems := cfg.read([]byte(text)).problems; len(problems) > 0 || cfg.Listen != Defaults().Listen {
			t.Errorf("%q: %v, listen %q", text, problems, cfg.Listen)
		}
	}
}

func TestAnchorsOfAFile(t *testing.T) {
	cfg := Defaults()
	problems := cfg.read([]byte("resource_pools:\n  - &base {name: a, driver: docker, priority: 1}\n  - {<<: *base, description: b}\n")).problems
	if len(problems) != 1 || !strings.Contains(problems[0], "2:37: resource_pools[0].priority: no such key") {
		t.Errorf("problems: %q", problems)
	}
	problems = cfg.read([]byte("resource_pools:\n  - &base {name: a, driver: docker}\n  - {<<: *base, description: b}\ndefault_compute_resource_pool: &d a\ndefault_aux_resource_pool: *d\n")).problems
	if len(problems) > 0 || len(cfg.Pools) != 2 || cfg.Pools[1].Driver != "docker" || cfg.Pools[1].Description != "b" || cfg.DefaultAuxPool != "a" {
		t.Errorf("%q, %+v", problems, cfg.Pools)
	}
}

// TestWordsAreTakenAsTheyAre: a word in a variable or a flag may have any characters, and a file may quote numbers.
func TestWordsAreTakenAsTheyAre(t *testing.T) {
	for _, word := range []string{"[::]:8080", "@%*&!{[", "a: b", "null", "~", "# x", "abc #def", `"quoted"`, " spaces ", "a\nb", `\n`, "1.10", "007", ""} {
		cfg := Defaults()
		if _, err := cfg.set("webhooks.signing_key", word, "."); err != nil || cfg.Webhooks.SigningKey != word {
			t.Errorf("%q is %q, %v", word, cfg.Webhooks.SigningKey, err)
		}
	}
	cfg := Defaults()
	f := cfg.read([]byte("cluster_name: 1.10\ndatabase_conns: \"16\"\nnotebook_timeout: 1e2\ncheckpoint_storage: {type: s3, bucket: on, save_trial_best: 2, secret_key: 1.0}\n" +
		"resource_pools: [{name: a, scheduler: {user_weights: {a: \"2.5\", b: 3, c: }}}]\n"))
	weights := cfg.Pools[0].Scheduler.Users
	if len(f.problems) > 0 || cfg.ClusterName != "1.10" || cfg.DatabaseConns != 16 || cfg.NotebookTimeout != 100 || weights["a"] != 2.5 || weights["b"] != 3 || weights["c"] != 0 {
		t.Errorf("%q: %q %d %d %v", f.problems, cfg.ClusterName, cfg.DatabaseConns, cfg.NotebookTimeout, weights)
	}
	if got, want := fmt.Sprint(cfg.CheckpointStorage), "map[bucket:on save_trial_best:2 secret_key:1.0 type:s3]"; got != want {
		t.Errorf("a section is %s, want %s", got, want)
	}
	for _, nothing := range []string{"", "null", "~", "# nothing"} {
		if _, err := cfg.set("resource_pools", nothing, "."); err != nil || len(cfg.Pools) != 1 {
			t.Errorf("%q: %v, %d pools", nothing, err, len(cfg.Pools))
		}
	}
	if _, err := cfg.set("resource_pools", "{name: b}", "."); err == nil || !strings.Contains(err.Error(), "resource_pools: expected a list") {
		t.Errorf("a section in place of a list: %v", err)
	}
	for text, want := range map[string]string{"database_conns: many": "a whole number", "database_conns: 1.5": "a whole number", "database_conns: true": "a whole number",
		"database_conns: [1]": "a whole number", "resource_pools: [{name: a, scheduler: {user_weights: {a: true}}}]": "names with numbers"} {
		cfg := Defaults()
		if f := cfg.read([]byte(text)); len(f.problems) != 1 || !strings.Contains(f.problems[0], "expected "+want) || cfg.DatabaseConns != Defaults().DatabaseConns {
			t.Errorf("%s: %q, %d", text, f.problems, cfg.DatabaseConns)
		}
	}
}

func FuzzFile(f *testing.F) {
	f.Add("listen: a:1\nresource_pools: [{name: x, docker: {user: '1'}}]\n")
	f.Add("a: &x [*x]\n<<: {b: 1}\n? [c]\n: d\n")
	f.Fuzz(func(t *testing.T, text string) {
		cfg := Defaults()
		for _, p := range cfg.read([]byte(text)).problems {
			if p == "" {
				t.Error("a problem without a message")
			}
		}
	})
}

// TestValuesThatCannotWork: a check finds them before a master is started with them.
func TestValuesThatCannotWork(t *testing.T) {
	for text, want := range map[string]string{
		"task_urls: [foo]":                                                `task_urls[0]: expected an address such as http://host:port, found "foo"`,
		"stop_after: 5s":                                                  "stop_after: must be at least 12s",
		"resource_pools: [{name: 'a b/c'}]":                               `resource_pools[0].name: expected letters`,
		"resource_pools: [{name: a, slots_per_node: -4}]":                 "resource_pools[0].slots_per_node: must not be below 0, found -4",
		"resource_pools: [{name: a, aux_memory_mb: -1}]":                  "resource_pools[0].aux_memory_mb",
		"resource_pools: [{name: a, max_slots_per_node: -1}]":             "resource_pools[0].max_slots_per_node",
		"resource_pools: [{name: a, max_aux_containers_per_agent: -1}]":   "resource_pools[0].max_aux_containers_per_agent",
		"resource_pools: [{name: a, slots: cpu, device: nvidia/gpu}]":     "resource_pools[0].device: requires slots: device",
		"resource_pools: [{name: a, slots: device, device: nvidia/gpu}]":  "",
		"resource_pools: [{name: gpu-pool_1.x}]\ntask_urls: ['http://a']": "",
	} {
		_, err := load(t, text, []string{"DETENT_DATABASE=postgres://a/b"}, nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestPlacesOfWrongValues: a value that cannot be right is shown with the place that set it, together with wrong keys and types.
func TestPlacesOfWrongValues(t *testing.T) {
	file := filepath.Join(t.TempDir(), "master.yaml")
	text := `database: postgres://a/b
log_level: loud
tokens: {max_days: 20, default_days: 40}
stop_after: 10
nomad:
  addrss: http://x
resource_pools:
  - name: gpu
    slots_per_nod: 2
    scheduler:
      type: fairshare
public_url: nowhere
security: {authz: {type: bsic}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := LoadConfig(file, []string{"DETENT_PUBLIC_URL=elsewhere", "DETENT_LOG_LEVL=x"}, []string{"checkpoint_sweep=some", "foo=1"})
	if err == nil {
		t.Fatal("the configuration was accepted")
	}
	for _, want := range []string{
		"has 11 problems:",
		file + ":2:1: log_level: expected one of trace, debug",
		file + ":3:24: tokens.default_days: ",
		file + ":4:13: stop_after: \"10\" is not a duration",
		file + ":6:3: nomad.addrss: no such key; did you mean address?",
		file + ":9:5: resource_pools[0].slots_per_nod: no such key; did you mean slots_per_node?",
		file + ":11:7: resource_pools[0].scheduler.type: expected one of",
		file + ":13:20: security.authz.type: expected one of basic, rbac, found \"bsic\"",
		"DETENT_PUBLIC_URL: public_url: expected an address such as http://host:port, found \"elsewhere\"",
		"DETENT_LOG_LEVL: no such key; did you mean log_level?",
		"--set: checkpoint_sweep: expected one of",
		"--set foo: no such key; docs/operate/configuration.md lists them all",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in:\n%v", want, err)
		}
	}
	for text, want := range map[string]string{
		"listen: a:1\nlisten: b:2\n": ":2:1: ",
		"listen: a:1\n\tspool: {}\n": ":2:1: ",
		"listen: [\n":                ":1:9: ",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadConfig(file, nil, nil); err == nil || !strings.Contains(err.Error(), file+want) || strings.Contains(err.Error(), "\n  >") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
