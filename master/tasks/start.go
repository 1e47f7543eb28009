package tasks

import (
	"context"

	"github.com/detent-ml/detent/master/auth"
	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// A Request asks for a task of any kind.
type Request struct {
	Config      v1.Struct
	Template    *string
	WorkspaceID *int
	Preview     *bool
	Shows       *Shows // what a TensorBoard shows; nil for other kinds
}

// Shows names the experiments and trials that a TensorBoard is to show.
type Shows struct {
	Experiments []int
	Trials      []int
	Filtered    bool // the request has filters, whose experiments are among these
}

// Launched is a task whose request has been checked, and which exists unless the request was a preview.
type Launched struct {
	New
	Stored   bool // false: the request was a preview
	Complete expconf.CommandConfig
	Warnings []v1.LaunchWarning
	Remarks  []string
}

// started is the result of a request for a task.
type started struct {
	*Launched
	task   shown // without an id if the request is a preview
	config v1.Struct
}

// start creates the task of a request, unless it is a preview.
func (d Deps) start(ctx context.Context, c *rest.Call, of Kind, req Request) (*started, error) {
	if err := c.May(auth.Create, auth.Object{Kind: auth.Kind(of.Noun)}); err != nil {
		return nil, err
	}
	n, err := d.Start(ctx, c, of, req)
	if err != nil {
		return nil, err
	}
	if !n.Stored {
		preview := shown{Task: Task{Type: n.Type, Name: n.Name, Pool: n.Pool, Shown: "UNSPECIFIED", OwnerID: n.OwnerID, Owner: c.Who().Username, WorkspaceID: n.WorkspaceID}}
		if n.Tensorboard != nil {
			preview.shows = *n.Tensorboard
		}
		config, err := n.Complete.Shown(true)
		return &started{Launched: n, task: preview, config: config}, err
	}
	d.Changed()
	k, err := Get(ctx, d.DB, n.ID)
	if err != nil {
		return nil, err
	}
	one, err := d.one(ctx, of, k)
	return &started{Launched: n, task: one, config: shownConfig(k, c.Who())}, err
}
