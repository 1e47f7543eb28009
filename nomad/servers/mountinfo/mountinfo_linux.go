// Package mountinfo lists the mount points of this process, and unmounts those that ended processes
// have left below a folder.
package mountinfo

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Points returns the mount points of this process, in the order in which they were mounted.
func Points() ([]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	return parse(string(text)), err
}

func parse(text string) []string {
	// Spaces and the like are written as octal numbers.
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	var points []string
	for line := range strings.Lines(text) {
		const point = 4
		if fields := strings.Fields(line); len(fields) > point {
			points = append(points, unescape.Replace(fields[point]))
		}
	}
	return points
}

// UnmountBelow unmounts everything below a folder, the innermost first. A folder with mounts cannot be
// removed, and removing files below a mount could remove files of the machine.
func UnmountBelow(dir string) error {
	points, err := below(dir)
	var errs []error
	for _, point := range slices.Backward(points) {
		if err := syscall.Unmount(point, syscall.MNT_DETACH); err != nil {
			errs = append(errs, fmt.Errorf("unmount %s: %w", point, err))
		}
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return err
	}
	if points, err = below(dir); err == nil && len(points) > 0 {
		err = fmt.Errorf("still mounted below %s: %s", dir, strings.Join(points, ", "))
	}
	return err
}

func below(dir string) ([]string, error) {
	points, err := Points()
	return slices.DeleteFunc(points, func(p string) bool { return !strings.HasPrefix(p, dir+"/") }), err
}
