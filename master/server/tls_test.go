package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// writeCertificate makes a self-signed certificate for loopback.
func writeCertificate(t *testing.T, dir, name string) TLSConfig {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cfg := TLSConfig{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem"), CAFile: filepath.Join(dir, "cert.pem")}
	if err := errors.Join(
		os.WriteFile(cfg.CertFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644),
		os.WriteFile(cfg.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTLSOfTheMaster(t *testing.T) {
	cfg := writeCertificate(t, t.TempDir(), "first")
	k := &checker{}
	cfg.check(k)
	if len(k.problems) > 0 {
		t.Fatal(k.problems)
	}
	var lc net.ListenConfig
	plain, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := cfg.secure(plain)
	defer ln.Close()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello"))
			_ = c.Close()
		}
	}()
	authority, err := cfg.authority()
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(authority))
	d := tls.Dialer{Config: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}
	conn, err := d.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	text := make([]byte, 5)
	if _, err := conn.Read(text); err != nil || string(text) != "hello" {
		t.Errorf("read %q: %v", text, err)
	}
	stranger := tls.Dialer{Config: &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}}
	if c, err := stranger.DialContext(t.Context(), "tcp", ln.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("a certificate without a known authority was trusted")
	}
}

func TestACertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	c := &certificate{cfg: writeCertificate(t, dir, "first")}
	now := time.Now()
	first, err := c.get(now)
	if err != nil {
		t.Fatal(err)
	}
	writeCertificate(t, dir, "second")
	later := now.Add(time.Hour)
	if err := os.Chtimes(c.cfg.CertFile, later, later); err != nil {
		t.Fatal(err)
	}
	if same, err := c.get(now.Add(certEvery / 2)); err != nil || same != first {
		t.Errorf("the files were read at once: %v", err)
	}
	second, err := c.get(now.Add(2 * certEvery))
	if err != nil || string(second.Certificate[0]) == string(first.Certificate[0]) {
		t.Errorf("a new certificate is not used: %v", err)
	}
	if err := os.WriteFile(c.cfg.CertFile, []byte("half a file"), 0o644); err != nil {
		t.Fatal(err)
	}
	if kept, err := c.get(now.Add(4 * certEvery)); err != nil || kept != second {
		t.Errorf("a broken file takes the certificate away: %v", err)
	}
}

func TestTLSProblems(t *testing.T) {
	dir := t.TempDir()
	good := writeCertificate(t, dir, "good")
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, []byte("no certificate"), 0o644); err != nil {
		t.Fatal(err)
	}
	for says, cfg := range map[string]TLSConfig{
		"cert_file requires key_file": {CertFile: good.CertFile},
		"no such file":                {CertFile: good.CertFile, KeyFile: filepath.Join(dir, "none")},
		"contains no certificate":     {CertFile: good.CertFile, KeyFile: good.KeyFile, CAFile: empty},
	} {
		k := &checker{}
		cfg.check(k)
		if len(k.problems) != 1 || !strings.Contains(k.problems[0], says) {
			t.Errorf("problems are %q, want one with %q", k.problems, says)
		}
	}
}
