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

// Dial sends a request that asks for another protocol over a fresh connection. A
// 101 gives the tunnel; any other answer is returned with its body, which the
// caller closes, and no tunnel.
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
		return fail(fmt.Errorf("asking for a tunnel: %w", err))
	}
	r := bufio.NewReader(conn)
	resp, err := http.ReadResponse(r, req)
	if err != nil {
		return fail(fmt.Errorf("asking for a tunnel: %w", err))
	}
	if !stop() { // the deadline is being set, or was
		_ = resp.Body.Close()
		return fail(context.Cause(ctx))
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &closing{ReadCloser: resp.Body, conn: conn}
		return nil, resp, nil
	}
	return Buffered(conn, r), resp, nil
}

// closing closes the connection with the body that came over it.
type closing struct {
	io.ReadCloser
	conn net.Conn
}

func (c *closing) Close() error {
	err := c.ReadCloser.Close()
	_ = c.conn.Close()
	return err
}
