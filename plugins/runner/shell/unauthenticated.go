//go:build linux

package shell

import (
	"net"
	"slices"
	"sync"
)

// maxUnauthenticated is the maximum number of connections that are not authenticated.
const maxUnauthenticated = 64

// unauthenticated are the connections that are not authenticated yet, the oldest first. If
// there are too many, the oldest is closed instead of the newest: the owner of the key
// authenticates within a moment, so clients without the key that keep connections open cannot
// block the owner.
type unauthenticated struct {
	mu   sync.Mutex
	list []net.Conn
}

func (n *unauthenticated) enter(conn net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) == maxUnauthenticated {
		_ = n.list[0].Close()
		n.list = slices.Delete(n.list, 0, 1)
	}
	n.list = append(n.list, conn)
}

// leave reports whether the connection was still in the list.
func (n *unauthenticated) leave(conn net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(n.list, conn)
	if i >= 0 {
		n.list = slices.Delete(n.list, i, i+1)
	}
	return i >= 0
}
