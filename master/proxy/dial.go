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

// errImpostor is about something that listens where a task's gateway should.
var errImpostor = errors.New("the certificate at the task's address is not the one that its runner reported")

// pinned tells whether the gateway has to prove which one it is. It has not where its
// runner, or the master that let it start, is of a release that knew no certificates.
func (t Task) pinned() bool { return t.Certificate != "" }

// dial connects to the gateway of a task, and to nobody else: nothing is said before
// the peer has shown the certificate that the task's runner reported.
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

// pinning takes one certificate and no other, whoever signed it and whatever name and
// dates are in it.
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

// newTransport makes what carries requests to gateways. It keeps connections by the
// host that aim writes, which for a gateway with a certificate is its fingerprint: one
// that was opened to another attempt at the same address is never used for this one.
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

// aim makes the address of the gateway: the path and the query are those of
// the caller, to the letter.
func (p *Proxy) aim(out, in *url.URL, to target) {
	*out = url.URL{Scheme: "http", Host: to.address, Path: in.Path, RawPath: in.RawPath, RawQuery: in.RawQuery, ForceQuery: in.ForceQuery}
	if to.task.pinned() {
		out.Scheme, out.Host = "https", to.task.Certificate
	}
}
