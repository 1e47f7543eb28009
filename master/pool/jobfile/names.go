package jobfile

import (
	"fmt"
	"slices"
	"strings"
)

// A level has the names that one block of a pool's job may contain.
type level struct {
	attributes []string
	blocks     map[string]*level
	// free: the block may contain any names that refuse accepts (config, meta, env). refuse returns
	// why operators may not set a name, or "".
	free   bool
	refuse func(name string) string
}

// anything is a block in which Nomad alone knows the names.
func anything() *level { return &level{free: true, refuse: func(string) string { return "" }} }

func metadata() *level {
	return &level{free: true, refuse: func(name string) string {
		if strings.HasPrefix(strings.ToLower(name), "det_") {
			return "metadata that begins with det_ is Detent's own"
		}
		return ""
	}}
}

func variables() *level {
	return &level{free: true, refuse: func(name string) string {
		if upper := strings.ToUpper(name); strings.HasPrefix(upper, "DET_") || strings.HasPrefix(upper, "NOMAD_") {
			return "Detent and Nomad set the variables that begin with DET_ and NOMAD_"
		}
		return ""
	}}
}

// driverConfig has the driver's settings. Detent sets those that make a task.
func driverConfig() *level {
	ours := map[string]string{
		"image":              "experiments choose the image; give the pool's own with task_container_defaults.image",
		"command":            "Detent starts det-runner, which starts the program",
		"args":               "Detent starts det-runner, which starts the program",
		"entrypoint":         "Detent starts det-runner, which starts the program",
		"work_dir":           "tasks start in the folder of their code; choose another with task_container_defaults.work_dir",
		"working_dir":        "tasks start in the folder of their code; choose another with task_container_defaults.work_dir",
		"ports":              "Detent publishes the port of the runner",
		"port_map":           "Detent publishes the port of the runner",
		"auth":               "give credentials of the registry with the pool's docker.registry_auth",
		"auth_soft_fail":     "give credentials of the registry with the pool's docker.registry_auth",
		"force_pull":         "experiments choose it with environment.force_pull_image",
		"image_pull_timeout": "choose it with the master's pull_timeout",
		"load":               "experiments choose the image",
		"interactive":        "a task has no terminal",
		"tty":                "a task has no terminal",
		"init":               "det-runner is the first process of a task and collects its children",
		"tini":               "det-runner is the first process of a task and collects its children",
		"healthchecks":       "Detent disables the health checks of images: they would run with the workload identity of the task",
	}
	return &level{free: true, refuse: func(name string) string { return ours[name] }}
}

// comparisons are the blocks that choose nodes.
func comparisons() map[string]*level {
	comparison := []string{"attribute", "operator", "value"}
	return map[string]*level{
		"constraint": {attributes: comparison},
		"affinity":   {attributes: append(slices.Clone(comparison), "weight")},
	}
}

func with(blocks map[string]*level, name string, l *level) map[string]*level {
	blocks[name] = l
	return blocks
}

// job has the names that operators may set in the block job.
func job() *level {
	l := &level{attributes: []string{"namespace", "node_pool", "datacenters", "priority", "type", "id", "name"},
		blocks: with(with(comparisons(), "meta", metadata()), "spread", spread())}
	l.blocks["group"] = group()
	return l
}

func spread() *level {
	return &level{attributes: []string{"attribute", "weight"}, blocks: map[string]*level{"target": {attributes: []string{"value", "percent"}}}}
}

func group() *level {
	l := &level{blocks: with(with(comparisons(), "meta", metadata()), "spread", spread())}
	l.blocks["network"] = &level{attributes: []string{"mode"}, blocks: map[string]*level{
		"dns": {attributes: []string{"servers", "searches", "options"}}, "cni": {blocks: map[string]*level{"args": anything()}, attributes: []string{"args"}}}}
	l.blocks["volume"] = &level{attributes: []string{"type", "source", "read_only", "sticky", "access_mode", "attachment_mode", "per_alloc"},
		blocks: map[string]*level{"mount_options": {attributes: []string{"fs_type", "mount_flags"}}}}
	l.blocks["ephemeral_disk"] = &level{attributes: []string{"size"}}
	l.blocks["task"] = task()
	return l
}

func task() *level {
	l := &level{attributes: []string{"driver", "user", "kill_timeout"}, blocks: with(comparisons(), "meta", metadata())}
	l.blocks["config"] = driverConfig()
	l.blocks["env"] = variables()
	l.blocks["resources"] = &level{attributes: []string{"cpu", "cores", "memory", "memory_max"}}
	l.blocks["volume_mount"] = &level{attributes: []string{"volume", "destination", "read_only", "propagation_mode", "selinux_label"}}
	l.blocks["logs"] = &level{attributes: []string{"max_files", "max_file_size"}}
	return l
}

// why returns the reason why operators may not set a name.
func why(name string) string {
	reasons := map[string]string{
		"type":                         "each attempt is a batch job",
		"region":                       "set region of the pool in the master's configuration, and name other regions than the master's own in nomad.regions",
		"all_at_once":                  "Detent requests all members of an attempt at once",
		"count":                        "Detent makes a group for each node of an attempt",
		"restart":                      "Detent starts a new attempt; Nomad must not start one again by itself",
		"reschedule":                   "Detent starts a new attempt; Nomad must not start one again by itself",
		"disconnect":                   "Detent decides what happens to tasks on lost nodes: set stop_after",
		"stop_after_client_disconnect": "Detent decides what happens to tasks on lost nodes: set stop_after",
		"max_client_disconnect":        "Detent decides what happens to tasks on lost nodes: set stop_after",
		"identity":                     "tasks sign in to the master with an identity that Detent adds",
		"vault":                        "Detent adds the role of Vault that an attempt's checkpoints need",
		"consul":                       "Detent registers the members of an attempt",
		"artifact":                     "tasks fetch det-runner from the master",
		"template":                     "Detent adds the addresses of the masters",
		"service":                      "Detent registers the members of an attempt",
		"port":                         "Detent requests the ports that members need",
		"device":                       "which devices a task gets is decided by its slots: give slots: device and device in the pool's configuration",
		"lifecycle":                    "a task has one main process and one that sends the end of its log",
		"leader":                       "a task has one main process and one that sends the end of its log",
		"secret":                       "credentials of a registry come from the pool's docker.registry_auth",
		"kill_signal":                  "det-runner ends the program on SIGTERM",
		"ui":                           "Detent describes its tasks in Nomad's pages",
		"periodic":                     "Detent submits a job for each attempt",
		"parameterized":                "Detent submits a job for each attempt",
		"update":                       "Detent submits a job for each attempt",
		"migrate":                      "Detent starts a new attempt elsewhere",
		"multiregion":                  "an attempt runs in the master's own region",
		"scaling":                      "the size of an attempt follows from its slots",
		"numa":                         "is not supported in the job of a pool",
	}
	if r := reasons[name]; r != "" {
		return r
	}
	return "the job of a pool has no such field for operators to set"
}

// A Problem is something in a file that must not be there, or is missing.
type Problem struct {
	Line, Column int // 0 if the position is unknown
	Field        string
	Message      string
}

// In returns the problem as a message about a file.
func (p Problem) In(file string) string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", file, p.text())
	}
	return fmt.Sprintf("%s:%d:%d: %s", file, p.Line, p.Column, p.text())
}

func (p Problem) text() string {
	if p.Field == "" {
		return p.Message
	}
	return p.Field + ": " + p.Message
}
