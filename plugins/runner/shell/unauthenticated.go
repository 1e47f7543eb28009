//go:build linux

package shell

import (
	"net"
	"slices"
	"sync"
)

// maxUnauthenticated bounds the connections that have not shown the key.
const maxUnauthenticated = 64

// unauthenticated are the connections that have not shown the key yet, the oldest first.
// When there are too many, the oldest is closed and not the newest refused: whoever
// has the key shows it within a moment, so strangers who open connections and keep
// silent do not keep out the owner.
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

// leave says whether the connection was still among them.
func (n *unauthenticated) leave(conn net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	i := slices.Index(n.list, conn)
	if i >= 0 {
		n.list = slices.Delete(n.list, i, i+1)
	}
	return i >= 0
}
