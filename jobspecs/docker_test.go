package jobspecs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/pool/jobfile"
)

// inContainer is a trial that runs in an image.
func inContainer(id string) jobspecs.Task {
	k := trial()
	k.AllocationID = "12." + id + "-0b7a-4f0e-9a53-6f1f0f9f3b11.1"
	k.Pool = pool.Pool{Name: "gpu", Driver: pool.Docker, NodePool: "default"}
	k.Runner = jobspecs.Runner{URL: "http://10.0.0.5:8080/runner/" + runnerSum + "/linux-amd64.tar", SHA256: runnerSum, Archive: true}
	k.Container = &jobspecs.Container{Image: "registry.example/team/torch:2.9"}
	return k
}

// containers are the recorded jobs that run in images.
func containers() map[string]jobspecs.Task {
	plain := inContainer("7c1d2f6e")
	plain.Container.NoGPU = true

	full := inContainer("8c1d2f6e")
	full.Masters.Service = "det-master"
	full.Variables = map[string]string{"username": "robot", "password": "never in a job"}
	full.Container = &jobspecs.Container{
		Image: "registry.example/${team}/torch:2.9", ForcePull: true, PullTimeout: 10 * time.Minute, User: "1000:1001",
		ShmBytes: 4 << 30, HardMemory: true, Add: []string{"IPC_LOCK"}, Drop: []string{"NET_RAW", "MKNOD"},
		Mounts: []jobspecs.Mount{
			{Source: "/mnt/checkpoints", Target: "/determined_shared_fs", Propagation: "rprivate", Create: true},
			{Source: "/mnt/odd:name", Target: "/odd", Create: true},
			{Source: "/data", Target: "/data", ReadOnly: true, Propagation: "rslave"},
			{Source: "/mnt/${team}", Target: "/team", ReadOnly: true, Create: true},
		},
		Devices:  []jobspecs.DeviceFile{{Source: "/dev/infiniband/uverbs0", Target: "/dev/infiniband/uverbs0", Permissions: "rwm"}},
		Registry: &jobspecs.Registry{Provider: jobspecs.SecretsInNomad, Path: jobspecs.VariablePath(full.AllocationID), Server: "registry.example"},
	}

	own := inContainer("9c1d2f6e")
	own.Runner = jobspecs.Runner{Path: "/opt/detent/det-runner"}
	own.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInVault, Path: "kv/data/registry", Engine: "kv_v2", Role: "det-registry"}
	bridge := inContainer("ac1d2f6e")
	bridge.Pool.Network = pool.BridgeNetwork
	bridge.Container.Hosts = []string{"metadata.google.internal:0.0.0.0"}
	return map[string]jobspecs.Task{"container-bridge": bridge, "container": plain, "container-full": full, "container-own": own}
}

func TestRenderRefusesContainers(t *testing.T) {
	mount := func(source, target string) func(*jobspecs.Task) {
		return func(k *jobspecs.Task) { k.Container.Mounts = []jobspecs.Mount{{Source: source, Target: target}} }
	}
	tests := []struct {
		name   string
		change func(*jobspecs.Task)
		says   string
	}{
		{"no image", func(k *jobspecs.Task) { k.Container = nil }, "no image"},
		{"an image without a name", func(k *jobspecs.Task) { k.Container.Image = "" }, "image"},
		{"two words for an image", func(k *jobspecs.Task) { k.Container.Image = "a b" }, "image"},
		{"a driver without images", func(k *jobspecs.Task) { k.Pool.Driver = "exec" }, "runs no images"},
		{"a runner without its execute bit", func(k *jobspecs.Task) { k.Runner.Archive = false }, "archive"},
		{"a relative source", mount("data", "/data"), "absolute"},
		{"a relative target", mount("/data", "data"), "absolute"},
		{"the runner's folder", mount("/data", "/alloc/bin"), "/alloc"},
		{"the folder with the identity", mount("/data", "/secrets/"), "/secrets"},
		{"what lies over the run directory", mount("/data", "/run"), "/run/determined"},
		{"the whole root", mount("/data", "/"), "task's own"},
		{"credentials nowhere", func(k *jobspecs.Task) { k.Container.Registry = &jobspecs.Registry{Provider: "consul", Path: "x"} }, "consul"},
		{"credentials without a path", func(k *jobspecs.Task) {
			k.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInVault}
		}, "registry"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			task := inContainer("7c1d2f6e")
			test.change(&task)
			_, err := jobspecs.Render(task)
			if err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want an error with %q", err, test.says)
			}
		})
	}
	for target, taken := range map[string]string{"/data": "", "/runs": "", "/allocations": "", "/run/determined/workdir/data": "/run/determined", "/local": "/local"} {
		if got := jobspecs.ReservedTarget(target); got != taken {
			t.Errorf("a mount at %s takes %q, want %q", target, got, taken)
		}
	}
}

// process is the one Nomad task of a rendered task's first member.
func process(t *testing.T, k jobspecs.Task) *api.Task {
	t.Helper()
	job, err := jobspecs.Render(k)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(job.TaskGroups[0].Tasks); n != 1 {
		t.Fatalf("a member is %d Nomad tasks", n)
	}
	return job.TaskGroups[0].Tasks[0]
}

// TestNobodyChangesTheRunner: in a container the program cannot write to the runner's file, wherever it sees it.
func TestNobodyChangesTheRunner(t *testing.T) {
	for name, k := range cases() {
		if k.Container == nil || k.Runner.Path != "" || k.Pool.Driver == pool.Podman {
			continue
		}
		closed := false
		for _, m := range process(t, k).Config["mount"].([]map[string]any) {
			closed = closed || m["target"] == "/alloc/bin" && m["source"] == "../alloc/bin" && m["readonly"] == true
		}
		if !closed {
			t.Errorf("%s: the program can write to the runner", name)
		}
	}
}

// TestNetworks: tasks on one node use their pool's network, tasks on several nodes the nodes' own,
// and no driver gets a network that it cannot make.
func TestNetworks(t *testing.T) {
	k := inContainer("7c1d2f6e")
	k.Pool.Network = pool.BridgeNetwork
	k.Members = append(k.Members, jobspecs.Member{NodeID: nodeB, NodeName: "n2"})
	main := process(t, k)
	if main.Config["network_mode"] != "host" || main.Config["ports"] != nil || main.Env["DET_NETWORK"] != "" {
		t.Errorf("members of several nodes run with %v", main.Config)
	}
	e := trial()
	e.Pool.Driver, e.Pool.Network = "exec", "cni/tasks"
	job, err := jobspecs.Render(e)
	if err != nil || job.TaskGroups[0].Networks[0].Mode != "cni/tasks" || job.TaskGroups[0].Tasks[0].Env["DET_NETWORK"] != "cni/tasks" {
		t.Errorf("%v", err)
	}
	for driver, network := range map[string]string{"raw_exec": "bridge", "exec": "fenced"} {
		e.Pool.Driver, e.Pool.Network = driver, network
		if _, err := jobspecs.Render(e); err == nil || !strings.Contains(err.Error(), "cannot have it") {
			t.Errorf("%s on %s: %v", driver, network, err)
		}
	}
	two := inContainer("7c1d2f6e")
	two.Credentials = &jobspecs.Credentials{Role: "det-task", Engine: "aws"}
	two.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInVault, Path: "kv/data/registry", Role: "det-registry"}
	if _, err := jobspecs.Render(two); err == nil || !strings.Contains(err.Error(), "signs in to Vault with one role") {
		t.Errorf("two roles of Vault: %v", err)
	}
}

// TestEndedFirst: when a node is short of memory, the kernel ends the program of a task without a limit first. The setting of the pool's
// job has precedence, and the driver of Podman has no such setting.
func TestEndedFirst(t *testing.T) {
	job := func(config string) func(*jobspecs.Task) {
		return func(k *jobspecs.Task) {
			f, problems := jobfile.Read([]byte(`{"ID": "p", "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "docker", "Config": {` + config + `}}]}]}`))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			k.Pool = k.Pool.WithJob(f.Job)
		}
	}
	for name, c := range map[string]struct {
		change func(*jobspecs.Task)
		want   any
	}{
		"no limit":                       {func(*jobspecs.Task) {}, 500},
		"hard_memory_limit":              {func(k *jobspecs.Task) { k.Container.HardMemory = true }, nil},
		"memory_max":                     {func(k *jobspecs.Task) { k.Members[0].MemoryMaxMB = 4096 }, nil},
		"podman":                         {func(k *jobspecs.Task) { k.Pool.Driver = pool.Podman }, nil},
		"a pool's job":                   {job(``), 500},
		"a pool's job with its own":      {job(`"oom_score_adj": 100`), 100.0},
		"a pool's job with none":         {job(`"oom_score_adj": 0`), 0.0},
		"a pool's job that has a limit":  {job(`"memory_hard_limit": 9000`), nil},
		"a limit and its own adjustment": {job(`"memory_hard_limit": 9000, "oom_score_adj": 100`), 100.0},
	} {
		k := inContainer("7c1d2f6e")
		c.change(&k)
		if got := process(t, k).Config["oom_score_adj"]; got != c.want {
			t.Errorf("%s: %v (%T), want %v", name, got, got, c.want)
		}
	}
}
