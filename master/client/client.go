package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options selects the master, the user, TLS and retries.
type Options struct {
	// Master is the address in any form that Canonical accepts.
	Master string
	// Token is a user's session; empty: not signed in.
	Token string
	// TaskToken is an attempt's token, which is used instead of Token.
	TaskToken string
	// UserAgent names the caller in the master's log.
	UserAgent string
	// TLS selects the trusted certificates; nil: those of the system. See TLSConfig.
	TLS *tls.Config
	// Patience is how long a repeatable call is repeated while the master does not answer. 0
	// means DefaultPatience, below 0 never.
	Patience time.Duration
	// Insist also repeats the first call to a master that has never answered. Without Insist a
	// wrong address is reported at once.
	Insist bool
	// OnRetry is called before each pause.
	OnRetry func(err error, pause time.Duration)
	// Refresh is called for a new token when the master rejects the current one. The call is
	// then repeated once with the new token.
	Refresh func(ctx context.Context, refused string) (string, error)
	// Transport replaces the network, for tests.
	Transport http.RoundTripper
}

// DefaultPatience is enough for a restart of the master.
const DefaultPatience = 20 * time.Second

// Client sends requests to one master. It is safe for use by several goroutines.
type Client struct {
	base    string
	opts    Options
	http    *http.Client
	reached atomic.Bool // the master has answered once

	mu    sync.Mutex
	token string
}

// New makes a client. It sends no request.
func New(o Options) (*Client, error) {
	base, err := Canonical(o.Master)
	if err != nil {
		return nil, err
	}
	o.Patience = cmp.Or(o.Patience, DefaultPatience)
	transport := o.Transport
	if transport == nil {
		transport = newTransport(o.TLS)
	}
	return &Client{
		base: base, opts: o, token: o.Token,
		http: &http.Client{Transport: transport, CheckRedirect: neverLeave},
	}, nil
}

func newTransport(conf *tls.Config) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:     conf,
		TLSHandshakeTimeout: 10 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 8,
		IdleConnTimeout:     60 * time.Second,
	}
}

// neverLeave rejects redirects to another host, which must not receive the token.
func neverLeave(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 || req.URL.Host != via[0].URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// Master is the canonical URL of the master.
func (c *Client) Master() string { return c.base }

// Token is the current session, which Refresh may have replaced since New.
func (c *Client) Token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

func (c *Client) setToken(t string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token = t
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
