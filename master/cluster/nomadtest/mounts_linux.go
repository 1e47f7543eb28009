package nomadtest

import (
	"os"
	"slices"
	"strings"
	"syscall"
)

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
