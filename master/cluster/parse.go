package cluster

import (
	"context"
	"net/http"

	"github.com/hashicorp/nomad/api"

	"github.com/detent-ml/detent/master/fault"
)

// ParseJob lets Nomad parse a job in HCL, so that functions, variables and defaults are those of
// the Nomad that runs the job.
func (c *Cluster) ParseJob(ctx context.Context, source string) (*api.Job, error) {
	call, cancel := context.WithTimeout(ctx, callWithin)
	defer cancel()
	var job api.Job
	_, err := c.api.Raw().Write("/v1/jobs/parse", &api.JobsParseRequest{JobHCL: source}, &job, c.write(call, c.cfg.Namespace))
	switch statusOf(err) {
	case http.StatusForbidden:
		return nil, fault.New(fault.Forbidden, "Nomad does not let the master parse jobs in namespace %q (%s): its token needs the capability submit-job or parse-job there", c.cfg.Namespace, bodyOf(err))
	case http.StatusBadRequest:
		return nil, fault.New(fault.Invalid, "%s", bodyOf(err))
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "Nomad at %s did not parse the job: %s", c.cfg.Address, bodyOf(err))
	}
	return &job, nil
}
