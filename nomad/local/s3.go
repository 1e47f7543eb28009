package local

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/detent-ml/detent/nomad/servers"
)

// The object store of a cluster with Vault: SeaweedFS, with the STS from which Vault requests
// credentials.
const (
	s3Bucket  = "detent"
	s3RoleARN = "arn:aws:iam::000000000000:role/det-checkpoints"
	// The role of tasks that sign in to the store with their identities, without Vault.
	s3WebRoleARN  = "arn:aws:iam::000000000000:role/det-web-identity"
	s3WebAudience = "sts.amazonaws.com"
)

// S3Keys are credentials for the cluster's object store.
type S3Keys struct {
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
}

// S3 is the cluster's object store with the administrator's credentials.
type S3 struct {
	Endpoint string `json:"endpoint"`
	Bucket   string `json:"bucket"`
	RoleARN  string `json:"roleArn"`
	// WebRoleARN is for tasks that sign in to the store with their Nomad identities.
	WebRoleARN string `json:"webRoleArn"`
	Admin      S3Keys `json:"-"`
}

// S3 returns the object store; nil for a cluster without one.
func (c *Cluster) S3() *S3 {
	if c.state.Vault == nil {
		return nil
	}
	return &S3{Endpoint: localURL(c.state.Ports[portS3]), Bucket: s3Bucket, RoleARN: s3RoleARN, WebRoleARN: s3WebRoleARN, Admin: c.state.Vault.S3Admin}
}

// newS3Keys makes keys in AWS's format.
func newS3Keys() S3Keys {
	return S3Keys{AccessKey: "AKIA" + rand.Text()[:16], SecretKey: rand.Text() + rand.Text()[:14]}
}

func s3Ports() []string {
	return []string{portS3, portS3 + "-grpc", portS3 + "-master", portS3 + "-master-grpc", portS3 + "-volume", portS3 + "-volume-grpc",
		portS3 + "-filer", portS3 + "-filer-grpc"}
}

// identities are the store's users: one with all rights, and one, Vault's, that may only assume the
// role.
func (c s3Server) identities() map[string]any {
	user := func(name string, keys S3Keys, actions ...string) map[string]any {
		return map[string]any{"name": name, "actions": append([]string{}, actions...),
			"credentials": []map[string]string{{"accessKey": keys.AccessKey, "secretKey": keys.SecretKey}}}
	}
	return map[string]any{"identities": []any{
		user("admin", c.state.Vault.S3Admin, "Admin", "Read", "Write", "List", "Tagging"), user("vault", c.state.Vault.S3Vault),
	}}
}

// roles is the role of the tasks' sessions. Only Vault may assume it: if a task could, with its own
// session, it would get a session without limits.
func (c s3Server) roles() map[string]any {
	allow := func(more map[string]any) map[string]any {
		more["Effect"] = "Allow"
		return map[string]any{"Version": "2012-10-17", "Statement": []any{more}}
	}
	return map[string]any{
		"sts": map[string]any{"tokenDuration": "1h", "maxSessionLength": "12h", "issuer": "detent-" + c.state.Name,
			"signingKey": []byte(c.state.Vault.S3Signing), "accountId": "000000000000"},
		"policy": map[string]any{"defaultEffect": "Deny", "storeType": "memory"},
		"policies": []any{map[string]any{"name": "checkpoints",
			"document": allow(map[string]any{"Action": []string{"s3:*"}, "Resource": []string{"arn:aws:s3:::*"}})}},
		"roles": []any{map[string]any{"roleName": "det-checkpoints", "roleArn": s3RoleARN, "attachedPolicies": []string{"checkpoints"},
			"trustPolicy": allow(map[string]any{"Principal": map[string]string{"AWS": "arn:aws:iam::000000000000:user/vault"},
				"Action": []string{"sts:AssumeRole"}})},
			map[string]any{"roleName": "det-web-identity", "roleArn": s3WebRoleARN, "attachedPolicies": []string{"checkpoints"},
				"trustPolicy": allow(map[string]any{"Principal": map[string]string{"Federated": "nomad"},
					"Action": []string{"sts:AssumeRoleWithWebIdentity"}})}},
		"providers": []any{map[string]any{"name": "nomad", "type": "oidc", "enabled": true, "config": map[string]any{
			"issuer": c.nomad().url(), "clientId": s3WebAudience, "jwksUri": c.nomad().url() + "/.well-known/jwks.json"}}},
	}
}

func (c s3Server) agent(ctx context.Context, report *servers.Reporter) (agent, error) {
	binary, err := c.program(ctx, "weed", report)
	if err != nil {
		return agent{}, err
	}
	if err := c.giveFreePorts(s3Ports()...); err != nil {
		return agent{}, err
	}
	if err := os.MkdirAll(c.path(partS3), 0o700); err != nil {
		return agent{}, err
	}
	identities, err := json.MarshalIndent(c.identities(), "", "  ")
	if err != nil {
		return agent{}, err
	}
	if err := os.WriteFile(c.path(partS3, "s3.json"), identities, 0o600); err != nil {
		return agent{}, err
	}
	a := agent{name: partS3, title: "SeaweedFS", binary: binary, configFile: "iam.json", ports: s3Ports(), args: c.args, ready: c.ready}
	a.config, err = json.MarshalIndent(c.roles(), "", "  ")
	return a, err
}

func (c s3Server) args(iam string) []string {
	args := []string{"server", "-dir=" + c.path(partS3, "data"), "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
		"-master.telemetry=false", "-master.volumeSizeLimitMB=64", "-master.electionTimeout=1s", "-volume.max=0", "-volume.preStopSeconds=0",
		"-filer", "-filer.localSocket=" + c.path(partS3, "filer.sock"), "-s3", "-s3.localSocket=" + c.path(partS3, "s3.sock"),
		"-s3.port.iceberg=0", "-s3.config=" + c.path(partS3, "s3.json"), "-s3.iam.config=" + iam}
	for flag, port := range map[string]string{"s3.port": "", "s3.port.grpc": "-grpc", "master.port": "-master", "master.port.grpc": "-master-grpc",
		"volume.port": "-volume", "volume.port.grpc": "-volume-grpc", "filer.port": "-filer", "filer.port.grpc": "-filer-grpc"} {
		args = append(args, "-"+flag+"="+strconv.Itoa(c.state.Ports[portS3+port]))
	}
	return args
}

// ready reports whether the store answers, and creates its bucket.
func (c s3Server) ready(ctx context.Context) error {
	if _, err := c.get(ctx, localURL(c.state.Ports[portS3])+"/status"); err != nil {
		return err
	}
	if err := servers.WeedReady(ctx, localURL(c.state.Ports[portS3+"-master"])); err != nil {
		return err
	}
	if c.state.Vault.Bucket {
		return nil
	}
	if err := c.makeBucket(ctx); err != nil {
		return err
	}
	c.state.Vault.Bucket = true
	return c.save()
}

// bucketTime limits one try to create the bucket.
const bucketTime = 20 * time.Second

func (c s3Server) makeBucket(ctx context.Context) error {
	binary, err := c.program(ctx, "weed", nil)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bucketTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary.Path, "shell", fmt.Sprintf("-master=127.0.0.1:%d.%d", c.state.Ports[portS3+"-master"], c.state.Ports[portS3+"-master-grpc"]))
	cmd.Dir, cmd.Stdin = c.path(partS3), strings.NewReader("s3.bucket.create -name "+s3Bucket+"\n")
	out, err := cmd.CombinedOutput()
	if said := string(out); err != nil || !strings.Contains(said, "created bucket") && !strings.Contains(said, "exist") {
		return fmt.Errorf("cannot create the bucket %s: %w\n%s", s3Bucket, err, strings.TrimSpace(said))
	}
	return nil
}
