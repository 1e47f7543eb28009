package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/expconf"
	"github.com/detent-ml/detent/master/fault"
	v1 "github.com/detent-ml/detent/master/v1"
)

const vaulted = "database: postgres://x\nvault: {address: 'http://vault:8200', token_file: /t, role_arn: 'arn:aws:iam::1:role/r'}\n"

// configured is a master of a configuration, not running.
func configured(t *testing.T, text string) *master {
	t.Helper()
	cfg := Defaults()
	if problems := cfg.read([]byte(text)).problems; len(problems) > 0 {
		t.Fatal(problems)
	}
	cfg.fill()
	if problems := cfg.check(); len(problems) > 0 {
		t.Fatal(problems)
	}
	m := sited(t, cfg)
	m.clusterID = "6f3f0a4e-5f8e-4c5b-9d1e-2f7a3c1b0d9e"
	m.shape = newLogShape(cfg.LogLevel)
	return m
}

func TestVaultsConfiguration(t *testing.T) {
	m := configured(t, vaulted)
	if v := m.cfg.Vault; v.AuthPath != "jwt-nomad" || v.AuthRole != "det-master" || v.TaskRole != "det-task" || v.AWSPath != "aws" || v.ReaderRole != "detent-reader" {
		t.Errorf("%+v", v)
	}
	for text, want := range map[string]string{
		"vault: {address: 'http://v', role_arn: 'arn:x'}":                        "one of token, token_file and jwt_file",
		"vault: {address: 'http://v', role_arn: 'arn:x', token: a, jwt_file: b}": "found 2",
		"vault: {address: 'http://v', token: a}":                                 "vault.role_arn",
		"vault: {address: 'http://v', token: a, role_arn: 'arn:x', ttl: 1m}":     "expected 15m0s to 12h0m0s",
		"vault: {address: vault, token: a, role_arn: 'arn:x'}":                   "vault.address",
		"web_identity: {sts_endpoint: 'https://sts'}":                            "web_identity.role_arn",
		"web_identity: {role_arn: 'arn:x', sts_endpoint: sts}":                   "web_identity.sts_endpoint",
	} {
		cfg := Defaults()
		if problems := cfg.read([]byte("database: postgres://x\n" + text)).problems; len(problems) > 0 {
			t.Fatal(text, problems)
		}
		cfg.fill()
		if got := strings.Join(cfg.check(), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func TestHowTasksSignIn(t *testing.T) {
	plain := expconf.CheckpointStorage{Type: expconf.S3, Bucket: "b", Prefix: new("1")}
	keyed := plain
	keyed.AccessKey, keyed.SecretKey = new("a"), new("s")
	folder := expconf.CheckpointStorage{Type: expconf.SharedFS, HostPath: "/x"}
	gcs := expconf.CheckpointStorage{Type: expconf.GCS, Bucket: "b"}
	azure := expconf.CheckpointStorage{Type: expconf.Azure, Container: "c", AccountURL: new("https://lab.blob.core.windows.net")}
	azureKeyed := expconf.CheckpointStorage{Type: expconf.Azure, Container: "c", AccountURL: new("https://lab.blob.core.windows.net?sig=x")}
	none := configured(t, "database: postgres://x\n")
	secrets := "gcs_path: secret/data/gcs, azure_path: secret/data/azure}\n"
	both := configured(t, "database: postgres://x\nvault: {address: 'http://v', token: t, role_arn: 'arn:x', "+secrets)
	clouds := configured(t, "database: postgres://x\nvault: {address: 'http://v', token: t, "+secrets)
	vault := configured(t, vaulted)
	web := configured(t, "database: postgres://x\nweb_identity: {role_arn: 'arn:aws:iam::1:role/r'}\n")
	for _, c := range []struct {
		m    *master
		s    expconf.CheckpointStorage
		want v1.SignInBy
	}{
		{none, plain, ""}, {none, keyed, ""}, {none, folder, ""},
		{vault, plain, v1.SignInByVault}, {vault, keyed, ""}, {vault, folder, ""},
		{vault, gcs, ""}, {vault, azure, ""}, {both, gcs, v1.SignInByVault}, {both, azure, v1.SignInByVault}, {both, azureKeyed, ""}, {both, plain, v1.SignInByVault},
		{clouds, gcs, v1.SignInByVault}, {clouds, azure, v1.SignInByVault}, {clouds, plain, ""}, {web, gcs, ""},
		{web, plain, v1.SignInByWebIdentity}, {web, keyed, ""}, {web, folder, ""},
	} {
		if got := c.m.site.SignIn.By(c.s); got != c.want {
			t.Errorf("%+v: %q, want %q", c.s, got, c.want)
		}
	}
}

// TestWhatTheMasterReads: the stores that operators have named, and with its own keys
// only the cluster's. Whoever writes a configuration names no address of the master's network.
func TestWhatTheMasterReads(t *testing.T) {
	m := configured(t, vaulted+"checkpoint_storage: {type: s3, bucket: b, endpoint_url: 'http://store:8333'}\ncheckpoint_endpoints: ['https://Other.example/']\n")
	for endpoint, want := range map[string]struct{ plain, keyed bool }{
		"http://store:8333":                       {true, true},
		"":                                        {true, true},
		"http://store:8333/":                      {true, true},
		"https://other.example":                   {false, true},
		"http://other.example":                    {false, false},
		"https://other.example:8443":              {false, false},
		"https://other.example@169.254.169.254":   {false, false},
		"http://store:8333/../x":                  {false, false},
		"http://elsewhere":                        {false, false},
		"http://127.0.0.1:4646":                   {false, false},
		"http://169.254.169.254/latest/meta-data": {false, false},
	} {
		s := expconf.CheckpointStorage{Type: expconf.S3, Bucket: "b"}
		if endpoint != "" {
			s.EndpointURL = &endpoint
		}
		_, err := m.bucket(t.Context(), s)
		if want.plain && err != nil || !want.plain && (!fault.Is(err, fault.Unimplemented) || !strings.Contains(err.Error(), "download it directly")) {
			t.Errorf("%q: %v", endpoint, err)
		}
		s.AccessKey, s.SecretKey = new("a"), new("s")
		_, err = m.bucket(t.Context(), s)
		if want.keyed && err != nil || !want.keyed && (!fault.Is(err, fault.Unimplemented) || !strings.Contains(err.Error(), "checkpoint_endpoints")) {
			t.Errorf("%q with keys of its own: %v", endpoint, err)
		}
	}
	// A cluster whose own storage is a folder reads no such store unasked.
	m = configured(t, "database: postgres://x\ncheckpoint_storage: {type: shared_fs, host_path: /x}\n")
	s := expconf.CheckpointStorage{Type: expconf.S3, Bucket: "b", EndpointURL: new("http://store:8333"), AccessKey: new("a"), SecretKey: new("s")}
	if _, err := m.bucket(t.Context(), s); !fault.Is(err, fault.Unimplemented) {
		t.Errorf("a store beside a folder: %v", err)
	}
}

// TestWhatTheMasterReadsInAzure: accounts that operators have named, and Azure's own; with
// its own keys only the cluster's container.
func TestWhatTheMasterReadsInAzure(t *testing.T) {
	m := configured(t, "database: postgres://x\ncheckpoint_storage: {type: azure, container: c, account_url: 'http://store:10000/lab'}\ncheckpoint_endpoints: ['https://Other.example/lab/']\n")
	for account, want := range map[string]struct{ plain, keyed bool }{
		"http://store:10000/lab":                          {true, true},
		"http://store:10000/lab/":                         {true, true},
		"http://store:10000/other":                        {false, false},
		"https://other.example/lab":                       {false, true},
		"https://somebody.blob.core.windows.net":          {false, true},
		"https://somebody.blob.core.windows.net.evil.xyz": {false, false},
		"http://169.254.169.254/lab":                      {false, false},
	} {
		s := expconf.CheckpointStorage{Type: expconf.Azure, Container: "c/team", AccountURL: &account}
		_, err := m.bucket(t.Context(), s)
		if want.plain && err != nil || !want.plain && !fault.Is(err, fault.Unimplemented) {
			t.Errorf("%q: %v", account, err)
		}
		s.Credential = new("sv=1&sig=2")
		_, err = m.bucket(t.Context(), s)
		if want.keyed && err != nil || !want.keyed && (!fault.Is(err, fault.Unimplemented) || !strings.Contains(err.Error(), "checkpoint_endpoints") || strings.Contains(err.Error(), "sig=")) {
			t.Errorf("%q with a token of its own: %v", account, err)
		}
	}
	s := expconf.CheckpointStorage{Type: expconf.Azure, Container: "others", AccountURL: new("http://store:10000/lab")}
	if _, err := m.bucket(t.Context(), s); !fault.Is(err, fault.Unimplemented) {
		t.Errorf("another container of the account: %v", err)
	}
	s.AccountURL, s.ConnectionString = nil, new("AccountName=somebody;AccountKey=c29tZSBrZXk=")
	if _, err := m.bucket(t.Context(), s); err != nil {
		t.Errorf("a connection string: %v", err)
	}
	s.ConnectionString = new("AccountKey=c29tZSBrZXk=")
	if err := m.checkStorage(s); !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), "neither AccountName nor BlobEndpoint") || strings.Contains(err.Error(), "c29tZS") {
		t.Errorf("a connection string without an account: %v", err)
	}
	shown := configured(t, "database: postgres://x\ncheckpoint_storage: {type: azure, container: c, account_url: 'https://lab.blob.core.windows.net/?sv=1&sig=topsecret'}\n")
	text, err := json.Marshal(shown.redacted())
	if err != nil || strings.Contains(string(text), "topsecret") || !strings.Contains(string(text), "lab.blob") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestKeysAreNotShown(t *testing.T) {
	m := configured(t, "database: postgres://x\nvault: {address: 'http://v', token: hvs.secret, role_arn: 'arn:x'}\n"+
		"checkpoint_storage: {type: s3, bucket: b, access_key: AKIA, secret_key: topsecret, endpoint_url: 'https://me:hidden1@store.example:9000/?key=hidden2'}\n")
	text, err := json.Marshal(m.redacted())
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"hvs.secret", "AKIA", "topsecret", "hidden1", "hidden2"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("%s is shown: %s", secret, text)
		}
	}
	if !strings.Contains(string(text), `"bucket":"b"`) || !strings.Contains(string(text), "https://store.example:9000/") || m.cfg.CheckpointStorage.(map[string]any)["secret_key"] != "topsecret" {
		t.Errorf("%s; %v", text, m.cfg.CheckpointStorage)
	}
}

func TestSecretsThatUsersMountInTheConfiguration(t *testing.T) {
	m := configured(t, "database: postgres://x\nvault: {address: 'http://vault:8200', token_file: /t, secrets: [{name: a, path: secret/data/a, workspaces: [vision]}, {name: b, path: secret/data/b, users: [ada], keys: [k]}]}\n")
	if len(m.site.Secrets) != 2 || m.site.Secrets[1].Keys[0] != "k" || m.site.SignIn.Vault.Role != "det-task" || m.site.SignIn.Vault.Engine != "" {
		t.Errorf("%+v", m.site)
	}
	for list, want := range map[string]string{
		"{name: 'a b', path: secret/data/a, workspaces: [v]}":                                    "vault.secrets[0].name: expected letters",
		"{name: a, path: secret/a, workspaces: [v]}":                                             "vault.secrets[0].path: expected the path of a secret",
		"{name: a, path: secret/data/a}":                                                         "vault.secrets[0]: nobody may mount it",
		"{name: a, path: secret/data/a, users: ['*']}":                                           "vault.secrets[0].users[0]: expected a name",
		"{name: a, path: secret/data/a, workspaces: ['']}":                                       "vault.secrets[0].workspaces[0]: expected a name",
		"{name: a, path: secret/data/a, users: [x], keys: ['{{']}":                               "vault.secrets[0].keys[0]: expected a name",
		"{name: a, path: secret/data/a, users: [x]}, {name: a, path: secret/data/b, users: [x]}": "vault.secrets[1].name: every secret needs a name of its own",
	} {
		cfg := Defaults()
		if problems := cfg.read([]byte("database: postgres://x\nvault: {address: 'http://vault:8200', token_file: /t, secrets: [" + list + "]}\n")).problems; len(problems) > 0 {
			t.Fatal(problems)
		}
		cfg.fill()
		if problems := strings.Join(cfg.check(), "\n"); !strings.Contains(problems, want) {
			t.Errorf("%s: %s; want %s", list, problems, want)
		}
	}
	cfg := Defaults()
	if problems := cfg.read([]byte("database: postgres://x\nvault: {secrets: [{name: a, path: secret/data/a, users: [x]}]}\n")).problems; len(problems) > 0 {
		t.Fatal(problems)
	}
	cfg.fill()
	if problems := strings.Join(cfg.check(), "\n"); !strings.Contains(problems, "vault.secrets: requires vault.address") {
		t.Errorf("without Vault: %s", problems)
	}
}
