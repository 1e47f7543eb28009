package tunnel

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// Dial sends a request for another protocol over a new connection. A 101 opens the tunnel; any
// other response is returned with its body, which the caller closes.
func Dial(ctx context.Context, conn net.Conn, req *http.Request) (net.Conn, *http.Response, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	fail := func(err error) (net.Conn, *http.Response, error) {
		stop()
		_ = conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, nil, err
	}
	if err := req.Write(conn); err != nil {
		return fail(fmt.Errorf("cannot request a tunnel: %w", err))
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return fail(fmt.Errorf("cannot request a tunnel: %w", err))
	}
	if !stop() { // ctx has ended: its deadline is or will be set
		_ = resp.Body.Close()
		return fail(context.Cause(ctx))
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &closing{ReadCloser: resp.Body, conn: conn}
		return nil, resp, nil
	}
	return Buffered(conn, r), resp, nil
}

// closing closes the connection together with the response body.
type closing struct {
	io.ReadCloser
	conn net.Conn
}

func (c *closing) Close() error {
	err := c.ReadCloser.Close()
	_ = c.conn.Close()
	return err
}
