package cluster

import (
	"context"
)

// An Instance is one registration of a service in Nomad's own catalogue.
type Instance struct {
	Address string
	Tags    []string
}

// Services lists the registrations of a name, in every namespace of ours: the
// catalogue of sites without Consul.
func (c *Cluster) Services(ctx context.Context, name string) ([]Instance, error) {
	var list []Instance
	for _, ns := range c.namespaces {
		call, cancel := context.WithTimeout(ctx, callWithin)
		found, _, err := c.api.Services().Get(name, c.query(call, ns))
		cancel()
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			list = append(list, Instance{Address: s.Address, Tags: s.Tags})
		}
	}
	return list, nil
}
