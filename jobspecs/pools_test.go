package jobspecs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/pool/jobfile"
)

// examples are the jobs of pools that come with Detent, by their names.
func examples(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../nomad/pools/*.nomad.hcl")
	if err != nil || len(files) != 6 {
		t.Fatalf("%d examples: %v", len(files), err)
	}
	all := map[string]string{}
	for _, f := range files {
		src, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(f), ".nomad.hcl")] = string(src)
	}
	return all
}

// example is a trial in the pool of an example, whose job Nomad has parsed.
func example(t *testing.T, name string, job *api.Job) jobspecs.Task {
	t.Helper()
	k := trial()
	k.Pool = pool.Pool{Name: name}.WithJob(job)
	k.Members[0].MHz, k.Members[0].MemoryMB = 2*k.Pool.Slots.MHzPerSlot, 2*k.Pool.Slots.MemoryMBPerSlot
	k.Members[0].MemoryMaxMB = 2 * k.Pool.Slots.MemoryMaxMBPerSlot
	if k.Pool.Slots.WholeCores {
		k.Members[0].Cores = 2 * k.Pool.Slots.CoresPerSlot
	}
	if k.Pool.HasImages() {
		k.Runner = inContainer("7c1d2f6e").Runner
		k.Container = &jobspecs.Container{Image: "registry.example/team/torch:2.9", User: k.Pool.Containers.User,
			Mounts:  []jobspecs.Mount{{Source: "/mnt/checkpoints", Target: "/determined_shared_fs", Create: true}},
			Devices: []jobspecs.DeviceFile{{Source: "/dev/fuse", Target: "/dev/fuse", Permissions: "rwm"}}, Add: []string{"SYS_PTRACE"}}
	}
	switch name {
	case "nvidia", "infiniband", "mig":
		k.Pool.Slots.Kind, k.Pool.Slots.Device = pool.DeviceSlots, "nvidia/gpu"
		k.Members[0].DeviceIDs = []string{"GPU-1", "GPU-2"}
	}
	if name == "cpu" { // what an experiment may add
		k.Overlay = jobspecs.Overlay{
			Constraints: []pool.Comparison{{Attribute: "${meta.rack}", Operator: "!=", Value: "r7"}},
			Affinities:  []pool.Affinity{{Comparison: pool.Comparison{Attribute: "${node.class}", Value: "fast"}, Weight: 30}},
			Spreads:     []pool.Spread{{Attribute: "${meta.rack}", Weight: 50, Targets: []pool.SpreadTarget{{Value: "r1", Percent: 60}}}},
			Meta:        map[string]string{"team": "vision"},
			Volumes:     []jobspecs.Volume{{Name: "datasets", Path: "/data"}},
		}
	}
	return k
}

// parsed returns the recorded result of Nomad's parser for an example.
func parsed(t *testing.T, name string) *api.Job {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "pools", name+".parsed.json"))
	if err != nil {
		t.Fatal(err)
	}
	var job api.Job
	if err := json.Unmarshal(raw, &job); err != nil {
		t.Fatal(err)
	}
	return &job
}

// TestRenderExamples holds a trial in each example's pool to its record.
func TestRenderExamples(t *testing.T) {
	for name, src := range examples(t) {
		t.Run(name, func(t *testing.T) {
			f, problems := jobfile.Read([]byte(src))
			job := parsed(t, name)
			if len(problems) > 0 || len(jobfile.Check(job)) > 0 || f.Driver != job.TaskGroups[0].Tasks[0].Driver {
				t.Errorf("%v, %v, driver %q", problems, jobfile.Check(job), f.Driver)
			}
			before := indented(t, job)
			rendered, err := jobspecs.Render(example(t, name, job))
			if err != nil {
				t.Fatal(err)
			}
			text := indented(t, rendered)
			golden(t, "pools/"+name+".json", text)
			golden(t, "pools/"+name+".hcl", []byte(readable(t, text)))
			if diff := cmp.Diff(string(before), string(indented(t, job))); diff != "" {
				t.Errorf("the pool's own job was changed:\n%s", diff)
			}
		})
	}
}

// nomadTakesExamples lets the real Nomad parse each example, and validate the job of a
// trial in its pool.
func nomadTakesExamples(t *testing.T, agent *nomadtest.Agent) {
	_, err := agent.API.NodePools().Register(&api.NodePool{Name: "gpu"}, nil)
	if err == nil { // without it Nomad ignores memory_max, with a warning
		_, _, err = agent.API.Operator().SchedulerSetConfiguration(&api.SchedulerConfiguration{SchedulerAlgorithm: "binpack", MemoryOversubscriptionEnabled: true}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, src := range examples(t) {
		t.Run("pool "+name, func(t *testing.T) {
			job, err := agent.API.Jobs().ParseHCL(src, false)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, "pools/"+name+".parsed.json", indented(t, job))
			rendered, err := jobspecs.Render(example(t, name, job))
			if err != nil {
				t.Fatal(err)
			}
			answer, _, err := agent.API.Jobs().Validate(rendered, nil)
			if err != nil {
				t.Fatal(err)
			}
			noObjections(t, answer)
		})
	}
}

// TestSettingsOfThePoolsJob: a task has the mounts, devices, capabilities, limits and variables of the pool's job, and its own.
func TestSettingsOfThePoolsJob(t *testing.T) {
	job := parsed(t, "infiniband")
	config := job.TaskGroups[0].Tasks[0].Config
	config["privileged"], config["runtime"], config["volumes"] = true, "kata", []any{"/srv:/srv"}
	config["security_opt"] = []any{"label=disable"}
	main := process(t, example(t, "infiniband", job))
	for _, key := range []string{"devices", "cap_add", "ulimit", "ipc_mode", "privileged", "volumes"} {
		if main.Config[key] == nil {
			t.Errorf("the program has no %s", key)
		}
	}
	if main.Config["runtime"] != "kata" || !cmp.Equal(main.Config["security_opt"], []any{"label=disable"}) {
		t.Errorf("the program runs with %v", main.Config)
	}
	if main.Env["NCCL_IB_HCA"] != "mlx5" {
		t.Errorf("variables: %v", main.Env)
	}
	if added, ok := main.Config["cap_add"].([]any); !ok || !slices.Contains(added, any("IPC_LOCK")) || !slices.Contains(added, any("SYS_PTRACE")) {
		t.Errorf("capabilities of pool and task: %v", main.Config["cap_add"])
	}
}

// TestNetworksOfPoolJobs: a bridge ends at its machine; a network of a CNI plugin does not.
func TestNetworksOfPoolJobs(t *testing.T) {
	two := func(mode, other string) jobspecs.Task {
		job := parsed(t, "cpu")
		job.TaskGroups[0].Networks = []*api.NetworkResource{{Mode: mode, DNS: &api.DNSConfig{Servers: []string{"10.0.0.2"}}}}
		k := example(t, "cpu", job)
		k.Members[0].Address = "10.0.0.5"
		k.Members = append(k.Members, jobspecs.Member{NodeID: nodeB, NodeName: "n2", Address: other, MHz: 1000, MemoryMB: 1000})
		return k
	}
	for _, c := range []struct{ mode, other, want string }{
		{"bridge", "10.0.0.5", "bridge"}, {"bridge", "10.0.0.6", "host"}, {"cni/fabric", "10.0.0.6", "cni/fabric"}, {"bridge", "", "host"},
	} {
		job, err := jobspecs.Render(two(c.mode, c.other))
		if err != nil {
			t.Fatal(err)
		}
		network := job.TaskGroups[1].Networks[0]
		if network.Mode != c.want || (network.DNS != nil) != (c.want == c.mode) || len(network.DynamicPorts) != 4 {
			t.Errorf("%s beside %s: %+v, want %s", c.mode, c.other, network, c.want)
		}
	}
}

// TestUserOfALinkedTask: where the program runs as the account of its owner, the runner needs the rights
// to start it. Under raw_exec these are those of Nomad's client, not of the pool's user.
func TestUserOfALinkedTask(t *testing.T) {
	for _, c := range []struct {
		driver string
		linked bool
		want   string
	}{{pool.RawExec, false, "alice"}, {pool.RawExec, true, ""}, {pool.Exec, false, "alice"}, {pool.Exec, true, "alice"}} {
		job := &api.Job{TaskGroups: []*api.TaskGroup{{Tasks: []*api.Task{{Name: "main", Driver: c.driver, User: "alice"}}}}}
		k := trial()
		k.Pool, k.Linked = pool.Pool{Name: "a"}.WithJob(job), c.linked
		main := process(t, k)
		if main.User != c.want {
			t.Errorf("%s, linked %t: the runner is %q, want %q", c.driver, c.linked, main.User, c.want)
		}
		if own := main.Artifacts[0].Chown; own != (c.want != "") {
			t.Errorf("%s, linked %t: the runner's file is given to its user: %t", c.driver, c.linked, own)
		}
	}
}
