package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/cluster/nomadtest"
	"github.com/detent-ml/detent/plugins/gpu/simulated"
)

const soon = time.Minute

// node is a real Nomad with this plugin in its client.
type node struct {
	*nomadtest.Agent
	state   string // file of the simulated GPUs
	plugins string // folder of the plugin
}

func startNode(t *testing.T, state simulated.State) *node {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts Nomad")
	}
	dir := t.TempDir()
	n := &node{state: filepath.Join(dir, "gpus.yaml")}
	n.plugins = pluginFolder(t)
	n.write(t, state)
	n.Agent = nomadtest.Start(t, nomadtest.Options{PluginDir: n.plugins, Chroot: shellAlone(t), Plugins: map[string]map[string]any{
		"det-gpu": {"fingerprint_period": "200ms", "answer_within": "500ms", "simulate": map[string]any{"state": n.state}},
	}})
	return n
}

// shellAlone are the files of a root in which a shell runs, and nothing else.
func shellAlone(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("ldd", "/bin/sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := []string{"/bin/sh"}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			files = append(files, word)
		}
	}
	return files
}

func (n *node) write(t *testing.T, s simulated.State) {
	t.Helper()
	if err := simulated.Write(n.state, s); err != nil {
		t.Fatal(err)
	}
}

// devices waits until the node's devices are as wanted.
func (n *node) devices(t *testing.T, what string, cond func([]*api.NodeDeviceResource) error) []*api.NodeDeviceResource {
	t.Helper()
	var groups []*api.NodeDeviceResource
	n.Until(t, soon, what, func() error {
		node, _, err := n.API.Nodes().Info(n.NodeID, nil)
		if err != nil {
			return err
		}
		groups = node.NodeResources.Devices
		return cond(groups)
	})
	return groups
}

// job is a task that asks for GPUs, prints its environment and continues.
func job(id string, count uint64, ids ...string) *api.Job {
	task := &api.Task{
		Name: "main", Driver: "raw_exec",
		Config:    map[string]any{"command": "/bin/sh", "args": []string{"-c", `env >"$NOMAD_ALLOC_DIR/env" && exec sleep 3600`}},
		Resources: &api.Resources{Devices: []*api.RequestedDevice{{Name: "nvidia/gpu", Count: &count}}},
	}
	if len(ids) > 0 {
		task.Resources.Devices[0].Constraints = []*api.Constraint{{LTarget: "${device.ids}", Operand: "set_contains", RTarget: strings.Join(ids, ",")}}
	}
	group := api.NewTaskGroup(id, 1).AddTask(task)
	return api.NewBatchJob(id, id, "global", 50).AddDatacenter("dc1").AddTaskGroup(group)
}

// given waits until a job runs, and returns the devices that it was given, by
// Nomad's word and by its environment's.
func (n *node) given(t *testing.T, id string) (ids []string, env string) {
	t.Helper()
	n.Until(t, soon, "job "+id+" to run", func() error {
		stubs, _, err := n.API.Jobs().Allocations(id, false, nil)
		if err != nil || len(stubs) != 1 {
			return fmt.Errorf("%d allocations, %w", len(stubs), err)
		}
		alloc, _, err := n.API.Allocations().Info(stubs[0].ID, nil)
		if err != nil {
			return err
		}
		ids = nil
		for _, d := range alloc.AllocatedResources.Tasks["main"].Devices {
			ids = append(ids, d.DeviceIDs...)
		}
		text, err := os.ReadFile(filepath.Join(n.Dir, "node", "alloc", alloc.ID, "alloc", "env"))
		if err == nil && len(text) == 0 {
			err = errors.New("it has not printed its environment")
		}
		env = string(text)
		return err
	})
	slices.Sort(ids)
	return ids, env
}

func (n *node) register(t *testing.T, j *api.Job) {
	t.Helper()
	if _, _, err := n.API.Jobs().Register(j, nil); err != nil {
		t.Fatal(err)
	}
}

// waits reports whether Nomad does not place a job because it lacks devices.
func (n *node) waits(t *testing.T, id string) {
	t.Helper()
	n.Until(t, soon, "job "+id+" to wait", func() error {
		evals, _, err := n.API.Jobs().Evaluations(id, nil)
		if err != nil {
			return err
		}
		for _, e := range evals {
			if e.Status == "blocked" || len(e.FailedTGAllocs) > 0 {
				return nil
			}
		}
		return fmt.Errorf("%d evaluations, none blocked", len(evals))
	})
}

// driversAreWell: an unhealthy GPU must not look like an unhealthy driver.
func (n *node) driversAreWell(t *testing.T) {
	t.Helper()
	node, _, err := n.API.Nodes().Info(n.NodeID, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, d := range node.Drivers {
		if strings.Contains(name, "gpu") || d.Detected && !d.Healthy {
			t.Errorf("the node has a driver %s: %+v", name, d)
		}
	}
}

// TestInNomad: the plugin runs in a real agent. Nomad lists the devices with their attributes and
// health, assigns exactly those that a job's constraint names, passes their ids to the task, and
// shows their statistics.
func TestInNomad(t *testing.T) {
	four := simulated.Of(4, "NVIDIA A100-SXM4-40GB", 40960).Expand("test")
	n := startNode(t, four)
	all := n.devices(t, "four GPUs", func(g []*api.NodeDeviceResource) error {
		if len(g) != 1 || len(g[0].Instances) != 4 {
			return fmt.Errorf("%d groups", len(g))
		}
		return nil
	})[0]
	if all.Vendor != "nvidia" || all.Type != "gpu" || all.Name != "NVIDIA A100-SXM4-40GB" || *all.Attributes["memory"].IntVal != 40960 || all.Attributes["memory"].Unit != "MiB" ||
		*all.Attributes["compute_capability"].FloatVal != 9 || *all.Attributes["driver_version"].StringVal == "" || all.Instances[0].Locality.PciBusID == "" {
		t.Errorf("%+v", all)
	}
	id := func(i int) string { return four.GPUs[i].ID }

	t.Run("exactly those that were named", func(t *testing.T) {
		n.register(t, job("named", 2, id(1), id(3)))
		want := []string{id(1), id(3)}
		slices.Sort(want)
		got, env := n.given(t, "named")
		if !slices.Equal(got, want) {
			t.Errorf("given %v, want %v", got, want)
		}
		if !strings.Contains(env, "CUDA_VISIBLE_DEVICES=") || !strings.Contains(env, id(1)) || !strings.Contains(env, "DET_SIMULATED_GPUS=") || strings.Contains(env, id(0)) {
			t.Errorf("the task's environment:\n%s", env)
		}
		n.register(t, job("taken", 1, id(3)))
		n.waits(t, "taken")
	})

	t.Run("groups of linked GPUs", func(t *testing.T) {
		linked := func(what, want string) {
			t.Helper()
			n.devices(t, what, func(g []*api.NodeDeviceResource) error {
				got := ""
				if a := g[0].Attributes["linked"]; a != nil && a.StringVal != nil {
					got = *a.StringVal
				}
				if got != want {
					return fmt.Errorf("the attribute is %q, want %q", got, want)
				}
				return nil
			})
		}
		pair := func(i, j int) string { return min(id(i), id(j)) + "," + max(id(i), id(j)) }
		state := simulated.State{GPUs: slices.Clone(four.GPUs)}
		for i, word := range []string{"x", "y", "y", "x"} {
			state.GPUs[i].Linked = word
		}
		n.write(t, state)
		linked("two pairs", pair(0, 3)+";"+pair(1, 2))
		n.write(t, four)
		linked("no pairs", "")
	})

	t.Run("sick", func(t *testing.T) {
		state := simulated.State{GPUs: slices.Clone(four.GPUs)}
		state.GPUs[0].Unhealthy = "it smells of smoke"
		n.write(t, state)
		n.devices(t, "a sick GPU", func(g []*api.NodeDeviceResource) error {
			for _, d := range g[0].Instances {
				if (d.ID == id(0)) == d.Healthy {
					return fmt.Errorf("%s is %v", d.ID, d.Healthy)
				}
				if d.ID == id(0) && d.HealthDescription != "it smells of smoke" {
					return fmt.Errorf("the GPU's health is described as %q", d.HealthDescription)
				}
			}
			return nil
		})
		n.driversAreWell(t)
		n.register(t, job("hopeful", 2, id(0), id(2)))
		n.waits(t, "hopeful")
		n.write(t, four)
		if got, _ := n.given(t, "hopeful"); len(got) != 2 {
			t.Errorf("given %v", got)
		}
	})

	t.Run("a driver that hangs", func(t *testing.T) {
		hung := four
		hung.Hang = true
		n.write(t, hung)
		n.devices(t, "unhealthy GPUs", func(g []*api.NodeDeviceResource) error {
			for _, d := range g[0].Instances {
				if d.Healthy || !strings.Contains(d.HealthDescription, "no answer within 500ms") {
					return fmt.Errorf("%s is %v: %q", d.ID, d.Healthy, d.HealthDescription)
				}
			}
			return nil
		})
		n.write(t, four)
		n.devices(t, "healthy GPUs", func(g []*api.NodeDeviceResource) error {
			for _, d := range g[0].Instances {
				if !d.Healthy {
					return fmt.Errorf("%s is still unhealthy", d.ID)
				}
			}
			return nil
		})
	})

	t.Run("statistics", func(t *testing.T) {
		state := simulated.State{GPUs: slices.Clone(four.GPUs)}
		state.GPUs[2].Sample = simulated.Sample{Utilization: 83, TemperatureC: 71}
		n.write(t, state)
		n.Until(t, soon, "what a GPU does", func() error {
			stats, err := n.API.Nodes().Stats(n.NodeID, nil)
			if err != nil {
				return err
			}
			if len(stats.DeviceStats) != 1 {
				return fmt.Errorf("%d groups", len(stats.DeviceStats))
			}
			s := stats.DeviceStats[0].InstanceStats[id(2)]
			if s == nil || s.Summary.IntNumeratorVal == nil || *s.Summary.IntNumeratorVal != 83 || *s.Stats.Attributes["Temperature"].IntNumeratorVal != 71 {
				return fmt.Errorf("%+v", s)
			}
			return nil
		})
	})

	t.Run("device files in a root of its own", func(t *testing.T) {
		if os.Geteuid() != 0 {
			t.Skip("the exec driver needs root")
		}
		const file = "/dev/kmsg" // that no task has of itself
		if _, err := os.Stat(file); err != nil {
			t.Skip(err)
		}
		state := simulated.State{GPUs: slices.Clone(four.GPUs)}
		state.GPUs[1].Nodes = []string{file}
		n.write(t, state)
		if _, _, err := n.API.Jobs().Deregister("named", true, nil); err != nil {
			t.Fatal(err)
		}
		j := job("inside", 1, id(1))
		task := j.TaskGroups[0].Tasks[0]
		task.Driver = "exec"
		task.Config["args"] = []string{"-c", `test -c ` + file + ` && there=yes; echo "CUDA_VISIBLE_DEVICES=$CUDA_VISIBLE_DEVICES DEVICE=$there" >/alloc/env`}
		n.register(t, j)
		if _, env := n.given(t, "inside"); !strings.Contains(env, "CUDA_VISIBLE_DEVICES="+id(1)) || !strings.Contains(env, "DEVICE=yes") {
			t.Errorf("the task's environment:\n%s", env)
		}
	})

	t.Run("lost with its Nomad", func(t *testing.T) {
		n.Node.Kill(t)
		n.Until(t, soon, "the plugin to end", func() error {
			if pids := pluginsOf(t, n.plugins); len(pids) > 0 {
				return fmt.Errorf("%v run", pids)
			}
			return nil
		})
		n.Node.Run(t)
		n.devices(t, "four healthy GPUs after the client came back", func(g []*api.NodeDeviceResource) error {
			if len(g) != 1 || len(g[0].Instances) != 4 || len(pluginsOf(t, n.plugins)) != 1 {
				return errors.New("not yet")
			}
			return nil
		})
	})
}

// pluginsOf lists the processes whose program is under a folder.
func pluginsOf(t *testing.T, dir string) []string {
	t.Helper()
	exes, err := filepath.Glob("/proc/[0-9]*/exe")
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, exe := range exes {
		if target, err := os.Readlink(exe); err == nil && strings.HasPrefix(target, dir+"/") {
			pids = append(pids, exe)
		}
	}
	return pids
}

func TestCommandLine(t *testing.T) {
	var out, problems bytes.Buffer
	if code := run([]string{"version"}, &out, &problems); code != 0 || !strings.HasPrefix(out.String(), "det-gpu ") {
		t.Errorf("version: %d %s%s", code, &out, &problems)
	}
	for _, args := range [][]string{nil, {"serve"}, {"probe", "me"}} {
		problems.Reset()
		if code := run(args, &out, &problems); code != 2 || !strings.Contains(problems.String(), "plugin_dir") {
			t.Errorf("%v: %d %s", args, code, &problems)
		}
	}
	out.Reset()
	problems.Reset()
	if code := run([]string{"probe"}, &out, &problems); code == 0 {
		var found struct{ Devices []any }
		if err := json.Unmarshal(out.Bytes(), &found); err != nil {
			t.Errorf("probe: %v\n%s", err, &out)
		}
	} else if !strings.Contains(problems.String(), "det-gpu:") {
		t.Errorf("probe: %d %s", code, &problems)
	}
}
