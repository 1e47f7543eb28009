package discovery

import (
	"cmp"
	"context"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/jobspecs"
)

// MasterService is the name under which masters are registered.
const MasterService = "det-master"

// An Endpoint is a registered member.
type Endpoint struct {
	Address string
	Ports   map[string]int // by label; the runner's own among them
}

// An Instance is one registration of a service.
type Instance struct {
	Address string
	Port    int
	Tags    []string
	Meta    map[string]string
	Index   uint64 // when it was registered, in the order of the catalogue
}

// A Catalogue lists the registrations of a service.
type Catalogue interface {
	// Instances lists all instances of a service, regardless of their checks.
	Instances(ctx context.Context, service string) ([]Instance, error)
	// Healthy lists the instances whose checks pass, as far as the catalogue knows.
	Healthy(ctx context.Context, service string) ([]Instance, error)
}

// Discovery finds members and masters in a catalogue.
type Discovery struct{ catalogue Catalogue }

// New makes a Discovery over a catalogue: NewConsul, or Nomad.
func New(c Catalogue) *Discovery { return &Discovery{catalogue: c} }

// Members lists ranks with the address and ports registered for them.
func (d *Discovery) Members(ctx context.Context, allocationID string) (map[int]Endpoint, error) {
	list, err := d.catalogue.Instances(ctx, jobspecs.JobID(allocationID))
	if err != nil {
		return nil, err
	}
	// If a rank is registered twice, Nomad has replaced its allocation. Only the first of its processes
	// passes the gate.
	slices.SortFunc(list, func(a, b Instance) int { return cmp.Compare(a.Index, b.Index) })
	members := map[int]Endpoint{}
	for _, i := range list {
		labels := i.labels()
		rank, err := strconv.Atoi(labels["rank"])
		if err != nil || rank < 0 || i.Address == "" {
			continue
		}
		if _, twice := members[rank]; twice {
			continue
		}
		e := Endpoint{Address: i.Address, Ports: map[string]int{jobspecs.RunnerPort: i.Port}}
		for key, value := range labels {
			label, ok := strings.CutPrefix(key, jobspecs.PortMeta(""))
			if port, err := strconv.Atoi(value); ok && err == nil && port > 0 && port < 1<<16 {
				e.Ports[label] = port
			}
		}
		members[rank] = e
	}
	return members, nil
}

// Masters lists host:port of the healthy masters, in a fixed order.
func (d *Discovery) Masters(ctx context.Context) ([]string, error) {
	list, err := d.catalogue.Healthy(ctx, MasterService)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, i := range list {
		if i.Address != "" && i.Port > 0 {
			addresses = append(addresses, net.JoinHostPort(i.Address, strconv.Itoa(i.Port)))
		}
	}
	slices.Sort(addresses)
	return slices.Compact(addresses), nil
}

// labels returns the metadata of a registration, and its tags of the form key=value: Nomad's own
// services have tags only.
func (i Instance) labels() map[string]string {
	said := map[string]string{}
	for _, tag := range i.Tags {
		if key, value, ok := strings.Cut(tag, "="); ok {
			said[key] = value
		}
	}
	maps.Copy(said, i.Meta)
	return said
}

// Nomad is the catalogue of Nomad's own services, by a function that lists them.
// Nomad lists no health with them.
type Nomad func(ctx context.Context, service string) ([]Instance, error)

// Instances lists all of a name.
func (n Nomad) Instances(ctx context.Context, service string) ([]Instance, error) {
	return n(ctx, service)
}

// Healthy lists all of a name.
func (n Nomad) Healthy(ctx context.Context, service string) ([]Instance, error) {
	return n(ctx, service)
}
