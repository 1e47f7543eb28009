package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/detent-ml/detent/master/sleep"
)

// How often a master looks which address answers, and how long an answer may take.
const (
	fetchLook = 5 * time.Second
	fetchWait = 2 * time.Second
)

// A fetchAddress is the address from which Nomad fetches the runner of new tasks. Nomad tries one address only, where runners try
// several, so a master chooses one that answers.
type fetchAddress struct {
	urls   []string // in the order of preference
	client *http.Client
	chosen atomic.Int64 // index in urls
}

// newFetchAddress chooses among task_urls, in their order, and after them the address under which Nomad has registered this master, where
// tasks look up masters by service_name.
func (c *Config) newFetchAddress(authority string) *fetchAddress {
	f := &fetchAddress{urls: slices.Clone(c.TaskURLs)}
	own := c.scheme() + "://" + c.Listen
	if at, err := netip.ParseAddrPort(c.Listen); err == nil && !at.Addr().IsUnspecified() && c.ServiceName != "" && !slices.Contains(f.urls, own) {
		f.urls = append(f.urls, own)
	}
	trusted, err := x509.SystemCertPool()
	if err != nil {
		trusted = x509.NewCertPool()
	}
	trusted.AppendCertsFromPEM([]byte(authority))
	f.client = &http.Client{Timeout: fetchWait, Transport: &http.Transport{
		DialContext:       (&net.Dialer{Timeout: fetchWait}).DialContext,
		TLSClientConfig:   &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12},
		DisableKeepAlives: true, // a new connection, as Nomad makes one
	}}
	return f
}

// now is the chosen address.
func (f *fetchAddress) now() string { return f.urls[f.chosen.Load()] }

// run chooses again and again until ctx ends.
func (f *fetchAddress) run(ctx context.Context) {
	for len(f.urls) > 1 {
		f.look(ctx)
		if sleep.For(ctx, fetchLook) != nil {
			return
		}
	}
}

// look chooses the first address that answers. If none does, the choice stays.
func (f *fetchAddress) look(ctx context.Context) {
	for i, address := range f.urls {
		if f.answers(ctx, address) {
			f.chosen.Store(int64(i))
			return
		}
	}
}

func (f *fetchAddress) answers(ctx context.Context, address string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}
