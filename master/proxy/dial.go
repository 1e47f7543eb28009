package proxy

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/url"
	"time"
)

// errImpostor is the error about another program that listens at a gateway's address.
var errImpostor = errors.New("the certificate at the task's address is not the one that its runner reported")

// pinned reports whether the gateway must show its certificate. Runners and masters of earlier
// releases have stored none.
func (t Task) pinned() bool { return t.Certificate != "" }

// dial connects to the gateway of a task. It sends nothing before the peer has shown the
// certificate that the task's runner reported.
func (p *Proxy) dial(ctx context.Context, to target) (net.Conn, error) {
	raw, err := p.dialer.DialContext(ctx, "tcp", to.address)
	if err != nil || !to.task.pinned() {
		return raw, err
	}
	conn := tls.Client(raw, pinning(to.task.Certificate))
	within, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	if err := conn.HandshakeContext(within); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return conn, nil
}

// pinning returns a TLS configuration that accepts only the certificate with this fingerprint,
// regardless of its issuer, name and dates.
func pinning(fingerprint string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // instead of a chain, the certificate itself is compared
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errImpostor
			}
			sum := sha256.Sum256(state.PeerCertificates[0].Raw)
			if subtle.ConstantTimeCompare([]byte(hex.EncodeToString(sum[:])), []byte(fingerprint)) != 1 {
				return errImpostor
			}
			return nil
		},
	}
}

// newTransport returns the HTTP transport to gateways. It pools connections by the host that aim
// writes; for a gateway with a certificate this is the fingerprint, so that a connection to
// another attempt at the same address is never reused.
func (p *Proxy) newTransport() *http.Transport {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return p.dial(ctx, ctx.Value(targetKey{}).(target))
	}
	return &http.Transport{
		DialContext: dial, DialTLSContext: dial, MaxIdleConnsPerHost: 16, MaxIdleConns: 512, IdleConnTimeout: time.Minute,
		ResponseHeaderTimeout: answerWithin, ExpectContinueTimeout: time.Second, DisableCompression: true,
		MaxResponseHeaderBytes: 256 << 10, WriteBufferSize: 32 << 10, ReadBufferSize: 32 << 10,
	}
}

// aim sets the address of the gateway; path and query stay exactly as the caller sent them.
func (p *Proxy) aim(out, in *url.URL, to target) {
	*out = url.URL{Scheme: "http", Host: to.address, Path: in.Path, RawPath: in.RawPath, RawQuery: in.RawQuery, ForceQuery: in.ForceQuery}
	if to.task.pinned() {
		out.Scheme, out.Host = "https", to.task.Certificate
	}
}
