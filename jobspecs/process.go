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

	"github.com/detent-ml/detent/master/optional"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/quote"
)

// MainTask is the Nomad task of a member, whose runner starts the user's program.
const MainTask = "main"

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
	claimTTL = 25 * time.Hour
	// Where Nomad puts fetched and rendered files.
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
	task := t.process(rank)
	if t.Pool.Driver == pool.Exec && !t.Linked {
		// Nomad gives an account that is not root capabilities with which it would read and change files of the node. A linked owner's runner needs
		// some to start the program as another account, without any.
		task.Config["cap_drop"] = []string{"all"}
		task.Env["DET_NO_NEW_PRIVS"] = "1"
	}
	task.Resources = res
	task.LogConfig = t.logs()
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

// process is a Nomad task that starts the runner.
func (t *Task) process(rank int) *api.Task {
	base := t.base().TaskGroups[0].Tasks[0]
	task := &api.Task{
		Name:   MainTask,
		Driver: base.Driver,
		User:   t.user(),
		Config: t.driverConfig(),
		Env:    t.env(rank),
		RestartPolicy: &api.RestartPolicy{
			Attempts: new(0), Mode: new("fail"), Interval: new(24 * time.Hour), Delay: new(15 * time.Second), RenderTemplates: new(false),
		},
		KillSignal: "SIGTERM",
	}
	if t.Container != nil {
		t.runInContainer(task)
		return task
	}
	task.Config["command"], task.Config["args"] = "/bin/sh", []string{"-c", t.script()}
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

// driverConfig is the driver's configuration in the pool's job.
func (t *Task) driverConfig() map[string]any {
	config := maps.Clone(t.base().TaskGroups[0].Tasks[0].Config)
	if config == nil {
		config = map[string]any{}
	}
	delete(config, "network_mode")
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

// script starts the runner. The fetched det-runner has no execute bit; Nomad starts the task only
// if the file's checksum was right.
func (t *Task) script() string {
	before := ""
	if t.runnerKeepsLogs() {
		before = `exec >>"$NOMAD_ALLOC_DIR/logs/main.stdout.0" 2>>"$NOMAD_ALLOC_DIR/logs/main.stderr.0" && `
	}
	if t.Runner.Path != "" {
		return before + fmt.Sprintf(`exec %s run`, quote.Shell(t.Runner.Path)) // if the node has lost the file, the shell says so
	}
	return before + `chmod +x "$NOMAD_ALLOC_DIR/det-runner" && exec "$NOMAD_ALLOC_DIR/det-runner" run`
}

// runnerKeepsLogs reports whether the runner writes the files that Nomad shows as the task's logs. Nomad starts a process for each
// attempt that does the same, and waits for it before it starts the task. A container's driver sends its output to that process.
func (t *Task) runnerKeepsLogs() bool { return t.Container == nil && !t.noLogs() }

// noLogs reports whether the pool's job wants no logs in Nomad.
func (t *Task) noLogs() bool {
	logs := t.base().TaskGroups[0].Tasks[0].LogConfig
	return logs != nil && optional.Value(logs.Disabled)
}

// logs is the section in which the job says how Nomad keeps the task's logs.
func (t *Task) logs() *api.LogConfig {
	logs := &api.LogConfig{MaxFiles: new(t.LogFiles), MaxFileSizeMB: new(t.LogFileMB)}
	if t.runnerKeepsLogs() || t.noLogs() {
		logs.Disabled = new(true)
	}
	return logs
}

// runnerVariables are the variables that the runner reads and that not every job sets.
func runnerVariables() []string {
	return []string{"DET_MASTERS_FILE", "DET_MASTER_CA", "DET_NETWORK", "DET_NODE_ADDRESS", "DET_LOG_BACKLOG_MAX_BYTES", "DET_NO_NEW_PRIVS", "DET_NOMAD_LOGS"}
}

func (t *Task) env(rank int) map[string]string {
	env := map[string]string{}
	maps.Copy(env, t.base().TaskGroups[0].Tasks[0].Env)
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
	if t.runnerKeepsLogs() {
		env["DET_NOMAD_LOGS"] = fmt.Sprintf("%d %d", t.LogFiles, t.LogFileMB)
	}
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
