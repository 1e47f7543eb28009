package cluster

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// withoutToken is the key of a context value: a request with it carries no token.
type withoutToken struct{}

// Unguarded returns why everybody who reaches Nomad may use it, or "". An error means that Nomad has not answered.
//
// A task on the network of its node reaches Nomad's agent. Without access control its program could read all jobs and variables,
// and run a job of its own as root.
func (c *Cluster) Unguarded(ctx context.Context) (why string, err error) {
	ctx, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	_, _, err = c.api.ACLPolicies().List(c.query(ctx, c.cfg.Namespace))
	switch {
	case err != nil && statusOf(err) == 0:
		return "", fmt.Errorf("nomad at %s: %w", c.cfg.Address, err)
	case err != nil && strings.Contains(rawBody(err), "ACL support disabled"):
		return "its access control is off", nil
	}
	// The policy of callers without a token may allow everything, too. A dry run of a job that runs nothing changes nothing.
	job := api.NewBatchJob("det-guard-"+c.cfg.ClusterID, "guard", c.cfg.Region, api.JobDefaultPriority)
	job.Namespace, job.Datacenters = new(c.cfg.Namespace), []string{"*"}
	job.AddTaskGroup(api.NewTaskGroup("none", 0).AddTask(api.NewTask("none", "raw_exec").SetConfig("command", "true")))
	ctx = context.WithValue(ctx, withoutToken{}, true)
	_, _, err = c.api.Jobs().PlanOpts(job, &api.PlanOptions{}, c.write(ctx, c.cfg.Namespace))
	switch status := statusOf(err); {
	case err == nil:
		return "callers without a token may submit jobs", nil
	case status == http.StatusForbidden || status == http.StatusUnauthorized:
		return "", nil
	}
	return "", fmt.Errorf("nomad at %s: %w", c.cfg.Address, err) // such as servers without a leader: that says nothing about rights
}
