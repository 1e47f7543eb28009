package server

import (
	"context"
	"fmt"
	"net/netip"
	"sync"

	"github.com/detent-ml/detent/master/control"
	"github.com/detent-ml/detent/master/logs/sink"
	"github.com/detent-ml/detent/master/webhook/sender"
)

// WebhooksConfig says how the master sends events to webhooks.
type WebhooksConfig struct {
	// Address of the web pages, for links in messages. By default `public_url`.
	BaseURL string `yaml:"base_url"`
	// Key with which the master signs requests. Without a key requests have no signature.
	SigningKey string `yaml:"signing_key"`
	// Networks and addresses to which the master may send events although they are loopback,
	// private, link-local or reserved, such as `10.1.0.0/16`. A master that listens on loopback only, without
	// trusted proxies, may also send them to loopback.
	Allow []string `yaml:"allow"`
}

func (w *WebhooksConfig) check(k *checker, publicURL string) {
	if w.BaseURL != publicURL { // which is the default
		k.url("webhooks.base_url", w.BaseURL)
	}
	if _, err := w.allowed(); err != nil {
		k.fail("webhooks.allow", "%v", err)
	}
}

// allowed parses the networks.
func (w *WebhooksConfig) allowed() (list []netip.Prefix, err error) {
	for _, text := range w.Allow {
		network, err := prefixOf(text)
		if err != nil {
			return nil, fmt.Errorf("expected a network such as 10.1.0.0/16, or an address; found %q", text)
		}
		list = append(list, network.Masked())
	}
	return list, nil
}

// webhookNetworks are the networks that are not public and may receive events: those of webhooks.allow, and loopback for
// a master that only its own machine can reach, whose users run programs there anyway.
func (c *Config) webhookNetworks() ([]netip.Prefix, error) {
	list, err := c.Webhooks.allowed()
	if onLoopback(c.Listen) && len(c.TrustedProxies) == 0 && (c.PublicURL == "" || loopbackOnly([]string{c.PublicURL})) {
		list = append(list, netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"))
	}
	return list, err
}

// sends is what a leader sends besides the jobs of tasks.
type sends struct {
	events *sender.Sender
	sinks  []*sink.Sink
}

// newSends returns what sends events to webhooks, and copies of log lines.
func (m *master) newSends() (s sends, err error) {
	cfg, err := m.cfg.senderConfig()
	if err != nil {
		return s, err
	}
	s.events = sender.New(cfg, m.db, m.bus, m.log)
	s.sinks, err = m.newSinks()
	return s, err
}

func (c *Config) senderConfig() (sender.Config, error) {
	allow, err := c.webhookNetworks()
	return sender.Config{BaseURL: c.Webhooks.BaseURL, SigningKey: c.Webhooks.SigningKey, Allow: allow}, err
}

// leading runs what only the leader does: the control loop, the deliveries of events, and copies of log lines.
func leading(loop *control.Loop, s sends) func(ctx context.Context, l *control.Leadership) {
	return func(ctx context.Context, l *control.Leadership) {
		var parts sync.WaitGroup
		defer parts.Wait()
		ctx, end := context.WithCancel(ctx)
		defer end()
		parts.Go(func() { s.events.Run(ctx, l.Term, l.Holds) })
		for _, one := range s.sinks {
			parts.Go(func() { one.Run(ctx, l.Term, l.Holds) })
		}
		loop.Run(ctx, l)
	}
}
