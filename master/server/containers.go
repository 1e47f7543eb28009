package server

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/api"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/secrets"
	"github.com/detent-ml/detent/master/store"
)

// Tasks of pools with the docker driver run in images. What an image is run with
// comes from the configuration of the task, which the API has held against the
// pool's limits, and from the pool.

// DockerConfig is what a pool with the docker driver allows and adds.
type DockerConfig struct {
	// Folders that tasks may mount: a path, or all below one (`/data/*`).
	HostPaths []string `yaml:"allowed_host_paths"`
	// Device files that tasks may use: a path, or all below one.
	Devices []string `yaml:"allowed_devices"`
	// Capabilities of Linux that tasks may add.
	Capabilities []string `yaml:"allowed_capabilities"`
	// Account, uid:gid, of tasks whose owner is linked to none. The image's own when empty.
	User string `yaml:"user"`
	// Limit a task to its memory. Without it the memory is what the task is sure of.
	HardMemory bool `yaml:"hard_memory_limit"`
	// Credentials for images of tasks that bring none.
	Registry RegistryAuthConfig `yaml:"registry_auth"`
	// Let tasks look up the names of a cloud's metadata server.
	CloudMetadata bool `yaml:"cloud_metadata"`
}

// RegistryAuthConfig says where Nomad finds the username and the password of a
// registry.
type RegistryAuthConfig struct {
	// Path of the variable in Nomad with `username` and `password`.
	Variable string `yaml:"nomad_variable"`
	// Path of the secret in Vault with `username` and `password`.
	VaultPath string `yaml:"vault_path"`
	// Version of Vault's secrets engine: kv or kv_v2.
	VaultEngine string `yaml:"vault_engine"`
	// Role in Vault with which jobs read the secret.
	VaultRole string `yaml:"vault_role"`
	// Host name of the registry.
	Server string `yaml:"server"`
}

// shmBytes is the size of /dev/shm where nobody says another: with Docker's own,
// 64 MB, the workers of PyTorch's data loaders do not get far.
const shmBytes = 4 << 30

var accountPattern = regexp.MustCompile(`^\d+(:\d+)?$`)

// docker tells whether tasks of a pool run in images.
func (p PoolConfig) docker() bool { return p.Driver == pool.Docker }

// taskDefaults is what lies under the configurations of tasks in the pool.
func (p PoolConfig) taskDefaults() (expconf.TaskContainerDefaults, error) {
	return parseTaskDefaults(p.TaskContainerDefaults)
}

func parseTaskDefaults(section any) (expconf.TaskContainerDefaults, error) {
	if section == nil {
		return expconf.TaskContainerDefaults{}, nil
	}
	src, err := yaml.Marshal(section)
	if err != nil {
		return expconf.TaskContainerDefaults{}, err
	}
	d, _, err := expconf.ParseTaskContainerDefaults("task_container_defaults", src)
	return d, err
}

// checkDocker finds what is wrong with what a pool says about images.
func (p PoolConfig) checkDocker(k *checker, at string) {
	defaults, err := p.taskDefaults()
	if err != nil {
		k.fail(at+".task_container_defaults", "%v", err)
	}
	if !p.docker() {
		if d := p.Docker; len(d.HostPaths)+len(d.Devices)+len(d.Capabilities) > 0 || d.User != "" || d.HardMemory || d.CloudMetadata || d.Registry != (RegistryAuthConfig{}) {
			k.fail(at+".docker", "is for pools with driver: docker, and this one has %s", p.Driver)
		}
		return
	}
	if m := defaults.NetworkMode; m != nil && *m != "host" {
		k.fail(at+".task_container_defaults.network_mode", "must be host, found %q: say it with the pool's network_mode, which is for tasks on one node", *m)
	}
	for _, list := range [][]string{p.Docker.HostPaths, p.Docker.Devices} {
		for _, entry := range list {
			if !path.IsAbs(entry) || strings.Contains(strings.TrimSuffix(entry, "/*"), "*") {
				k.fail(at+".docker", "expected absolute paths, with /* at the end for all below one, found %q", entry)
			}
		}
	}
	if p.Docker.User != "" && !accountPattern.MatchString(p.Docker.User) {
		k.fail(at+".docker.user", "expected uid or uid:gid, found %q", p.Docker.User)
	}
	r := p.Docker.Registry
	if r.Variable != "" && r.VaultPath != "" {
		k.fail(at+".docker.registry_auth", "name a nomad_variable or a vault_path, not both")
	}
	if r.VaultEngine != "" {
		k.oneOf(at+".docker.registry_auth.vault_engine", r.VaultEngine, "kv", "kv_v2")
	}
	if r.Variable == "" && r.VaultPath == "" && r != (RegistryAuthConfig{}) {
		k.fail(at+".docker.registry_auth", "says a detail of it, and neither nomad_variable nor vault_path")
	}
}

// limits are those of a pool's tasks, for the API to hold configurations against.
func (c Config) limits(p PoolConfig) (*expconf.ContainerLimits, error) {
	if !p.docker() {
		return nil, nil
	}
	l := &expconf.ContainerLimits{HostPaths: p.Docker.HostPaths, Devices: p.Docker.Devices, Capabilities: p.Docker.Capabilities,
		Reserved: jobspecs.ReservedTarget}
	storage, err := c.storage()
	if err != nil {
		return nil, err
	}
	if storage != nil && storage.HostPath != nil {
		l.Operators.Storage = *storage.HostPath
	}
	for _, section := range []any{c.TaskContainerDefaults, p.TaskContainerDefaults} {
		d, err := parseTaskDefaults(section)
		if err != nil {
			return nil, err
		}
		l.Operators.BindMounts = append(l.Operators.BindMounts, d.BindMounts...)
		l.Operators.Devices = append(l.Operators.Devices, d.Devices...)
		l.Operators.Capabilities = append(l.Operators.Capabilities, d.AddCapabilities...)
	}
	return l, nil
}

// asks is what the configuration of a task says about its image.
type asks struct {
	environment expconf.Environment
	resources   struct {
		devices expconf.Devices
		shm     *expconf.ByteSize
	}
	mounts  expconf.BindMounts
	storage expconf.CheckpointStorage // of a trial
	create  bool                      // its folder is made where it is not there
}

func asksOf(s store.ToSubmit) (asks, error) {
	var a asks
	if s.TrialID != nil || collects(s) { // what removes files of a trial's sees them as it did
		cfg, err := expconf.ParseConfigJSON(s.Config)
		if err != nil {
			return a, fmt.Errorf("the configuration of experiment %d: %w", deref(s.ExperimentID), err)
		}
		a.environment, a.mounts, a.storage = cfg.Environment, cfg.BindMounts, cfg.CheckpointStorage
		a.create = !collects(s)
		a.resources.devices, a.resources.shm = cfg.Resources.Devices, cfg.Resources.ShmSize
		return a, nil
	}
	cfg, err := expconf.ParseCommandConfigJSON(s.TaskConfig)
	if err != nil {
		return a, fmt.Errorf("the configuration of task %s: %w", s.TaskID, err)
	}
	a.environment, a.mounts = cfg.Environment, cfg.BindMounts
	a.resources.devices, a.resources.shm = cfg.Resources.Devices, cfg.Resources.ShmSize
	return a, nil
}

// contain makes an attempt's job one that runs in an image.
func (m *master) contain(t *jobspecs.Task, s store.ToSubmit) error {
	own := t.Pool.Containers
	a, err := asksOf(s)
	if err != nil {
		return err
	}
	under, err := m.cfg.taskDefaults()
	if err != nil {
		return err
	}
	shown, err := m.shownStorage(s)
	if err != nil {
		return err
	}
	device := t.Pool.DeviceType(s.Slots)
	c := &jobspecs.Container{Image: a.environment.Image.For(device), ForcePull: a.environment.ForcePullImage,
		PullTimeout: time.Duration(m.cfg.PullTimeout), User: own.User, HardMemory: own.HardMemory,
		ShmBytes: shmBytes, NoGPU: device == expconf.CPU, Mounts: containerMounts(a, shown)}
	if s.Account != "" {
		c.User = s.Account
	}
	if size := t.Pool.Defaults.Over(under).ShmSizeBytes; size != nil {
		c.ShmBytes = int64(*size)
	}
	if size := a.resources.shm; size != nil {
		c.ShmBytes = int64(*size)
	}
	c.Add, c.Drop = a.environment.ContainerCapabilities()
	for _, d := range a.resources.devices {
		c.Devices = append(c.Devices, jobspecs.DeviceFile{Source: d.HostPath, Target: d.ContainerPath, Permissions: deref(d.Mode)})
	}
	t.Container = c
	t.Runner = jobspecs.Runner{Archive: true, SHA256: m.artifacts.archiveSHA,
		URL: fmt.Sprintf("%s/runner/%s/%s.tar", m.cfg.TaskURLs[0], m.artifacts.runnerSHA, api.RunnerTarget())}
	c.Hosts = own.Hosts
	return registryOf(t, a.environment.RegistryAuth, own.Registry, m.registryLogin)
}

// loginFor is how long Vault may take to tell the credentials of a registry.
const loginFor = 5 * time.Second

// registryLogin reads the credentials of a registry.
func (m *master) registryLogin(path string) (secrets.Login, error) {
	ctx, cancel := context.WithTimeout(context.Background(), loginFor)
	defer cancel()
	return m.vault.Login(ctx, path)
}

// shownFor is how long the database may take to say what a TensorBoard shows.
const shownFor = 5 * time.Second

// shownStorage is where the event files lie that a TensorBoard shows.
func (m *master) shownStorage(s store.ToSubmit) (expconf.BindMounts, error) {
	if s.TaskType != "TENSORBOARD" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), shownFor)
	defer cancel()
	boards, err := m.db.Tensorboards(ctx, []string{s.TaskID})
	if err != nil {
		return nil, err
	}
	shown, err := m.db.ShownTrials(ctx, boards[s.TaskID])
	if err != nil {
		return nil, err
	}
	return api.TensorboardMounts(m.clusterID, shown)
}

// containerMounts are the mounts of a task: its own, and the folder of its
// checkpoints, or of those that it shows.
func containerMounts(a asks, shown expconf.BindMounts) []jobspecs.Mount {
	var list []jobspecs.Mount
	for _, b := range append(a.mounts.InContainer(), shown.InContainer()...) {
		list = append(list, jobspecs.Mount{Source: path.Clean(b.HostPath), Target: b.Target, ReadOnly: deref(b.ReadOnly), Propagation: deref(b.Propagation)})
	}
	if a.storage.Type == expconf.SharedFS {
		list = append(list, jobspecs.Mount{Source: path.Clean(a.storage.HostPath), Target: expconf.SharedFSMount, Propagation: a.storage.Propagation, Create: a.create})
	}
	return list
}

// registryOf says how the node signs in to the image's registry: with what the
// task's configuration brings, which Nomad keeps for this job alone, or with what
// the pool has.
//
// A task signs in to Vault with one role. Where that is the role for its checkpoints,
// and the pool's credentials want another, the master reads them for the job.
func registryOf(t *jobspecs.Task, auth *expconf.RegistryAuth, own pool.Registry, login func(path string) (secrets.Login, error)) error {
	switch {
	case auth != nil:
		username, password, err := auth.Credentials()
		if err != nil {
			return fmt.Errorf("environment.registry_auth: %w", err)
		}
		t.Variables = map[string]string{"username": username, "password": password}
		t.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInNomad, Path: jobspecs.VariablePath(t.AllocationID), Server: auth.ServerAddress}
	case own.Variable != "":
		t.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInNomad, Path: own.Variable, Server: own.Server}
	case own.VaultPath != "" && t.Credentials != nil && t.Credentials.Role != "" && own.VaultRole != t.Credentials.Role:
		l, err := login(own.VaultPath)
		if err != nil {
			return err
		}
		t.Variables = map[string]string{"username": l.Username, "password": l.Password}
		t.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInNomad, Path: jobspecs.VariablePath(t.AllocationID), Server: own.Server}
	case own.VaultPath != "":
		t.Container.Registry = &jobspecs.Registry{Provider: jobspecs.SecretsInVault, Path: own.VaultPath, Engine: own.VaultEngine,
			Role: own.VaultRole, Server: own.Server}
	}
	return nil
}
