//go:build linux

package logs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// KeepVariable says that this process, and not Nomad, keeps the task's logs: how many files of each stream, and how many
// megabytes each may have ("3 10"). Then stdout and stderr are the first of these files.
const KeepVariable = "DET_NOMAD_LOGS"

// maxTaken is how many names a program may have taken before the runner stops looking for a free one.
const maxTaken = 100

// A NomadLog is a stream of the task in files that Nomad shows as the task's logs: <task>.stdout.0, .1 and so on, of which the newest
// are kept. Nomad would start a process of its own for that, for each attempt. The stream is a descriptor of this process, so what
// the Go runtime and child processes write there is in the same file.
//
// Programs of other accounts may write into the folder. So the runner opens it before it starts any, opens no file there that
// exists, and follows no link.
type NomadLog struct {
	fd     int
	folder *os.File
	name   string // without the number
	keep   int
	most   int // bytes of one file

	mu      sync.Mutex
	number  int // of the file that fd is
	written int
}

// NomadLogs returns the task's stdout and stderr, or nil if Nomad keeps its logs.
func NomadLogs(getenv func(string) string) (stdout, stderr *NomadLog, err error) {
	var keep, megabytes int
	said := getenv(KeepVariable)
	if said == "" {
		return nil, nil, nil
	}
	if n, err := fmt.Sscanf(said, "%d %d", &keep, &megabytes); n != 2 || err != nil || keep < 1 || megabytes < 1 {
		return nil, nil, fmt.Errorf("%s is %q, want two numbers: files of each stream, and megabytes of each", KeepVariable, said)
	}
	path := filepath.Join(getenv("NOMAD_ALLOC_DIR"), "logs")
	folder, err := os.OpenFile(path, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot keep the task's logs: %w", err)
	}
	of := func(fd int, stream string) *NomadLog {
		l := &NomadLog{fd: fd, folder: folder, name: getenv("NOMAD_TASK_NAME") + "." + stream + ".", keep: keep, most: megabytes << 20}
		var found unix.Stat_t
		if unix.Fstat(fd, &found) == nil {
			l.written = int(found.Size)
		}
		return l
	}
	return of(unix.Stdout, "stdout"), of(unix.Stderr, "stderr"), nil
}

// Write appends p. A file ends with a line, unless the line is longer than a file.
func (l *NomadLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	done := 0
	for done < len(p) {
		part := l.fitting(p[done:])
		if len(part) == 0 {
			if err := l.next(); err != nil {
				return done, err
			}
			continue
		}
		n, err := unix.Write(l.fd, part)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return done, err
		}
		done, l.written = done+n, l.written+n
	}
	return done, nil
}

// fitting is the beginning of p that the file has room for.
func (l *NomadLog) fitting(p []byte) []byte {
	room := max(0, l.most-l.written)
	if len(p) <= room {
		return p
	}
	if end := bytes.LastIndexByte(p[:room], '\n') + 1; end > 0 || l.written > 0 {
		return p[:end]
	}
	return p[:room]
}

// next begins another file, and removes the oldest.
func (l *NomadLog) next() error {
	folder := int(l.folder.Fd())
	for range maxTaken {
		l.number++
		_ = unix.Unlinkat(folder, l.file(l.number-l.keep), 0) // a program has removed it
		fd, err := unix.Openat(folder, l.file(l.number), unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_APPEND|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o644)
		if errors.Is(err, unix.EEXIST) {
			continue
		}
		if err != nil {
			return fmt.Errorf("cannot begin another file of the task's logs: %w", err)
		}
		defer unix.Close(fd)
		l.written = 0
		return unix.Dup3(fd, l.fd, 0)
	}
	return fmt.Errorf("cannot begin another file of the task's logs: %d names from %s on are taken", maxTaken, l.file(l.number-maxTaken+1))
}

func (l *NomadLog) file(number int) string { return l.name + strconv.Itoa(number) }
