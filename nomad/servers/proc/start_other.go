//go:build unix && !linux

package proc

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
)

// startMark asks ps, which every Unix without /proc has.
func startMark(pid int) (mark string, zombie bool, err error) {
	out, err := exec.Command("ps", "-o", "stat=,lstart=", "-p", strconv.Itoa(pid)).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", false, ErrGone
	}
	if err != nil {
		return "", false, err
	}
	state, start, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return strings.TrimSpace(start), strings.HasPrefix(state, "Z"), nil
}

// Command returns the command line of a process, or "" if it cannot be read.
func Command(pid int) string {
	out, err := exec.Command("ps", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
