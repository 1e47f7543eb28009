package client

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/detent-ml/detent/master/fault"
)

// NoVerify instead of the name of a certificate file disables the check of certificates.
const NoVerify = "noverify"

// TLSConfig trusts the certificates in the file and in pem in addition to those of the system,
// and expects name in the master's certificate if name is set.
func TLSConfig(file string, pem []byte, name string) (*tls.Config, error) {
	if file == "" && len(pem) == 0 && name == "" {
		return nil, nil
	}
	conf := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if file == NoVerify {
		conf.InsecureSkipVerify = true
		return conf, nil
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	if file != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fault.New(fault.Invalid, "the master's certificate (DET_MASTER_CERT_FILE): %w", err)
		}
		if !roots.AppendCertsFromPEM(text) {
			return nil, fault.New(fault.Invalid, "%s (DET_MASTER_CERT_FILE) contains no certificate in PEM", file)
		}
	}
	if len(pem) > 0 && !roots.AppendCertsFromPEM(pem) {
		return nil, fault.New(fault.Invalid, "the stored certificate of this master is damaged")
	}
	conf.RootCAs = roots
	return conf, nil
}
