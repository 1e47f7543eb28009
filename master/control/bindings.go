package control

import (
	"fmt"
	"slices"
)

// closed returns why a pool accepts no work of a workspace; "" if it accepts it. What already runs in the
// pool stays there.
func (p *Snapshot) closed(pool, workspace string) string {
	open := p.Bound[pool]
	if len(open) == 0 || slices.Contains(open, workspace) {
		return ""
	}
	return fmt.Sprintf("pool %s is not open to workspace %q: it is bound to other workspaces; move the job to another pool", pool, workspace)
}
