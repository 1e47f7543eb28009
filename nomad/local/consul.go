package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/detent-ml/detent/nomad/servers"
)

// consulConfig is a server of one, not a development agent: that one forgets everything when it ends.
func (c *Cluster) consulConfig() ([]byte, error) {
	return json.MarshalIndent(map[string]any{
		"node_name":        "detent-" + c.state.Name,
		"datacenter":       "dc1",
		"data_dir":         c.path(partConsul, "data"),
		"server":           true,
		"bootstrap_expect": 1,
		"bind_addr":        "127.0.0.1",
		"client_addr":      "127.0.0.1",
		"ports": map[string]int{
			"http": c.state.Ports[portConsul], "server": c.state.Ports[portConsulRPC],
			"serf_lan": c.state.Ports[portConsulSerf], "serf_wan": -1,
			"dns": -1, "grpc": -1, "grpc_tls": -1, "https": -1,
		},
		"ui_config":               map[string]bool{"enabled": true},
		"performance":             map[string]int{"raft_multiplier": 1},
		"leave_on_terminate":      false,
		"skip_leave_on_interrupt": true,
		// Here every client has the same address, so a limit per address is one on all of them together.
		"limits":               map[string]int{"http_max_conns_per_client": -1, "rpc_max_conns_per_client": -1},
		"disable_update_check": true,
		"log_level":            "INFO",
		"telemetry":            map[string]any{"prometheus_retention_time": "10m", "disable_hostname": true},
	}, "", "  ")
}

func (c *Cluster) consulAgent(ctx context.Context, report *servers.Reporter) (agent, error) {
	binary, err := servers.Ensure(ctx, "consul", report)
	if err != nil {
		return agent{}, err
	}
	config, err := c.consulConfig()
	if err != nil {
		return agent{}, err
	}
	return agent{
		name: partConsul, title: "Consul", binary: binary,
		config: config, configFile: "agent.json",
		args:  func(file string) []string { return []string{"agent", "-config-file=" + file} },
		ports: []string{portConsul, portConsulRPC, portConsulSerf},
		ready: c.consulReady,
	}, nil
}

// consulReady says whether Consul has a leader, which is itself once it has read its state.
func (c *Cluster) consulReady(ctx context.Context) error {
	body, err := get(ctx, c.consulURL()+"/v1/status/leader")
	if err != nil {
		return err
	}
	if strings.Trim(strings.TrimSpace(body), `"`) == "" {
		return errors.New("no leader of Consul yet")
	}
	return nil
}

func (c *Cluster) consulURL() string { return localURL(c.state.Ports[portConsul]) }

func localURL(port int) string { return "http://127.0.0.1:" + strconv.Itoa(port) }

// get fetches a small answer from one of the servers.
func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	const most = 1 << 20
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s: %s", url, resp.Status, strings.TrimSpace(string(body)))
	}
	return string(body), nil
}
