//go:build linux

package attempt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A task must see exactly the GPUs that it was assigned: Nomad sometimes starts tasks without
// them. A program that trains on the GPU of another task, or silently on none, costs more than
// a restart on another node.

// Variables with which a node names a task's GPUs.
const (
	visibleNvidia = "NVIDIA_VISIBLE_DEVICES"
	visibleCUDA   = "CUDA_VISIBLE_DEVICES"
	visibleROCm   = "ROCR_VISIBLE_DEVICES"
	visibleHIP    = "HIP_VISIBLE_DEVICES"
	visibleAMD    = "AMD_VISIBLE_DEVICES"
	// simulatedGPUs is set if the GPUs are simulated, so no program finds them.
	simulatedGPUs = "DET_SIMULATED_GPUS"
)

// askGPUs is the time limit of nvidia-smi, which hangs if a GPU fails.
const askGPUs = 30 * time.Second

// given are the ids of the devices that the master has assigned to this member.
func given(spec *v1.TaskSpec) []string {
	return each.Of(spec.Devices, func(d v1.Device) string { return d.UUID })
}

// checkDevices compares the GPUs that this task sees with the assigned ones. An error is a
// fault of the node, not of the program.
func checkDevices(ctx context.Context, p *NomadTask, spec *v1.TaskSpec) error {
	want := given(spec)
	if len(want) == 0 {
		return nil
	}
	if rocm(spec) {
		return checkROCm(p.Env, want)
	}
	name, told := visibleDevices(p.Env)
	switch {
	case name == "":
		return fmt.Errorf("the task was assigned %s, and neither %s nor %s is set: the device plugin did not prepare the task",
			strings.Join(want, ", "), visibleNvidia, visibleCUDA)
	case !sameIDs(want, told):
		return fmt.Errorf("the task was assigned %s, and %s is %s", strings.Join(want, ", "), name, orNone(told))
	}
	if p.Env[simulatedGPUs] != "" {
		return nil
	}
	return askNvidia(ctx, p, want)
}

// rocm reports whether a task's devices are from AMD.
func rocm(spec *v1.TaskSpec) bool {
	return len(spec.Devices) > 0 && spec.Devices[0].Type == v1.DeviceTypeRocm
}

// checkROCm checks the variables for AMD's GPUs. There are several Nomad plugins for AMD: some
// name GPUs by id, some by number; if a plugin names none, the runner sets the variable, which
// needs ids that ROCm knows.
func checkROCm(env map[string]string, want []string) error {
	name, told := idsIn(env, visibleROCm, visibleAMD, visibleHIP)
	switch {
	case name == "" && !knownToROCm(want):
		return fmt.Errorf("the task was assigned %s, and none of %s, %s and %s is set; ROCm cannot find GPUs by these ids",
			strings.Join(want, ", "), visibleROCm, visibleAMD, visibleHIP)
	case name == "", sameIDs(want, told):
		return nil
	case numbers(told) && len(told) == len(want):
		return nil
	}
	return fmt.Errorf("the task was assigned %s, and %s is %s", strings.Join(want, ", "), name, orNone(told))
}

// knownToROCm reports whether ROCm knows GPUs by these ids.
func knownToROCm(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { return !strings.HasPrefix(id, "GPU-") })
}

func numbers(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { _, err := strconv.Atoi(id); return err != nil })
}

// visibleDevices returns the ids of the NVIDIA devices that the device plugin made visible, and the variable that lists them.
func visibleDevices(env map[string]string) (name string, ids []string) {
	return idsIn(env, visibleNvidia, visibleCUDA)
}

// idsIn returns the ids in the first of the variables that is set, and the name of that variable.
func idsIn(env map[string]string, names ...string) (name string, ids []string) {
	for _, name := range names {
		if value, set := env[name]; set && value != "void" {
			return name, splitIDs(value)
		}
	}
	return "", nil
}

func splitIDs(list string) []string {
	var ids []string
	for id := range strings.SplitSeq(list, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}

func sameIDs(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}

// askNvidia checks whether nvidia-smi, if it exists, lists all assigned GPUs. Outside of a
// container it also lists the GPUs of other tasks.
func askNvidia(ctx context.Context, p *NomadTask, want []string) error {
	program := ""
	for dir := range strings.SplitSeq(cmp.Or(p.Env["PATH"], defaultPath), ":") {
		path := filepath.Join(dir, "nvidia-smi")
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			program = path
			break
		}
	}
	if program == "" {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askGPUs, errors.New("no answer for "+askGPUs.String()))
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-L")
	cmd.Env, cmd.WaitDelay = list(p.Env), time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return fmt.Errorf("nvidia-smi -L cannot list the task's GPUs: %w\n%s", err, bytes.TrimSpace(out.Bytes()))
	}
	var missing []string
	for _, id := range want {
		if !bytes.Contains(out.Bytes(), []byte(id)) {
			missing = append(missing, id)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("nvidia-smi -L does not list %s, which was assigned to the task; it lists\n%s", strings.Join(missing, ", "), bytes.TrimSpace(out.Bytes()))
	}
	return nil
}

// restrict sets CUDA_VISIBLE_DEVICES to the assigned GPUs if the node's plugin has told only
// the container runtime. A value that the user has set stays.
//
// A container has no other GPUs, and numbers them from 0. Programs that read
// CUDA_VISIBLE_DEVICES expect numbers, so it has numbers there. On a node without containers,
// numbers may mean other GPUs, so it has ids. Parts of a GPU (MIG) have no numbers.
func restrict(p *NomadTask, spec *v1.TaskSpec, env map[string]string) {
	ids := given(spec)
	if len(ids) == 0 {
		return
	}
	if rocm(spec) {
		if name, _ := idsIn(env, visibleROCm, visibleAMD, visibleHIP); name == "" {
			env[visibleROCm] = strings.Join(ids, ",")
		}
		return
	}
	_, chosen := spec.Env[visibleCUDA]
	_, set := env[visibleCUDA]
	whole := !slices.ContainsFunc(ids, func(id string) bool { return !strings.HasPrefix(id, "GPU-") })
	switch {
	case chosen:
	case p.driver() == dockerDriver && whole && p.Env[simulatedGPUs] == "":
		list := make([]string, len(ids))
		for i := range ids {
			list[i] = strconv.Itoa(i)
		}
		env[visibleCUDA] = strings.Join(list, ",")
	case !set:
		env[visibleCUDA] = strings.Join(ids, ",")
	}
}
