package cluster

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/sleep"
	"github.com/hashicorp/nomad/api"
)

// Limits of requests to Nomad.
const (
	// maxConns stays well below Nomad's own limit of 100 connections per client.
	maxConns = 32
	// readers is how many reads of single objects run in parallel.
	readers = 8
	// maxAnswer is the maximum size of an answer; a page of a list is far smaller.
	maxAnswer = 64 << 20
	// pageSize is the maximum number of allocations, jobs or nodes in one answer.
	pageSize = 1000
	// callWithin is the timeout of one request. A full list may need several requests.
	callWithin = 15 * time.Second
)

// TLS has the paths of PEM files for TLS connections to Nomad.
type TLS struct {
	CA, Cert, Key string
	ServerName    string // in Nomad's certificate
}

// Config describes the Nomad to use, and which of its jobs belong to this Detent cluster.
type Config struct {
	Address    string // http://host:port, https://host:port or unix:///path/of/api.sock
	Token      string
	TokenFile  string   // instead of Token; read again after changes, because Nomad renews workload identities
	Namespace  string   // of jobs whose pool names none
	Namespaces []string // further namespaces that pools use
	Region     string   // "": the agent's own
	TLS        TLS
	ClusterID  string // jobs with this id in their metadata are ours
	Log        *slog.Logger
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Cluster is the connection to the Nomad that runs the attempts of one Detent cluster.
// Its methods may be called from several goroutines.
type Cluster struct {
	cfg        Config
	api        *api.Client
	namespaces []string // of all pools
	now        func() time.Time
	log        *slog.Logger
	wake       chan struct{}
	named      named         // what events have named since the last observation
	observing  sync.Mutex    // one Observe at a time
	seen       memory        // results of earlier observations
	shown      atomic.Uint64 // the highest Nomad index in an answer about a single allocation; see raise
	shownJobs  atomic.Uint64 // the highest Nomad index of the table of jobs
	keys       keys
}

// New returns a Cluster. It sends no request to Nomad; Check does.
func New(cfg Config) (*Cluster, error) {
	if cfg.ClusterID == "" {
		return nil, errors.New("nomad: the configuration lacks the cluster id, which marks this cluster's jobs")
	}
	cfg.Namespace = cmp.Or(cfg.Namespace, api.DefaultNamespace)
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	client, err := newClient(cfg)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		cfg: cfg, api: client, now: cfg.Now, log: cfg.Log, wake: make(chan struct{}, 1),
		namespaces: append([]string{cfg.Namespace}, cfg.Namespaces...),
	}
	slices.Sort(c.namespaces)
	c.namespaces = slices.Compact(c.namespaces)
	c.named.full = true
	c.seen = newMemory()
	return c, nil
}

func newClient(cfg Config) (*api.Client, error) {
	address, err := url.Parse(cfg.Address)
	if err != nil || !slices.Contains([]string{"http", "https", "unix"}, address.Scheme) {
		return nil, fmt.Errorf("nomad: %q is not an address; it should look like http://127.0.0.1:4646 or unix:///secrets/api.sock", cfg.Address)
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	transport := &http.Transport{
		DialContext: dialer.DialContext, Proxy: http.ProxyFromEnvironment,
		TLSHandshakeTimeout: 5 * time.Second, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		MaxConnsPerHost: maxConns, MaxIdleConns: maxConns, MaxIdleConnsPerHost: maxConns, IdleConnTimeout: time.Minute,
	}
	base := cfg.Address
	if address.Scheme == "unix" {
		base = "http://127.0.0.1"
		transport.Proxy = nil
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", address.Path)
		}
	}
	client := &http.Client{Transport: transport}
	if err := api.ConfigureTLS(client, &api.TLSConfig{
		CACert: cfg.TLS.CA, ClientCert: cfg.TLS.Cert, ClientKey: cfg.TLS.Key, TLSServerName: cfg.TLS.ServerName,
	}); err != nil {
		return nil, fmt.Errorf("nomad: certificates: %w", err)
	}
	client.Transport = &authTransport{next: transport, token: tokenSource{fixed: cfg.Token, file: cfg.TokenFile, now: cfg.Now}}
	made, err := api.NewClient(&api.Config{Address: base, Region: cfg.Region, Namespace: cfg.Namespace, HttpClient: client})
	if err != nil {
		return nil, fmt.Errorf("nomad: %w", err)
	}
	return made, nil
}

// Address is the address of Nomad's API.
func (c *Cluster) Address() string { return c.cfg.Address }

// Wake returns a channel that receives when there is something to observe.
func (c *Cluster) Wake() <-chan struct{} { return c.wake }

func (c *Cluster) fire() { sleep.Wake(c.wake) }

// Check returns an error if the master cannot work with this Nomad: Nomad does not answer,
// the token lacks rights, or a namespace does not exist.
func (c *Cluster) Check(ctx context.Context) error {
	for _, ns := range c.namespaces {
		call, cancel := context.WithTimeout(ctx, callWithin)
		_, _, err := c.api.Namespaces().Info(ns, c.query(call, ns))
		cancel()
		switch {
		case statusOf(err) == http.StatusNotFound:
			return fmt.Errorf("nomad at %s has no namespace %q: create it with \"nomad namespace apply %s\", or name another one", c.cfg.Address, ns, ns)
		case err != nil && statusOf(err) != http.StatusForbidden: // a token need not have the right to read namespaces
			return fmt.Errorf("nomad at %s: %w", c.cfg.Address, err)
		}
	}
	if alarm, err := c.checkRights(ctx); err != nil {
		return err
	} else if alarm != "" {
		return errors.New(alarm)
	}
	return nil
}

// checkRights reads a job in each namespace, which needs the right read-job. It returns a
// sentence for operators if the token lacks the right, else "".
func (c *Cluster) checkRights(ctx context.Context) (string, error) {
	for _, ns := range c.namespaces {
		call, cancel := context.WithTimeout(ctx, callWithin)
		// No job has this id: a token with the right gets 404, any other 403.
		_, _, err := c.api.Jobs().Info("det-rights-"+c.cfg.ClusterID, c.query(call, ns))
		cancel()
		switch statusOf(err) {
		case http.StatusNotFound:
		case http.StatusForbidden:
			return fmt.Sprintf("the master's Nomad token lost its rights, or has none: it may not read jobs in namespace %q (%s); "+
				"give it a token whose policy allows submit-job and read-job there. Until then Detent does not end tasks that Nomad does not list", ns, bodyOf(err)), nil
		default:
			if err != nil {
				return "", fmt.Errorf("nomad at %s: %w", c.cfg.Address, err)
			}
		}
	}
	return "", nil
}

// query returns the options of a read.
func (c *Cluster) query(ctx context.Context, namespace string) *api.QueryOptions {
	return (&api.QueryOptions{Namespace: namespace}).WithContext(ctx)
}

// write returns the options of a change.
func (c *Cluster) write(ctx context.Context, namespace string) *api.WriteOptions {
	return (&api.WriteOptions{Namespace: namespace}).WithContext(ctx)
}
