//go:build linux

package gateway

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"
)

// certificateLife is longer than any attempt. Nobody checks it: masters compare the
// fingerprint.
const certificateLife = 100 * 365 * 24 * time.Hour

// A Certificate identifies the gateway of one attempt. Its key is made for the attempt and
// exists only in this process.
type Certificate struct {
	tls tls.Certificate
	// Fingerprint is the SHA-256 of the certificate, in hexadecimal digits. The runner reports
	// it with its claim, and masters accept no other certificate.
	Fingerprint string
}

// NewCertificate makes a key and a self-signed certificate.
func NewCertificate() (*Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cannot make the key of the task's gateway: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("cannot make the certificate of the task's gateway: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: "det-runner"},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("cannot make the certificate of the task's gateway: %w", err)
	}
	sum := sha256.Sum256(der)
	return &Certificate{tls: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, Fingerprint: hex.EncodeToString(sum[:])}, nil
}

// config is the gateway's TLS configuration: only HTTP/1.1, which supports upgrades.
func (c *Certificate) config() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c.tls}, SessionTicketsDisabled: true}
}
