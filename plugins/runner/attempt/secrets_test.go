//go:build linux

package attempt

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/detent-ml/detent/master/v1"
)

const renderedSecrets = `[{"name": "tracker", "key": "token", "value": "t0ken-of-the-test"},
{"name": "tracker", "key": "port", "value": 8443},
{"name": "cloud", "key": "account", "value": {"type": "service"}},
{"name": "cloud", "key": "gone", "value": null},
{"name": "cloud", "key": "zero", "value": "a\u0000b"}]`

func secretsOf(t *testing.T, content string) *NomadTask {
	t.Helper()
	p := &NomadTask{SecretsDir: t.TempDir()}
	if content != "" {
		if err := os.WriteFile(filepath.Join(p.SecretsDir, userSecretsFile), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestSecretsOfATask(t *testing.T) {
	p, env := secretsOf(t, renderedSecrets), map[string]string{"TOKEN": "of the node"}
	list := []v1.TaskSecret{{Name: "tracker", Key: "token", Env: "TOKEN"}, {Name: "tracker", Key: "port", Env: "PORT"},
		{Name: "cloud", Key: "account", Env: "ACCOUNT_FILE", File: "cloud/account.json"}, {Name: "tracker", Key: "token", File: "token"}}
	values, err := readSecrets(p, list)
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []string{"once", "for the other layout"} {
		if err := mountSecrets(p, layout{secrets: p.SecretsDir}, list, values, env); err != nil {
			t.Fatal(again, err)
		}
	}
	dir := filepath.Join(p.SecretsDir, "mounted")
	for name, want := range map[string]string{"TOKEN": "t0ken-of-the-test", "PORT": "8443", "ACCOUNT_FILE": dir + "/cloud/account.json", "DET_SECRETS_DIR": dir} {
		if env[name] != want {
			t.Errorf("%s is %q, want %q", name, env[name], want)
		}
	}
	for name, want := range map[string]string{"cloud/account.json": `{"type": "service"}`, "token": "t0ken-of-the-test"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		info, err2 := os.Stat(filepath.Join(dir, name))
		if err != nil || err2 != nil || string(got) != want || info.Mode().Perm() != 0o400 {
			t.Errorf("%s: %q, %v, %v, %v", name, got, err, err2, info)
		}
	}
}

func TestSecretsThatCannotBeMounted(t *testing.T) {
	for name, c := range map[string]struct {
		content string
		secret  v1.TaskSecret
		want    string
	}{
		"no file":       {"", v1.TaskSecret{Name: "tracker", Key: "token", Env: "T"}, "its configuration had none when the job was submitted"},
		"not JSON":      {`[{"value": "t0ken-of-the-test"`, v1.TaskSecret{Name: "tracker", Key: "token", Env: "T"}, "is not JSON"},
		"no key":        {renderedSecrets, v1.TaskSecret{Name: "tracker", Key: "other", Env: "T"}, `secret "tracker" has no key "other" in Vault`},
		"a key of null": {renderedSecrets, v1.TaskSecret{Name: "cloud", Key: "gone", Env: "T"}, `secret "cloud" has no key "gone" in Vault`},
		"a zero byte":   {renderedSecrets, v1.TaskSecret{Name: "cloud", Key: "zero", Env: "T"}, "cannot contain a zero byte"},
		"a long value": {`[{"name": "a", "key": "b", "value": "` + strings.Repeat("x", 128<<10) + `"}]`, v1.TaskSecret{Name: "a", Key: "b", Env: "T"},
			"131072 bytes are too long for an environment variable"},
		"a file outside": {renderedSecrets, v1.TaskSecret{Name: "tracker", Key: "token", File: "../escaped"}, "is not below DET_SECRETS_DIR"},
	} {
		p := secretsOf(t, c.content)
		list := []v1.TaskSecret{c.secret}
		values, err := readSecrets(p, list)
		if err == nil {
			err = mountSecrets(p, layout{secrets: p.SecretsDir}, list, values, map[string]string{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "t0ken") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
