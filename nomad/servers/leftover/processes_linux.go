package leftover

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// Tasks finds the processes of tasks by their environment, in which Nomad sets the path of their
// allocation's folder. Only tasks of an agent with its data below dir have such a path.
func Tasks(dir string) ([]proc.ID, error) {
	return findProcesses(func(pid int) bool {
		return strings.HasPrefix(environ(pid)["NOMAD_ALLOC_DIR"], dir+"/") || insideChroot(pid, dir)
	})
}

// insideChroot reports whether a process has its root below dir, like tasks of the exec driver, for
// which the allocation's folder is "/alloc".
func insideChroot(pid int, dir string) bool {
	root, err := os.Readlink(procPath(pid, "root"))
	return err == nil && strings.HasPrefix(root, dir+"/")
}

// Helpers finds Nomad's helper processes of a task: they run Nomad's binary, and have open files in the
// tasks' folders or name them in their arguments.
func Helpers(dir string) ([]proc.ID, error) {
	helpers := []string{"executor", "logmon", "docker_logger"}
	return findProcesses(func(pid int) bool {
		line, err := os.ReadFile(procPath(pid, "cmdline"))
		if err != nil {
			return false
		}
		args := strings.Split(string(line), "\x00")
		if len(args) < 2 || filepath.Base(args[0]) != "nomad" || !slices.Contains(helpers, args[1]) {
			return false
		}
		return bytes.Contains(line, []byte(dir+"/")) || hasOpenBelow(pid, dir)
	})
}

func hasOpenBelow(pid int, dir string) bool {
	fds, err := os.ReadDir(procPath(pid, "fd"))
	if err != nil {
		return false
	}
	return slices.ContainsFunc(fds, func(fd os.DirEntry) bool {
		target, err := os.Readlink(procPath(pid, "fd", fd.Name()))
		return err == nil && strings.HasPrefix(target, dir+"/")
	})
}

// findProcesses lists the processes for which is returns true. It takes the ID of each process before
// the check, so that a reused pid is never returned.
func findProcesses(is func(pid int) bool) ([]proc.ID, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var found []proc.ID
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		id, err := proc.Of(pid)
		if err == nil && is(pid) && id.Alive() {
			found = append(found, id)
		}
	}
	return found, nil
}

// environ is the initial environment of a process, or nothing if it cannot be read.
func environ(pid int) map[string]string {
	text, err := os.ReadFile(procPath(pid, "environ"))
	if err != nil {
		return nil
	}
	vars := map[string]string{}
	for _, v := range strings.Split(string(text), "\x00") {
		if name, value, ok := strings.Cut(v, "="); ok {
			vars[name] = value
		}
	}
	return vars
}

func procPath(pid int, elem ...string) string {
	return filepath.Join(append([]string{"/proc", strconv.Itoa(pid)}, elem...)...)
}

// OfTask finds the processes of a task of an allocation.
func OfTask(allocation, task string) ([]proc.ID, error) {
	return findProcesses(func(pid int) bool {
		env := environ(pid)
		return env["NOMAD_ALLOC_ID"] == allocation && env["NOMAD_TASK_NAME"] == task
	})
}
