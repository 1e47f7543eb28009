package jobspecs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/quote"
)

// A member is two Nomad tasks: MainTask runs the user's program, and shipTask runs after it
// and delivers the last log lines.
const (
	MainTask = "main"
	shipTask = "ship"
)

// IdentityName is the name of the workload identity that a runner sends to the
// master, and Audience is the identity's audience. Nomad accepts it as a token of its own API, whatever its audience is, so it is in no
// file: only the first process of a task gets it, in its environment, and no program of a user runs in that process.
const (
	IdentityName = "det"
	Audience     = "determined"
)

const (
	identityTTL = time.Hour
	// claimTTL is how long a runner can wait for a master: as long as it holds the requests of its program (leftover.Hold), and
	// an hour more. Nomad sets the variable with the identity once, and renews only files. Nomad rejects the identity
	// when the allocation has ended.
	claimTTL  = 25 * time.Hour
	shipLogMB = 1
	// maxRunnerBytes bounds the copy of the runner that the ship task makes.
	maxRunnerBytes = 256 << 20
	// Fetched and rendered files are in the folder that both Nomad tasks of a member share,
	// because the ship task has no artifacts and no templates (see ship).
	runnerFile   = "${NOMAD_ALLOC_DIR}/det-runner"
	runnerFolder = "${NOMAD_ALLOC_DIR}/bin" // of an archive
	mastersFile  = "${NOMAD_ALLOC_DIR}/masters"
	caFile       = "${NOMAD_ALLOC_DIR}/master-ca.pem"
)

// main is the Nomad task whose runner starts the user's program.
func (t *Task) main(rank int) *api.Task {
	m := t.Members[rank]
	base := t.base().TaskGroups[0].Tasks[0]
	res := &api.Resources{MemoryMB: new(max(m.MemoryMB, MinimalMemoryMB))}
	if m.MemoryMaxMB > *res.MemoryMB {
		res.MemoryMaxMB = new(m.MemoryMaxMB)
	}
	if m.Cores > 0 {
		res.Cores = new(m.Cores)
	} else {
		res.CPU = new(max(m.MHz, MinimalMHz))
	}
	res.Devices = t.devices(rank)
	task := t.process(MainTask, rank, "run")
	if t.Pool.Driver == pool.Exec && !t.Linked {
		// Nomad gives an account that is not root capabilities with which it would read and change files of the node. A linked owner's runner needs
		// some to start the program as another account, without any.
		task.Config["cap_drop"] = []string{"all"}
		task.Env["DET_NO_NEW_PRIVS"] = "1"
	}
	task.Resources = res
	task.LogConfig = &api.LogConfig{MaxFiles: new(t.LogFiles), MaxFileSizeMB: new(t.LogFileMB)}
	task.KillTimeout = new(t.KillTimeout)
	task.Constraints, task.Affinities, task.Meta = slices.Clone(base.Constraints), slices.Clone(base.Affinities), maps.Clone(base.Meta)
	task.VolumeMounts = t.volumeMounts()
	task.Identities = []*api.WorkloadIdentity{{
		Name: IdentityName, Audience: []string{Audience}, TTL: claimTTL, Env: true, ChangeMode: "noop",
	}}
	if t.Runner.Path == "" {
		artifact := &api.TaskArtifact{
			GetterSource:  new(t.Runner.URL),
			GetterOptions: map[string]string{"checksum": "sha256:" + t.Runner.SHA256},
			GetterMode:    new("file"),
			RelativeDest:  new(runnerFile),
		}
		if t.Masters.CA != "" {
			artifact.GetterInsecure = new(true) // Nomad's agent does not trust the private authority; the checksum protects the file
		}
		if task.User != "" && t.Container == nil {
			artifact.Chown = true // so that the task's user may set the execute bit
		}
		if t.Runner.Archive {
			artifact.GetterMode, artifact.RelativeDest = new("dir"), new(runnerFolder)
		}
		task.Artifacts = []*api.TaskArtifact{artifact}
	}
	if t.Masters.Service != "" {
		task.Templates = append(task.Templates, t.mastersTemplate())
	}
	if t.Masters.CA != "" {
		task.Templates = append(task.Templates, &api.Template{
			EmbeddedTmpl: new(t.Masters.CA), DestPath: new(caFile), ChangeMode: new("noop"),
			// A certificate does not contain these characters, so Nomad interpolates nothing in it.
			LeftDelim: new("\x01"), RightDelim: new("\x02"),
		})
	}
	t.credentials(task)
	return task
}

// ship is the Nomad task that delivers the remaining log lines and the exit after main has
// ended. It has no artifact, template or identity: after a job was stopped, Nomad signs no
// identity and starts no task that waits for one, and perhaps no master answers that could
// serve a file. It has no device and no capability, and it runs no file that the program
// could have written: see script and runInContainer.
func (t *Task) ship(rank int) *api.Task {
	task := t.process(shipTask, rank, "ship")
	task.Env["NVIDIA_VISIBLE_DEVICES"] = "void"
	if t.Pool.Driver != pool.RawExec {
		task.Config["cap_drop"] = []string{"all"}
	}
	task.Lifecycle = &api.TaskLifecycle{Hook: api.TaskLifecycleHookPoststop}
	task.Resources = &api.Resources{CPU: new(MinimalMHz), MemoryMB: new(MinimalMemoryMB)}
	task.LogConfig = &api.LogConfig{MaxFiles: new(1), MaxFileSizeMB: new(shipLogMB)}
	return task
}

// process holds the settings that both Nomad tasks of a member share.
func (t *Task) process(name string, rank int, verb string) *api.Task {
	base := t.base().TaskGroups[0].Tasks[0]
	task := &api.Task{
		Name:   name,
		Driver: base.Driver,
		User:   t.user(),
		Config: t.driverConfig(verb),
		Env:    t.env(rank, verb),
		RestartPolicy: &api.RestartPolicy{
			Attempts: new(0), Mode: new("fail"), Interval: new(24 * time.Hour), Delay: new(15 * time.Second), RenderTemplates: new(false),
		},
		KillSignal: "SIGTERM",
	}
	if t.Container != nil {
		t.runInContainer(task, verb)
		return task
	}
	task.Config["command"], task.Config["args"] = "/bin/sh", []string{"-c", t.script(verb)}
	return task
}

// user is the account of the runner. Under raw_exec only a runner with the rights of Nomad's client can
// start its program as another account, which then takes the place of the pool's user as in a container;
// under exec a runner has the capabilities for that.
func (t *Task) user() string {
	if t.Linked && t.Pool.Driver == pool.RawExec {
		return ""
	}
	if user := t.base().TaskGroups[0].Tasks[0].User; user != "" || t.Pool.Driver != pool.Exec {
		return user
	}
	return "nobody" // the driver's own choice; named here, so that Nomad gives it the fetched runner
}

// sharedDriverSettings are the settings of a driver that decide where and how processes run;
// the ship task gets them too.
func sharedDriverSettings() []string {
	return []string{"runtime", "userns_mode", "isolation", "cgroupns", "dns_servers", "dns_search_domains", "dns_options", "dns",
		"logging", "security_opt", "selinux_opts", "socket", "labels", "hostname", "group_add"}
}

// driverConfig is the driver's configuration in the pool's job. The ship task gets no device,
// mount, capability or limit from it.
func (t *Task) driverConfig(verb string) map[string]any {
	config := map[string]any{}
	for key, value := range t.base().TaskGroups[0].Tasks[0].Config {
		if key != "network_mode" && (verb == "run" || slices.Contains(sharedDriverSettings(), key)) {
			config[key] = value
		}
	}
	return config
}

// appended sets a list to the entries of the pool's job, followed by those that a task adds.
func appended[T any](config map[string]any, key string, added []T) {
	if len(added) == 0 {
		return
	}
	own := items(config[key])
	if own == nil {
		config[key] = added
		return
	}
	for _, x := range added {
		own = append(own, x)
	}
	config[key] = own
}

// script starts the runner. The fetched det-runner has no execute bit; the main task sets it,
// and Nomad starts the main task only if the file's checksum was right. The program can
// write to that file, so the ship task runs a copy in its own folder, and only if the copy
// has the right checksum.
func (t *Task) script(verb string) string {
	switch {
	case t.Runner.Path != "":
		return fmt.Sprintf(`exec %s %s`, quote.Shell(t.Runner.Path), verb)
	case verb == "run":
		return `chmod +x "$NOMAD_ALLOC_DIR/det-runner" && exec "$NOMAD_ALLOC_DIR/det-runner" run`
	default:
		return fmt.Sprintf(`[ -f "$NOMAD_ALLOC_DIR/det-runner" ] || exit 0
cd "$NOMAD_TASK_DIR" && head -c %d <"$NOMAD_ALLOC_DIR/det-runner" >det-runner || exit 1
if ! echo "%s  det-runner" | sha256sum -c - >/dev/null; then
  echo "The program of this task changed det-runner: what is left of its log is not sent." >&2
  exit 1
fi
chmod +x det-runner && exec ./det-runner %s`, maxRunnerBytes, t.Runner.SHA256, verb)
	}
}

// runnerVariables are the variables that the runner reads and that not every job sets.
func runnerVariables() []string {
	return []string{"DET_MASTERS_FILE", "DET_MASTER_CA", "DET_NETWORK", "DET_NODE_ADDRESS", "DET_MAIN_SECRETS", "DET_SHIP_WAIT_TIME", "DET_LOG_BACKLOG_MAX_BYTES", "DET_NO_NEW_PRIVS"}
}

func (t *Task) env(rank int, verb string) map[string]string {
	env := map[string]string{}
	if verb == "run" {
		maps.Copy(env, t.base().TaskGroups[0].Tasks[0].Env)
	}
	if t.Container != nil {
		for _, name := range runnerVariables() { // an image could set them otherwise
			env[name] = ""
		}
	}
	maps.Copy(env, map[string]string{
		"DET_ALLOCATION_ID": t.AllocationID,
		"DET_RANK":          strconv.Itoa(rank),
		"DET_MASTERS":       strings.Join(t.Masters.URLs, ","),
		"DET_NODE_ID":       t.Members[rank].NodeID,
		"DET_NODE_NAME":     plain(t.Members[rank].NodeName, maxMeta),
		"DET_DRIVER":        t.Pool.Driver,
	})
	if n := t.network(); n != pool.HostNetwork {
		env["DET_NETWORK"] = n
	}
	if t.Masters.Service != "" {
		env["DET_MASTERS_FILE"] = mastersFile
	}
	if t.Masters.CA != "" {
		env["DET_MASTER_CA"] = caFile
	}
	return env
}

// mastersTemplate lists the healthy masters, one address per line. Nomad renders it again
// when the list changes, and restarts nothing.
func (t *Task) mastersTemplate() *api.Template {
	function := "service"
	if t.Services == NomadServices {
		function = "nomadService"
	}
	text := fmt.Sprintf("{{ range %s %q }}%s://{{ .Address }}:{{ .Port }}\n{{ end }}", function, t.Masters.Service, cmp.Or(t.Masters.Scheme, "http"))
	return &api.Template{EmbeddedTmpl: new(text), DestPath: new(mastersFile), ChangeMode: new("noop")}
}
