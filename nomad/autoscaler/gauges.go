package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/nomad-autoscaler/plugins/base"
	"github.com/hashicorp/nomad-autoscaler/sdk"
)

// pluginName is what both plugins are called.
const pluginName = "det-scaler"

const (
	askWithin  = 5 * time.Second // a master
	maxMasters = 16
	maxScrape  = 16 << 20 // bytes
	maxQuery   = 1 << 10
)

// gauges reads the gauges of the leading master.
type gauges struct {
	log       hclog.Logger
	addresses []string
	token     func() (string, error)
	client    *http.Client
}

// PluginInfo implements the autoscaler's interface.
func (g *gauges) PluginInfo() (*base.PluginInfo, error) { //nolint:unparam // the error is of the interface
	return &base.PluginInfo{Name: pluginName, PluginType: sdk.PluginTypeAPM}, nil
}

// SetConfig reads address (of the masters, with commas between them), token_file and ca_file.
func (g *gauges) SetConfig(config map[string]string) error {
	g.addresses = nil
	for _, text := range strings.Split(config["address"], ",") {
		address := strings.TrimRight(strings.TrimSpace(text), "/")
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("address: expected the addresses of the masters, such as http://host:8080, with commas between them; found %q", config["address"])
		}
		g.addresses = append(g.addresses, address)
	}
	if len(g.addresses) > maxMasters {
		return fmt.Errorf("address: expected at most %d addresses, found %d", maxMasters, len(g.addresses))
	}
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if file := config["ca_file"]; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("ca_file: %w", err)
		}
		trust.RootCAs = x509.NewCertPool()
		if !trust.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("ca_file: %s has no certificate in PEM", file)
		}
	}
	g.client = &http.Client{Timeout: askWithin, Transport: &http.Transport{TLSClientConfig: trust, Proxy: http.ProxyFromEnvironment}}
	g.token = func() (string, error) { return "", nil }
	if file := config["token_file"]; file != "" {
		g.token = func() (string, error) { // read each time, so that the token can be replaced
			text, err := os.ReadFile(file)
			return strings.TrimSpace(string(text)), err
		}
	}
	return nil
}

// Query returns the present value of one gauge, written as in Prometheus:
// det_pool_nodes_wanted{pool="gpu",class="p4d"}.
func (g *gauges) Query(query string, _ sdk.TimeRange) (sdk.TimestampedMetrics, error) {
	want, err := parseSeries(query)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, address := range g.addresses {
		value, found, err := g.ask(address, want)
		if found {
			return sdk.TimestampedMetrics{{Timestamp: time.Now(), Value: value}}, nil
		}
		problems = append(problems, err)
	}
	return nil, fmt.Errorf("%s: %w", query, errors.Join(problems...))
}

// QueryMultiple implements the autoscaler's interface.
func (g *gauges) QueryMultiple(query string, r sdk.TimeRange) ([]sdk.TimestampedMetrics, error) {
	one, err := g.Query(query, r)
	if err != nil {
		return nil, err
	}
	return []sdk.TimestampedMetrics{one}, nil
}

func (g *gauges) ask(address string, want series) (value float64, found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/metrics", nil)
	if err != nil {
		return 0, false, err
	}
	token, err := g.token()
	if err != nil {
		return 0, false, fmt.Errorf("token_file: %w", err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return 0, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, false, fmt.Errorf("%s/metrics answered %s", address, resp.Status)
	}
	value, found, leads, err := find(io.LimitReader(resp.Body, maxScrape), want)
	switch {
	case err != nil:
		return 0, false, fmt.Errorf("%s/metrics: %w", address, err)
	case found:
		return value, true, nil
	case leads:
		return 0, false, fmt.Errorf("%s leads and has no such gauge; the master's configuration has neither this pool nor this class, the pool has no node of the class, or Nomad's state is not trusted", address)
	}
	return 0, false, fmt.Errorf("%s does not lead", address)
}

// find looks for a series in Prometheus' text format.
func find(in io.Reader, want series) (value float64, found, leads bool, err error) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if strings.HasPrefix(line, "#") || !strings.HasPrefix(line, want.name) && !strings.HasPrefix(line, "det_this_master_leads ") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		if at < 0 {
			continue
		}
		value, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil {
			continue
		}
		if line[:at] == "det_this_master_leads" {
			leads = value == 1
		} else if s, err := parseSeries(line[:at]); err == nil && s.same(want) {
			return value, true, leads, nil
		}
	}
	return 0, false, leads, lines.Err()
}

// A series is a gauge with its labels.
type series struct {
	name   string
	labels map[string]string
}

// same compares labels; one that is empty is none.
func (s series) same(other series) bool {
	if s.name != other.name {
		return false
	}
	for _, pair := range [][2]map[string]string{{s.labels, other.labels}, {other.labels, s.labels}} {
		for name, value := range pair[0] {
			if pair[1][name] != value {
				return false
			}
		}
	}
	return true
}

func parseSeries(text string) (series, error) {
	wrong := fmt.Errorf("expected one gauge with its labels, such as det_pool_nodes_wanted{pool=\"gpu\",class=\"p4d\"}, found %.200q", text)
	text = strings.TrimSpace(text)
	name, rest, labelled := strings.Cut(text, "{")
	s := series{name: name, labels: map[string]string{}}
	if len(text) > maxQuery || name == "" || strings.ContainsAny(name, " \t\n()\"") {
		return s, wrong
	}
	if !labelled {
		return s, nil
	}
	for rest = strings.TrimSpace(rest); rest != "}"; {
		label, after, ok := strings.Cut(rest, "=")
		quoted, err := strconv.QuotedPrefix(after)
		if !ok || err != nil {
			return s, wrong
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return s, wrong
		}
		s.labels[strings.TrimSpace(label)] = value
		rest = strings.TrimSpace(after[len(quoted):])
		if next, more := strings.CutPrefix(rest, ","); more {
			rest = strings.TrimSpace(next)
		} else if rest != "}" {
			return s, wrong
		}
	}
	return s, nil
}
