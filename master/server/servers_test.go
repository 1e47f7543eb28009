package server

import (
	"crypto/tls"
	"encoding/pem"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/secrets"
)

// TestHowTheMasterReachesServers: the requests to Nomad, to Nomad of another region, to Consul and to Vault have the
// token of the configuration, as text or from a file, trust its authority, and show the certificate of the client.
func TestHowTheMasterReachesServers(t *testing.T) {
	var token, shown string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("X-Nomad-Token") + r.Header.Get("X-Consul-Token") + r.Header.Get("X-Vault-Token") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		shown = ""
		if len(r.TLS.PeerCertificates) > 0 {
			shown = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		answer := "[]"
		if strings.HasPrefix(r.URL.Path, "/v1/secret/") { // Vault's
			answer = `{"data": {"data": {"credential": "x"}}}`
		}
		_, _ = w.Write([]byte(answer))
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert, MinVersion: tls.VersionTLS12}
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // of clients that do not trust it
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	client := writeCertificate(t, dir, "the master")
	for name, text := range map[string]string{"ca": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})), "token": "of a file\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keys := strings.NewReplacer("ADDRESS", server.URL, "CA", "ca_file: "+filepath.Join(dir, "ca"), "FILE", "token_file: "+filepath.Join(dir, "token"),
		"TEXT", "token: as text", "CERT", "cert_file: "+client.CertFile+", key_file: "+client.KeyFile)
	for _, c := range []struct{ text, token, shown string }{
		{"nomad: {address: ADDRESS, CA, TEXT}", "as text", ""},
		{"nomad: {address: ADDRESS, CA, FILE, CERT}", "of a file", "the master"},
		{"nomad: {region: e, regions: [{name: w, address: ADDRESS, CA, TEXT}]}", "as text", ""},
		{"nomad: {region: e, regions: [{name: w, address: ADDRESS, CA, FILE, CERT}]}", "of a file", "the master"},
		{"consul: {address: ADDRESS, CA, TEXT}", "as text", ""},
		{"consul: {address: ADDRESS, CA, FILE}", "of a file", ""},
		{"vault: {address: ADDRESS, CA, TEXT, role_arn: 'arn:x'}", "as text", ""},
		{"vault: {address: ADDRESS, CA, FILE, role_arn: 'arn:x'}", "of a file", ""},
	} {
		token, shown = "", ""
		if err := ask(t, keys.Replace(c.text)); err != nil || token != c.token || shown != c.shown {
			t.Errorf("%s: the token is %q, the certificate %q, %v; want %q and %q", c.text, token, shown, err, c.token, c.shown)
		}
		if err := ask(t, strings.Replace(keys.Replace(c.text), "ca_file: "+filepath.Join(dir, "ca")+", ", "", 1)); err == nil {
			t.Errorf("%s: without ca_file the master trusts the server", c.text)
		}
	}
}

// ask sends a request to the server that a configuration names.
func ask(t *testing.T, text string) error {
	t.Helper()
	t.Setenv("NOMAD_TOKEN", "")
	t.Setenv("CONSUL_HTTP_TOKEN", "")
	m := configured(t, "database: postgres://x\n"+text)
	m.log = slog.New(slog.DiscardHandler)
	if err := m.connectRegions(); err != nil {
		return err
	}
	switch {
	case m.cfg.Consul.Address != "":
		c, err := m.consul("")
		if err == nil {
			_, err = c.Instances(t.Context(), "x")
		}
		return err
	case m.cfg.Vault.Address != "":
		v, err := secrets.New(m.vaultConfig())
		if err == nil {
			_, err = v.Secret(t.Context(), "secret/data/x")
		}
		return err
	case len(m.regions) > 0:
		_, err := m.regions[0].nomad.Services(t.Context(), "x")
		return err
	}
	nomad, err := m.connect()
	if err == nil {
		_, err = nomad.Services(t.Context(), "x")
	}
	return err
}
