package dockerd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/debian"
	"github.com/detent-ml/detent/nomad/servers/proc"
)

// podman has the programs of Podman's service. It runs containers with runc, because Debian's crun
// rejects a machine with control groups of both versions.
func podman() debian.Set {
	return debian.Set{Name: "podman", Title: "Podman", Programs: []string{"podman", "conmon", "runc"},
		Packages: []string{"podman", "conmon", "runc", "netavark", "aardvark-dns", "libgpgme11", "libassuan0", "libsubid4"}}
}

// findPodman finds the programs of Podman's service on PATH, or fetches them.
func findPodman(ctx context.Context, report *servers.Reporter) (debian.Found, error) {
	found, err := podman().Find(ctx, debian.MachinePath(), report)
	return found, orNone(err)
}

// launchPodman starts Podman's service.
func (d *Docker) launchPodman(ctx context.Context, o Options) (*proc.Process, error) {
	found, err := findPodman(ctx, o.Reporter)
	if err != nil {
		return nil, err
	}
	if err := d.writeSettings(found); err != nil {
		return nil, err
	}
	args := append(d.places(), "--log-level=warn", "system", "service", "--time=0", "unix://"+d.Socket)
	return proc.Start(proc.Spec{Path: found.Programs["podman"], Dir: d.Dir, Log: d.logFile(), Env: d.podmanEnvironment(found), Args: args})
}

// places are the flags with Podman's folders.
func (d *Docker) places() []string {
	return []string{"--root=" + filepath.Join(d.Dir, "data"), "--runroot=" + filepath.Join(d.Dir, "run")}
}

// containersConf separates Podman from the machine's own. Locks are files: locks in shared memory are
// shared by all Podmans of a user, and the first Podman in a folder frees them all. The limits are set
// because a container's default limits may exceed those of the machine.
const containersConf = `
[containers]
log_driver = "k8s-file"
default_ulimits = [%[1]s]

[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
compat_api_enforce_docker_hub = false
runtime = "runc"
conmon_path = [%[2]q]
conmon_env_vars = [%[3]s]
helper_binaries_dir = [%[4]s]
static_dir = "%[5]s/static"
tmp_dir = "%[5]s/tmp"
volume_path = "%[5]s/volumes"

[engine.runtimes]
runc = [%[6]q]

[network]
network_backend = "netavark"
network_config_dir = "%[5]s/networks"
`

const (
	storageConf   = "[storage]\ndriver = \"overlay\"\ngraphroot = \"%[1]s/data\"\nrunroot = \"%[1]s/run\"\n"
	imagePolicy   = `{"default": [{"type": "insecureAcceptAnything"}]}` + "\n"
	policyFile    = "home/.config/containers/policy.json"
	noRegistries  = "unqualified-search-registries = []\n"
	maxProcesses  = "Max processes"
	maxOpenFiles  = "Max open files"
	limitFieldLen = 26 // columns of a limit's name in /proc/self/limits
)

// writeSettings writes the settings that replace those of the machine.
func (d *Docker) writeSettings(found debian.Found) error {
	helpers := []string{"/usr/local/libexec/podman", "/usr/local/lib/podman", "/usr/libexec/podman", "/usr/lib/podman"}
	if found.Root != "" {
		helpers = []string{filepath.Join(found.Root, "usr/lib/podman")}
	}
	var errs []error
	for name, text := range map[string]string{
		"containers.conf": fmt.Sprintf(containersConf, quoted(ownLimits()), found.Programs["conmon"], quoted(d.podmanEnvironment(found)),
			quoted(helpers), d.Dir, found.Programs["runc"]),
		"storage.conf":    fmt.Sprintf(storageConf, d.Dir),
		"registries.conf": noRegistries,
		policyFile:        imagePolicy,
	} {
		file := filepath.Join(d.Dir, name)
		errs = append(errs, os.MkdirAll(filepath.Dir(file), 0o711), os.WriteFile(file, []byte(text), 0o600))
	}
	return errors.Join(append(errs, os.MkdirAll(filepath.Join(d.Dir, "tmp"), 0o711))...)
}

func quoted(list []string) string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ", ")
}

// ownLimits are the limits of this process, which it may always set for others.
func ownLimits() []string {
	text, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return nil
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		if len(line) < limitFieldLen {
			continue
		}
		name := map[string]string{maxOpenFiles: "nofile", maxProcesses: "nproc"}[strings.TrimSpace(line[:limitFieldLen])]
		fields := strings.Fields(line[limitFieldLen:])
		if name == "" || len(fields) < 2 {
			continue
		}
		hard, err := strconv.Atoi(fields[1])
		if err != nil {
			continue // unlimited
		}
		if name == "nproc" {
			hard = min(hard, pidMax(hard)) // Podman lowers its own limit to this
		}
		out = append(out, fmt.Sprintf("%s=%[2]d:%[2]d", name, hard))
	}
	return out
}

func pidMax(otherwise int) int {
	text, err := os.ReadFile("/proc/sys/kernel/pid_max")
	if err != nil {
		return otherwise
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return otherwise
	}
	return n
}

// podmanEnvironment is the environment of the service, and of the processes with which it watches
// containers, which start Podman again when a container ends.
func (d *Docker) podmanEnvironment(found debian.Found) []string {
	env := append(environment(found.Path, filepath.Join(d.Dir, "home")), "TMPDIR="+filepath.Join(d.Dir, "tmp"),
		"CONTAINERS_CONF="+filepath.Join(d.Dir, "containers.conf"),
		"CONTAINERS_STORAGE_CONF="+filepath.Join(d.Dir, "storage.conf"),
		"CONTAINERS_REGISTRIES_CONF="+filepath.Join(d.Dir, "registries.conf"))
	if libraries := librariesIn(found.Root); libraries != "" {
		env = append(env, "LD_LIBRARY_PATH="+libraries)
	}
	return env
}

// librariesIn is the folder of the libraries among unpacked packages; "" for none.
func librariesIn(root string) string {
	if root == "" {
		return ""
	}
	found, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
	if err != nil || len(found) == 0 {
		return ""
	}
	return found[0]
}

// endContainers stops and removes Podman's containers, which continue to run without its service.
func (d *Docker) endContainers(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(d.Dir, "containers.conf")); errors.Is(err, fs.ErrNotExist) {
		return nil // Podman never started
	} else if err != nil {
		return err
	}
	found, err := findPodman(ctx, nil)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, found.Programs["podman"], append(d.places(), "rm", "--all", "--force", "--time=0")...)
	cmd.Env, cmd.Dir = d.podmanEnvironment(found), d.Dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot stop Podman's containers: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
