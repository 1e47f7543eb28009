package proc

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// startMark reads when a process started, in clock ticks since the machine started, and adds the
// machine's boot id: after a reboot the same pid can have the same ticks.
func startMark(pid int) (mark string, zombie bool, err error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return "", false, ErrGone
	}
	if err != nil {
		return "", false, err
	}
	// The second field is the program's name in parentheses, which may contain spaces and parentheses.
	end := bytes.LastIndexByte(stat, ')')
	if end < 0 {
		return "", false, fmt.Errorf("/proc/%d/stat: no program name in %q", pid, stat)
	}
	fields := strings.Fields(string(stat[end+1:]))
	const state, threads, startTicks = 0, 17, 19 // indexes of the fields after the name: 3rd, 20th, 22nd of the line
	if len(fields) <= startTicks {
		return "", false, fmt.Errorf("/proc/%d/stat: %d fields after the name, expected at least %d", pid, len(fields), startTicks+1)
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", false, err
	}
	// The first thread of a killed process can be a zombie while others still use its ports and files.
	others, err := strconv.Atoi(fields[threads])
	if err != nil {
		return "", false, fmt.Errorf("/proc/%d/stat: number of threads: %w", pid, err)
	}
	ended := (fields[state] == "Z" || fields[state] == "X") && others <= 1
	return strings.TrimSpace(string(boot)) + "/" + fields[startTicks], ended, nil
}

// Command returns the command line of a process, or "" if it cannot be read.
func Command(pid int) string {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
}
