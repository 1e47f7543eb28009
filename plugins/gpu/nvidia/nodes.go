//go:build cgo && linux

package nvidia

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// shared are the device files that every program on a GPU needs.
var shared = [...]string{"nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset"}

// nodes are the existing device files: those of that name, and the shared ones.
func (l *library) nodes(names ...string) []string {
	var found []string
	for _, name := range append(names, shared[:]...) {
		path := filepath.Join("/dev", name)
		if _, err := os.Stat(filepath.Join(l.root, path)); err == nil {
			found = append(found, path)
		}
	}
	return found
}

// migMinors reads the numbers of /dev/nvidia-caps with which the driver gives access to parts, by
// names such as gpu0/gi1/ci0/access. It is empty without MIG.
func (l *library) migMinors() map[string]int {
	minors := map[string]int{}
	f, err := os.Open(filepath.Join(l.root, "proc/driver/nvidia-caps/mig-minors"))
	if err != nil {
		return minors
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, number, ok := strings.Cut(lines.Text(), " ")
		if n, err := strconv.Atoi(strings.TrimSpace(number)); ok && err == nil {
			minors[name] = n
		}
	}
	return minors
}
