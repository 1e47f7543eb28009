//go:build linux

package attempt

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/master/each"
	v1 "github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/plugins/runner/account"
	"github.com/detent-ml/detent/plugins/runner/sandbox"
)

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// A layout has the paths of folders: as programs in the sandbox see them, and as this process
// sees them on the node.
type layout struct {
	runDir       string // as programs see it, /run/determined if possible
	physical     string // the same folder as this process sees it
	source       string // the same folder's own path
	workDir      string // working directory, as the program sees it
	codeDir      string // folder of the user's code, as this process sees it
	codeInTask   string // the same folder as programs see it
	keepsWorkDir bool   // the working directory remains after the task ends: the user's home
	scratch      string // folder for temporary files, as programs see it; "" for the system's
	harness      string // folder for PYTHONPATH; "" for none
	fetched      bool   // that folder has the master's package, which the sandbox extracts
	pythonShim   string // folder with the pool's python first on PATH; "" for none
	secrets      string // the folder of the task's secrets, as programs see it
	reports      string // the folder of reports that no master has accepted, as programs see it
	self         string // this executable as programs see it
	selfSource   string // the same file as this process sees it

	account     *account.Account // as which programs run; nil: that of this process
	privateRoot bool             // the driver gave the task its own root
	user, home  string           // name and home of the account on this node; "": unknown, or not usable
	names       []sandbox.Bind   // files with the names of the account
	opened      *os.File         // keeps physical valid
}

// inRun is a path below the run directory, as programs see it.
func (l layout) inRun(rel string) string { return l.runDir + "/" + rel }

// placeholders are replaced by values that only the runner knows.
func placeholders(p *NomadTask, master, token string) *strings.Replacer {
	return strings.NewReplacer(
		"{{DET_MASTER}}", master,
		"{{DET_SESSION_TOKEN}}", token,
		"{{DET_AGENT_ID}}", p.NodeName,
		"{{DET_CONTAINER_ID}}", p.NomadAllocID,
	)
}

// isPrivate reports variables of this process that programs must not see: tokens of other
// systems, and the addresses of the real masters.
func isPrivate(name string) bool {
	switch name {
	case "NOMAD_UNIX_ADDR", "VAULT_TOKEN", "DET_MASTERS", "DET_MASTERS_FILE", "DET_MASTER_CA",
		"DET_NODE_ID", "DET_NODE_NAME", "DET_NODE_ADDRESS", "DET_RANK", "DET_DRIVER", "DET_NETWORK", "DET_NO_NEW_PRIVS", "DET_LOG_BACKLOG_MAX_BYTES", "DET_NOMAD_LOGS", "DET_MASTER_CERT_FILE", "DET_MASTER_CERT_NAME":
		return true
	}
	return strings.HasPrefix(name, "CONSUL_") || strings.HasPrefix(name, "NOMAD_JWT") || strings.HasPrefix(name, identityPrefix)
}

// environ is the program's environment: that of this process, overridden by the spec,
// overridden by what only the runner knows.
func environ(p *NomadTask, spec *v1.TaskSpec, token, master string, port int, l layout) map[string]string {
	env := map[string]string{"PATH": defaultPath}
	for k, v := range p.Env {
		if !isPrivate(k) {
			env[k] = v
		}
	}
	fill := placeholders(p, master, token)
	for k, v := range spec.Env {
		env[k] = fill.Replace(v)
	}
	delete(env, "DET_MASTER_CERT_FILE") // the loopback master uses plain HTTP
	delete(env, "DET_MASTER_CERT_NAME")
	maps.Copy(env, map[string]string{
		"DET_MASTER":        master,
		"DET_MASTER_ADDR":   "127.0.0.1",
		"DET_MASTER_HOST":   "127.0.0.1",
		"DET_MASTER_PORT":   strconv.Itoa(port),
		"DET_USE_TLS":       "false",
		"DET_SESSION_TOKEN": token,
		"DET_ALLOCATION_ID": spec.AllocationID,
		"DET_TASK_ID":       cmp.Or(spec.PartID, spec.TaskID),
		"DET_CONTAINER_ID":  p.NomadAllocID,
		"DET_RUN_DIR":       l.runDir,
		"DET_WORKDIR":       l.workDir,
		"DET_BACKLOG_DIR":   l.reports,
	})
	for k, v := range map[string]string{
		"DET_AGENT_ID":       p.NodeName,
		"DET_RESOURCES_ID":   p.NomadAllocID,
		"DET_RESOURCES_TYPE": "docker-container",
		"DET_TASK_TYPE":      spec.TaskType,
		"PYTHONUNBUFFERED":   "1", // so that users see lines at once
	} {
		if env[k] == "" {
			env[k] = v
		}
	}
	if env["DET_TASK_LOGGING_METADATA"] == "" {
		meta, _ := json.Marshal(map[string]string{ // strings always encode
			"task_id": env["DET_TASK_ID"], "allocation_id": spec.AllocationID, "container_id": p.NomadAllocID,
			"agent_id": env["DET_AGENT_ID"], "source": "task",
		})
		env["DET_TASK_LOGGING_METADATA"] = string(meta)
	}
	if _, own := spec.Env["TMPDIR"]; !own && l.scratch != "" {
		env["TMPDIR"] = l.scratch
	}
	if p.PrivateRoot && l.account == nil {
		setHomeAndUser(p, spec, env, l)
	}
	l.setAccountEnv(spec, env)
	python(p, spec, env, l)
	bypassProxy(env)
	return env
}

// python sets the variables with which Python finds the harness and the pool's interpreter.
func python(p *NomadTask, spec *v1.TaskSpec, env map[string]string, l layout) {
	if l.harness != "" {
		env["PYTHONPATH"] = join(l.harness, env["PYTHONPATH"])
	}
	if p.PrivateRoot && env["PYTHONUSERBASE"] == "" {
		// Packages that a hook installs for its user need a writable folder. On a node without
		// containers, the user's own packages stay visible.
		env["PYTHONUSERBASE"] = l.inRun("pythonuserbase")
		env["PATH"] = join(env["PYTHONUSERBASE"]+"/bin", env["PATH"])
	}
	if l.pythonShim != "" {
		env["PATH"] = join(l.pythonShim, env["PATH"])
		env["DET_PYTHON_EXECUTABLE"] = spec.Prefer
	}
}

func join(first, rest string) string {
	if rest == "" {
		return first
	}
	return first + ":" + rest
}

// bypassProxy excludes loopback from a site's web proxy.
func bypassProxy(env map[string]string) {
	used := false
	for _, k := range []string{"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"} {
		used = used || env[k] != ""
	}
	if !used {
		return
	}
	for _, k := range []string{"no_proxy", "NO_PROXY"} {
		hosts := strings.Split(env[k], ",")
		for _, h := range []string{"127.0.0.1", "localhost"} {
			if !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
		env[k] = strings.TrimPrefix(strings.Join(hosts, ","), ",")
	}
}

// list is an environment as NAME=value.
func list(env map[string]string) []string {
	return each.Of(slices.Sorted(maps.Keys(env)), func(k string) string { return k + "=" + env[k] })
}
