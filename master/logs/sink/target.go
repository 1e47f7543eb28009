package sink

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/detent-ml/detent/master/logs/sink/entry"
)

// sendWithin is how long a request, or a write to a connection, may take.
const sendWithin = 30 * time.Second

// errNotTaken says that a receiver does not take what a request has, and would not take it later either.
var errNotTaken = errors.New("the receiver does not take it")

// Target is a receiver. The scheme of its address says what it understands: http and https OTLP; tcp, tls and udp syslog.
type Target struct {
	Address     string
	Token       string // sent as Authorization: Bearer
	TokenFile   string // has the token; read before each request
	HeadersFile string // has further headers, one in a line; read before each request
	CAFile      string
	CertFile    string
	KeyFile     string
}

// A target sends lines. It is used by one goroutine.
type target interface {
	// send fails with errNotTaken if other lines may be taken. rejected is how many lines the receiver has taken note of and
	// dropped, and why.
	send(ctx context.Context, cluster string, lines []entry.Entry) (rejected int64, why string, err error)
	close()
}

// Check says what is wrong with the settings.
func (t Target) Check() error {
	opened, err := t.open()
	if err == nil {
		opened.close()
	}
	return err
}

// open makes the target, without a connection.
func (t Target) open() (target, error) {
	u, err := url.Parse(t.Address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" { // it may have a secret
		return nil, errors.New("address: expected http://host:4318/v1/logs (or https) for OTLP, or tcp://host:601, tls://host:6514 or udp://host:514 for syslog, without a password")
	}
	onHTTP := u.Scheme == "http" || u.Scheme == "https"
	switch {
	case !onHTTP && (t.Token != "" || t.TokenFile != "" || t.HeadersFile != ""):
		return nil, fmt.Errorf("token, token_file and headers_file are for OTLP, and %s is syslog", u.Scheme)
	case t.Token != "" && t.TokenFile != "":
		return nil, errors.New("token and token_file cannot be combined")
	case u.Scheme != "https" && u.Scheme != "tls" && t.CAFile+t.CertFile+t.KeyFile != "":
		return nil, fmt.Errorf("ca_file, cert_file and key_file are for https and tls, and the address begins with %s", u.Scheme)
	}
	secure, err := t.tls(u.Hostname())
	if err != nil {
		return nil, err
	}
	if onHTTP {
		return newOTLP(t, secure)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Port() == "" {
		return nil, fmt.Errorf("address: expected %s://host:port, found %.200q", u.Scheme, t.Address)
	}
	switch u.Scheme {
	case "tcp":
		return &syslog{network: "tcp", address: u.Host}, nil
	case "tls":
		return &syslog{network: "tcp", address: u.Host, secure: secure}, nil
	case "udp":
		return &syslog{network: "udp", address: u.Host}, nil
	}
	return nil, fmt.Errorf("address: expected a scheme of http, https, tcp, tls and udp, found %.40q", u.Scheme)
}

// tls is how the receiver is recognized, and how this master shows itself.
func (t Target) tls(host string) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: host}
	if t.CAFile != "" {
		text, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("ca_file: %s contains no certificate", t.CAFile)
		}
	}
	if (t.CertFile == "") != (t.KeyFile == "") {
		return nil, errors.New("cert_file requires key_file, and key_file requires cert_file")
	}
	if t.CertFile != "" {
		if _, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err != nil {
			return nil, fmt.Errorf("cert_file: %w", err)
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { // certificates are renewed
			pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
			return &pair, err
		}
	}
	return c, nil
}
