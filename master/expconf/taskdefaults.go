package expconf

import (
	"fmt"

	"github.com/detent-ml/detent/master/document"
	"github.com/detent-ml/detent/master/optional"
)

// TaskContainerDefaults is a section of the master's configuration and of each resource pool.
// Its values are defaults for tasks.
type TaskContainerDefaults struct {
	AddCapabilities        []string              `json:"add_capabilities"`
	BindMounts             BindMounts            `json:"bind_mounts"`
	CPUPodSpec             map[string]any        `json:"cpu_pod_spec"`
	CheckpointGCPodSpec    map[string]any        `json:"checkpoint_gc_pod_spec"`
	Devices                Devices               `json:"devices"`
	DropCapabilities       []string              `json:"drop_capabilities"`
	DtrainNetworkInterface *string               `json:"dtrain_network_interface"`
	EnvironmentVariables   *EnvironmentVariables `json:"environment_variables"`
	ForcePullImage         *bool                 `json:"force_pull_image"`
	GPUPodSpec             map[string]any        `json:"gpu_pod_spec"`
	GlooPortRange          *string               `json:"gloo_port_range"`
	Image                  *Image                `json:"image"`
	LogPolicies            LogPolicies           `json:"log_policies"`
	NCCLPortRange          *string               `json:"nccl_port_range"`
	NetworkMode            *string               `json:"network_mode"`
	Nomad                  *Nomad                `json:"nomad"`
	PBS                    *PBS                  `json:"pbs"`
	Preemption             *Preemption           `json:"preemption"`
	PreemptionTimeout      *int                  `json:"preemption_timeout"`
	RegistryAuth           *RegistryAuth         `json:"registry_auth"`
	ShmSizeBytes           *ByteSize             `json:"shm_size_bytes"`
	Slurm                  *Slurm                `json:"slurm"`
	StartupHook            *string               `json:"startup_hook"`
	WorkDir                *string               `json:"work_dir"`
}

// ParseTaskContainerDefaults parses the section alone, in YAML or JSON.
func ParseTaskContainerDefaults(name string, src []byte) (TaskContainerDefaults, document.Warnings, error) {
	var t TaskContainerDefaults
	validate := func(at *document.Positions) error {
		k := &checker{pos: at}
		t.check(k)
		return document.AsError(k.problems)
	}
	d, err := parseInto(name, src, document.UserLimits(), &t, validate)
	if err != nil {
		return TaskContainerDefaults{}, nil, err
	}
	if err := validate(d.positions()); err != nil {
		return TaskContainerDefaults{}, nil, err
	}
	return t, document.Sorted(d.warnings), nil
}

func (t TaskContainerDefaults) check(k *checker) {
	k.section("bind_mounts", &t.BindMounts)
	k.section("devices", &t.Devices)
	k.section("log_policies", &t.LogPolicies)
	k.section("nomad", &t.Nomad)
	if t.ShmSizeBytes != nil && *t.ShmSizeBytes <= 0 {
		k.fail("shm_size_bytes", fmt.Sprintf("must be greater than 0, found %d", *t.ShmSizeBytes), "")
	}
	k.section("preemption", &t.Preemption)
	if t.PreemptionTimeout != nil {
		k.within("preemption_timeout", int64(*t.PreemptionTimeout), 1, maxPreempt)
	}
	k.section("environment_variables", &t.EnvironmentVariables)
}

// Over merges these defaults (of a resource pool, for example) over those of the master.
func (t TaskContainerDefaults) Over(under TaskContainerDefaults) TaskContainerDefaults {
	return merge(t, under)
}

// DefaultLogPolicies are the policies of a cluster whose operators configure none: they label
// runs and have no action.
func DefaultLogPolicies() LogPolicies {
	policy := func(name, pattern string) LogPolicy { return LogPolicy{Name: &name, Pattern: &pattern} }
	return LogPolicies{
		policy("CUDA OOM", `.*CUDA out of memory.*`),
		policy("ECC Error", `.*uncorrectable ECC error encountered.*`),
	}
}

// Fragment is the part of the defaults that has fields in an experiment's configuration. The
// rest concerns the launch of tasks.
func (t TaskContainerDefaults) Fragment() Raw {
	return Raw{
		BindMounts:        t.BindMounts,
		Environment:       t.environment(),
		LogPolicies:       t.LogPolicies,
		PBS:               t.PBS,
		Preemption:        t.Preemption,
		PreemptionTimeout: t.PreemptionTimeout,
		Resources:         Resources{Devices: t.Devices},
		Slurm:             t.Slurm,
	}
}

func (t TaskContainerDefaults) environment() Environment {
	return Environment{
		AddCapabilities:      t.AddCapabilities,
		DropCapabilities:     t.DropCapabilities,
		EnvironmentVariables: optional.Value(t.EnvironmentVariables),
		ForcePullImage:       optional.Value(t.ForcePullImage),
		Image:                optional.Value(t.Image),
		Nomad:                t.Nomad,
		RegistryAuth:         t.RegistryAuth,
	}
}
