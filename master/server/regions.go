package server

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/detent-ml/detent/master/attempts"
	"github.com/detent-ml/detent/master/cluster"
	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/discovery"
	"github.com/detent-ml/detent/master/each"
	"github.com/detent-ml/detent/master/pool"
	"github.com/detent-ml/detent/master/task"
)

// RegionConfig is a region of Nomad besides the master's own.
type RegionConfig struct {
	// Name of the region, as its Nomad has it.
	Name string `yaml:"name"`
	// Address of the API of the region's own Nomad.
	Address string `yaml:"address"`
	// Address of its Nomad's UI as browsers reach it.
	UI string `yaml:"ui"`
	// Token.
	Token string `yaml:"token"`
	// File with the token. The master reads it again when it changes.
	TokenFile string `yaml:"token_file"`
	// Datacenters in which tasks may run: names, or patterns with `*`. By default all.
	Datacenters []string `yaml:"datacenters"`
	// Datacenter of Consul in which the region's services are.
	ConsulDatacenter string `yaml:"consul_datacenter"`
	// File with the certificate authority, PEM.
	CAFile string `yaml:"ca_file"`
	// File with the client's certificate, PEM.
	CertFile string `yaml:"cert_file"`
	// File with the key of the client's certificate, PEM.
	KeyFile string `yaml:"key_file"`
}

// maxRegions bounds the number of further regions: each costs the leader a list every 15 s.
const maxRegions = 32

// regionName matches the names of further regions. Dots would make names of roles in Vault ambiguous.
var regionName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_-]{0,62}[A-Za-z0-9])?$`)

// checkRegions validates the further regions, and the regions of pools.
func (c *Config) checkRegions(k *checker) {
	known := map[string]bool{c.Nomad.Region: true}
	if len(c.Nomad.Regions) > maxRegions {
		k.fail("nomad.regions", "expected at most %d regions, found %d", maxRegions, len(c.Nomad.Regions))
		return
	}
	if len(c.Nomad.Regions) > 0 && c.Nomad.Region == "" {
		k.fail("nomad.region", "is required with nomad.regions: the name of the region of nomad.address")
	}
	for i, r := range c.Nomad.Regions {
		at := fmt.Sprintf("nomad.regions[%d]", i)
		switch {
		case !regionName.MatchString(r.Name):
			k.fail(at+".name", "expected letters, digits, dashes and underscores, up to 64, found %q", r.Name)
		case r.Name == c.Nomad.Region:
			k.fail(at+".name", "%q is the region of nomad.address (nomad.region); name only the others here", r.Name)
		case known[r.Name]:
			k.fail(at+".name", "every region needs a name of its own, found %q twice", r.Name)
		}
		known[r.Name] = true
		k.url(at+".address", r.Address)
		if r.UI != "" {
			k.url(at+".ui", r.UI)
		}
		if r.Token != "" && r.TokenFile != "" {
			k.fail(at, "expected one of token and token_file, found both")
		}
	}
	for i, p := range c.Pools {
		if p.Region != "" && !known[p.Region] {
			k.fail(fmt.Sprintf("resource_pools[%d].region", i), "expected nomad.region or one of nomad.regions, found %q", p.Region)
		}
		if c.regionOf(p) != "" && c.Ingress.Kind != "" {
			k.fail(fmt.Sprintf("resource_pools[%d].region", i), "an ingress finds only tasks that are registered in its own region (%s), and this pool is in region %s; "+
				"leave ingress.kind out, so that requests to tasks pass through a master, or give the region a master of its own", c.Nomad.Region, p.Region)
		}
	}
}

// regionOf is the region of a pool as pool.Pool has it: "" for the master's own.
func (c *Config) regionOf(p PoolConfig) string {
	if p.Region == c.Nomad.Region {
		return ""
	}
	return p.Region
}

// datacentersOf are the datacenters in which tasks of a pool may run, if its job names none.
func (c *Config) datacentersOf(p PoolConfig) []string {
	for _, r := range c.Nomad.Regions {
		if r.Name == c.regionOf(p) {
			return r.Datacenters
		}
	}
	return c.Nomad.Datacenters
}

// inRegion are the pools of a region; "": the master's own.
func inRegion(pools pool.Set, region string) pool.Set {
	return slices.DeleteFunc(slices.Clone(pools), func(p pool.Pool) bool { return p.Region != region })
}

// A region is a further region of Nomad.
type region struct {
	RegionConfig
	nomad *cluster.Cluster
}

// connectRegions makes the clients of the further regions. They send no request, so a master starts while a
// region cannot be reached.
func (m *master) connectRegions() error {
	for _, r := range m.cfg.Nomad.Regions {
		used := namespaces(inRegion(m.pools, r.Name))
		home := m.cfg.Nomad.Namespace
		if len(used) > 0 {
			home = used[0]
		}
		c, err := cluster.New(cluster.Config{Address: r.Address, Token: r.Token, TokenFile: r.TokenFile, Namespace: home, Namespaces: used, Region: r.Name,
			TLS: cluster.TLS{CA: r.CAFile, Cert: r.CertFile, Key: r.KeyFile}, ClusterID: m.clusterID, Log: m.log.With("region", r.Name)})
		if err != nil {
			return fmt.Errorf("region %s: %w", r.Name, err)
		}
		m.regions = append(m.regions, region{r, c})
	}
	return nil
}

// nomadIn is the client of a region; that of the master's own for a region that the configuration does not have.
func (m *master) nomadIn(name string) *cluster.Cluster {
	for _, r := range m.regions {
		if r.Name == name {
			return r.nomad
		}
	}
	return m.nomad
}

// loopRegions are the further regions for the control loop.
func (m *master) loopRegions() []control.Region {
	return each.Of(m.regions, func(r region) control.Region { return control.Region{Name: r.Name, Nomad: r.nomad, Leftovers: r.nomad} })
}

// regionUIs are the addresses of the UIs of the further regions.
func (c *Config) regionUIs() map[string]string {
	return each.Map(c.Nomad.Regions, func(r RegionConfig) (name, ui string) { return r.Name, r.UI })
}

// identity adapts the clusters to the API's interface: a region's Nomad verifies the identities that name
// the region.
type identity struct {
	home    *cluster.Cluster
	regions []region
}

func (i identity) VerifyIdentity(ctx context.Context, jwt string) (task.Workload, error) {
	by, name := i.home, ""
	if len(i.regions) > 0 {
		said := cluster.RegionOf(jwt)
		for _, r := range i.regions {
			if r.Name == said {
				by, name = r.nomad, r.Name
			}
		}
	}
	w, err := by.VerifyIdentity(ctx, jwt)
	w.Region = name
	return w, err
}

// regionalCatalogue looks up the members of an attempt in the catalogue of its region.
type regionalCatalogue struct {
	discovery.Catalogue // of the master's own region
	others              map[string]discovery.Catalogue
	db                  *database.DB
	pools               pool.Set
}

// Instances is for discovery.Catalogue.
func (c regionalCatalogue) Instances(ctx context.Context, service string) ([]discovery.Instance, error) {
	name, err := attempts.PoolOf(ctx, c.db, service)
	if err != nil {
		return nil, err
	}
	if of := c.pools.Named(name); of != nil && c.others[of.Region] != nil {
		return c.others[of.Region].Instances(ctx, service)
	}
	return c.Catalogue.Instances(ctx, service)
}

// catalogue is where addresses of tasks are registered.
func (m *master) catalogue() (discovery.Catalogue, error) {
	home, err := m.catalogueOf(m.nomad, "")
	if err != nil || len(m.regions) == 0 {
		return home, err
	}
	c := regionalCatalogue{Catalogue: home, others: map[string]discovery.Catalogue{}, db: m.db, pools: m.pools}
	for _, r := range m.regions {
		if c.others[r.Name], err = m.catalogueOf(r.nomad, r.ConsulDatacenter); err != nil {
			return nil, err
		}
	}
	return c, nil
}
