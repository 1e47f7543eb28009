package client_test

import (
	"testing"

	"github.com/detent-ml/detent/master/client"
	"github.com/detent-ml/detent/master/fault"
)

func TestCanonical(t *testing.T) {
	for given, want := range map[string]string{
		"localhost":         "http://localhost:8080",
		"localhost:9000":    "http://localhost:9000",
		"http://Foo":        "http://foo:80",
		"https://foo":       "https://foo:443",
		"https://foo/bar/":  "https://foo:443/bar",
		"http://foo:80/":    "http://foo:80",
		"foo/x":             "http://foo:8080/x",
		"10.0.0.1":          "http://10.0.0.1:8080",
		"https://foo:8443/": "https://foo:8443",
		"[::1]:80":          "http://[::1]:80",
	} {
		got, err := client.Canonical(given)
		if err != nil || got != want {
			t.Errorf("Canonical(%q) = %q, %v; want %q", given, got, err, want)
		}
		again, err := client.Canonical(got)
		if err != nil || again != got {
			t.Errorf("Canonical(%q) = %q, %v: a canonical address must stay as it is", got, again, err)
		}
	}
	for _, given := range []string{"", "http://", "user@foo", "foo?x=1", "foo#x", "http://a b", "foo:port"} {
		if got, err := client.Canonical(given); !fault.Is(err, fault.Invalid) {
			t.Errorf("Canonical(%q) = %q, %v; want a refusal", given, got, err)
		}
	}
}

func TestMasterFromEnv(t *testing.T) {
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{nil, "localhost:8080"},
		{map[string]string{"DET_MASTER_ADDR": "a"}, "a"},
		{map[string]string{"DET_MASTER_ADDR": "a", "DET_MASTER": "b"}, "b"},
		{map[string]string{"DET_MASTER_ADDR": "a", "DET_MASTER": ""}, "a"},
	} {
		if got := client.MasterFromEnv(func(name string) string { return c.env[name] }); got != c.want {
			t.Errorf("with %v: %q, want %q", c.env, got, c.want)
		}
	}
}
