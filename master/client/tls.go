package client

import (
	"crypto/tls"
	"crypto/x509"
	"os"

	"github.com/detent-ml/detent/master/fault"
)

// NoVerify in place of a certificate's file means to trust anybody.
const NoVerify = "noverify"

// TLSFromEnv is whom to trust by the environment: DET_MASTER_CERT_FILE names a
// file of certificates in PEM, or is noverify; DET_MASTER_CERT_NAME is the name
// to expect in the certificate. It is nil when neither is set.
func TLSFromEnv(getenv func(string) string) (*tls.Config, error) {
	return TLSConfig(getenv("DET_MASTER_CERT_FILE"), nil, getenv("DET_MASTER_CERT_NAME"))
}

// TLSConfig trusts the certificates in the file and in pem beside those that the
// system trusts, and expects name in the certificate where it is given.
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
			return nil, fault.New(fault.Invalid, "%s (DET_MASTER_CERT_FILE) holds no certificate in PEM", file)
		}
	}
	if len(pem) > 0 && !roots.AppendCertsFromPEM(pem) {
		return nil, fault.New(fault.Invalid, "the certificate that is stored for this master is damaged")
	}
	conf.RootCAs = roots
	return conf, nil
}
