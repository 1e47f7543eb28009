package cluster

import (
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

	"github.com/hashicorp/nomad/api"
)

// Limits on what is asked of Nomad and taken from it.
const (
	// maxConns stays well below Nomad's own limit of 100 connections per client.
	maxConns = 32
	// readers is how many single reads are under way at once.
	readers = 8
	// maxAnswer is the longest answer that is read; a page of a list is far below it.
	maxAnswer = 64 << 20
	// pageSize bounds the allocations, jobs or nodes of one answer.
	pageSize = 1000
	// callWithin bounds one request. A full list may take several.
	callWithin = 15 * time.Second
)

// TLS is how to trust Nomad and be trusted by it. All are paths of PEM files.
type TLS struct {
	CA, Cert, Key string
	ServerName    string
}

// Config says which Nomad, and whose jobs in it.
type Config struct {
	Address    string // http://host:port, https://host:port or unix:///path/of/api.sock
	Token      string
	TokenFile  string   // read again as it changes: Nomad renews workload identities
	Namespace  string   // of jobs whose pool names none
	Namespaces []string // others that pools use
	Region     string   // "" for the agent's own
	TLS        TLS
	ClusterID  string // only jobs that carry it are ours
	Log        *slog.Logger
	// Now is the clock; time.Now when nil.
	Now func() time.Time
}

// Cluster is the Nomad that the attempts of one Detent cluster run in. Its
// methods may be called from several goroutines, Observe by one at a time.
type Cluster struct {
	cfg        Config
	api        *api.Client
	namespaces []string // that hold jobs of ours
	now        func() time.Time
	log        *slog.Logger
	wake       chan struct{}
	named      named
	observing  sync.Mutex
	seen       memory
	shown      atomic.Uint64 // the highest index in an answer about one allocation; see raise
	shownJobs  atomic.Uint64 // the highest index that the table of jobs has shown
	keys       keys
}

// New makes a Cluster. Nothing is asked of Nomad yet; see Check.
func New(cfg Config) (*Cluster, error) {
	if cfg.ClusterID == "" {
		return nil, errors.New("nomad: the configuration lacks the cluster id, which marks this cluster's jobs")
	}
	if cfg.Namespace == "" {
		cfg.Namespace = api.DefaultNamespace
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
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
	client.Transport = &carrier{next: transport, token: tokenSource{fixed: cfg.Token, file: cfg.TokenFile, now: cfg.Now}}
	made, err := api.NewClient(&api.Config{Address: base, Region: cfg.Region, Namespace: cfg.Namespace, HttpClient: client})
	if err != nil {
		return nil, fmt.Errorf("nomad: %w", err)
	}
	return made, nil
}

// Wake fires when there is something to observe. A wake-up carries no data.
func (c *Cluster) Wake() <-chan struct{} { return c.wake }

func (c *Cluster) fire() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Check says what would keep this master from working with this Nomad: no
// answer, a token without rights, a namespace that does not exist.
func (c *Cluster) Check(ctx context.Context) error {
	for _, ns := range c.namespaces {
		call, cancel := context.WithTimeout(ctx, callWithin)
		_, _, err := c.api.Namespaces().Info(ns, c.query(call, ns))
		cancel()
		switch {
		case statusOf(err) == http.StatusNotFound:
			return fmt.Errorf("nomad at %s has no namespace %q: create it with \"nomad namespace apply %s\", or name another one", c.cfg.Address, ns, ns)
		case err != nil && statusOf(err) != http.StatusForbidden: // not every token may read about namespaces
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

// checkRights reads what only a token with our rights may read. It returns a
// sentence for operators when a right is missing.
func (c *Cluster) checkRights(ctx context.Context) (string, error) {
	for _, ns := range c.namespaces {
		call, cancel := context.WithTimeout(ctx, callWithin)
		// No job has this id: a token that may read jobs is told so.
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

// query carries a context into a read.
func (c *Cluster) query(ctx context.Context, namespace string) *api.QueryOptions {
	return (&api.QueryOptions{Namespace: namespace}).WithContext(ctx)
}

// write carries a context into a change.
func (c *Cluster) write(ctx context.Context, namespace string) *api.WriteOptions {
	return (&api.WriteOptions{Namespace: namespace}).WithContext(ctx)
}
