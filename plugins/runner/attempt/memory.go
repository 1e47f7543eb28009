//go:build linux

package attempt

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// oomKills is how often the kernel has killed a process of this task's control group because
// memory ran out; -1 if unknown.
func oomKills() int {
	content, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return -1
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		var file string
		switch {
		case fields[0] == "0" && fields[1] == "":
			file = filepath.Join("/sys/fs/cgroup", fields[2], "memory.events")
		case strings.Contains(","+fields[1]+",", ",memory,"):
			file = filepath.Join("/sys/fs/cgroup/memory", fields[2], "memory.oom_control")
			if _, err := os.Stat(file); err != nil {
				file = "/sys/fs/cgroup/memory/memory.oom_control" // a container sees its own group as the root
			}
		default:
			continue
		}
		if n, ok := counter(file, "oom_kill"); ok {
			return n
		}
	}
	return -1
}

// counter reads "name value" from a file of a control group.
func counter(file, name string) (int, bool) {
	content, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, err := strconv.Atoi(fields[1])
			return n, err == nil
		}
	}
	return 0, false
}

// A tally is how often the kernel has killed a process because memory ran out; -1 if unknown.
type tally struct{ task, node int }

// tallyKills reads the tallies. A task of the exec driver does not see the files of its control
// group; every task sees the counter of its node.
func tallyKills() tally {
	t := tally{task: oomKills(), node: -1}
	if n, ok := counter("/proc/vmstat", "oom_kill"); ok {
		t.node = n
	}
	return t
}

// starved reports whether the kernel has killed processes of this task because memory ran out
// since its program began.
func (r *run) starved() bool { return r.oom.task >= 0 && oomKills() > r.oom.task }

// likelyStarved reports whether this is likely for a killed program: the task's own counter is
// unknown, and the kernel has killed a process on this node.
func (r *run) likelyStarved() bool {
	return r.oom.task < 0 && r.oom.node >= 0 && tallyKills().node > r.oom.node
}

// outOfMemory says what the kernel did, and what its reader can do.
func (r *run) outOfMemory() string {
	return "the kernel killed processes of this task because it used more than " + r.memory() + moreMemory
}

// likelyOutOfMemory says what the kernel did on this node while the program ran.
func (r *run) likelyOutOfMemory() string {
	return "most likely because memory ran out: the kernel killed processes on this node meanwhile, and this task may use " + r.memory() + moreMemory
}

const moreMemory = ": ask for more with resources.memory, or use less"

// memory is what the task may use.
func (r *run) memory() string {
	if mb := r.p.Env["NOMAD_MEMORY_LIMIT"]; mb != "" {
		return mb + " MB of memory"
	}
	return "its memory"
}
