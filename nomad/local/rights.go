package local

import (
	"errors"
	"os"
	"strconv"
	"strings"
)

// capSysAdmin is the number of the capability with which Linux permits mounts.
const capSysAdmin = 21

// mayMount returns an error for root without the right to mount, as in an ordinary container: Nomad as root mounts a folder for each task,
// and would fail only when it starts the master.
func mayMount(uid int, status string) error {
	for line := range strings.Lines(status) {
		mask, is := strings.CutPrefix(line, "CapEff:")
		if !is || uid != 0 {
			continue
		}
		if rights, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64); err == nil && rights&(1<<capSysAdmin) == 0 {
			return errors.New("this is root without the right to mount (CAP_SYS_ADMIN), as in an ordinary container, and Nomad needs that right as root: " +
				"run the command as another user, or start the container with --privileged")
		}
	}
	return nil
}

// ownStatus is what Linux says of this process; "" elsewhere.
func ownStatus() string {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	return string(text)
}
