//go:build linux

package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxSocketPath is the maximum length of a Unix socket's path, minus the suffixes that some
// programs add while they bind.
const maxSocketPath = 90

// A Socket is the Unix socket on which a program listens.
type Socket struct {
	// Path is the path that the program receives.
	Path string
	dir  *os.File // the folder, as this process sees it
	name string
	temp string // to remove at the end, if the folder is a temporary one
}

// socketName is short, because the whole path must be short.
const socketName = "s"

// MakeSocket makes the folder of a program's socket. seen is the program's path of the folder
// at physical. If that path is too long, the folder is a temporary one, with the same path for
// the program.
func MakeSocket(physical, seen string) (*Socket, error) {
	s := &Socket{name: socketName}
	if len(filepath.Join(seen, socketName)) > maxSocketPath {
		dir, err := os.MkdirTemp("", "det-")
		if err != nil {
			return nil, fmt.Errorf("cannot make the folder of the task's socket: %w", err)
		}
		physical, seen, s.temp = dir, dir, dir
	} else if err := os.MkdirAll(physical, 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the task's socket: %w", err)
	}
	if err := os.Chmod(physical, 0o700); err != nil { // independent of the umask, and for an existing folder
		return nil, fmt.Errorf("cannot make the folder of the task's socket: %w", err)
	}
	dir, err := os.Open(physical)
	if err != nil {
		return nil, fmt.Errorf("cannot make the folder of the task's socket: %w", err)
	}
	s.dir, s.Path = dir, filepath.Join(seen, socketName)
	return s, nil
}

// Dial connects to the program. The folder's own path may be too long for an address, so the
// path uses its descriptor.
func (s *Socket) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", s.dir.Fd(), s.name))
}

// Close closes the socket's folder, and removes a temporary one. A nil Socket has none.
func (s *Socket) Close() {
	if s == nil {
		return
	}
	_ = s.dir.Close()
	if s.temp != "" {
		_ = os.RemoveAll(s.temp)
	}
}
