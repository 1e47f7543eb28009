package jobspecs

import (
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
)

// Tasks of pools with the drivers docker and podman run in images. Podman's driver has
// the same settings under other names: see podman.go.

// A Container has the settings of the container of a task's processes.
//
// The image needs nothing of Detent, not even a shell: the runner, an executable file in the
// allocation's folder that the program cannot change, replaces the image's entrypoint. The
// driver mounts the task's folder at /run/determined too, for images whose user could not
// create that folder. The runner makes no mounts that the driver has made.
type Container struct {
	Image       string
	ForcePull   bool          // pull the image even if the node has one with this name
	PullTimeout time.Duration // time limit of a pull
	User        string        // uid:gid; "": the image's user
	ShmBytes    int64         // size of /dev/shm; 0 for Docker's default
	Mounts      []Mount
	Devices     []DeviceFile
	Add, Drop   []string  // capabilities
	HardMemory  bool      // the task can use no more memory than it requests
	Registry    *Registry // credentials for the image's registry; nil: none, or the node's own
	NoGPU       bool      // hide the node's GPUs, which some images request by themselves
	Hosts       []string  // name:address, as in /etc/hosts
}

// A Mount makes a file or folder of the node visible in a container.
type Mount struct {
	Source      string // absolute
	Target      string // absolute
	ReadOnly    bool
	Propagation string // as Docker names it; "" for rprivate
	Create      bool   // create the source as a folder if it does not exist

	interpolated bool // Nomad replaces variables in the target
}

// A DeviceFile makes a device of the node visible in a container.
type DeviceFile struct{ Source, Target, Permissions string }

// A Registry has the place of the credentials for an image's registry: a path in Nomad's
// variables or in Vault, with the keys username and password. Nomad reads them for the driver
// only: no job and no environment contains them.
type Registry struct {
	Provider string // SecretsInNomad or SecretsInVault
	Path     string
	Engine   string // of Vault: kv or kv_v2
	Role     string // Vault role for the job's identity; "": the node's default
	Server   string // address of the registry; "": that in the image's name
}

// Where credentials for a registry can be.
const (
	SecretsInNomad = "nomad"
	SecretsInVault = "vault"
)

const (
	// containerRunner is the path of the runner in a container. No image can know it: an image with a link on the way to it, and a volume
	// behind that link, would put its own program in the place of the runner.
	containerRunner = "/det-${NOMAD_ALLOC_ID}/det-runner"
	runDir          = "/run/determined"
	registrySecret  = "registry"
	// noMemoryLimit, in MB, is more than any node has.
	noMemoryLimit = 1 << 30
	// endedFirst makes the kernel end the largest program of a task without a limit before those of the node (Nomad, Docker, Consul), when the
	// node is short of memory. The kernel adds it, in thousandths of the node's memory, to what a process uses; without CAP_SYS_RESOURCE a program cannot lower it.
	endedFirst         = 500
	defaultPullTimeout = 30 * time.Minute
)

// VariablePath is the path of the Nomad variable that only the attempt's job may read.
func VariablePath(allocationID string) string { return "nomad/jobs/" + JobID(allocationID) }

// reserved returns the folders of a container that Nomad and the runner create.
func reserved() []string { return []string{"/alloc", "/local", "/secrets", runDir} }

// ReservedTarget returns the reserved folder that a mount at target would cover; "" for none.
func ReservedTarget(target string) string {
	target = path.Clean(target)
	for _, dir := range reserved() {
		if target == dir || strings.HasPrefix(target, dir+"/") || strings.HasPrefix(dir, strings.TrimSuffix(target, "/")+"/") {
			return dir
		}
	}
	return ""
}

// problems reports all errors in the settings of a container.
func (c *Container) problems(bad func(format string, args ...any)) {
	if c.Image == "" || strings.ContainsAny(c.Image, " \t\r\n") {
		bad("image %q: it is not the name of one", c.Image)
	}
	for _, m := range c.Mounts {
		if !path.IsAbs(m.Source) || !path.IsAbs(m.Target) {
			bad("mount of %q at %q: both paths must be absolute", m.Source, m.Target)
		} else if dir := ReservedTarget(m.Target); dir != "" {
			bad("mount of %q at %q: %s is the task's own", m.Source, m.Target, dir)
		}
	}
	if r := c.Registry; r != nil && (r.Path == "" || r.Provider != SecretsInNomad && r.Provider != SecretsInVault) {
		bad("credentials for the registry at %q of %q: they must be in %s or %s", r.Path, r.Provider, SecretsInNomad, SecretsInVault)
	}
}

// runInContainer configures the process to run in a container.
func (t *Task) runInContainer(task *api.Task) {
	c := t.Container
	config := task.Config
	maps.Copy(config, map[string]any{
		"image":              literal(c.Image),
		"entrypoint":         []string{containerRunner},
		"args":               []string{"run"},
		"work_dir":           "/local", // the user may have no access to the image's own
		"image_pull_timeout": positiveOr(c.PullTimeout, defaultPullTimeout).String(),
	})
	if !t.usesGroupNetwork() {
		config["network_mode"] = t.network()
	}
	task.User = c.User
	mounts := []Mount{}
	if t.Runner.Path != "" {
		mounts = append(mounts, runnerMount(t.Runner.Path, containerRunner))
	} else {
		// The program must not be able to change the runner, which starts itself for each hook and each shell.
		mounts = append(mounts, runnerMount("../alloc/bin", path.Dir(containerRunner)), runnerMount("../alloc/bin", "/alloc/bin"))
	}
	if c.User != "" {
		task.Env["DET_NO_NEW_PRIVS"] = "1" // a file of the image may have root's rights
	}
	if _, says := config["memory_hard_limit"]; !says && !c.HardMemory && t.Members[0].MemoryMaxMB == 0 {
		config["memory_hard_limit"] = noMemoryLimit
		if _, says := config["oom_score_adj"]; !says && t.Pool.Driver == pool.Docker {
			config["oom_score_adj"] = endedFirst
		}
	}
	if c.NoGPU {
		task.Env["NVIDIA_VISIBLE_DEVICES"] = "void"
	}
	mounts = append(mounts, c.Mounts...)
	config["force_pull"] = c.ForcePull
	if t.network() != pool.HostNetwork && !t.usesGroupNetwork() {
		config["ports"] = []string{RunnerPort} // the program's ports are used between its own processes only
		if len(t.Members) > 1 {
			config["ports"] = append([]string{RunnerPort}, t.Ports...)
		}
	}
	c.addOptions(task, config)
	mount(config, mounts)
	if t.Pool.Driver == pool.Podman {
		podman(config)
		return
	}
	// Docker starts the health check of an image with the container's first environment, which has the workload identity.
	config["healthchecks"] = []map[string]any{{"disable": true}}
}

// addOptions adds the settings of the container and of its image.
func (c *Container) addOptions(task *api.Task, config map[string]any) {
	if c.ShmBytes > 0 {
		config["shm_size"] = c.ShmBytes
	}
	appended(config, "extra_hosts", c.Hosts)
	appended(config, "cap_add", c.Add)
	appended(config, "cap_drop", c.Drop)
	var devices []map[string]any
	for _, d := range c.Devices {
		devices = append(devices, map[string]any{"host_path": literal(d.Source), "container_path": literal(d.Target), "cgroup_permissions": d.Permissions})
	}
	appended(config, "devices", devices)
	if c.Registry != nil {
		c.addRegistryAuth(task, config)
	}
}

// addRegistryAuth adds a template for the registry's credentials, which Nomad renders into the
// driver's configuration on the node.
func (c *Container) addRegistryAuth(task *api.Task, config map[string]any) {
	r := c.Registry
	secret := &api.Secret{Name: registrySecret, Provider: r.Provider, Path: r.Path}
	if r.Engine != "" {
		secret.Config = map[string]any{"engine": r.Engine}
	}
	task.Secrets = append(task.Secrets, secret)
	if r.Provider == SecretsInVault {
		task.Vault = &api.Vault{Role: r.Role, Env: new(false), DisableFile: new(true), ChangeMode: new("noop")}
	}
	auth := map[string]any{}
	for _, key := range []string{"username", "password"} {
		auth[key] = fmt.Sprintf("${secret.%s.%s}", registrySecret, key)
	}
	if r.Server != "" {
		auth["server_address"] = literal(r.Server)
	}
	config["auth"] = []map[string]any{auth}
}

// mount writes the mounts. The driver creates missing sources only for mounts in its short
// form (volumes), which does not support every path.
func mount(config map[string]any, mounts []Mount) {
	long := []map[string]any{{"type": "bind", "source": "local", "target": runDir}}
	var short []string
	for _, m := range mounts {
		if m.Create && !strings.Contains(m.Source+m.Target, ":") {
			mode := "rw"
			if m.ReadOnly {
				mode = "ro"
			}
			if m.Propagation != "" {
				mode += "," + m.Propagation
			}
			short = append(short, literal(m.Source)+":"+literal(m.Target)+":"+mode)
			continue
		}
		target := literal(m.Target)
		if m.interpolated {
			target = m.Target
		}
		block := map[string]any{"type": "bind", "source": literal(m.Source), "target": target, "readonly": m.ReadOnly}
		if m.Propagation != "" {
			block["bind_options"] = []map[string]any{{"propagation": m.Propagation}}
		}
		long = append(long, block)
	}
	appended(config, "mount", long)
	appended(config, "volumes", short)
}

// runnerMount is the mount of the runner, or of its folder. Nomad interpolates the target.
func runnerMount(source, target string) Mount {
	return Mount{Source: source, Target: target, ReadOnly: true, interpolated: true}
}

// literal escapes the characters of a text that Nomad would interpolate.
func literal(s string) string { return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(s) }
