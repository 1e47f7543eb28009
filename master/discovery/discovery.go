package discovery

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	consul "github.com/hashicorp/consul/api"

	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/fault"
)

// callFor bounds one look-up.
const callFor = 5 * time.Second

// Config says which catalogue to ask.
type Config struct {
	Address   string // of Consul; "" asks Nomad
	Token     string
	TokenFile string
	CAFile    string
	Nomad     Nomad // asked where there is no Consul
}

// Nomad is Nomad's catalogue of services.
type Nomad interface {
	Services(ctx context.Context, name string) ([]Instance, error)
}

// An Instance is one registration of a service. A member tells its rank and
// ports in tags of the form key=value, which both catalogues have.
type Instance struct {
	Address string
	Tags    []string
}

// An Endpoint is where a member is.
type Endpoint struct {
	Address string
	Ports   map[string]int
}

// Discovery looks things up.
type Discovery struct {
	consul *consul.Client
	nomad  Nomad
}

// New makes a Discovery. Nothing is asked yet.
func New(cfg Config) (*Discovery, error) {
	if cfg.Address == "" {
		if cfg.Nomad == nil {
			return nil, fmt.Errorf("discovery: neither Consul nor Nomad to ask")
		}
		return &Discovery{nomad: cfg.Nomad}, nil
	}
	c := consul.DefaultConfig()
	scheme, host, ok := strings.Cut(cfg.Address, "://")
	if !ok {
		return nil, fmt.Errorf("consul: %q is no address; it should look like http://127.0.0.1:8500", cfg.Address)
	}
	c.Scheme, c.Address, c.Token, c.TokenFile = scheme, host, cfg.Token, cfg.TokenFile
	c.TLSConfig.CAFile = cfg.CAFile
	c.HttpClient = &http.Client{Timeout: callFor, Transport: c.Transport}
	if cfg.TokenFile != "" {
		if _, err := os.Stat(cfg.TokenFile); err != nil {
			return nil, fmt.Errorf("consul: %w", err)
		}
	}
	client, err := consul.NewClient(c)
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	return &Discovery{consul: client}, nil
}

// Members says where the members of an attempt are, by rank. Those that are not
// registered are missing.
func (d *Discovery) Members(ctx context.Context, allocationID string) (map[int]Endpoint, error) {
	list, err := d.instances(ctx, jobspecs.JobID(allocationID))
	if err != nil {
		return nil, err
	}
	out := make(map[int]Endpoint, len(list))
	for _, i := range list {
		if rank, e, ok := member(i); ok {
			out[rank] = e
		}
	}
	return out, nil
}

// member reads what a member tells of itself.
func member(i Instance) (rank int, e Endpoint, ok bool) {
	e = Endpoint{Address: i.Address, Ports: map[string]int{}}
	prefix := jobspecs.PortMeta("")
	for _, tag := range i.Tags {
		key, value, _ := strings.Cut(tag, "=")
		n, err := strconv.Atoi(value)
		if err != nil || n < 0 {
			continue
		}
		if label, isPort := strings.CutPrefix(key, prefix); isPort {
			e.Ports[label] = n
		} else if key == "rank" {
			rank, ok = n, true
		}
	}
	return rank, e, ok
}

func (d *Discovery) instances(ctx context.Context, name string) ([]Instance, error) {
	if d.consul == nil {
		return d.nomad.Services(ctx, name)
	}
	q := (&consul.QueryOptions{}).WithContext(ctx)
	entries, _, err := d.consul.Catalog().Service(name, "", q)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, err, "Consul does not answer: %v", err)
	}
	list := make([]Instance, len(entries))
	for i, e := range entries {
		address := e.ServiceAddress
		if address == "" {
			address = e.Address
		}
		list[i] = Instance{Address: address, Tags: e.ServiceTags}
	}
	return list, nil
}
