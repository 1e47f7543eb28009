package sink

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/detent-ml/detent/master/logs/sink/entry"
)

// syslog sends lines as messages of RFC 5424: as datagrams, or over a connection, where each message follows its length.
// Syslog has no answers. So a line counts as sent when the kernel has accepted it, and what the receiver had not read when a
// connection broke is lost.
type syslog struct {
	network, address string
	secure           *tls.Config // nil: no TLS
	conn             net.Conn
}

func (s *syslog) close() {
	if s.conn != nil {
		_ = s.conn.Close()
		s.conn = nil
	}
}

func (s *syslog) send(ctx context.Context, cluster string, lines []entry.Entry) (rejected int64, why string, err error) {
	if s.conn != nil && s.ended() {
		s.close()
	}
	if s.conn == nil {
		if s.conn, err = s.dial(ctx); err != nil {
			return 0, "", err
		}
	}
	conn := s.conn
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now()) }) // the end of the term ends a write that hangs
	err = s.write(cluster, lines)
	stop()
	if err != nil {
		s.close()
		return 0, "", err
	}
	return 0, "", nil
}

func (s *syslog) dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, sendWithin)
	defer cancel()
	dialer := &net.Dialer{}
	if s.secure == nil {
		return dialer.DialContext(ctx, s.network, s.address)
	}
	return (&tls.Dialer{NetDialer: dialer, Config: s.secure}).DialContext(ctx, s.network, s.address)
}

// endedWithin is how long to look whether the receiver has closed a connection.
const endedWithin = time.Millisecond

// ended reports whether the receiver has closed the connection: the first write after that would seem to succeed.
func (s *syslog) ended() bool {
	if s.network == "udp" {
		return false
	}
	if s.conn.SetReadDeadline(time.Now().Add(endedWithin)) != nil {
		return true
	}
	_, err := s.conn.Read(make([]byte, 1))
	return err != nil && !errors.Is(err, os.ErrDeadlineExceeded)
}

func (s *syslog) write(cluster string, lines []entry.Entry) error {
	if err := s.conn.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return err
	}
	if s.network == "udp" {
		for _, e := range lines {
			if _, err := s.conn.Write(entry.Syslog(cluster, e, entry.MaxDatagram)); err != nil {
				return fmt.Errorf("send a datagram: %w", err)
			}
		}
		return nil
	}
	var b bytes.Buffer
	for _, e := range lines {
		message := entry.Syslog(cluster, e, 0)
		b.WriteString(strconv.Itoa(len(message)))
		b.WriteByte(' ')
		b.Write(message)
	}
	_, err := s.conn.Write(b.Bytes())
	return err
}
