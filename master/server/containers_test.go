package server

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/task"
	"github.com/detent-ml/detent/master/v1"
)

const dockerPools = `
database: postgres://a/b
checkpoint_storage: {type: shared_fs, host_path: /mnt/checkpoints}
task_container_defaults: {shm_size_bytes: 1g, add_capabilities: [SYS_NICE]}
resource_pools:
  - name: gpu
    driver: docker
    slots: device
    device: nvidia/gpu
    task_container_defaults: {image: {cpu: base:1, cuda: r.example/torch:2}, bind_mounts: [{host_path: /etc/site, container_path: /site}]}
    docker: {allowed_host_paths: [/data/*, "/teams/*:rw"], user: "1000", hard_memory_limit: true, registry_auth: {vault_path: kv/data/r, server: r.example}}
  - {name: plain, driver: docker}
`

// sited is a master of a configuration with what follows from it, not running.
func sited(t *testing.T, cfg Config) *master {
	t.Helper()
	m := &master{cfg: cfg, files: taskFiles{runner: task.Runner{SHA256: "aa", ArchiveSHA: "bb", Target: "linux-amd64"}}, pools: poolsOf(t, cfg)}
	var err error
	if m.site, err = m.readSite(); err != nil {
		t.Fatal(err)
	}
	return m
}

// read is an attempt of a row.
func read(t *testing.T, row task.Row) task.Attempt {
	t.Helper()
	a, err := task.Read(row)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// attempt is one to submit, with a configuration completed as the API does it.
func attempt(t *testing.T, cfg Config, pool, more string) task.Attempt {
	t.Helper()
	i := slices.IndexFunc(cfg.Pools, func(p PoolConfig) bool { return p.Name == pool })
	raw, _, err := expconf.Parse("config", []byte("name: x\nentrypoint: [a]\nsearcher: {name: single, metric: loss, max_length: {batches: 1}}\n"+more))
	if err != nil {
		t.Fatal(err)
	}
	over, err := parseTaskDefaults(cfg.Pools[i].TaskContainerDefaults)
	if err != nil {
		t.Fatal(err)
	}
	under, err := parseTaskDefaults(cfg.TaskContainerDefaults)
	if err != nil {
		t.Fatal(err)
	}
	storage, err := cfg.storage()
	if err != nil {
		t.Fatal(err)
	}
	complete, err := expconf.Complete(raw, expconf.ClusterDefaults{TaskContainer: over.Over(under).Fragment(), CheckpointStorage: storage, Name: "x"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := complete.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return read(t, task.Row{ID: "1.t.1", TaskID: "1.t", Type: "TRIAL", ExperimentID: 1, TrialID: 2, Config: text, Slots: 1})
}

func TestContainersOfTrials(t *testing.T) {
	cfg, err := load(t, dockerPools, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	m := sited(t, cfg)
	make := func(name string, a task.Attempt) task.Job {
		t.Helper()
		job, err := m.site.Job(a, nil, m.pools.Named(name))
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	job := make("gpu", attempt(t, cfg, "gpu", ""))
	c := job.Container
	if c.Image != "r.example/torch:2" || c.User != "1000" || c.ShmBytes != 1<<30 || !c.HardMemory || c.NoGPU || !slices.Equal(c.Add, []string{"SYS_NICE"}) {
		t.Errorf("with the pool's settings the container is %+v", c)
	}
	if r := c.Registry; r == nil || r.Path != "kv/data/r" || r.Server != "r.example" || len(job.Variables) != 0 {
		t.Errorf("with the pool's settings the registry is %+v", r)
	}
	for _, m := range make("gpu", attempt(t, cfg, "gpu", "bind_mounts: [{host_path: /data/a, container_path: /a}, {host_path: /teams/a, container_path: /b}, {host_path: /teams/a, container_path: /c, read_only: true}]\n"+
		"environment: {nomad: {host_paths: [{host_path: /data/a, container_path: /d}]}}")).Container.Mounts {
		if want := strings.Contains("/a /c /d", m.Target); m.ReadOnly != want {
			t.Errorf("%s at %s is read-only: %v, want %v", m.Source, m.Target, m.ReadOnly, want)
		}
	}
	if len(c.Mounts) != 2 || c.Mounts[0].Target != "/site" || c.Mounts[1].Target != expconf.SharedFSMount || !c.Mounts[1].Create {
		t.Errorf("with the pool's settings the mounts are %+v", c.Mounts)
	}
	if job.Runner.SHA256 != "bb" || !job.Runner.Archive || !strings.HasSuffix(job.Runner.URL, "/runner/aa/linux-amd64.tar") {
		t.Errorf("the job's runner is %+v", job.Runner)
	}

	s := attempt(t, cfg, "gpu", "environment: {image: own:1, registry_auth: {username: u, password: p}}\nresources: {shm_size: 2g}")
	s.Account, s.Slots = "12:34", 0
	job = make("gpu", s)
	if c := job.Container; c.Image != "own:1" || c.User != "12:34" || c.ShmBytes != 2<<30 || !c.NoGPU {
		t.Errorf("with the task's settings the container is %+v", c)
	}
	if r := job.Container.Registry; r.Path != jobspecs.VariablePath("1.t.1") || job.Variables["password"] != "p" {
		t.Errorf("the job's own credentials are %+v at %+v", job.Variables, r)
	}
	s = attempt(t, cfg, "gpu", "")
	s.Slots = 0
	if c := make("gpu", s).Container; c.Image != "base:1" {
		t.Errorf("without GPUs it runs in %s", c.Image)
	}
	if c := make("plain", attempt(t, cfg, "plain", "")).Container; c.Image != "detent-small:"+v1.Version || c.User != "" || c.Registry != nil || !c.NoGPU {
		t.Errorf("without settings the container is %+v", c)
	}

	command, err := json.Marshal(expconf.CommandConfig{Description: "x", Environment: expconf.Environment{Image: expconf.Image{CPU: "cmd:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	c = make("plain", read(t, task.Row{ID: "c.1", TaskID: "c", Type: "COMMAND", TaskConfig: command})).Container
	if c.Image != "cmd:1" || len(c.Mounts) != 0 {
		t.Errorf("a command runs in %+v", c)
	}
}

func TestLimitsOfPools(t *testing.T) {
	cfg, err := load(t, dockerPools, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := cfg.limits(cfg.Pools[0])
	if err != nil || l.Operators.Storage != "/mnt/checkpoints" || len(l.Operators.BindMounts) != 1 || l.Operators.Capabilities[0] != "SYS_NICE" || l.HostPaths[0] != "/data/*" {
		t.Errorf("limits are %+v: %v", l, err)
	}
	cfg.Pools[0].Driver = "podman"
	if p, err := cfg.limits(cfg.Pools[0]); err != nil || !p.RegistryImages || l.RegistryImages || !slices.Contains(p.Operators.Images, "r.example/torch:2") {
		t.Errorf("under Podman limits are %+v: %v", p, err)
	}
	cfg.Pools[1].Driver = "exec"
	if l, err := cfg.limits(cfg.Pools[1]); err != nil || l != nil {
		t.Errorf("a pool without images has limits %+v: %v", l, err)
	}
}

func TestDockerProblems(t *testing.T) {
	for settings, says := range map[string]string{
		"driver: exec, docker: {user: '1'}":                                                    "requires driver docker or podman",
		"driver: docker, docker: {user: root}":                                                 "expected uid",
		"driver: docker, docker: {allowed_host_paths: [data]}":                                 "absolute paths",
		"driver: docker, docker: {allowed_host_paths: ['/data:ro']}":                           "absolute paths",
		"driver: docker, docker: {allowed_devices: ['/dev/*/x']}":                              "absolute paths",
		"driver: docker, docker: {registry_auth: {nomad_variable: nomad/jobs}}":                "Docker configuration of the nodes",
		"driver: docker, docker: {registry_auth: {vault_path: b, vault_engine: aws}}":          "vault_engine",
		"driver: docker, docker: {registry_auth: {vault_path: b}}":                             "requires server",
		"driver: docker, task_container_defaults: {registry_auth: {username: a, password: b}}": "requires serveraddress",
		"driver: docker, docker: {registry_auth: {server: b}}":                                 "requires vault_path",
		"driver: docker, task_container_defaults: {network_mode: bridge}":                      "must be host",
		"driver: docker, task_container_defaults: {imagee: x}":                                 "task_container_defaults",
		"driver: qemu": "docker",
	} {
		_, err := load(t, "database: postgres://a/b\nresource_pools: [{name: a, "+settings+"}]\n", nil, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want an error with %q", settings, err, says)
		}
	}
}

// TestNoMountInAWritableFolder: a master does not start if a task could put a link in place of what another
// container mounts.
func TestNoMountInAWritableFolder(t *testing.T) {
	const storage = "checkpoint_storage: {type: shared_fs, host_path: /ck}\n"
	for more, key := range map[string]string{
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: [/open, /open/*]}}]":                                                                                           "",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: ['/open/*:rw', /other]}}]":                                                                                     "",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: ['/open:rw', /open/*]}}]":                                                                                      "resource_pools[0].docker.allowed_host_paths",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: ['/open/*:rw', /open/x/y]}}]":                                                                                  "resource_pools[0].docker.allowed_host_paths",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: ['/open:rw']}}, {name: b, driver: podman, docker: {allowed_host_paths: [/open/x]}}]":                           "resource_pools[1].docker.allowed_host_paths",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: [/ck]}}]":                                                                                                      "",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: [/ck/mine]}}]":                                                                                                 "resource_pools[0].docker.allowed_host_paths",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_host_paths: ['/:rw']}}]":                                                                                                   "checkpoint_storage.host_path",
		"resource_pools: [{name: a, driver: docker, docker: {allowed_devices: [/ck/dev/*]}}]":                                                                                                   "resource_pools[0].docker.allowed_devices",
		"resource_pools: [{name: a, driver: docker, homes: /scratch/homes, task_container_defaults: {bind_mounts: [{host_path: /scratch, container_path: /s}]}}]":                               "resource_pools[0].homes",
		"resource_pools: [{name: a, driver: docker}]\ntask_container_defaults: {bind_mounts: [{host_path: /s, container_path: /s}, {host_path: /s/data, container_path: /d, read_only: true}]}": "task_container_defaults.bind_mounts",
		"resource_pools: [{name: a, driver: docker}]\ntask_container_defaults: {bind_mounts: [{host_path: /s, container_path: /s, read_only: true}, {host_path: /s/data, container_path: /d}]}": "",
		"resource_pools: [{name: a, driver: raw_exec}]\ntask_container_defaults: {bind_mounts: [{host_path: /ck/x, container_path: /s}]}":                                                       "",
	} {
		_, err := load(t, "database: postgres://a/b\n"+storage+more+"\n", nil, nil)
		if key == "" && err != nil || key != "" && (err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), "put a link")) {
			t.Errorf("%s: %v, want an error about %q", more, err, key)
		}
	}
}
