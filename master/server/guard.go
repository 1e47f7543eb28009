package server

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/sleep"
)

const (
	// guardWithin is how long a starting master waits for Nomad's answer about access control.
	guardWithin = 2 * time.Second
	// guardAgain is the time between two further questions.
	guardAgain = 5 * time.Second
)

// guard returns an error if a master for several users would run on a Nomad that everybody may use. If a Nomad does not answer yet, the
// master starts, and the channel receives the error later.
func (m *master) guard(ctx context.Context) (<-chan error, error) {
	later := make(chan error, 1)
	if onLoopback(m.cfg.Listen) || m.cfg.Nomad.WithoutACL { // a warning at each start names the setting
		return later, nil
	}
	waiting := []*cluster.Cluster{m.nomad}
	for _, r := range m.regions {
		waiting = append(waiting, r.nomad)
	}
	first, cancel := context.WithTimeout(ctx, guardWithin)
	defer cancel()
	waiting, err := askGuards(first, waiting)
	if err != nil || len(waiting) == 0 {
		return later, err
	}
	go func() {
		for sleep.For(ctx, guardAgain) == nil {
			if waiting, err = askGuards(ctx, waiting); err != nil || len(waiting) == 0 {
				if err != nil {
					later <- err
				}
				return
			}
		}
	}()
	return later, nil
}

// askGuards asks each Nomad whether it has access control, and returns those that did not answer.
func askGuards(ctx context.Context, all []*cluster.Cluster) (waiting []*cluster.Cluster, err error) {
	for _, c := range all {
		why, err := c.Unguarded(ctx)
		switch {
		case err != nil:
			waiting = append(waiting, c)
		case why != "":
			return nil, fmt.Errorf("nomad at %s lets everybody use it, because %s: a program of any user could run jobs as root on the nodes and read all secrets in Nomad. "+
				"Enable ACLs in Nomad (docs/operate/acl.md), or set nomad.without_acl: true if all users may administer the nodes", c.Address(), why)
		}
	}
	return waiting, nil
}

// onLoopback reports whether only programs of this machine reach a listener.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && (host == "localhost" || loopback(host))
}
