package local

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	"github.com/hashicorp/nomad/api"
)

// TLS are the PEM files with which Nomad, Consul, Vault and the master serve TLS. They share one
// certificate, which must be valid for 127.0.0.1, localhost, server.global.nomad and
// client.global.nomad, for servers and for clients.
type TLS struct {
	CA   string `json:"ca"`
	Cert string `json:"cert"`
	Key  string `json:"key"`
}

// localURL is the address of a server of the cluster, with https if the cluster uses TLS.
func (c *Cluster) localURL(port int) string { return c.urlAt(loopback, port) }

const loopback = "127.0.0.1"

// serverAddress is the address at which the servers of Nomad and Consul listen for other agents.
func (c *Cluster) serverAddress() string {
	if c.state.Apart {
		return c.state.Address
	}
	return loopback
}

// taskURL is the address of a master or a task, on the interface for tasks.
func (c *Cluster) taskURL(port int) string {
	return c.urlAt(cmp.Or(c.state.Address, loopback), port)
}

func (c *Cluster) urlAt(host string, port int) string {
	scheme := "http"
	if c.state.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + net.JoinHostPort(host, strconv.Itoa(port))
}

// web is the HTTP client for these servers. It is shared, because each client keeps connections open.
func (c *Cluster) web() (*http.Client, error) {
	if c.state.TLS == nil {
		return http.DefaultClient, nil
	}
	if made := c.secure.Load(); made != nil {
		return made, nil
	}
	pem, err := os.ReadFile(c.state.TLS.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s contains no certificate in PEM", c.state.TLS.CA)
	}
	made := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
	c.secure.Store(made)
	return made, nil
}

// do sends a request to one of the servers.
func (c *Cluster) do(req *http.Request) (*http.Response, error) {
	client, err := c.web()
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

// tls is Nomad's TLS configuration, and the TLS settings of its consul and vault blocks.
func (c nomadServer) tls() (block, consul, vault string) {
	t := c.state.TLS
	if t == nil {
		return "", "", ""
	}
	block = fmt.Sprintf(`
tls {
  http      = true
  rpc       = true
  ca_file   = %q
  cert_file = %q
  key_file  = %q

  verify_server_hostname = true
  verify_https_client    = false
}
`, t.CA, t.Cert, t.Key)
	return block, fmt.Sprintf("  ssl     = true\n  ca_file = %q\n", t.CA), fmt.Sprintf("  ca_file = %q\n", t.CA)
}

// tls enables TLS on the ports of a Consul agent for users and programs.
func (c consulServer) tls(config map[string]any, ports map[string]int) {
	if t := c.state.TLS; t != nil {
		ports["https"], ports["http"] = ports["http"], -1
		config["tls"] = map[string]any{"defaults": map[string]any{"ca_file": t.CA, "cert_file": t.Cert, "key_file": t.Key, "verify_incoming": false}}
	}
}

// tls enables TLS on Vault's listener.
func (c vaultServer) tls(listener map[string]any) {
	if t := c.state.TLS; t != nil {
		listener["tls_disable"], listener["tls_cert_file"], listener["tls_key_file"] = false, t.Cert, t.Key
	}
}

// tls passes the authority to the master's job, and the certificate and key to its secrets.
func (c masterServer) tls(vars map[string]string) error {
	t := c.state.TLS
	if t == nil {
		return nil
	}
	ca, err := os.ReadFile(t.CA)
	if err != nil {
		return err
	}
	for _, of := range []string{"nomad_ca", "consul_ca", "tls_ca"} {
		vars[of] = string(ca)
	}
	if c.state.Vault != nil {
		vars["vault_ca"] = string(ca)
	}
	vars["tls"] = "true"
	return nil
}

// keys adds the master's certificate and key to its secrets.
func (c masterServer) keys(secret api.VariableItems) error {
	t := c.state.TLS
	if t == nil {
		return nil
	}
	cert, err := os.ReadFile(t.Cert)
	key, err2 := os.ReadFile(t.Key)
	secret["tls_cert"], secret["tls_key"] = string(cert), string(key)
	return errors.Join(err, err2)
}

// trust is the environment with which the servers' commands trust the cluster's authority.
func (c *Cluster) trust() []string {
	if c.state.TLS == nil {
		return nil
	}
	return []string{"NOMAD_CACERT=" + c.state.TLS.CA, "VAULT_CACERT=" + c.state.TLS.CA, "DETENT_JWKS_CA=" + c.state.TLS.CA}
}

// absolute makes the files' paths absolute.
func (t *TLS) absolute() (*TLS, error) {
	if t == nil {
		return nil, nil
	}
	made := TLS{}
	for to, from := range map[*string]string{&made.CA: t.CA, &made.Cert: t.Cert, &made.Key: t.Key} {
		path, err := filepath.Abs(from)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		*to = path
	}
	return &made, nil
}
