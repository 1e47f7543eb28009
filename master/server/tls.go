package server

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// TLSConfig is the TLS of the master itself. Without a certificate the master serves plain
// HTTP, for one machine, or behind a proxy that ends TLS.
type TLSConfig struct {
	// File with the master's certificate and intermediate certificates, PEM. The master reads
	// it again when it changes.
	CertFile string `yaml:"cert_file"`
	// File with the key, PEM.
	KeyFile string `yaml:"key_file"`
	// File with a private certificate authority that tasks should trust, PEM.
	CAFile string `yaml:"ca_file"`
}

func (t TLSConfig) on() bool { return t.CertFile != "" }

// check validates the settings and reads the files: a master that fails to start is better than
// one that nobody can reach.
func (t TLSConfig) check(k *checker) {
	if (t.CertFile == "") != (t.KeyFile == "") {
		k.fail("tls", "cert_file requires key_file, and key_file requires cert_file")
		return
	}
	if t.on() {
		if _, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile); err != nil {
			k.fail("tls", "%v", err)
		}
	}
	if _, err := t.authority(); err != nil {
		k.fail("tls.ca_file", "%v", err)
	}
}

// authority is the certificate authority that tasks trust; "" if they use those of their nodes.
func (t TLSConfig) authority() (string, error) {
	if t.CAFile == "" {
		return "", nil
	}
	text, err := os.ReadFile(t.CAFile)
	if err != nil {
		return "", err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return "", fmt.Errorf("%s contains no certificate", t.CAFile)
	}
	return string(text), nil
}

// secure adds TLS to a listener, if it is configured.
func (t TLSConfig) secure(ln net.Listener) net.Listener {
	if !t.on() {
		return ln
	}
	c := &certificate{cfg: t}
	return tls.NewListener(ln, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.get(time.Now()) }})
}

// certEvery is the time between two checks of the files: certificates are renewed while masters
// run.
const certEvery = 10 * time.Second

// certificate is read again when its files change. If reading fails, the last certificate stays
// in use.
type certificate struct {
	cfg TLSConfig

	mu     sync.Mutex
	looked time.Time
	stamp  string
	last   *tls.Certificate
}

func (c *certificate) get(now time.Time) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last != nil && now.Sub(c.looked) < certEvery {
		return c.last, nil
	}
	c.looked = now
	stamp := stampOf(c.cfg.CertFile) + stampOf(c.cfg.KeyFile)
	if c.last != nil && stamp == c.stamp {
		return c.last, nil
	}
	fresh, err := tls.LoadX509KeyPair(c.cfg.CertFile, c.cfg.KeyFile)
	if err == nil {
		c.last, c.stamp = &fresh, stamp
	}
	if c.last == nil {
		return nil, err
	}
	return c.last, nil
}

func stampOf(file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %s;", info.Size(), info.ModTime())
}

// scheme is the URL scheme of the master's own addresses.
func (c *Config) scheme() string {
	if c.TLS.on() {
		return "https"
	}
	return "http"
}

// beside is the address of the same host at another port of this master.
func (t TLSConfig) beside(public string, addr net.Addr) string {
	if !t.on() {
		return beside(public, addr)
	}
	if rest, ok := strings.CutPrefix(public, "https:"); ok { // served by this master itself
		if rest, ok = strings.CutPrefix(beside("http:"+rest, addr), "http:"); ok {
			return "https:" + rest
		}
	}
	return ""
}
