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

// podman is what Podman's service is made of. It runs containers with runc: Debian's crun
// refuses a machine that has control groups of both versions.
func podman() debian.Set {
	return debian.Set{Name: "podman", Title: "Podman", Programs: []string{"podman", "conmon", "runc"},
		Packages: []string{"podman", "conmon", "runc", "netavark", "aardvark-dns", "libgpgme11", "libassuan0", "libsubid4"}}
}

// FindPodman finds the programs of Podman's service on PATH, or brings them.
func FindPodman(ctx context.Context, report *servers.Reporter) error {
	_, err := findPodman(ctx, report)
	return err
}

func findPodman(ctx context.Context, report *servers.Reporter) (debian.Found, error) {
	found, err := podman().Find(ctx, debian.MachinePath(), report)
	return found, none(err)
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

// places are the flags that keep what Podman stores in the folder.
func (d *Docker) places() []string {
	return []string{"--root=" + filepath.Join(d.Dir, "data"), "--runroot=" + filepath.Join(d.Dir, "run")}
}

// containersConf keeps Podman apart from the machine's own. Locks are files: those in
// shared memory are shared by all Podmans of a user, and the first of them in a folder
// frees them all. Without its own limits a container asks for more than a machine may allow.
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

// writeSettings writes what Podman reads in the place of the machine's own settings.
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

// ownLimits are the limits of this process, which it may give to others whatever its rights.
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
			hard = min(hard, pidMax(hard)) // Podman lowers its own to this
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

// podmanEnvironment is that of the service, and of the processes by which it watches
// containers: these start Podman again when a container ends.
func (d *Docker) podmanEnvironment(found debian.Found) []string {
	env := append(environment(found.Path, filepath.Join(d.Dir, "home")), "TMPDIR="+filepath.Join(d.Dir, "tmp"),
		"CONTAINERS_CONF="+filepath.Join(d.Dir, "containers.conf"),
		"CONTAINERS_STORAGE_CONF="+filepath.Join(d.Dir, "storage.conf"),
		"CONTAINERS_REGISTRIES_CONF="+filepath.Join(d.Dir, "registries.conf"))
	if libraries := found.Libraries(); libraries != "" {
		env = append(env, "LD_LIBRARY_PATH="+libraries)
	}
	return env
}

// endContainers ends and removes Podman's containers, which do not end with its service.
func (d *Docker) endContainers(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(d.Dir, "containers.conf")); errors.Is(err, fs.ErrNotExist) {
		return nil // it never started
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
		return fmt.Errorf("end the containers of Podman: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
