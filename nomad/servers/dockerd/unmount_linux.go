package dockerd

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// unmountBelow unmounts what a killed daemon has left mounted below its folder,
// the innermost first.
func unmountBelow(dir string) error {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	defer f.Close()
	var points []string
	const mountPoint = 4
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) > mountPoint && strings.HasPrefix(fields[mountPoint], dir+"/") {
			points = append(points, fields[mountPoint])
		}
	}
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", point, err)
		}
	}
	return lines.Err()
}
