package client

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Options says which master, as whom, and how patiently.
type Options struct {
	// Master is the address in any form that Canonical accepts.
	Master string
	// Token is a user's session. Empty: nobody is signed in.
	Token string
	// TaskToken is an attempt's token, sent the way tasks do. It goes before Token.
	TaskToken string
	// UserAgent names the caller in the master's log.
	UserAgent string
	// TLS is whom to trust; nil trusts what the system trusts. See TLSConfig.
	TLS *tls.Config
	// Patience is how long a call that may be repeated is repeated while the
	// master is away. 0 means DefaultPatience, below 0 never to repeat.
	Patience time.Duration
	// Insist repeats even the first call to a master that has never answered.
	// Without it a wrong address is reported at once.
	Insist bool
	// OnRetry is told before each pause.
	OnRetry func(err error, pause time.Duration)
	// Refresh is asked for another token when the master refuses the one it was
	// given. What it returns replaces the token, and the call is made again, once.
	Refresh func(ctx context.Context, refused string) (string, error)
	// Transport replaces the network, for tests.
	Transport http.RoundTripper
}

// DefaultPatience covers a master that is restarted.
const DefaultPatience = 20 * time.Second

// Client talks to one master. It is safe for use by several goroutines.
type Client struct {
	base    string
	opts    Options
	http    *http.Client
	reached atomic.Bool // the master has answered once

	mu    sync.Mutex
	token string
}

// New makes a client. Nothing is sent yet.
func New(o Options) (*Client, error) {
	base, err := Canonical(o.Master)
	if err != nil {
		return nil, err
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
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

// neverLeave refuses redirects to another host: a token goes to the master that
// it was given for and to nobody else.
func neverLeave(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 || req.URL.Host != via[0].URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// Master is the canonical URL of the master.
func (c *Client) Master() string { return c.base }

// Token is the session in use, which may have been refreshed since New.
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

// Close gives up idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }
