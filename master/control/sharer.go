package control

import (
	"github.com/detent-ml/detent/master/control/rows"
)

// A sharer is for whom an attempt holds slots, as far as policies ask.
type sharer struct {
	workspace string
	project   int // 0: none
	user      string
	weight    float64 // of its group
}

// sharerOf returns for whom the trials of an experiment hold slots.
func (p *Snapshot) sharerOf(e *Experiment) sharer {
	return sharer{workspace: p.Workspaces[e.ProjectID], project: e.ProjectID, user: p.Owners[e.OwnerID], weight: e.Weight}
}

func sharerOfTask(t *rows.LiveTask) sharer {
	return sharer{workspace: t.Workspace, user: t.Owner}
}
