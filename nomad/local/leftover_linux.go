package local

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// taskProcesses finds the processes of tasks by what Nomad puts into their environment: the path of
// their allocation's folder. Nothing but a task of an agent with its data below dir has that.
func taskProcesses(dir string) ([]proc.ID, error) {
	return findProcesses(func(pid int) bool {
		return strings.HasPrefix(environ(pid)["NOMAD_ALLOC_DIR"], dir+"/") || insideChroot(pid, dir)
	})
}

// insideChroot says whether a process has its root below dir, as tasks of the exec driver do: to them
// the allocation's folder is "/alloc".
func insideChroot(pid int, dir string) bool {
	root, err := os.Readlink(procPath(pid, "root"))
	return err == nil && strings.HasPrefix(root, dir+"/")
}

// helperProcesses finds the processes by which Nomad holds on to a task and its output: they are Nomad's
// own binary, and have open files in the tasks' folders or name them in their arguments.
func helperProcesses(dir string) ([]proc.ID, error) {
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

// findProcesses lists the processes for which is says yes. Each is named before it is asked about, so
// that a pid which is used again in between cannot be meant.
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

// environ is the environment that a process was started with, or nothing where it may not be read.
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

// unmountBelow unmounts everything that is mounted below dir, the innermost first.
func unmountBelow(dir string) error {
	points, err := mountsBelow(dir)
	if err != nil {
		return err
	}
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	if points, err = mountsBelow(dir); err != nil || len(points) > 0 {
		return fmt.Errorf("still mounted below it: %s (%w)", strings.Join(points, ", "), err)
	}
	return nil
}

// mountsBelow lists the mount points below dir in the order in which they were made.
func mountsBelow(dir string) ([]string, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	// Spaces and the like are written as octal numbers.
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		const mountPoint = 4
		if fields := strings.Fields(lines.Text()); len(fields) > mountPoint {
			if point := unescape.Replace(fields[mountPoint]); strings.HasPrefix(point, dir+"/") {
				points = append(points, point)
			}
		}
	}
	return points, lines.Err()
}

// processOfTask finds the processes of a task of an allocation.
func processOfTask(allocation, task string) ([]proc.ID, error) {
	return findProcesses(func(pid int) bool {
		env := environ(pid)
		return env["NOMAD_ALLOC_ID"] == allocation && env["NOMAD_TASK_NAME"] == task
	})
}
