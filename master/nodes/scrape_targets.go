package nodes

import (
	"context"
	"net"
	"strings"

	"github.com/detent-ml/detent/master/rest"
	v1 "github.com/detent-ml/detent/master/v1"
)

// The ports on which Prometheus finds the exporters that Determined's documentation installs on
// nodes.
const (
	cAdvisorPort = "8080"
	dcgmPort     = "9400"
)

// scrapeTargets answers Prometheus' discovery over HTTP. Like /metrics it needs no sign-in from this
// machine.
func (d Deps) scrapeTargets(ctx context.Context, c *rest.Call, _ *v1.None) (*[]v1.ScrapeTarget, error) {
	if err := d.MayScrape(ctx, c); err != nil {
		return nil, err
	}
	list, err := List(ctx, d.DB)
	if err != nil {
		return nil, err
	}
	names := agentNames(list)
	out := []v1.ScrapeTarget{}
	for _, n := range list {
		if n.Status != nodeReady {
			continue
		}
		w := d.wireAgent(n, nil)
		labels := map[string]string{"det_agent_id": names[n.ID], "det_resource_pool": strings.Join(w.ResourcePools, ",")}
		host := n.Address
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		target := func(port string) {
			out = append(out, v1.ScrapeTarget{Targets: []string{net.JoinHostPort(host, port)}, Labels: labels})
		}
		target(cAdvisorPort)
		if w.SlotStats.TypeStats[string(v1.DeviceTypeCuda)].Total > 0 {
			target(dcgmPort)
		}
	}
	return &out, nil
}
