package nomadtest

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// executors lists the processes that run tasks for the client with this folder.
// They outlive it, and are known by the folder in their command line.
func executors(folder string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		args := bytes.Split(line, []byte{0})
		if err != nil || len(args) < 3 || string(args[1]) != "executor" || !bytes.Contains(args[2], []byte(`"`+folder+`/`)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// kill ends processes and all that they have started.
func kill(pids []int) {
	for _, pid := range pids {
		var children []int
		files, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		for _, file := range files {
			text, _ := os.ReadFile(file)
			for field := range strings.FieldsSeq(string(text)) {
				if child, err := strconv.Atoi(field); err == nil {
					children = append(children, child)
				}
			}
		}
		_ = syscall.Kill(pid, syscall.SIGKILL)
		kill(children)
	}
}

// unmount ends what a client has mounted below a folder (the folder of each
// task's secrets is memory): a folder with mounts in it cannot be removed.
func unmount(folder string) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return
	}
	var points []string
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 4 && strings.HasPrefix(fields[4], folder+"/") {
			points = append(points, fields[4])
		}
	}
	for _, point := range slices.Backward(points) { // the innermost first
		_ = syscall.Unmount(point, syscall.MNT_DETACH)
	}
}
