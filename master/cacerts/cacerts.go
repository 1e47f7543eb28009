// Package cacerts gives programs the certificates of public authorities where the system has none, as in small images. A program that has
// no need of them does not read them: parsing them takes 3 ms and 0.7 MB, and each task starts a runner.
package cacerts

import (
	"crypto/x509"
	"os"
	"path/filepath"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// bundles are the files, and folders the folders, in which crypto/x509 looks for a Linux system's authorities.
var (
	bundles = []string{
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/pki/tls/cacert.pem",
		"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem",
	}
	folders = []string{"/etc/ssl/certs", "/etc/pki/tls/certs"}
)

// Provide must be called once, before the first TLS connection.
func Provide() {
	if !present(os.Getenv("SSL_CERT_FILE"), os.Getenv("SSL_CERT_DIR"), bundles, folders) {
		x509.SetFallbackRoots(pool()) // it keeps what the system has, if that is more than we saw
	}
}

// present reports whether the system has a file of authorities. The environment overrides the files, and the folders.
func present(file, folder string, bundles, folders []string) bool {
	if file != "" {
		bundles = []string{file}
	}
	if folder != "" {
		folders = filepath.SplitList(folder)
	}
	for _, f := range bundles {
		if info, err := os.Stat(f); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			return true
		}
	}
	for _, f := range folders {
		if names, err := filepath.Glob(filepath.Join(f, "*")); err == nil && len(names) > 0 {
			return true
		}
	}
	return false
}

// pool holds the authorities that this program was built with.
func pool() *x509.CertPool {
	p := x509.NewCertPool()
	for c := range bundle.Roots() {
		cert, err := x509.ParseCertificate(c.Certificate)
		switch {
		case err != nil:
			panic(err)
		case c.Constraint != nil:
			p.AddCertWithConstraint(cert, c.Constraint)
		default:
			p.AddCert(cert)
		}
	}
	return p
}
