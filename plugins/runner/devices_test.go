//go:build linux

package main

import (
	"os"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

// onGPUs is a task that was given two GPUs.
func onGPUs(script string) v1.TaskSpec {
	spec := sh(script)
	spec.Slots, spec.SlotIDs = 2, []int{0, 1}
	spec.Devices = []v1.Device{{ID: 0, UUID: "GPU-a", Brand: "H200"}, {ID: 1, UUID: "GPU-b", Brand: "H200"}}
	return spec
}

// nvidiaSMI puts a program of that name first on the node's PATH.
func (r *rig) nvidiaSMI(script string) string {
	r.t.Helper()
	dir := r.t.TempDir()
	if err := os.WriteFile(dir+"/nvidia-smi", []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		r.t.Fatal(err)
	}
	return "PATH=" + dir + ":" + os.Getenv("PATH")
}

// TestDevicesThatWereGiven: the program runs on the GPUs that it was assigned, knows their ids, and
// CUDA uses only these, whichever plugin the node has.
func TestDevicesThatWereGiven(t *testing.T) {
	lists := "echo 'GPU 0: NVIDIA H200 (UUID: GPU-a)'; echo 'GPU 1: NVIDIA H200 (UUID: GPU-b)'; echo 'GPU 2: NVIDIA H200 (UUID: GPU-c)'"
	for name, env := range map[string][]string{
		"our plugin":       {"NVIDIA_VISIBLE_DEVICES=GPU-b,GPU-a", "CUDA_VISIBLE_DEVICES=GPU-b,GPU-a"},
		"NVIDIA's plugin":  {"NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b"},
		"simulated GPUs":   {"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b", "DET_SIMULATED_GPUS=GPU-a,GPU-b"},
		"without a driver": {"CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, onGPUs(`echo "CUDA $CUDA_VISIBLE_DEVICES"; cat /run/determined/info/resources.json`))
			switch name {
			case "simulated GPUs":
				env = append(env, r.nvidiaSMI("exit 9"))
			case "without a driver":
			default:
				env = append(env, r.nvidiaSMI(lists))
			}
			r.run(0, env...)
			order := `"GPU-a","GPU-b"`
			if name == "our plugin" {
				order = `"GPU-b","GPU-a"`
			}
			r.expectPrinted("CUDA "+strings.ReplaceAll(order, `"`, ""), `{"gpu_uuids":[`+order+`]}`)
			if e := r.exit(); e.Unfit || e.Reason != "" {
				t.Errorf("report %+v", e)
			}
		})
	}
}

// TestOtherDevices: a program that sees other GPUs than it was given does not
// start, and that is not its failure.
func TestOtherDevices(t *testing.T) {
	both := "CUDA_VISIBLE_DEVICES=GPU-a,GPU-b"
	for words, test := range map[string]struct {
		env []string
		smi string
	}{
		"neither NVIDIA_VISIBLE_DEVICES nor CUDA_VISIBLE_DEVICES is set": {},
		"NVIDIA_VISIBLE_DEVICES is none":                                 {env: []string{"NVIDIA_VISIBLE_DEVICES="}},
		"CUDA_VISIBLE_DEVICES is GPU-a":                                  {env: []string{"CUDA_VISIBLE_DEVICES=GPU-a"}},
		"NVIDIA_VISIBLE_DEVICES is GPU-a, GPU-c":                         {env: []string{"NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-c", both}},
		"does not list GPU-b":                                            {env: []string{both}, smi: "echo 'GPU 0: (UUID: GPU-a)'"},
		"cannot list the task's GPUs: exit status 3\nno driver":          {env: []string{both}, smi: "echo no driver >&2; exit 3"},
	} {
		t.Run(words, func(t *testing.T) {
			r := newRig(t, onGPUs("echo it runs"))
			env := test.env
			if test.smi != "" {
				env = append(env, r.nvidiaSMI(test.smi))
			}
			r.run(79, env...)
			e := r.exit()
			if !e.Unfit || e.ExitCode != 79 || !strings.Contains(e.Reason, words) || !strings.Contains(e.Reason, "does not see the GPUs that it was assigned") {
				t.Errorf("report %+v", e)
			}
			if lines := r.printed(); len(lines) > 0 {
				t.Errorf("the program ran: %v", lines)
			}
		})
	}
}

// TestUsersChoiceOfDevices: who names GPUs for CUDA keeps them.
func TestUsersChoiceOfDevices(t *testing.T) {
	spec := onGPUs(`echo "CUDA $CUDA_VISIBLE_DEVICES"`)
	spec.Env["CUDA_VISIBLE_DEVICES"] = "0"
	r := newRig(t, spec)
	r.run(0, "NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-b")
	r.expectPrinted("CUDA 0")
}

// TestDevicesInContainers: in containers GPUs are named by their numbers, unless they are parts of a GPU
// or the task has chosen devices itself.
func TestDevicesInContainers(t *testing.T) {
	for name, c := range map[string]struct {
		ids  []string
		own  string
		want string
	}{
		"whole GPUs": {[]string{"GPU-a", "GPU-b"}, "", "0,1"},
		"parts":      {[]string{"MIG-a", "MIG-b"}, "", "MIG-a,MIG-b"},
		"chosen":     {[]string{"GPU-a", "GPU-b"}, "1", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			spec := onGPUs(`echo "CUDA $CUDA_VISIBLE_DEVICES"`)
			for i := range spec.Devices {
				spec.Devices[i].UUID = c.ids[i]
			}
			if c.own != "" {
				spec.Env["CUDA_VISIBLE_DEVICES"] = c.own
			}
			r := newRig(t, spec)
			list := strings.Join(c.ids, ",")
			r.run(0, "DET_DRIVER=docker", "NVIDIA_VISIBLE_DEVICES="+list, "CUDA_VISIBLE_DEVICES="+list)
			r.expectPrinted("CUDA " + c.want)
		})
	}
}

// TestDevicesOfAMD: a task on AMD's GPUs starts, whichever plugin the node has, and is
// kept to them; it does not start where it cannot be.
func TestDevicesOfAMD(t *testing.T) {
	for name, c := range map[string]struct {
		ids  []string
		env  []string
		want string // what it prints; "" for an end with 79
	}{
		"told by ids":            {[]string{"GPU-a", "GPU-b"}, []string{"ROCR_VISIBLE_DEVICES=GPU-b,GPU-a"}, "GPU-b,GPU-a"},
		"told by numbers":        {[]string{"0000:03:00.0", "0000:04:00.0"}, []string{"ROCR_VISIBLE_DEVICES=2,3"}, "2,3"},
		"told nothing":           {[]string{"GPU-a", "GPU-b"}, nil, "GPU-a,GPU-b"},
		"told others":            {[]string{"GPU-a", "GPU-b"}, []string{"ROCR_VISIBLE_DEVICES=GPU-a,GPU-c"}, ""},
		"told nothing, odd ids":  {[]string{"0000:03:00.0", "0000:04:00.0"}, nil, ""},
		"told too few by number": {[]string{"x", "y"}, []string{"HIP_VISIBLE_DEVICES=0"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := onGPUs(`echo "ROCm $ROCR_VISIBLE_DEVICES"`)
			for i := range spec.Devices {
				spec.Devices[i].UUID, spec.Devices[i].Type = c.ids[i], v1.DeviceTypeRocm
			}
			r := newRig(t, spec)
			if c.want == "" {
				r.run(79, c.env...)
				return
			}
			r.run(0, c.env...)
			r.expectPrinted("ROCm " + c.want)
		})
	}
}
