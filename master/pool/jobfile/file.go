package jobfile

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/pool"
)

// A File is the job of a pool as it was read, without Nomad.
type File struct {
	Source string
	Sum    string   // SHA-256 of the source: the key under which the job that Nomad parsed from it is stored
	Driver string   // of its task
	Job    *api.Job // of JSON; nil for HCL, which Nomad parses
}

// Read reads a job in HCL, or in JSON if it begins with a brace, and returns its errors.
func Read(src []byte) (*File, []Problem) {
	sum := sha256.Sum256(src)
	f := &File{Source: string(src), Sum: hex.EncodeToString(sum[:])}
	if text := bytes.TrimSpace(src); len(text) > 0 && text[0] == '{' {
		job, problems := readJSON(src)
		if len(problems) == 0 {
			f.Job, f.Driver = job, job.TaskGroups[0].Tasks[0].Driver
		}
		return f, problems
	}
	var r hclReader
	r.read(src)
	f.Driver = r.driver
	if len(r.problems) == 0 {
		if problem := checkDriver(r.driver); problem != nil {
			r.problems = append(r.problems, *problem)
		}
	}
	return f, r.problems
}

func checkDriver(driver string) *Problem {
	if !slices.Contains(pool.Drivers(), driver) {
		return &Problem{Field: "job.group.task.driver", Message: fmt.Sprintf("expected one of %s, found %q", strings.Join(pool.Drivers(), ", "), driver)}
	}
	return nil
}

// checkValues returns the errors in the values of a job whose fields are all allowed.
func checkValues(j *api.Job) []Problem {
	var problems []Problem
	fail := func(field, format string, args ...any) {
		problems = append(problems, Problem{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if j == nil || len(j.TaskGroups) != 1 || j.TaskGroups[0] == nil || len(j.TaskGroups[0].Tasks) != 1 || j.TaskGroups[0].Tasks[0] == nil {
		return []Problem{{Field: "job", Message: "the job of a pool has one group with one task"}}
	}
	g := j.TaskGroups[0]
	task := g.Tasks[0]
	if problem := checkDriver(task.Driver); problem != nil {
		return []Problem{*problem}
	}
	for _, m := range task.VolumeMounts {
		if m.Volume == nil || m.Destination == nil || !path.IsAbs(*m.Destination) {
			fail("job.group.task.volume_mount", "expected the name of a volume and a destination that begins with /")
		} else if g.Volumes[*m.Volume] == nil {
			fail("job.group.task.volume_mount", "there is no volume %q in the group", *m.Volume)
		}
	}
	for name, v := range g.Volumes {
		if v == nil {
			fail("job.group.volume", "volume %q: expected a volume, found null", name)
		} else if task.Driver == pool.RawExec {
			fail("job.group.volume", "driver raw_exec mounts no volumes: its tasks see the folders of their node; use bind_mounts to show a folder at another path")
		} else if v.Type != "host" && v.Type != "csi" {
			fail("job.group.volume", "volume %q: expected type host or csi, found %q", name, v.Type)
		}
	}
	if len(g.Networks) > 1 {
		fail("job.group.network", "expected one network in the group, found %d", len(g.Networks))
	}
	if r := task.Resources; r != nil && r.CPU != nil && r.Cores != nil && *r.CPU > 0 && *r.Cores > 0 {
		fail("job.group.task.resources", "set either cpu (a share in MHz) or cores (whole cores), not both")
	}
	if mode := pool.GroupNetwork(j); mode != pool.HostNetwork {
		switch {
		case mode != pool.BridgeNetwork && !strings.HasPrefix(mode, pool.CNIPrefix):
			fail("job.group.network.mode", "expected host, bridge or cni/<name>, found %q", mode)
		case task.Driver == pool.RawExec:
			fail("job.group.network.mode", "with driver raw_exec tasks are on the network of their node; found %q", mode)
		case task.Config["network_mode"] != nil:
			fail("job.group.task.config.network_mode", "the group's network already has %q; set it in one place only", mode)
		}
	}
	for _, a := range pool.AllAffinities(j) {
		if strings.HasSuffix(a.Operator, "_set") {
			fail("job.affinity", "Nomad has no affinity with the operator %q", a.Operator)
		}
	}
	for _, c := range pool.Comparisons(j) {
		if !slices.Contains(pool.Operators(), c.Operator) {
			fail("job.constraint", "Detent cannot evaluate the operator %q when it chooses nodes; expected one of %s", c.Operator, strings.Join(pool.Operators()[1:], ", "))
		}
	}
	return problems
}
