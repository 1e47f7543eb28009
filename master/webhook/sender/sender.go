// Package sender sends events to webhooks. The leading master runs it: it sends the
// deliveries that database.DB has, each webhook's in their order, and stores the results.
package sender

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/detent-ml/detent/master/database"
	"github.com/detent-ml/detent/master/webhook"
	"github.com/detent-ml/detent/master/webhook/event"
)

const (
	sendTimeout  = 10 * time.Second // of a request, with the lookup of the name, unless Config has another
	maxAnswer    = 16 << 10         // bytes of an answer that are read, so that its connection can be used again
	maxHeader    = 64 << 10
	idleTimeout  = time.Minute
	minDelay     = time.Second // before the second try; each further delay is twice as long
	maxDelay     = 15 * time.Minute
	giveUpAfter  = 24 * time.Hour // since the event
	leastRetries = 3              // also of an event that is older
)

// Config is what the master's configuration says about webhooks.
type Config struct {
	BaseURL    string // of the pages, for links
	SigningKey string // "": requests have no signature
	Allow      []netip.Prefix
	Timeout    time.Duration // 0: sendTimeout
}

// Sender sends events.
type Sender struct {
	cfg    Config
	db     *database.DB
	bus    *database.Bus
	log    *slog.Logger
	client *http.Client
}

// New returns a Sender.
func New(cfg Config, db *database.DB, bus *database.Bus, log *slog.Logger) *Sender {
	cfg.Timeout = cmp.Or(cfg.Timeout, sendTimeout)
	s := &Sender{cfg: cfg, db: db, bus: bus, log: log}
	dialer := &net.Dialer{Timeout: cfg.Timeout, ControlContext: s.control}
	s.client = &http.Client{
		Timeout: cfg.Timeout,
		// A redirect could lead to an address that nobody entered.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:       nil, // a proxy would connect to addresses that the dialer rejects
			DialContext: dialer.DialContext, TLSHandshakeTimeout: cfg.Timeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: 2, MaxIdleConns: 2 * workers,
			MaxResponseHeaderBytes: maxHeader, ForceAttemptHTTP2: true,
		},
	}
	return s
}

// errRefused is the error of a connection to an address that is not allowed. Whoever may create a webhook reads it, so it does not
// say which address inside the network the name of a host leads to.
var errRefused = errors.New("the host's address is loopback, private, link-local or reserved, so events may not be sent to it; an administrator can allow it with webhooks.allow in the master's configuration")

// control checks an address when the dialer connects to it: what the name of a host leads to
// may have changed since any earlier check.
func (s *Sender) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil || !event.Allowed(to.Addr(), s.cfg.Allow) {
		return errRefused
	}
	return nil
}

// Check reports what is wrong with the address of a webhook.
func (s *Sender) Check(address string) error { return event.ParseURL(address, s.cfg.Allow) }

// An outcome is the result of one request.
type outcome struct {
	status int
	err    error
	retry  bool // a later request may succeed
}

// send sends a delivery once.
func (s *Sender) send(ctx context.Context, d webhook.Delivery) outcome {
	var of event.Event
	if err := json.Unmarshal(d.Event, &of); err != nil {
		return outcome{err: fmt.Errorf("the stored event cannot be read: %w", err)}
	}
	body, err := event.Body(d.Type, d.EventID, of, s.cfg.BaseURL)
	if err != nil {
		return outcome{err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, d.URL, bytes.NewReader(body))
	if err != nil {
		return outcome{err: err}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "detent-webhooks")
	if s.cfg.SigningKey != "" {
		now := time.Now().Unix()
		req.Header.Set(event.TimestampHeader, strconv.FormatInt(now, 10))
		req.Header.Set(event.SignatureHeader, event.Signature(s.cfg.SigningKey, now, body))
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return outcome{err: s.withoutURL(err), retry: !errors.Is(err, errRefused)}
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.CopyN(io.Discard, resp.Body, maxAnswer)
	return judge(resp.StatusCode)
}

// judge decides what an answer means. A receiver that answers 408 or 429 asks for a later
// request; other codes from 300 to 499 say that the request is wrong.
func judge(status int) outcome {
	o := outcome{status: status}
	switch {
	case status >= 200 && status < 300:
		return o
	case status >= 300 && status < 400:
		o.err = fmt.Errorf("the receiver answered %d; redirects are not followed", status)
	default:
		o.err = fmt.Errorf("the receiver answered %d", status)
		o.retry = status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout
	}
	return o
}

// withoutURL removes the address, which may be a secret, from an error of the client, and with it what only the master's network
// knows: the addresses to which names lead, and that of the server that knows them.
func (s *Sender) withoutURL(err error) error {
	var of *url.Error
	if !errors.As(err, &of) {
		return err
	}
	var name *net.DNSError
	var connection *net.OpError
	switch {
	case errors.Is(err, errRefused):
		return errRefused
	case of.Timeout():
		return fmt.Errorf("no answer within %s", s.cfg.Timeout)
	case errors.As(err, &name):
		return fmt.Errorf("lookup %s: %s", name.Name, name.Err)
	case errors.As(err, &connection):
		return fmt.Errorf("%s: %w", connection.Op, connection.Err)
	}
	return of.Err
}

// result is what to store about an outcome.
func (o outcome) result(d webhook.Delivery) webhook.DeliveryResult {
	r := webhook.DeliveryResult{ID: d.ID, WebhookID: d.WebhookID, State: "DELIVERED", Status: o.status}
	if o.err == nil {
		return r
	}
	r.State, r.Error = "FAILED", o.err.Error()
	if o.retry && (d.Tries < leastRetries || d.Seconds < giveUpAfter.Seconds()) {
		r.State, r.RetryAfter = "WAITING", min(minDelay<<min(d.Tries, 16), maxDelay)
	}
	return r
}

// Test sends a test event to a webhook at once, and stores it in the log.
func (s *Sender) Test(ctx context.Context, w webhook.Webhook) (status int, err error) {
	of, err := json.Marshal(event.Event{Type: event.StateChange, Timestamp: time.Now().Unix(), Test: true})
	if err != nil {
		return 0, err
	}
	d := webhook.Delivery{WebhookID: w.ID, URL: w.URL, Type: w.Type, EventID: uuid.NewString(), Event: of}
	o := s.send(ctx, d)
	o.retry = false
	if err := webhook.RecordTest(ctx, s.db, d, o.result(d)); err != nil {
		return o.status, err
	}
	return o.status, o.err
}
