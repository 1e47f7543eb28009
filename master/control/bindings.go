package control

import (
	"fmt"
	"slices"

	"github.com/detent-ml/detent/master/workspaces"
)

// boundPools returns the names of the workspaces of each bound pool.
func boundPools(list []workspaces.Binding) map[string][]string {
	bound := map[string][]string{}
	for _, b := range list {
		bound[b.Pool] = append(bound[b.Pool], b.Workspace)
	}
	return bound
}

// closed returns why a pool accepts no work of a workspace; "" if it accepts it. What already runs in the
// pool stays there.
func (p *Snapshot) closed(pool, workspace string) string {
	open := p.Bound[pool]
	if len(open) == 0 || slices.Contains(open, workspace) {
		return ""
	}
	return fmt.Sprintf("pool %s is not open to workspace %q: it is bound to other workspaces; move the job to another pool", pool, workspace)
}
