package discovery

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/detent-ml/detent/master/fault"
)

// lookWithin bounds one look-up.
const lookWithin = 5 * time.Second

// ConsulConfig is how to reach Consul.
type ConsulConfig struct {
	Address    string // host:port, http://…, https://… or unix:///…
	Token      string
	TokenFile  string // read again for each look-up: Nomad renews workload identities
	Datacenter string // "" for the agent's own
	CAFile     string
	CertFile   string
	KeyFile    string
}

// Consul is the catalogue of Consul.
type Consul struct {
	cfg    ConsulConfig
	client *api.Client
	web    *http.Client // of client, for requests without a token
	base   *url.URL
}

// NewConsul makes a Consul. It sends no request yet.
func NewConsul(cfg ConsulConfig) (*Consul, error) {
	if cfg.Address == "" {
		return nil, fmt.Errorf("consul: no address; it should look like 127.0.0.1:8500")
	}
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16, IdleConnTimeout: time.Minute,
		TLSHandshakeTimeout: lookWithin, ResponseHeaderTimeout: lookWithin,
	}
	made := &api.Config{
		Address: cfg.Address, Transport: transport,
		TLSConfig: api.TLSConfig{CAFile: cfg.CAFile, CertFile: cfg.CertFile, KeyFile: cfg.KeyFile},
	}
	client, err := api.NewClient(made) // and fills in what it makes of the address
	if err != nil {
		return nil, fmt.Errorf("consul: %w", err)
	}
	base := &url.URL{Scheme: made.Scheme, Host: made.Address, Path: strings.TrimRight(made.PathPrefix, "/")}
	if strings.HasPrefix(base.Host, "/") {
		base.Host = "localhost" // a Unix socket, which its client dials
	}
	return &Consul{cfg: cfg, client: client, web: made.HttpClient, base: base}, nil
}

// query carries the context, and the token that is valid now.
func (c *Consul) query(ctx context.Context) (*api.QueryOptions, error) {
	q := &api.QueryOptions{Datacenter: c.cfg.Datacenter, Token: c.cfg.Token}
	if c.cfg.TokenFile != "" {
		text, err := os.ReadFile(c.cfg.TokenFile)
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, err, "the token for Consul cannot be read from %s", c.cfg.TokenFile)
		}
		q.Token = strings.TrimSpace(string(text))
	}
	return q.WithContext(ctx), nil
}

// Instances lists all instances of a service, from the catalogue.
func (c *Consul) Instances(ctx context.Context, service string) ([]Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	q, err := c.query(ctx)
	if err != nil {
		return nil, err
	}
	list, _, err := c.client.Catalog().Service(service, "", q)
	if err != nil {
		return nil, c.away(err, service)
	}
	out := make([]Instance, 0, len(list))
	for _, s := range list {
		address := s.ServiceAddress
		address = cmp.Or(address, s.Address)
		out = append(out, Instance{Address: address, Port: s.ServicePort, Tags: s.ServiceTags, Meta: s.ServiceMeta, Index: s.CreateIndex})
	}
	return out, nil
}

// Healthy lists the instances of a service whose checks pass.
func (c *Consul) Healthy(ctx context.Context, service string) ([]Instance, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	q, err := c.query(ctx)
	if err != nil {
		return nil, err
	}
	list, _, err := c.client.Health().Service(service, "", true, q)
	if err != nil {
		return nil, c.away(err, service)
	}
	out := make([]Instance, 0, len(list))
	for _, s := range list {
		address := s.Service.Address
		address = cmp.Or(address, s.Node.Address)
		out = append(out, Instance{Address: address, Port: s.Service.Port, Tags: s.Service.Tags, Meta: s.Service.Meta, Index: s.Service.CreateIndex})
	}
	return out, nil
}

func (c *Consul) away(err error, service string) error {
	return fault.Wrap(fault.Unavailable, err, "could not look up service %s in Consul at %s: %v", service, c.cfg.Address, err)
}
