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
// connection broke is lost. A receiver that does not want this master at all ends the connection soon after it began, so
// a new one is watched for a moment before it gets lines.
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
	if s.conn != nil && s.ended(endedWithin) != nil {
		s.close()
	}
	if s.conn == nil {
		if err := s.connect(ctx); err != nil {
			return 0, "", err
		}
	}
	conn := s.conn
	if err := conn.SetWriteDeadline(time.Now().Add(sendWithin)); err != nil {
		return 0, "", err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetWriteDeadline(time.Now()) }) // the end of the term ends a write that hangs
	err = s.write(cluster, lines)
	stop()
	if err != nil {
		s.close()
		return 0, "", err
	}
	return 0, "", nil
}

// refusesWithin is how long a receiver may take to end a new connection that it does not want: one whose client has no
// certificate of its own is told so after the connection seems to stand.
const refusesWithin = time.Second

func (s *syslog) connect(ctx context.Context) (err error) {
	if s.conn, err = s.dial(ctx); err != nil {
		return err
	}
	if err := s.ended(refusesWithin); err != nil {
		s.close()
		return fmt.Errorf("the receiver ends the connection before it has a line: %w", err)
	}
	return ctx.Err()
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

const (
	// endedWithin is how long to look whether the receiver has closed a connection.
	endedWithin = time.Millisecond
	// maxReads bounds what is read of a receiver that sends without end.
	maxReads = 16
)

// ended returns why the receiver has closed the connection; nil if it has not. The first write after that would seem to succeed. What a
// receiver sends means nothing in syslog.
func (s *syslog) ended(within time.Duration) error {
	if s.network == "udp" {
		return nil
	}
	if err := s.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	unread := make([]byte, 4<<10)
	for range maxReads {
		if _, err := s.conn.Read(unread); errors.Is(err, os.ErrDeadlineExceeded) {
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}

func (s *syslog) write(cluster string, lines []entry.Entry) error {
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
