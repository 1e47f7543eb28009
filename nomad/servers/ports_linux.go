package servers

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/nomad/servers/proc"
)

// listener describes the process that listens on a TCP port, or returns "" if that is not visible (the
// process belongs to another user).
func listener(port int) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		const local, state, inode, listening = 1, 3, 9, "0A"
		for _, line := range strings.Split(string(data), "\n") {
			f := strings.Fields(line)
			if len(f) > inode && f[state] == listening && strings.HasSuffix(f[local], fmt.Sprintf(":%04X", port)) {
				inodes["socket:["+f[inode]+"]"] = true
			}
		}
	}
	if len(inodes) == 0 {
		return ""
	}
	fds, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	for _, fd := range fds {
		target, err := os.Readlink(fd)
		if err != nil || !inodes[target] {
			continue
		}
		pid, err := strconv.Atoi(strings.Split(fd, "/")[2])
		if err != nil {
			continue
		}
		command, _, _ := strings.Cut(proc.Command(pid), " ")
		return fmt.Sprintf("process %d (%s)", pid, filepath.Base(command))
	}
	return ""
}
