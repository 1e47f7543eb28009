package client

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

// DialTask opens a tunnel to the SSH server of a shell. Each direction of the connection
// can be closed separately. The connection ends with ctx.
func (c *Client) DialTask(ctx context.Context, taskID string) (net.Conn, error) {
	transport, err := c.tunnelTransport()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/proxy/"+url.PathEscape(taskID)+"/", nil)
	if err != nil {
		return nil, fault.New(fault.Invalid, "cannot open a tunnel to task %q: %w", taskID, err)
	}
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", v1.GatewayTunnel)
	if token := c.Token(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if c.opts.UserAgent != "" {
		req.Header.Set("User-Agent", c.opts.UserAgent)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return nil, c.lost(ctx, err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		defer resp.Body.Close()
		if resp.StatusCode < 300 {
			return nil, fault.New(fault.Unavailable, "a proxy in front of %s does not support tunnels: it answered %s", c.base, resp.Status)
		}
		return nil, c.refusal(req, resp)
	}
	both, ok := resp.Body.(io.ReadWriteCloser)
	if !ok {
		return nil, errors.Join(fault.New(fault.Internal, "cannot write to the connection to %s", c.base), resp.Body.Close())
	}
	t := &tunnel{ReadWriteCloser: both, master: c.base}
	t.release = context.AfterFunc(ctx, func() { _ = both.Close() })
	return t, nil
}

// DialPort opens a tunnel to a port that the configuration of a task declares in
// environment.proxy_ports.
func (c *Client) DialPort(ctx context.Context, taskID string, port int) (net.Conn, error) {
	return c.DialTask(ctx, taskID+":"+strconv.Itoa(port))
}

// tunnelTransport uses only HTTP/1.1, because HTTP/2 has no upgrades.
func (c *Client) tunnelTransport() (http.RoundTripper, error) {
	switch t := c.http.Transport.(type) {
	case *http.Transport:
		t = t.Clone()
		t.ForceAttemptHTTP2, t.TLSNextProto = false, map[string]func(string, *tls.Conn) http.RoundTripper{}
		if t.TLSClientConfig != nil {
			t.TLSClientConfig.NextProtos = []string{"http/1.1"}
		}
		t.DisableKeepAlives = false
		return t, nil
	case nil:
		return nil, fault.New(fault.Internal, "the client has no transport")
	default:
		return t, nil
	}
}

// A tunnel is a connection that net/http hijacked.
type tunnel struct {
	io.ReadWriteCloser
	master  string
	release func() bool
}

// Close closes both directions.
func (t *tunnel) Close() error {
	t.release()
	return t.ReadWriteCloser.Close()
}

// CloseWrite closes the sending direction; the task's data still arrive.
func (t *tunnel) CloseWrite() error {
	if h, ok := t.ReadWriteCloser.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return t.Close()
}

// The addresses are only names: a tunnel may pass any number of machines.
func (t *tunnel) LocalAddr() net.Addr  { return tunnelAddr("here") }
func (t *tunnel) RemoteAddr() net.Addr { return tunnelAddr(t.master) }

// A tunnel has no deadlines; cancel the context, or close the tunnel.
func (t *tunnel) SetDeadline(time.Time) error      { return errNoDeadline }
func (t *tunnel) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (t *tunnel) SetWriteDeadline(time.Time) error { return errNoDeadline }

var errNoDeadline = errors.New("a tunnel has no deadlines")

type tunnelAddr string

func (tunnelAddr) Network() string  { return "tunnel" }
func (a tunnelAddr) String() string { return string(a) }
