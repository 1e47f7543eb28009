package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/pool"
)

// writeJob writes a job beside a configuration.
func writeJob(t *testing.T, dir, name, src string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
}

func loadBeside(t *testing.T, dir, file string) (Config, error) {
	t.Helper()
	path := filepath.Join(dir, "master.yaml")
	if err := os.WriteFile(path, []byte(file+"\ndatabase: postgres://a/b\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return LoadConfig(path, nil, nil)
}

const goodJob = `
job "gpu" {
  namespace = "ml"
  group "g" {
    task "t" {
      driver = "docker"
    }
  }
}
`

// TestAForbiddenFieldStopsTheStart: a forbidden field or a duplicate setting stops the start with file and
// line.
func TestAForbiddenFieldStopsTheStart(t *testing.T) {
	dir := t.TempDir()
	writeJob(t, dir, "gpu.hcl", strings.Replace(goodJob, `driver = "docker"`, "driver = \"docker\"\n      vault { role = \"root\" }", 1))
	writeJob(t, dir, "good.hcl", goodJob)
	for config, want := range map[string]string{
		"resource_pools: [{name: a, job: gpu.hcl}]":                                            filepath.Join(dir, "gpu.hcl") + ":7:7: job.group.task.vault: cannot be set",
		"resource_pools: [{name: a, job: none.hcl}]":                                           "pool a: job: open " + filepath.Join(dir, "none.hcl"),
		"resource_pools: [{name: a, job: good.hcl, driver: exec}]":                             "resource_pools[0].driver: cannot be set together with job",
		"resource_pools: [{name: a, job: good.hcl, node_pool: x}]":                             "resource_pools[0].node_pool: cannot be set together with job",
		"resource_pools: [{name: a, job: good.hcl, docker: {user: '1'}}]":                      "resource_pools[0].docker.user: cannot be set together with job",
		"resource_pools: [{name: a, job: good.hcl, docker: {allowed_host_paths: [relative]}}]": "expected absolute paths",
	} {
		if _, err := loadBeside(t, dir, config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", config, err, want)
		}
	}
	cfg, err := loadBeside(t, dir, "resource_pools: [{name: a, job: good.hcl, docker: {allowed_host_paths: [/data/*]}}]")
	if err != nil || cfg.Pools[0].Driver != "docker" || cfg.Pools[0].Job != filepath.Join(dir, "good.hcl") {
		t.Errorf("%v, %+v", err, cfg.Pools)
	}
	raw := strings.Replace(goodJob, "docker", "raw_exec", 1)
	writeJob(t, dir, "raw.hcl", raw)
	if _, err := loadBeside(t, dir, "listen: 0.0.0.0:8080\nresource_pools: [{name: a, job: raw.hcl}]"); err == nil || !strings.Contains(err.Error(), "raw_exec is for one person's machine") {
		t.Errorf("raw_exec by a job: %v", err)
	}
}

// fakeParser answers in place of Nomad, by a function of the test.
type fakeParser func(source string) (*pool.Job, error)

func (f fakeParser) ParseJob(_ context.Context, source string) (*pool.Job, error) { return f(source) }

type fakeJobs map[string]json.RawMessage

func (f fakeJobs) SavePoolJob(_ context.Context, sum string, parsed json.RawMessage) error {
	f[sum] = parsed
	return nil
}

func (f fakeJobs) PoolJob(_ context.Context, sum string) (json.RawMessage, error) { return f[sum], nil }

// parsedAs makes a job by the words of Nomad's API.
func parsedAs(t *testing.T, text string) *pool.Job {
	t.Helper()
	var job pool.Job
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		t.Fatal(err)
	}
	return &job
}

// TestPoolJobsOutliveNomad: Nomad's result for a pool's job is stored, so a master can start while Nomad
// is unavailable; with a changed job it cannot.
func TestPoolJobsOutliveNomad(t *testing.T) {
	dir := t.TempDir()
	writeJob(t, dir, "good.hcl", goodJob)
	cfg, err := loadBeside(t, dir, "task_urls: ['http://10.0.0.1:8080']\nresource_pools: [{name: a, job: good.hcl}]")
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"ID": "gpu", "Namespace": "ml", "NodePool": "fast", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "docker"}]}]}`
	here := fakeParser(func(source string) (*pool.Job, error) {
		if source != goodJob {
			t.Errorf("Nomad was shown %q", source)
		}
		return parsedAs(t, text), nil
	})
	away := fakeParser(func(string) (*pool.Job, error) { return nil, fault.New(fault.Unavailable, "away") })
	kept, warned := fakeJobs{}, 0
	warn := func(string, ...any) { warned++ }
	if _, err := cfg.poolJobs(t.Context(), here, kept, warn); err != nil || len(kept) != 1 || warned != 0 {
		t.Fatalf("%v, kept %v, %d warnings", err, kept, warned)
	}
	jobs, err := cfg.poolJobs(t.Context(), away, kept, warn)
	if err != nil || warned != 1 {
		t.Fatalf("%v, %d warnings", err, warned)
	}
	set, err := cfg.pools(jobs)
	if err != nil || set[0].Namespace != "ml" || set[0].NodePool != "fast" || set[0].Driver != "docker" || set[0].Network != "bridge" ||
		set[0].Job.TaskGroups[0].Tasks[0].Config["network_mode"] != "bridge" || namespaces(set)[0] != "ml" {
		t.Errorf("%v, %+v", err, set)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cfg.poolJobs(ctx, away, fakeJobs{}, warn); err == nil || !strings.Contains(err.Error(), "Nomad must parse "+filepath.Join(dir, "good.hcl")+" once") {
		t.Errorf("never parsed: %v", err)
	}
	refusing := fakeParser(func(string) (*pool.Job, error) {
		return nil, fault.New(fault.Invalid, "input.hcl:3,1-2: Unsupported thing")
	})
	if _, err := cfg.poolJobs(t.Context(), refusing, kept, warn); err == nil || !strings.Contains(err.Error(), "Nomad rejects the job: good.hcl:3,1-2") {
		t.Errorf("what Nomad refuses: %v", err)
	}
	sly := fakeParser(func(string) (*pool.Job, error) {
		return parsedAs(t, strings.Replace(text, `"Driver"`, `"Vault": {"Role": "root"}, "Driver"`, 1)), nil
	})
	if _, err := cfg.poolJobs(t.Context(), sly, kept, warn); err == nil || !strings.Contains(err.Error(), "job.group.task.Vault: cannot be set") {
		t.Errorf("a field that the file did not show: %v", err)
	}
	broken := fakeParser(func(string) (*pool.Job, error) { return nil, errors.New("odd") })
	if _, err := cfg.poolJobs(t.Context(), broken, kept, warn); err == nil {
		t.Error("an unknown error was ignored")
	}
}

// TestJobsOnNetworksOfTheirOwn: tasks there cannot reach a master on loopback.
func TestJobsOnNetworksOfTheirOwn(t *testing.T) {
	dir := t.TempDir()
	writeJob(t, dir, "good.hcl", goodJob)
	cfg, err := loadBeside(t, dir, "resource_pools: [{name: a, job: good.hcl}]")
	if err != nil {
		t.Fatal(err)
	}
	const text = `{"TaskGroups": [{"Networks": [{"Mode": %q}], "Tasks": [{"Driver": "docker"}]}]}`
	for mode, want := range map[string]string{"host": "", "bridge": "cannot reach the master"} {
		set, err := cfg.pools(map[string]*pool.Job{"a": parsedAs(t, strings.Replace(text, "%q", `"`+mode+`"`, 1))})
		if want == "" && (err != nil || set[0].Network != "host") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", mode, err)
		}
	}
}
