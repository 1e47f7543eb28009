package secrets_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/hashicorp/vault/api"

	"github.com/detent-ml/detent/master/fault"
	"github.com/detent-ml/detent/master/secrets"
	"github.com/detent-ml/detent/nomad/servers"
)

// A vault is a Vault of the test's own, with an AWS engine and a JWT method that trusts the test's key.
type vault struct {
	t      *testing.T
	addr   string
	root   *api.Client
	key    *ecdsa.PrivateKey
	cmd    *exec.Cmd
	binary string
	out    *bytes.Buffer
}

const rootToken = "root-of-the-test"

func startVault(t *testing.T) *vault {
	t.Helper()
	binary, found, err := servers.Find(t.Context(), "vault")
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Skip("there is no Vault on PATH and none was built; just test-servers does that")
	}
	port, err := servers.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	v := &vault{t: t, addr: fmt.Sprintf("http://127.0.0.1:%d", port), binary: binary.Path, out: &bytes.Buffer{}}
	v.cmd = exec.Command(binary.Path, "server", "-dev", "-dev-no-store-token", "-dev-root-token-id="+rootToken,
		fmt.Sprintf("-dev-listen-address=127.0.0.1:%d", port))
	v.cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "AWS_CA_BUNDLE=")
	v.cmd.Stdout, v.cmd.Stderr = v.out, v.out
	if err := v.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.kill)
	cfg := api.DefaultConfig()
	cfg.Address = v.addr
	if v.root, err = api.NewClient(cfg); err != nil {
		t.Fatal(err)
	}
	v.root.SetToken(rootToken)
	eventually(t, "Vault is up", func() bool { _, err := v.root.Sys().ListMounts(); return err == nil })
	v.setUp()
	return v
}

func (v *vault) kill() {
	if v.cmd.ProcessState == nil {
		_ = v.cmd.Process.Kill()
		_ = v.cmd.Wait()
	}
}

func (v *vault) write(path string, data map[string]any) *api.Secret {
	v.t.Helper()
	got, err := v.root.Logical().Write(path, data)
	if err != nil {
		v.t.Fatalf("%s: %v", path, err)
	}
	return got
}

// setUp does what nomad/vault/setup.sh does, with a key of the test in place of Nomad's.
func (v *vault) setUp() {
	v.t.Helper()
	var err error
	if v.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		v.t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(&v.key.PublicKey)
	if err != nil {
		v.t.Fatal(err)
	}
	v.write("sys/auth/jwt-nomad", map[string]any{"type": "jwt"})
	v.write("auth/jwt-nomad/config", map[string]any{"jwt_supported_algs": "ES256",
		"jwt_validation_pubkeys": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))})
	v.write("sys/mounts/aws", map[string]any{"type": "aws"})
	policy, err := os.ReadFile(filepath.Join("..", "..", "nomad", "vault", "det-master.policy.hcl"))
	if err != nil {
		v.t.Fatal(err)
	}
	entities, err := os.ReadFile(filepath.Join("..", "..", "nomad", "vault", "det-master-entities.policy.hcl"))
	if err != nil {
		v.t.Fatal(err)
	}
	text := strings.NewReplacer("@AWS_PATH@", "aws", "@ROLE_ARN@", arn, "# @ENTITIES@", string(entities)).Replace(string(policy))
	if err := v.root.Sys().PutPolicy("det-master", text); err != nil {
		v.t.Fatal(err)
	}
	task, err := os.ReadFile(filepath.Join("..", "..", "nomad", "vault", "det-task.policy.hcl"))
	if err != nil {
		v.t.Fatal(err)
	}
	methods, err := v.root.Sys().ListAuth()
	if err != nil {
		v.t.Fatal(err)
	}
	text = strings.NewReplacer("@AWS_PATH@", "aws", "@ACCESSOR@", methods["jwt-nomad/"].Accessor, "@REGION@", "").Replace(string(task))
	if err := v.root.Sys().PutPolicy("det-task", text); err != nil {
		v.t.Fatal(err)
	}
	for role, claim := range map[string]string{"det-master": "/nomad_job_id", "det-task": "/nomad_allocation_id"} {
		v.write("auth/jwt-nomad/role/"+role, map[string]any{"role_type": "jwt", "bound_audiences": "vault.io", "user_claim": claim,
			"user_claim_json_pointer": true, "token_policies": role, "token_period": "1h",
			"claim_mappings": map[string]string{"nomad_job_id": "nomad_job_id", "nomad_namespace": "nomad_namespace"}})
	}
}

const arn = "arn:aws:iam::000000000000:role/det-checkpoints"

// identity writes an identity like Nomad's into a file.
func (v *vault) identity(job, namespace string) (file, token string) {
	v.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: v.key}, nil)
	if err != nil {
		v.t.Fatal(err)
	}
	now := time.Now()
	token, err = jwt.Signed(signer).Claims(jwt.Claims{Audience: jwt.Audience{"vault.io"}, IssuedAt: jwt.NewNumericDate(now),
		NotBefore: jwt.NewNumericDate(now.Add(-time.Minute)), Expiry: jwt.NewNumericDate(now.Add(time.Hour)), Subject: job}).
		Claims(map[string]any{"nomad_job_id": job, "nomad_namespace": namespace, "nomad_allocation_id": processOf(job, namespace)}).Serialize()
	if err != nil {
		v.t.Fatal(err)
	}
	file = filepath.Join(v.t.TempDir(), "nomad_vault.jwt")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		v.t.Fatal(err)
	}
	return file, token
}

// processOf is the Nomad allocation of a job.
func processOf(job, namespace string) string { return "allocation of " + job + " in " + namespace }

// master is a way to Vault that signs in as a master does.
func (v *vault) master(change func(*secrets.Config)) *secrets.Vault {
	v.t.Helper()
	file, _ := v.identity("det-master", "default")
	cfg := secrets.Config{Address: v.addr, JWTFile: file, AuthPath: "jwt-nomad", AuthRole: "det-master", Engine: "aws", RoleARN: arn,
		ReaderRole: "detent-reader", TTL: time.Hour, RemoveEntities: true, ClusterID: cluster, Log: slog.New(slog.DiscardHandler),
		Processes: func(_ context.Context, job string) ([]string, error) { return []string{processOf(job, "default")}, nil }}
	if change != nil {
		change(&cfg)
	}
	m, err := secrets.New(cfg)
	if err != nil {
		v.t.Fatal(err)
	}
	return m
}

func (v *vault) roles() []string {
	v.t.Helper()
	list, err := v.root.Logical().List("aws/roles")
	if err != nil {
		v.t.Fatal(err)
	}
	var names []string
	if list != nil {
		for _, k := range list.Data["keys"].([]any) {
			names = append(names, k.(string))
		}
	}
	slices.Sort(names)
	return names
}

func eventually(t *testing.T, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen within a minute", what)
		}
		select {
		case <-t.Context().Done():
			t.Fatal(what, t.Context().Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func place(prefix string) secrets.Grant {
	return secrets.Grant{Write: []secrets.Location{{Bucket: "ckpts", Prefix: prefix}}}
}

func TestRolesComeAndGo(t *testing.T) {
	v := startVault(t)
	m := v.master(nil)
	ctx := t.Context()
	for _, again := range []string{"once", "twice"} { // as after an answer that was lost
		if err := m.Grant(ctx, "det-1-a-1", "det-1-a-1.default", place("1")); err != nil {
			t.Fatal(again, err)
		}
	}
	got, err := v.root.Logical().Read("aws/roles/det-1-a-1.default")
	if err != nil || got == nil {
		t.Fatal(got, err)
	}
	if types := fmt.Sprint(got.Data["credential_type"]); types != "assumed_role" {
		t.Errorf("credential types %s", types)
	}
	if arns := fmt.Sprint(got.Data["role_arns"]); arns != "["+arn+"]" {
		t.Errorf("role ARNs %s", arns)
	}
	if ttl := fmt.Sprint(got.Data["default_sts_ttl"]) + fmt.Sprint(got.Data["max_sts_ttl"]); ttl != "36003600" {
		t.Errorf("lives of %s", ttl)
	}
	if doc := fmt.Sprint(got.Data["policy_document"]); !strings.Contains(doc, "arn:aws:s3:::ckpts/1/*") {
		t.Errorf("the policy is %s", doc)
	}
	if !m.Granted("det-1-a-1") || m.Granted("det-2-a-1") {
		t.Error("Granted does not return which roles were written")
	}
	for _, again := range []string{"once", "twice"} {
		if err := m.Revoke(ctx, "det-1-a-1"); err != nil {
			t.Fatal(again, err)
		}
	}
	if left := v.roles(); len(left) != 0 || m.Granted("det-1-a-1") {
		t.Errorf("left: %v", left)
	}
	if err := m.Grant(ctx, "det-2-a-1", "det-2-a-1.default", place(strings.Repeat("p", 1000))); !fault.Is(err, fault.Invalid) {
		t.Errorf("a policy that STS would not take: %v", err)
	}
}

// TestPolicyOfTheMaster: with the documented policy the master can do its work, and cannot get sessions of other roles.
func TestPolicyOfTheMaster(t *testing.T) {
	v := startVault(t)
	ctx := t.Context()
	other := v.master(func(c *secrets.Config) { c.RoleARN = "arn:aws:iam::000000000000:role/admin" })
	if err := other.Grant(ctx, "det-1-a-1", "det-1-a-1.default", place("1")); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "does not allow") {
		t.Errorf("a role of another ARN: %v", err)
	}
	m := v.master(nil)
	if err := m.Grant(ctx, "det-1-a-1", "detent-reader", place("1")); err == nil {
		t.Error("the master changed the role that it reads with")
	}
	if left := v.roles(); len(left) != 0 {
		t.Errorf("written: %v", left)
	}
}

func TestSweep(t *testing.T) {
	v := startVault(t)
	ctx := t.Context()
	m, neighbour := v.master(nil), v.master(func(c *secrets.Config) { c.ClusterID = "11111111-5f8e-4c5b-9d1e-2f7a3c1b0d9e" })
	for name, by := range map[string]*secrets.Vault{"det-1-live": m, "det-2-over": m, "det-3-over": m, "det-4-neighbour": neighbour} {
		if err := by.Grant(ctx, name, name+".default", place("1")); err != nil {
			t.Fatal(err)
		}
	}
	v.write("aws/roles/somebody", map[string]any{"credential_type": "assumed_role", "role_arns": arn})
	v.write("aws/roles/det-5-by-hand", map[string]any{"credential_type": "assumed_role", "role_arns": arn})
	fresh := v.master(nil) // as after a restart: it remembers nothing
	asked := 0
	over := func(_ context.Context, names []string) ([]string, error) {
		asked++
		if slices.Contains(names, "somebody") || slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, ".") }) {
			t.Errorf("asked about a role that is no attempt's: %v", names)
		}
		return slices.DeleteFunc(names, func(n string) bool { return n == "det-1-live" }), nil
	}
	for round, want := range []int{2, 0} {
		removed, err := fresh.Sweep(ctx, "det-", over)
		if err != nil || removed != want {
			t.Errorf("round %d: %d roles were removed, %v", round, removed, err)
		}
	}
	if left := v.roles(); !slices.Equal(left, []string{"det-1-live.default", "det-4-neighbour.default", "det-5-by-hand", "somebody"}) || asked != 2 {
		t.Errorf("left: %v", left)
	}
}

// TestEntitiesGoWithTheirJobs: the Vault entity of a job is removed with the job's role.
func TestEntitiesGoWithTheirJobs(t *testing.T) {
	v := startVault(t)
	count := func() int {
		list, err := v.root.Logical().List("identity/entity/id")
		if err != nil || list == nil {
			return 0
		}
		return len(list.Data["keys"].([]any))
	}
	m := v.master(nil)
	if err := m.Grant(t.Context(), "det-1-a-1", "det-1-a-1.default", place("1")); err != nil {
		t.Fatal(err)
	}
	_, token := v.identity("det-1-a-1", "default")
	v.write("auth/jwt-nomad/login", map[string]any{"role": "det-task", "jwt": token})
	if n := count(); n != 2 { // the master's and the job's
		t.Fatalf("%d entities", n)
	}
	if err := m.Revoke(t.Context(), "det-1-a-1"); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 1 {
		t.Errorf("%d entities are left", n)
	}
}

// TestRoleOfAJobOfANamespace: a job reads the role of its own name and namespace. Jobs of other namespaces with the
// same name, and with names that mean more in a policy, read nothing of it, and do not disturb it.
func TestRoleOfAJobOfANamespace(t *testing.T) {
	v := startVault(t)
	m := v.master(nil)
	const job, role = "det-1-a-1", "det-1-a-1.default"
	if err := m.Grant(t.Context(), job, role, place("1")); err != nil {
		t.Fatal(err)
	}
	signIn := func(job, namespace string) *api.Client {
		_, token := v.identity(job, namespace)
		got := v.write("auth/jwt-nomad/login", map[string]any{"role": "det-task", "jwt": token})
		c, err := v.root.Clone()
		if err != nil {
			t.Fatal(err)
		}
		c.SetToken(got.Auth.ClientToken)
		return c
	}
	// may reports whether Vault lets a client use the role; AWS itself cannot be reached here.
	may := func(c *api.Client, role string) bool {
		got, err := c.Logical().Write("sys/capabilities-self", map[string]any{"paths": []string{"aws/sts/" + role}})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(got.Data["aws/sts/"+role]) == "[read]"
	}
	owner := signIn(job, "default")
	if !may(owner, role) || may(owner, job) || may(owner, "det-2-a-1.default") || may(owner, "detent-reader") {
		t.Error("the job reads not its own role, or another one")
	}
	for _, stranger := range []struct{ job, namespace string }{
		{job, "other"}, {"*", "other"}, {"det-*", "other"}, {"+", "other"}, {role, "other"}, {job + ".default*", "other"}, {job, "default-2"},
	} {
		c := signIn(stranger.job, stranger.namespace)
		for _, wanted := range []string{role, job, "detent-reader"} {
			if may(c, wanted) {
				t.Errorf("job %s of namespace %s reads the role %s", stranger.job, stranger.namespace, wanted)
			}
		}
	}
	if !may(owner, role) {
		t.Error("after others have signed in, the job does not read its role any more")
	}
	if err := m.Grant(t.Context(), job, job+".ends-with-", place("1")); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "must end with a letter or a digit") {
		t.Errorf("a name that Vault does not accept: %v", err)
	}
}

// TestVaultThatIsAway: the master detects an outage of Vault, reports it, and continues after its end.
func TestVaultThatIsAway(t *testing.T) {
	v := startVault(t)
	var changes atomic.Int32
	m := v.master(func(c *secrets.Config) { c.Changed = func() { changes.Add(1) } })
	if why := m.Away(); !strings.Contains(why, "has not asked Vault yet") {
		t.Errorf("before the first look: %q", why)
	}
	go m.Run(t.Context())
	eventually(t, "Vault is there", func() bool { return m.Away() == "" })
	if err := v.root.Sys().Seal(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a sealed Vault is away", func() bool { return strings.Contains(m.Away(), "sealed") })
	if why := m.Away(); !strings.HasPrefix(why, "waits for Vault at "+v.addr) {
		t.Errorf("Away returns %q", why)
	}
	if err := m.Grant(t.Context(), "det-1-a-1", "det-1-a-1.default", place("1")); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a grant meanwhile: %v", err)
	}
	v.kill()
	eventually(t, "a killed Vault is away", func() bool { return strings.Contains(m.Away(), "connection refused") })
	if n := changes.Load(); n < 3 {
		t.Errorf("%d changes were reported", n)
	}
}

// TestIdentityThatVaultDoesNotKnow: the error names what to do.
func TestIdentityThatVaultDoesNotKnow(t *testing.T) {
	v := startVault(t)
	m := v.master(func(c *secrets.Config) { c.AuthRole = "nobody" })
	if err := m.Grant(t.Context(), "det-1-a-1", "det-1-a-1.default", place("1")); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("%v", err)
	}
	m = v.master(func(c *secrets.Config) { c.JWTFile = "/does/not/exist" })
	if err := m.Grant(t.Context(), "det-1-a-1", "det-1-a-1.default", place("1")); !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "vault.jwt_file") {
		t.Errorf("%v", err)
	}
}

// TestTokenThatEnds: the master signs in again when its token has expired.
func TestTokenThatEnds(t *testing.T) {
	v := startVault(t)
	m := v.master(nil)
	if err := m.Grant(t.Context(), "det-1-a-1", "det-1-a-1.default", place("1")); err != nil {
		t.Fatal(err)
	}
	accessors, err := v.root.Logical().List("auth/token/accessors")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range accessors.Data["keys"].([]any) {
		info := v.write("auth/token/lookup-accessor", map[string]any{"accessor": k})
		if info.Data["path"] == "auth/jwt-nomad/login" {
			v.write("auth/token/revoke-accessor", map[string]any{"accessor": k})
		}
	}
	if err := m.Grant(t.Context(), "det-2-a-1", "det-2-a-1.default", place("1")); err != nil {
		t.Errorf("after its token was revoked: %v", err)
	}
}

// TestKeysOfASecret: the master lists the keys of a secret with a right that returns no values, and tells what
// is missing from what it may not know.
func TestKeysOfASecret(t *testing.T) {
	v := startVault(t)
	ctx := t.Context()
	v.write("sys/mounts/kv", map[string]any{"type": "kv", "options": map[string]string{"version": "2"}})
	eventually(t, "the engine is there", func() bool {
		_, err := v.root.Logical().Write("kv/data/teams/a", map[string]any{"data": map[string]any{"token": "hidden-from-masters", "account": map[string]any{"key": "x"}}})
		return err == nil
	})
	v.write("kv/data/teams/gone", map[string]any{"data": map[string]any{"token": "x"}})
	if _, err := v.root.Logical().Delete("kv/data/teams/gone"); err != nil {
		t.Fatal(err)
	}
	m := v.master(nil)
	if keys, err := m.Keys(ctx, "kv/data/teams/a"); err != nil || keys != nil {
		t.Errorf("without the right: %v, %v", keys, err)
	}
	if err := v.root.Sys().PutPolicy("keys", `path "kv/subkeys/teams/*" { capabilities = ["read"] }`); err != nil {
		t.Fatal(err)
	}
	v.write("auth/jwt-nomad/role/det-master", map[string]any{"role_type": "jwt", "bound_audiences": "vault.io", "user_claim": "/nomad_job_id",
		"user_claim_json_pointer": true, "token_policies": "det-master,keys", "token_period": "1h"})
	m = v.master(nil)
	if keys, err := m.Keys(ctx, "kv/data/teams/a"); err != nil || !slices.Equal(keys, []string{"account", "token"}) {
		t.Errorf("%v, %v", keys, err)
	}
	if _, err := m.Secret(ctx, "kv/data/teams/a"); err == nil {
		t.Error("the master reads a value")
	}
	for _, path := range []string{"kv/data/teams/none", "kv/data/teams/gone"} {
		if keys, err := m.Keys(ctx, path); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "Vault has no secret at "+path) {
			t.Errorf("%s: %v, %v", path, keys, err)
		}
	}
	v.kill()
	if _, err := m.Keys(ctx, "kv/data/teams/a"); !fault.Is(err, fault.Unavailable) {
		t.Errorf("while Vault is away: %v", err)
	}
}
