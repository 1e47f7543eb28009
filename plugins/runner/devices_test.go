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

// TestDevicesThatWereGiven: the program starts on the GPUs that it was given, is
// told them, and CUDA is kept to them, whichever plugin the node has.
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
		"the node tells it of none":                      {},
		"NVIDIA_VISIBLE_DEVICES has none":                {env: []string{"NVIDIA_VISIBLE_DEVICES="}},
		"CUDA_VISIBLE_DEVICES has GPU-a":                 {env: []string{"CUDA_VISIBLE_DEVICES=GPU-a"}},
		"NVIDIA_VISIBLE_DEVICES has GPU-a, GPU-c":        {env: []string{"NVIDIA_VISIBLE_DEVICES=GPU-a,GPU-c", both}},
		"does not list GPU-b":                            {env: []string{both}, smi: "echo 'GPU 0: (UUID: GPU-a)'"},
		"cannot list its GPUs: exit status 3\nno driver": {env: []string{both}, smi: "echo no driver >&2; exit 3"},
	} {
		t.Run(words, func(t *testing.T) {
			r := newRig(t, onGPUs("echo it runs"))
			env := test.env
			if test.smi != "" {
				env = append(env, r.nvidiaSMI(test.smi))
			}
			r.run(79, env...)
			e := r.exit()
			if !e.Unfit || e.ExitCode != 79 || !strings.Contains(e.Reason, words) || !strings.Contains(e.Reason, "does not see the GPUs that it was given") {
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
