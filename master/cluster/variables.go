package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/jobspecs"
)

// Credentials for a single job are stored in the Nomad variable nomad/jobs/<job>: Nomad
// lets only that job's workload identity read it. The master writes the variable before it
// registers the job, and removes it when the attempt has ended.

// variableOwner and variableAttempt are items with the owner of a variable: several
// clusters can share a namespace.
const (
	variableOwner   = "detent_cluster"
	variableAttempt = "detent_allocation"
)

func (c *Cluster) putVariables(ctx context.Context, ns string, task jobspecs.Task) (Outcome, error) {
	path := jobspecs.VariablePath(task.AllocationID)
	items := api.VariableItems{variableOwner: c.cfg.ClusterID, variableAttempt: task.AllocationID}
	maps.Copy(items, task.Variables)
	_, _, err := c.api.Variables().Create(&api.Variable{Path: path, Namespace: ns, Items: items}, c.write(ctx, ns))
	if err == nil {
		return Done, nil
	}
	what := fmt.Sprintf("the variable %s, with the credentials for the image's registry", path)
	if kindOf(err) == denied {
		return TryAgain, fmt.Errorf("nomad does not allow the master to write %s (%s): its token needs the variables nomad/jobs/%s*", what, bodyOf(err), jobspecs.JobPrefix())
	}
	return outcomeOf(err, what)
}

// DropVariables removes the variables of ended attempts. live returns which attempts have
// not ended.
func (c *Cluster) DropVariables(ctx context.Context, live func(ctx context.Context, allocationIDs []string) (map[string]bool, error)) (dropped int, err error) {
	var failed []error
	for _, ns := range c.namespaces {
		n, err := c.dropVariables(ctx, ns, live)
		dropped += n
		if err != nil {
			failed = append(failed, err)
		}
	}
	return dropped, errors.Join(failed...)
}

func (c *Cluster) dropVariables(ctx context.Context, ns string, live func(context.Context, []string) (map[string]bool, error)) (dropped int, err error) {
	list, _, err := c.api.Variables().PrefixList("nomad/jobs/"+jobspecs.JobPrefix(), c.query(ctx, ns))
	if err != nil {
		return 0, fmt.Errorf("list variables: %w", err)
	}
	paths := map[string]string{} // by attempt
	for _, meta := range list {
		if meta.Namespace != ns || strings.Count(meta.Path, "/") != 2 {
			continue
		}
		v, _, err := c.api.Variables().Read(meta.Path, c.query(ctx, ns))
		if errors.Is(err, api.ErrVariablePathNotFound) || statusOf(err) == http.StatusNotFound {
			continue
		}
		if statusOf(err) == http.StatusForbidden {
			continue // this master did not write it
		}
		if err != nil {
			return 0, fmt.Errorf("read the variable %s: %w", meta.Path, err)
		}
		id := v.Items[variableAttempt]
		if v.Items[variableOwner] == c.cfg.ClusterID && id != "" && jobspecs.VariablePath(id) == meta.Path {
			paths[id] = meta.Path
		}
	}
	if len(paths) == 0 {
		return 0, nil
	}
	alive, err := live(ctx, slices.Collect(maps.Keys(paths)))
	if err != nil {
		return 0, err
	}
	for id, path := range paths {
		if alive[id] {
			continue
		}
		if _, err := c.api.Variables().Delete(path, c.write(ctx, ns)); err != nil {
			return dropped, fmt.Errorf("remove the variable %s: %w", path, err)
		}
		dropped++
	}
	return dropped, nil
}
