//go:build linux

package gateway

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// maxSocketPath is what fits into the address of a Unix socket, with room for the
// suffixes that some programs add while they bind.
const maxSocketPath = 90

// A Socket is where a program listens.
type Socket struct {
	// Path is what the program is told.
	Path string
	dir  *os.File // the folder, as this process sees it
	name string
	temp string // to be removed, when it had to be made elsewhere
}

// socketName is short: the whole path has to be.
const socketName = "s"

// MakeSocket makes the folder of a program's socket. seen is how the program sees
// the folder at physical; where that would be too long, the folder is made among
// the temporary ones, and the program sees it under the same name.
func MakeSocket(physical, seen string) (*Socket, error) {
	s := &Socket{name: socketName}
	if len(filepath.Join(seen, socketName)) > maxSocketPath {
		dir, err := os.MkdirTemp("", "det-")
		if err != nil {
			return nil, fmt.Errorf("the folder of the task's socket: %w", err)
		}
		physical, seen, s.temp = dir, dir, dir
	} else if err := os.MkdirAll(physical, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the task's socket: %w", err)
	}
	if err := os.Chmod(physical, 0o700); err != nil { // whatever the umask says, or was there
		return nil, fmt.Errorf("the folder of the task's socket: %w", err)
	}
	dir, err := os.Open(physical)
	if err != nil {
		return nil, fmt.Errorf("the folder of the task's socket: %w", err)
	}
	s.dir, s.Path = dir, filepath.Join(seen, socketName)
	return s, nil
}

// Dial connects to the program. The folder's own path may be too long for an
// address, so the way leads through its descriptor.
func (s *Socket) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", s.dir.Fd(), s.name))
}

// Close forgets the socket. A task without one has nothing to forget.
func (s *Socket) Close() {
	if s == nil {
		return
	}
	_ = s.dir.Close()
	if s.temp != "" {
		_ = os.RemoveAll(s.temp)
	}
}
