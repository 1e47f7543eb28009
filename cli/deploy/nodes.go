package deploy

import (
	"context"
	"time"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/sleep"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
)

const (
	nodesTime = 15 * time.Second
	nodesPoll = 200 * time.Millisecond
)

// awaitNodes waits until the master knows a node: it answers before it has asked Nomad for the first time, and would warn the first
// experiment that there are no slots. It is no error if the master does not let this user look, because somebody has set a password.
func awaitNodes(ctx context.Context, master string) {
	ctx, cancel := context.WithTimeout(ctx, nodesTime)
	defer cancel()
	c, err := client.New(client.Options{Master: master})
	if err != nil {
		return
	}
	if _, err := c.Login(ctx, local.User, ""); err != nil {
		return
	}
	for {
		known, err := client.Send(ctx, c, v1.ListAgents, v1.GetAgentsRequest{})
		if err != nil || len(known.Agents) > 0 || sleep.For(ctx, nodesPoll) != nil {
			break
		}
	}
	_, _ = client.Call(ctx, c, v1.Logout) // the session ends by itself too
}
