package security

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/detent-ml/detent/integration/rig"
	"github.com/detent-ml/detent/jobspecs"
	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/v1"
	"github.com/detent-ml/detent/nomad/local"
	"github.com/detent-ml/detent/nomad/servers"
	"github.com/detent-ml/detent/nomad/servers/turn"
)

// tlsConfig is the configuration of a master whose tasks store checkpoints in S3, with credentials
// from Vault.
const tlsConfig = `
cluster_name: tls
resource_pools:
  - {name: default, driver: raw_exec, slots: cpu, slots_per_node: 4, memory_mb_per_slot: 128}
`

// secured is a training that checks the address and certificate of its master, and stores a checkpoint.
const secured = `
import os
from determined import core

with core.init() as context:
    print("masters", os.environ.get("DET_MASTERS"), flush=True)
    context.train.report_validation_metrics(steps_completed=1, metrics={"loss": 1.0})
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state").write_text("sealed")
`

// TestTLS: Nomad, Consul, Vault and the master use TLS with certificates of a private authority. A
// training completes, and a client that trusts another authority gets an error that says what to do.
func TestTLS(t *testing.T) {
	turn.Second(t)
	t.Parallel()
	r, dir := rig.NewOwn(t, "tls")
	files := authority(t, filepath.Join(dir, "tls"))
	other := authority(t, filepath.Join(dir, "other"))
	var err error
	if r.Trust, err = client.TLSConfig(files.CA, nil, ""); err != nil {
		t.Fatal(err)
	}
	r.StartCluster(t, dir, local.Options{Name: "tls", Vault: true, TLS: &files, Master: local.Master{Config: tlsConfig}})
	for what, address := range map[string]string{"Nomad": r.NomadURL, "Consul": r.ConsulURL, "Vault": r.Description.VaultURL, "the master": r.MasterURL} {
		if !strings.HasPrefix(address, "https://") {
			t.Errorf("%s is at %s", what, address)
		}
		resp, err := http.Get("http" + strings.TrimPrefix(address, "https"))
		if err == nil {
			resp.Body.Close()
		}
		if err == nil && resp.StatusCode == http.StatusOK {
			t.Errorf("%s answers without TLS: %s", what, resp.Status)
		}
	}

	config := filepath.Join(t.TempDir(), "config.yaml")
	code := filepath.Join(t.TempDir(), "code")
	text := fmt.Sprintf(`
name: sealed
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
max_restarts: 0
environment: {environment_variables: ["PATH=%s:/usr/bin:/bin"]}
`, rig.PythonOf(t, "s3"))
	if err := errors.Join(os.MkdirAll(code, 0o755), os.WriteFile(filepath.Join(code, "train.py"), []byte(secured), 0o644),
		os.WriteFile(config, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	out, err := detTrusting(t, r, files.CA, "experiment", "create", config, code, "--follow")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	id := rig.First(t, `Created experiment (\d+)`, out)
	r.WaitState(t, id, v1.ExperimentStateCompleted)
	stored := r.OnlyCheckpoint(t, id)
	place := filepath.Join(t.TempDir(), "stored")
	if out, err := detTrusting(t, r, files.CA, "checkpoint", "download", stored.UUID, "-o", place); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if state, err := os.ReadFile(filepath.Join(place, "state")); err != nil || string(state) != "sealed" {
		t.Errorf("the checkpoint holds %q, %v", state, err)
	}
	ledToTLS(t, r, id)
	if out, err := detTrusting(t, r, files.CA, "command", "run", "--config", "resources.slots=0", "echo", "said over TLS"); err != nil || !strings.Contains(out, "said over TLS") {
		t.Errorf("a command: %v\n%s", err, out)
	}
	for _, file := range []string{"", other.CA} {
		out, err := detTrusting(t, r, file, "experiment", "list")
		if err == nil {
			t.Errorf("a client that trusts %q can connect:\n%s", file, out)
		}
		rig.Holds(t, "what they are told", out, "DET_MASTER_CERT_FILE")
	}
	wrongAuthority(t, r, other)
}

// ledToTLS tests that the attempt's job names the master with https.
func ledToTLS(t *testing.T, r *rig.Rig, id int) {
	t.Helper()
	nomad, err := r.Nomad()
	if err != nil {
		t.Fatal(err)
	}
	job, _, err := nomad.Jobs().Info(jobspecs.JobID(r.Trial(t, id).TaskID+".1"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if led := job.TaskGroups[0].Tasks[0].Env["DET_MASTERS"]; led != r.MasterURL {
		t.Errorf("the runner's master is %q, want %s", led, r.MasterURL)
	}
}

// wrongAuthority tests the error of a master that does not trust the authority of Nomad's certificate.
func wrongAuthority(t *testing.T, r *rig.Rig, other local.TLS) {
	t.Helper()
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	dsn, err := url.Parse(r.DSN)
	if err != nil {
		t.Fatal(err)
	}
	dsn.Path = "/distrusting"
	rig.Alter(t, r, "CREATE DATABASE distrusting")
	config, log := filepath.Join(t.TempDir(), "master.yaml"), filepath.Join(t.TempDir(), "log")
	text := fmt.Sprintf("listen: 127.0.0.1:%d\ndatabase: %q\nnomad: {address: %q, ca_file: %q, token: %q}\nconsul: {address: ''}\nrunner_path: %q\nharness_path: %q\n"+
		"checkpoint_storage: {type: directory, container_path: %q}\n%s",
		port, dsn, r.NomadURL, other.CA, r.PolicyToken(t), filepath.Join(r.Bin, "det-runner"), filepath.Join(r.Root, "plugins", "harness"), t.TempDir(), strings.TrimSpace(tlsConfig))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det-master"), "serve", "--config", config)
	cmd.Stdout, cmd.Stderr = out, out
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "DET") && !strings.HasPrefix(kv, "NOMAD_") && !strings.HasPrefix(kv, "CONSUL_") {
			cmd.Env = append(cmd.Env, kv)
		}
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill() // it may have ended by itself
		_ = cmd.Wait()
	}()
	rig.Eventually(t, "the master says whom it does not trust", func() (bool, error) {
		said, err := os.ReadFile(log)
		return strings.Contains(string(said), "certificate signed by unknown authority"), errors.Join(err, errors.New(string(said)))
	})
}

// detTrusting runs det with this certificate to trust; "" for none.
func detTrusting(t *testing.T, r *rig.Rig, ca string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(r.Bin, "det"), args...)
	cmd.Env = append(os.Environ(), "DET_MASTER="+r.MasterURL, "DET_USER=determined", "DET_PASS=", "HOME="+t.TempDir(), "NO_COLOR=1")
	if ca != "" {
		cmd.Env = append(cmd.Env, "DET_MASTER_CERT_FILE="+ca)
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// authority creates a certificate authority, and a certificate for all servers on this machine.
func authority(t *testing.T, dir string) local.TLS {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	files := local.TLS{CA: filepath.Join(dir, "ca.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	now := time.Now()
	root := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of " + filepath.Base(dir)}, NotBefore: now.Add(-time.Hour),
		NotAfter: now.Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "server"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost", "server.global.nomad", "client.global.nomad", "server.dc1.consul"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	rootKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	rootDER, err := x509.CreateCertificate(rand.Reader, root, root, rootKey.Public(), rootKey)
	leafDER, err2 := x509.CreateCertificate(rand.Reader, leaf, root, key.Public(), rootKey)
	keyDER, err3 := x509.MarshalPKCS8PrivateKey(key)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{files.CA: {Type: "CERTIFICATE", Bytes: rootDER}, files.Cert: {Type: "CERTIFICATE", Bytes: leafDER}, files.Key: {Type: "PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return files
}
