//go:build linux

package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

func TestSignIn(t *testing.T) {
	dir := t.TempDir()
	l := layout{runDir: runDir, physical: dir, secrets: "/secrets", self: `/opt/with space/det-"runner`}
	env := map[string]string{}
	if err := signIn(&v1.TaskSpec{}, l, env); err != nil || len(env) != 0 {
		t.Fatalf("a task that needs nothing: %v, %v", env, err)
	}
	spec := &v1.TaskSpec{AllocationID: "1.a.2", Credentials: &v1.Credentials{By: v1.SignInByVault, Region: "eu-central-1"}}
	if err := signIn(spec, l, env); err != nil {
		t.Fatal(err)
	}
	config, err := os.ReadFile(filepath.Join(dir, "aws", "config"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "[default]\ncredential_process = \"/opt/with space/det-\\\"runner\" credentials /secrets/s3.json\nregion = eu-central-1\n"; !strings.HasSuffix(string(config), want) {
		t.Errorf("the file is\n%s\nwant\n%s", config, want)
	}
	for name, want := range map[string]string{"AWS_CONFIG_FILE": "/run/determined/aws/config", "DET_AWS_CONFIG_FILE": "/run/determined/aws/config",
		"AWS_SHARED_CREDENTIALS_FILE": "/run/determined/aws/credentials", "AWS_DEFAULT_REGION": "eu-central-1", "AWS_SDK_LOAD_CONFIG": "1"} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	// The user's own settings have precedence, except in our own package.
	own := map[string]string{"AWS_CONFIG_FILE": "/home/me/.aws/config", "AWS_DEFAULT_REGION": "us-west-2"}
	if err := signIn(spec, l, own); err != nil {
		t.Fatal(err)
	}
	if own["AWS_CONFIG_FILE"] != "/home/me/.aws/config" || own["AWS_DEFAULT_REGION"] != "us-west-2" || own["DET_AWS_CONFIG_FILE"] == "" || own["AWS_SHARED_CREDENTIALS_FILE"] != "" {
		t.Errorf("%v", own)
	}
}

func TestSignInByIdentity(t *testing.T) {
	spec := &v1.TaskSpec{AllocationID: "1." + strings.Repeat("a", 80) + ".2",
		Credentials: &v1.Credentials{By: v1.SignInByWebIdentity, RoleARN: "arn:aws:iam::1:role/r", STSEndpoint: "https://sts"}}
	env := map[string]string{}
	if err := signIn(spec, layout{physical: t.TempDir(), secrets: "/secrets"}, env); err != nil {
		t.Fatal(err)
	}
	if len(env["AWS_ROLE_SESSION_NAME"]) != 64 || strings.Contains(env["AWS_ROLE_SESSION_NAME"], ".") {
		t.Errorf("the session is named %q", env["AWS_ROLE_SESSION_NAME"])
	}
	delete(env, "AWS_ROLE_SESSION_NAME")
	for name, want := range map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": "/secrets/nomad_s3.jwt", "AWS_ROLE_ARN": "arn:aws:iam::1:role/r", "AWS_ENDPOINT_URL_STS": "https://sts"} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
		delete(env, name)
	}
	if len(env) != 0 {
		t.Errorf("and %v", env)
	}
}

func TestSignInToOtherClouds(t *testing.T) {
	spec := &v1.TaskSpec{AllocationID: "1.a.2", Credentials: &v1.Credentials{GCS: true, Azure: true}}
	for given, want := range map[string]string{"": "/secrets/gcs.json", "/home/me/key.json": "/home/me/key.json"} {
		env := map[string]string{"GOOGLE_APPLICATION_CREDENTIALS": given}
		if err := signIn(spec, layout{physical: t.TempDir(), secrets: "/secrets"}, env); err != nil {
			t.Fatal(err)
		}
		if len(env) != 3 || env["GOOGLE_APPLICATION_CREDENTIALS"] != want || env["DET_GCS_CREDENTIALS_FILE"] != "/secrets/gcs.json" || env["DET_AZURE_CREDENTIALS_FILE"] != "/secrets/azure.json" {
			t.Errorf("%v", env)
		}
	}
}
