package server

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/expconf/hostpath"
	"github.com/detent-ml/detent/master/pool"
)

// DockerConfig configures tasks in images.
type DockerConfig struct {
	// Folders that tasks may mount, to read: a path, or all paths directly in a folder (`/data/*`); with `:rw` at the end also to write.
	HostPaths []string `yaml:"allowed_host_paths"`
	// Device files that tasks may use: a path, or all paths below a folder.
	Devices []string `yaml:"allowed_devices"`
	// Linux capabilities that tasks may add.
	Capabilities []string `yaml:"allowed_capabilities"`
	// Account, uid:gid, of tasks whose owner is not linked to an account. By default the
	// account that the image names.
	User string `yaml:"user"`
	// Limit a task to its memory. By default a task may use more memory while the node has it; under docker the kernel ends such tasks
	// before other programs of the node when memory is short.
	HardMemory bool `yaml:"hard_memory_limit"`
	// Registry credentials for images of tasks that bring none.
	Registry RegistryAuthConfig `yaml:"registry_auth"`
	// Allow tasks to resolve the host names of a cloud's metadata server.
	CloudMetadata bool `yaml:"cloud_metadata"`
}

// RegistryAuthConfig is where Nomad finds the username and the password of a registry.
type RegistryAuthConfig struct {
	// Rejected: what Nomad reads for a job, the job's identities can read too. Use the Docker configuration of the nodes, or Vault.
	Variable string `yaml:"nomad_variable"`
	// Path of the Vault secret with `username` and `password`.
	VaultPath string `yaml:"vault_path"`
	// Version of the Vault secrets engine: kv or kv_v2.
	VaultEngine string `yaml:"vault_engine"`
	// Vault role with which jobs read the secret.
	VaultRole string `yaml:"vault_role"`
	// Host of the registry, with its port if that is not 443. Images of other registries are pulled without the credentials.
	Server string `yaml:"server"`
}

func (r RegistryAuthConfig) place() pool.Registry {
	return pool.Registry{VaultPath: r.VaultPath, VaultEngine: r.VaultEngine, VaultRole: r.VaultRole, Server: r.Server}
}

var accountPattern = regexp.MustCompile(`^\d+(:\d+)?$`)

// docker reports whether tasks of a pool run in images.
func (p PoolConfig) docker() bool { return p.Driver == pool.Docker || p.Driver == pool.Podman }

// parseTaskDefaults reads the defaults for the configurations of tasks, of all pools or of one.
func parseTaskDefaults(section any) (expconf.TaskContainerDefaults, error) {
	if section == nil {
		return expconf.TaskContainerDefaults{}, nil
	}
	src, err := json.Marshal(section)
	if err != nil {
		return expconf.TaskContainerDefaults{}, err
	}
	d, _, err := expconf.ParseTaskContainerDefaults("task_container_defaults", src)
	return d, err
}

// checkDocker validates the pool's settings for images.
func (p PoolConfig) checkDocker(k *checker, at string) {
	defaults, err := parseTaskDefaults(p.TaskContainerDefaults)
	if err != nil {
		k.section(at+".task_container_defaults", err)
	}
	checkRegistryAuth(k, at+".task_container_defaults", defaults)
	if !p.docker() {
		if d := p.Docker; len(d.HostPaths)+len(d.Devices)+len(d.Capabilities) > 0 || d.User != "" || d.HardMemory || d.CloudMetadata || d.Registry != (RegistryAuthConfig{}) {
			k.fail(at+".docker", "requires driver docker or podman; this pool has driver %s", p.Driver)
		}
		return
	}
	if m := defaults.NetworkMode; m != nil && *m != "host" {
		k.fail(at+".task_container_defaults.network_mode", "must be host, found %q; for tasks on one node set the pool's network_mode", *m)
	}
	for _, entry := range p.Docker.HostPaths {
		if problem := hostpath.Problem(entry); problem != "" {
			k.fail(at+".docker.allowed_host_paths", "%s; found %q", problem, entry)
		}
	}
	for _, entry := range p.Docker.Devices {
		if !path.IsAbs(entry) || strings.Contains(strings.TrimSuffix(entry, "/*"), "*") {
			k.fail(at+".docker.allowed_devices", "expected absolute paths, with /* at the end for all below one, found %q", entry)
		}
	}
	if p.Docker.User != "" && !accountPattern.MatchString(p.Docker.User) {
		k.fail(at+".docker.user", "expected uid or uid:gid, found %q", p.Docker.User)
	}
	r := p.Docker.Registry
	if r.Variable != "" {
		k.fail(at+".docker.registry_auth.nomad_variable", "is not supported, because what Nomad reads for a job, the job's identities can read too; "+
			"put the credentials into the Docker configuration of the nodes (docs/operate/containers.md), or into Vault (vault_path)")
	}
	if r.VaultEngine != "" {
		k.oneOf(at+".docker.registry_auth.vault_engine", r.VaultEngine, "kv", "kv_v2")
	}
	if r.VaultPath == "" && r.Variable == "" && r != (RegistryAuthConfig{}) {
		k.fail(at+".docker.registry_auth", "requires vault_path")
	}
	if r.VaultPath != "" && r.Server == "" {
		k.fail(at+".docker.registry_auth", "requires server, the host of the registry: users choose the images, and the credentials must go to no other registry")
	}
}

// checkRegistryAuth rejects default credentials that would go to the registry of any image.
func checkRegistryAuth(k *checker, at string, defaults expconf.TaskContainerDefaults) {
	if a := defaults.RegistryAuth; a != nil && a.ServerAddress == "" {
		k.fail(at+".registry_auth", "requires serveraddress, the host of the registry: users choose the images, and the credentials must go to no other registry")
	}
}

// limits are the limits of a pool's tasks, which the API applies to configurations.
func (c Config) limits(p PoolConfig) (*expconf.ContainerLimits, error) {
	if !p.docker() {
		return nil, nil
	}
	l := &expconf.ContainerLimits{HostPaths: p.Docker.HostPaths, Devices: p.Docker.Devices, Capabilities: p.Docker.Capabilities,
		Reserved: jobspecs.ReservedTarget, RegistryImages: p.Driver == pool.Podman}
	for _, limit := range p.PodLimits {
		for _, d := range limit.Devices {
			l.Operators.Devices = append(l.Operators.Devices, expconf.ParseDevice(d))
		}
	}
	storage, err := c.storage()
	if err != nil {
		return nil, err
	}
	l.Operators.Storage = storage.HostPath
	for _, section := range []any{c.TaskContainerDefaults, p.TaskContainerDefaults} {
		d, err := parseTaskDefaults(section)
		if err != nil {
			return nil, err
		}
		l.Operators.BindMounts = append(l.Operators.BindMounts, d.BindMounts...)
		l.Operators.Devices = append(l.Operators.Devices, d.Devices...)
		l.Operators.Capabilities = append(l.Operators.Capabilities, d.AddCapabilities...)
		if d.Image != nil {
			l.Operators.Images = append(l.Operators.Images, d.Image.CPU, d.Image.CUDA, d.Image.ROCM)
		}
	}
	return l, nil
}

// withoutEffect names the keys of Determined that a configuration may have although nothing here reads them, each with what has its effect.
func (c *Config) withoutEffect() []string {
	out := idleDefaults("task_container_defaults", c.TaskContainerDefaults)
	for i, p := range c.Pools {
		out = append(out, idleDefaults(fmt.Sprintf("resource_pools[%d].task_container_defaults", i), p.TaskContainerDefaults)...)
	}
	return out
}

func idleDefaults(at string, section any) (out []string) {
	d, err := parseTaskDefaults(section)
	if err != nil {
		return nil // check says so
	}
	say := func(key string, set bool, instead string) {
		if set {
			out = append(out, fmt.Sprintf("%s.%s has no effect: %s", at, key, instead))
		}
	}
	const (
		pods  = "no task is a pod of Kubernetes. The job of a pool has volumes, mounts and limits (docs/operate/pools.md), and pod_labels and pod_limits translate environment.pod_spec of users"
		batch = "no task is a job of Slurm or PBS. environment.nomad has constraints and affinities"
		ports = "the libraries choose free ports of the node themselves"
	)
	say("cpu_pod_spec", d.CPUPodSpec != nil, pods)
	say("gpu_pod_spec", d.GPUPodSpec != nil, pods)
	say("checkpoint_gc_pod_spec", d.CheckpointGCPodSpec != nil, pods)
	say("slurm", d.Slurm != nil, batch)
	say("pbs", d.PBS != nil, batch)
	say("nccl_port_range", d.NCCLPortRange != nil, ports)
	say("gloo_port_range", d.GlooPortRange != nil, ports)
	return out
}
