package objects

import (
	"strings"
	"testing"

	"github.com/detent-ml/detent/master/fault"
)

const someKey = "c29tZSBrZXk=" // "some key"

func TestConnectionStrings(t *testing.T) {
	for text, want := range map[string]struct{ url, name, key, token string }{
		"DefaultEndpointsProtocol=https;AccountName=lab;AccountKey=" + someKey + ";EndpointSuffix=core.windows.net": {"https://lab.blob.core.windows.net", "lab", "some key", ""},
		"AccountName=lab;AccountKey=" + someKey:                                                 {"https://lab.blob.core.windows.net", "lab", "some key", ""},
		" accountname=lab ; ACCOUNTKEY=" + someKey + " ;":                                       {"https://lab.blob.core.windows.net", "lab", "some key", ""},
		"BlobEndpoint=http://127.0.0.1:10000/lab/;AccountName=lab;AccountKey=" + someKey:        {"http://127.0.0.1:10000/lab", "lab", "some key", ""},
		"BlobEndpoint=https://lab.blob.core.windows.net;SharedAccessSignature=sv=2020&sig=a%3D": {"https://lab.blob.core.windows.net", "lab", "", "sv=2020&sig=a%3D"},
		"UseDevelopmentStorage=true":                                                            {"http://127.0.0.1:10000/devstoreaccount1", "devstoreaccount1", "", ""},
	} {
		a, err := AzureByString(text)
		if err != nil || a.URL != want.url || a.Name != want.name || a.Token != want.token || want.key != "" && string(a.Key) != want.key || !a.Signed() {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	for text, want := range map[string]string{
		"":                                   "neither AccountName nor BlobEndpoint",
		"secret words":                       "must consist of parts",
		"AccountKey=" + someKey:              "neither AccountName nor BlobEndpoint",
		"AccountName=lab;AccountKey=!secret": "neither an account key nor a shared access signature",
		"BlobEndpoint=file:///etc;AccountName=a;AccountKey=" + someKey:      "is not a URL such as",
		"BlobEndpoint=http://user@host;AccountName=a;AccountKey=" + someKey: "is not a URL such as",
		"BlobEndpoint=https://storage.example;AccountKey=" + someKey:        "does not contain the name of the storage account",
		"AccountName=a b;AccountKey=" + someKey:                             "is not a URL such as",
	} {
		_, err := AzureByString(text)
		if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), someKey) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestAccountsByTheirAddress(t *testing.T) {
	a, err := AzureByURL("https://lab.blob.core.windows.net/?sv=1&sig=2", "")
	if err != nil || a.URL != "https://lab.blob.core.windows.net" || a.Token != "sv=1&sig=2" {
		t.Errorf("%+v, %v", a, err)
	}
	a, err = AzureByURL("https://lab.blob.core.windows.net", "?sv=1&sig=2")
	if err != nil || a.Token != "sv=1&sig=2" || a.Key != nil {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = AzureByURL("http://localhost:10000/lab", someKey); err != nil || a.Name != "lab" || string(a.Key) != "some key" {
		t.Errorf("%+v, %v", a, err)
	}
	for address, want := range map[string]bool{"https://lab.blob.core.windows.net": true, "https://lab.blob.core.usgovcloudapi.net/": true, "http://lab.blob.core.windows.net": false,
		"https://lab.blob.core.windows.net:444": false, "https://lab.blob.core.windows.net.evil.example": false, "https://blob.core.windows.net": false,
		"https://169.254.169.254/lab": false, "https://a.b.blob.core.windows.net": false} {
		a, err := AzureByURL(address, "")
		if err != nil || a.IsMicrosofts() != want || a.Signed() {
			t.Errorf("%s: %+v, %v", address, a, err)
		}
	}
}

// TestFoundSecrets: credentials from outside of the configuration are used for the account that the
// configuration names, and for no other.
func TestFoundSecrets(t *testing.T) {
	at, err := AzureByURL("https://lab.blob.core.windows.net", "")
	if err != nil {
		t.Fatal(err)
	}
	for secret, want := range map[string]string{
		`{"credential": "` + someKey + `"}`:                                       "",
		`{"credential": "sv=1&sig=2", "connection_string": null}`:                 "",
		`{"connection_string": "AccountName=lab;AccountKey=` + someKey + `"}`:     "",
		`{"connection_string": "AccountName=another;AccountKey=` + someKey + `"}`: "belongs to https://another.blob.core.windows.net, but the checkpoints are in https://lab",
		`{"password": "x"}`: "neither a credential nor a connection_string",
		`x`:                 "neither a credential nor a connection_string",
	} {
		a, err := at.SignedBy([]byte(secret))
		if want == "" && (err != nil || !a.Signed() || a.URL != at.URL) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %+v, %v", secret, a, err)
		}
	}
	t.Setenv("AZURE_STORAGE_KEY", someKey)
	if a, err := at.SignedByEnvironment(); err != nil || string(a.Key) != "some key" {
		t.Errorf("%+v, %v", a, err)
	}
	t.Setenv("AZURE_STORAGE_ACCOUNT", "another")
	if a, err := at.SignedByEnvironment(); err != nil || a.Signed() {
		t.Errorf("a key of another account: %+v, %v", a, err)
	}
}
